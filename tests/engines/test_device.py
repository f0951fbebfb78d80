"""Rows on a device: they stay there, come in any precision, and mix with rows of the host."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from threading import Barrier, Thread

import numpy as np
import on_cupy
import on_strict
import on_torch
import on_torch_cuda
import pytest
import scipy.sparse as sp

from princomp import PCA, Moments, Triangle, load
from princomp.engines.device import spaces as device_spaces
from princomp.errors import (
    NotAvailableError,
    NotFiniteError,
    NotNumericError,
    ParameterError,
    PrincompError,
    ShapeError,
)
from princomp.kernels.gram import sampled_rows
from princomp.linalg import EPS

torch = pytest.importorskip("torch", reason="torch is not installed: make test-engines")
pytest.importorskip("array_api_strict", reason="array_api_strict is not installed")


LIBRARIES = [on_torch, on_torch_cuda, on_cupy, on_strict]


@pytest.fixture(params=LIBRARIES, ids=[library.NAME for library in LIBRARIES])
def library(request):
    if request.param.missing():
        pytest.skip(request.param.missing())
    return request.param


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of a few hundred rows, so that a table has many of them."""
    for name, whole in device_spaces.SPACES.items():
        small = {}

        def space(device, whole=whole, small=small):
            if str(device) not in small:
                small[str(device)] = replace(whole(device), block_size=1)
            return small[str(device)]

        monkeypatch.setitem(device_spaces.SPACES, name, space)


def rows_of(rng, n=1500, p=8, dtype=np.float64, mean=2.0):
    turn = np.linalg.qr(rng.standard_normal((p, p)))[0]
    return (((rng.standard_normal((n, p)) * 2.0 ** -np.arange(p)) @ turn) + mean).astype(dtype)


def assert_close(model, expected, bound=1e-12):
    largest = expected.explained_variance_[0]
    np.testing.assert_allclose(
        model.explained_variance_, expected.explained_variance_, rtol=0, atol=bound * largest
    )
    np.testing.assert_allclose(model.total_variance_, expected.total_variance_, rtol=bound)
    np.testing.assert_allclose(model.mean_, expected.mean_, rtol=bound)
    np.testing.assert_allclose(model.components_, expected.components_, atol=1e3 * bound)
    assert model.n_samples_ == expected.n_samples_


@pytest.mark.parametrize("solver", ["auto", "full", "krylov", "sketch"])
@pytest.mark.parametrize("scale", [None, "unit", "range"])
def test_many_blocks_equal_one_table(library, small_blocks, solver, scale, rng):
    X = rows_of(rng)
    parameters = {"n_components": 3, "svd_solver": solver, "scale": scale}
    model, expected = PCA(**parameters).fit(library.to_device(X)), PCA(**parameters).fit(X)
    assert_close(model, expected, 1e-9 if solver == "sketch" else 1e-12)
    assert model.plan_.solver == {"full": "svd", "krylov": "krylov", "sketch": "nystrom"}.get(
        solver, "eigh"
    )
    assert model.certificate_.residuals.max() < 1e-9
    assert model.plan_.problem.engine.startswith(library.NAME)


def test_scores_and_rows_stay_on_the_device(library, small_blocks, rng):
    X = rows_of(rng, dtype=np.float32)
    model = PCA(3, whiten=True, scale="unit").fit(X)
    scores = model.transform(library.to_device(X))
    expected = model.transform(X)
    found = library.to_host(scores)  # which checks the device
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * np.abs(expected).max())
    back = library.to_host(model.inverse_transform(scores))
    assert back.dtype == np.float32
    np.testing.assert_allclose(back, model.inverse_transform(expected), rtol=0, atol=1e-5)
    both = library.to_host(PCA(3).fit_transform(library.to_device(X)))
    np.testing.assert_allclose(both, PCA(3).fit_transform(X), atol=1e-5)


@pytest.mark.parametrize(("mean", "unit"), [(0.0, 1.0), (1e5, 1.0), (1e5, 1e-30)])
def test_scores_keep_their_digits_for_any_mean(library, mean, unit, rng):
    X = rows_of(rng, dtype=np.float32, mean=mean) * np.float32(unit)
    model = PCA(2).fit(X)
    found, expected = library.to_host(model.transform(library.to_device(X))), model.transform(X)
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-6 * np.abs(expected).max())


@pytest.mark.parametrize("solver", ["auto", "full", "krylov"])
def test_only_results_are_copied_to_the_host(library, small_blocks, solver, rng, monkeypatch):
    n, p, k = 4000, 40, 3
    X, sizes = library.to_device(rows_of(rng, n, p)), []

    def watched(method):
        def recorded(array, *args, **options):
            sizes.append(int(np.prod(array.shape)))
            return method(array, *args, **options)

        return recorded

    kind = type(X)
    if library is on_cupy:
        pytest.skip("the methods of CuPy's arrays cannot be replaced")
    for name in ("cpu", "numpy", "tolist", "__array__", "to_device"):
        if hasattr(kind, name):
            monkeypatch.setattr(kind, name, watched(getattr(kind, name)))
    model = PCA(k, svd_solver=solver).fit(X)
    scores = model.transform(X)
    model.inverse_transform(scores)
    model.certificate_  # noqa: B018  (made when it is read)
    if solver == "auto":
        model.partial_fit(X[:1000, :]).forget(X[:1000, :])
        model.explained_variance_  # noqa: B018  (solves)
    assert 0 < max(sizes) <= p * (k + 8 + 2)


def test_axes_are_copied_to_the_device_once(library, rng, monkeypatch):
    X = rows_of(rng)
    model = PCA(3).fit(X)
    puts = []
    put = device_spaces.Space.put
    monkeypatch.setattr(
        device_spaces.Space, "put", lambda *args, **more: puts.append(1) or put(*args, **more)
    )
    first = library.to_host(model.transform(library.to_device(X[:100])))
    count = len(puts)
    again = library.to_host(model.transform(library.to_device(X[:100])))
    assert len(puts) == count > 0
    assert (first == again).all()


@pytest.mark.parametrize("solver", ["auto", "full"])
def test_batches_are_added_on_the_host_and_on_the_device(library, small_blocks, solver, rng):
    X = rows_of(rng)
    on_device, expected = library.to_device(X), PCA(3).fit(X)
    for batches in (
        [on_device[:600, :], on_device[600:, :]],
        [on_device[:600, :], on_device[600:700, :], on_device[700:, :]],
        [X[:600], on_device[600:, :]],
        [on_device[:600, :], X[600:700], on_device[700:, :]],
    ):
        model = PCA(3, svd_solver=solver)
        for batch in batches:
            model.partial_fit(batch)
        assert_close(model, expected)


def test_batches_are_removed_on_the_host_and_on_the_device(library, small_blocks, rng):
    X = rows_of(rng)
    on_device, expected = library.to_device(X), PCA(3).fit(X)
    model = PCA(3).partial_fit(X[:700]).partial_fit(on_device[700:, :])
    fewer = PCA(3).fit(X[500:])
    assert_close(copy.copy(model).forget(on_device[:500, :]), fewer, 1e-11)
    assert_close(copy.copy(model).forget(X[:500]), fewer, 1e-11)
    assert_close(PCA(3).fit(X).forget(on_device[:500, :]), fewer, 1e-11)
    one, other = PCA(3).fit(on_device[:600, :]), PCA(3).fit(X[600:])
    assert_close(copy.copy(one).merge(other), expected)
    assert_close(copy.copy(other).merge(one), expected)
    with pytest.raises(ShapeError, match="cannot remove"):
        PCA(3).fit(on_device[:500, :]).forget(on_device)
    with pytest.raises(NotAvailableError, match="decay"):
        PCA(3, decay=0.9).partial_fit(on_device)


def test_device_models_are_saved_and_pickled(library, rng, tmp_path):
    X = rows_of(rng)
    for solver, kind in (("auto", Moments), ("full", Triangle)):
        model = PCA(3, svd_solver=solver).fit(library.to_device(X))
        expected = PCA(3, svd_solver=solver).fit(X)
        model.save(tmp_path / "model.pca")
        for found in (load(tmp_path / "model.pca"), pickle.loads(pickle.dumps(model))):
            assert type(found.summary_) is kind
            np.testing.assert_array_equal(found.components_, model.components_)
            assert_close(found.rescaled("unit"), expected.rescaled("unit"), 1e-11)
        assert type(model.summary_) is kind
        assert_close(model.rescaled("unit"), expected.rescaled("unit"), 1e-11)
        assert_close(model.truncated(2), expected.truncated(2))


def test_weights_are_frequencies(library, small_blocks, rng):
    X = rows_of(rng)
    weights = rng.integers(0, 4, len(X)).astype(np.float64)
    X[weights == 0] = np.nan
    expected = PCA(3).fit(X, sample_weight=weights)
    for solver in ("auto", "full", "krylov"):
        for given in (weights, library.to_device(weights)):
            assert_close(
                PCA(3, svd_solver=solver).fit(library.to_device(X), sample_weight=given), expected
            )
    twice = PCA(3).fit(library.to_device(X[weights > 0]), sample_weight=2.0)
    assert_close(twice, PCA(3).fit(X[weights > 0], sample_weight=2.0))
    weights[7] = -1
    with pytest.raises(ParameterError, match=r"sample_weight\[7\] is -1"):
        PCA(3).fit(library.to_device(X), sample_weight=weights)
    with pytest.raises(ShapeError, match="1500 rows"):
        PCA(3).fit(library.to_device(X), sample_weight=weights[1:])


def test_nonfinite_values_are_reported_with_their_place(library, small_blocks, rng):
    X = rows_of(rng)
    expected = PCA(3).fit(X)
    X[900, 2], X[1400, 1] = np.nan, np.inf
    for solver in ("auto", "full", "krylov"):
        with pytest.raises(NotFiniteError, match="NaN: the first at row 900, column 2") as caught:
            PCA(3, svd_solver=solver).fit(library.to_device(X))
        assert caught.value.place == {"row": 900, "column": 2}
        with pytest.raises(NotFiniteError, match="infinity: the first at row 1,400, column 1"):
            PCA(3, svd_solver=solver, missing="drop").fit(library.to_device(X))
    with pytest.raises(NotFiniteError, match="NaN: the first at row 900, column 2"):
        expected.transform(library.to_device(X))
    X[1400, 0] = np.nan
    for solver in ("auto", "full", "krylov"):
        model = PCA(3, svd_solver=solver, missing="drop").fit(library.to_device(X))
        assert_close(model, PCA(3, svd_solver=solver, missing="drop").fit(X))
        assert model.n_dropped_ == 2
        weights = np.where(np.arange(len(X)) == 900, 0.0, 1.0)
        model.fit(library.to_device(X), sample_weight=weights)
        assert model.n_dropped_ == 1
    scores = library.to_host(model.transform(library.to_device(X)))
    assert np.flatnonzero(np.isnan(scores).any(axis=1)).tolist() == [900, 1400]


@pytest.mark.parametrize("factor", [1e25, 1e-25, 1e-30, 1e-43])
def test_squares_that_float32_cannot_hold_are_summed_in_float64(library, factor, rng):
    if library.NAME == "cupy" and factor < np.finfo(np.float32).tiny:
        pytest.skip("CuPy compiles its kernels to replace subnormal float32 numbers by zero")
    X = (rows_of(rng, mean=0.5) * factor).astype(np.float32)
    for solver in ("auto", "krylov"):
        assert_close(PCA(3, svd_solver=solver).fit(library.to_device(X)), PCA(3).fit(X), 1e-5)


@pytest.mark.filterwarnings(
    "ignore:overflow encountered in cast"
)  # of NumPy below array_api_strict
@pytest.mark.parametrize(("factor", "weight", "scale"), [(2.0**127, 1, "pareto"), (1, 1e80, None)])
def test_divisors_and_weights_that_float32_cannot_hold(library, factor, weight, scale, rng):
    X = rng.standard_normal((400, 20)) * np.geomspace(1, 30, 20)
    X = (X / np.abs(X).max() * factor).astype(np.float32)
    weights = np.full(400, float(weight))
    model = PCA(3, svd_solver="krylov", scale=scale).fit(
        library.to_device(X), sample_weight=weights
    )
    expected = PCA(3, scale=scale).fit(X.astype(float), sample_weight=weights)
    np.testing.assert_allclose(model.explained_variance_, expected.explained_variance_, rtol=1e-4)


def test_squares_that_float64_cannot_hold_are_refused(library, rng):
    X = rows_of(rng)
    X[:, 4] *= 1e200
    with pytest.raises(NotFiniteError, match="squares of column 4 overflow"):
        PCA(3).fit(library.to_device(X))


def test_constant_columns_and_first_rows_unlike_the_rest(library, small_blocks, rng):
    X = rows_of(rng)
    X[:, 3], X[:, 5] = 1e9 + 1 / 3, 0.0
    X[:300] -= 1e6  # a first guess at the mean that is far from it
    X[:300, (3, 5)] += 1e6
    model, expected = PCA(3).fit(library.to_device(X)), PCA(3).fit(X)
    assert_close(model, expected, 1e-11)
    assert model.var_[3] == model.var_[5] == 0
    # To rounding: the spread of these columns sends the fit on to an SVD.
    assert np.abs(model.components_[:, (3, 5)]).max() <= 8 * EPS
    assert_close(
        PCA(3, svd_solver="full").fit(library.to_device(X)), PCA(3, svd_solver="full").fit(X), 1e-11
    )
    nothing = PCA(2).fit(library.to_device(np.full((5, 3), 0.1)))
    assert (nothing.explained_variance_ == 0).all()


def test_variances_that_squaring_loses_are_found_by_qr(library, rng):
    X = rows_of(rng) * 10.0 ** -(3.0 * np.arange(8))
    model, expected = PCA(4).fit(library.to_device(X)), PCA(4).fit(X)
    assert model.plan_.solver == expected.plan_.solver == "svd"
    np.testing.assert_allclose(
        model.singular_values_, expected.singular_values_, rtol=0,
        atol=1e-13 * expected.singular_values_[0],
    )  # fmt: skip


def test_wide_columns_are_searched_on_the_device(library, monkeypatch, rng):
    from princomp.summaries import device_sums

    monkeypatch.setattr("princomp.core.routes.moments.LANCZOS_COLUMNS", 100)
    monkeypatch.setattr(device_sums, "PANEL_COLUMNS", 64)
    X = rows_of(rng, 400, 200)
    X[:, 2] = 7.0
    model = PCA(2).fit(library.to_device(X))
    assert model.plan_.solver == "lanczos"
    assert_close(model, PCA(2, svd_solver="covariance_eigh").fit(X))
    assert model.certificate_.residuals.max() < 1e-12


@pytest.mark.parametrize("p", [300, 40])
def test_more_columns_than_rows(library, p, rng):
    X = rows_of(rng, 30, p)
    for parameters in ({"n_components": 3}, {"n_components": 3, "svd_solver": "full"}):
        assert_close(PCA(**parameters).fit(library.to_device(X)), PCA(**parameters).fit(X), 1e-11)
    assert PCA().fit(library.to_device(X)).n_components_ == 30


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [
        ("bfloat16", np.float32),
        ("float16", np.float32),
        ("int32", np.float64),
        ("uint8", np.float64),
        ("bool", np.float64),
    ],
)
def test_other_dtypes_become_float32_or_float64(kind, dtype, rng):
    X = torch.from_numpy(rng.integers(0, 2, (200, 4))).to(getattr(torch, kind))
    expected = PCA(2).fit(X.to(torch.float64).numpy())
    model = PCA(2).fit(X)
    assert_close(model, expected, 1e-5 if dtype == np.float32 else 1e-12)
    assert model.components_.dtype == dtype
    assert model.transform(X).numpy().dtype == dtype


@pytest.mark.parametrize("share", [0.5, 0.9, 0.999])
@pytest.mark.parametrize("n", [1000, 20_000])
def test_equal_rows_do_not_add_up_their_rounding(library, n, share, rng):
    X = (rng.random((n, 5)) < share).astype(np.float64)
    centred = X.astype(np.longdouble) - X.mean(axis=0, dtype=np.longdouble)
    true = np.linalg.eigvalsh((centred.T @ centred / (n - 1)).astype(np.float64))[::-1]
    model = PCA().fit(library.to_device(X))
    # 512 equal products that are added one by one lose 96 units, and their sums a few.
    assert (np.abs(model.explained_variance_ - true) <= 128 * EPS * true[0]).all()


def test_marker_rows_do_not_mislead_the_shift(library, rng):
    X = rng.standard_normal((2**15, 3))
    X[sampled_rows(2**15, 256)] += 1e5
    X[::128, 1] += 1e5
    centred = X.astype(np.longdouble) - X.mean(axis=0, dtype=np.longdouble)
    true = np.linalg.eigvalsh((centred.T @ centred / (2**15 - 1)).astype(np.float64))[::-1]
    model = PCA().fit(library.to_device(X))
    assert (np.abs(model.explained_variance_ - true) <= 128 * EPS * true[0]).all()


def test_tensors_of_any_layout_or_gradient_state_are_accepted(rng):
    X = rows_of(rng)
    expected = PCA(3).fit(X)
    turned = torch.from_numpy(np.array(X.T)).T
    strided = torch.from_numpy(np.repeat(X, 2, axis=1))[:, ::2]
    followed = torch.from_numpy(np.array(X)).requires_grad_()
    parameter = torch.nn.Parameter(torch.from_numpy(np.array(X)))
    for tensor in (turned, strided, followed, parameter):
        assert_close(PCA(3).fit(tensor), expected)
        scores = expected.transform(tensor)
        assert not scores.requires_grad
        np.testing.assert_allclose(scores.numpy(), expected.transform(X), atol=1e-12)
    assert followed.requires_grad
    with torch.inference_mode():
        assert_close(PCA(3).fit(torch.from_numpy(np.array(X))), expected)


def test_invalid_arrays_are_refused_with_the_reason(library, rng):
    X = rows_of(rng)
    for wrong, error, message in (
        (X[0], ShapeError, "a table has rows and columns"),
        (X[:, :, None], ShapeError, "a table has rows and columns"),
        (X[:0], ShapeError, "0 sample"),
        (X[:, :0], ShapeError, "0 feature"),
        (X + 1j, NotNumericError, "Complex data not supported"),
        (X[:1], ShapeError, "1 sample"),
    ):
        with pytest.raises(error, match=message):
            PCA(2).fit(library.to_device(wrong))
    large = np.arange(12).reshape(6, 2)
    large[4, 1] = 2**60
    with pytest.raises(NotNumericError, match="row 4, column 1 is beyond"):
        PCA(1).fit(library.to_device(large))
    model = PCA(2).fit(library.to_device(X))
    with pytest.raises(ShapeError, match="expecting 8 features"):
        model.transform(library.to_device(X[:, 1:]))
    with pytest.raises(ShapeError, match=rf"shape \({len(X)}, 8\), and the model has 2 components"):
        model.inverse_transform(library.to_device(X))
    if library is not on_torch:  # whose tensors on the CPU are read as arrays
        with pytest.raises(NotAvailableError, match="host's memory"):
            model.score_samples(library.to_device(X))
    with pytest.raises(ParameterError, match="multiplies rows in memory"):
        PCA(2, svd_solver="randomized").fit(library.to_device(X))


def test_strict_flags_change_nothing(rng):
    import array_api_strict as xp

    X = rows_of(rng)
    X[3, 2] = np.nan
    expected = PCA(3, missing="drop").fit(X)
    with xp.ArrayAPIStrictFlags(boolean_indexing=False, data_dependent_shapes=False):
        assert_close(PCA(3, missing="drop").fit(on_strict.to_device(X)), expected)


@pytest.mark.parametrize("layout", ["csr", "coo"])
def test_sparse_tensors_stay_sparse(layout, rng):
    X = np.where(rng.random((200, 30)) < 0.1, rng.standard_normal((200, 30)), 0.0)
    tensor = on_torch.tensor([sp.csr_array(X)])
    if layout == "coo":
        tensor = torch.from_numpy(X).to_sparse_coo()
    model, expected = PCA(3).fit(tensor), PCA(3).fit(X)
    assert_close(model, expected)
    assert model.plan_.problem.stored == np.count_nonzero(X)
    np.testing.assert_allclose(
        model.transform(tensor).numpy(), expected.transform(X), rtol=0, atol=1e-12
    )


def test_products_have_full_precision_and_settings_are_restored(rng):
    matmul, cpu = torch.backends.cuda.matmul, torch.backends.mkldnn.matmul
    if not hasattr(matmul, "fp32_precision"):
        pytest.skip("this torch has no setting for processors")
    before = matmul.fp32_precision, cpu.fp32_precision
    X = rows_of(rng, dtype=np.float32)
    try:
        matmul.fp32_precision, cpu.fp32_precision = "tf32", "bf16"
        assert_close(PCA(3).fit(torch.from_numpy(X)), PCA(3).fit(X), 1e-5)
        assert (matmul.fp32_precision, cpu.fp32_precision) == ("tf32", "bf16")
        space, together, seen = device_spaces._torch(torch.device("cpu")), Barrier(2), []

        def one():
            with space.full_precision():
                together.wait()
                seen.append(matmul.fp32_precision)

        threads = [Thread(target=one) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert seen == ["ieee", "ieee"]
        assert (matmul.fp32_precision, cpu.fp32_precision) == ("tf32", "bf16")
    finally:
        matmul.fp32_precision, cpu.fp32_precision = before


def test_checkpoints_and_progress_work_on_a_device(library, rng, tmp_path):
    X, seen = rows_of(rng), []
    model = PCA(3).fit(library.to_device(X), progress=seen.append, checkpoint=tmp_path / "run")
    assert_close(model, PCA(3).fit(X))
    assert seen[-1].done


def test_errors_have_a_hint(rng):
    tensor = torch.from_numpy(rows_of(rng)).reshape(-1)
    with pytest.raises(PrincompError, match="Hint: "):
        PCA(2).fit(tensor)


def test_a_shift_from_negligible_weights_is_recomputed(library, small_blocks, rng):
    X, weights = rows_of(rng), np.ones(1500)
    X[:300] += 1e6
    weights[:300] = 1e-8
    for solver in ("auto", "full"):
        model = PCA(3, svd_solver=solver).fit(library.to_device(X), sample_weight=weights)
        expected = PCA(3, svd_solver="full").fit(X, sample_weight=weights)
        np.testing.assert_allclose(
            model.explained_variance_, expected.explained_variance_, rtol=1e-9
        )


@pytest.mark.parametrize("kind", ["int64", "uint64"])
def test_integers_that_float64_cannot_hold_are_refused(library, kind):
    exact = np.arange(8, dtype=kind).reshape(4, 2)
    exact[3, 0] = 2**53
    model = PCA(1).fit(library.to_device(exact))
    assert_close(model, PCA(1).fit(exact))
    values = [2**53 + 1, 2**63 - 1]
    values += [-(2**53) - 1] if kind == "int64" else [2**63, 2**64 - 1]
    for value in values:
        rows = exact.copy()
        rows[2, 1] = value
        on_device = library.to_device(rows)
        for use in (PCA(1).fit, PCA(1).partial_fit, model.transform):
            with pytest.raises(NotNumericError, match=f"the integer {value} at row 2, column 1"):
                use(on_device)
