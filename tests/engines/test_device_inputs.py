"""Weights and rows of devices that meet other devices or the host, and tensors of rare kinds."""

from __future__ import annotations

import numpy as np
import on_strict
import on_torch
import pytest

import princomp
from faults.disk import bits
from princomp import PCA, KernelPCA, RobustPCA, bootstrap, diagnostics
from princomp.errors import (
    NotAvailableError,
    NotFiniteError,
    NotNumericError,
    ParameterError,
    PrincompError,
    ShapeError,
)

torch = pytest.importorskip("torch", reason="torch is not installed: make test-engines")
xp = pytest.importorskip("array_api_strict", reason="array_api_strict is not installed")

pytestmark = [
    pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta"),
    pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental"),
]

N, P = 60, 4


@pytest.fixture
def rows(rng):
    return rng.standard_normal((N, P)) * [4, 3, 2, 1] + 2


def assert_same_fit(model, expected, bound=1e-12):
    largest = expected.explained_variance_[0]
    np.testing.assert_allclose(
        model.explained_variance_, expected.explained_variance_, atol=bound * largest
    )


def test_weights_come_from_any_device(rows, rng):
    weights = rng.integers(0, 4, N).astype(float)
    expected = PCA(2).fit(rows, sample_weight=weights)
    tensor = torch.from_numpy(weights)
    given = (weights, tensor, tensor.bfloat16(), tensor.clone().requires_grad_())
    given += xp.asarray(weights), on_strict.to_device(weights)
    for table in (on_torch.to_device(rows), on_strict.to_device(rows), on_torch.tensor([rows])):
        for some in given:
            model = PCA(2).fit(table, sample_weight=some)
            assert_same_fit(model, expected)
            assert not getattr(model._fitted.summary.scatter, "requires_grad", False)
    sparse = torch.from_numpy(rows).to_sparse()
    assert_same_fit(PCA(2).fit(sparse, sample_weight=tensor), expected)


def test_one_weight_counts_for_all_rows_and_text_is_refused(rows):
    expected = PCA(2).fit(rows, sample_weight=2.0)
    for table in (torch.from_numpy(rows), torch.from_numpy(rows).to_sparse_csr()):
        for one in (2.0, np.float64(2), torch.tensor(2.0), on_strict.to_device(2.0)):
            assert_same_fit(PCA(2).fit(table, sample_weight=one), expected)
        with pytest.raises(ParameterError, match="sample_weight must hold numbers"):
            PCA(2).fit(table, sample_weight="w")
        with pytest.raises(ShapeError, match="there are 60 rows"):
            PCA(2).fit(table, sample_weight=np.ones(5))
        for wrong in (np.ones(N) + 1j, torch.ones(N) + 1j, on_strict.to_device(np.ones(N) + 1j)):
            with pytest.raises(ParameterError, match=r"real numbers, got .*complex(64|128)"):
                PCA(2).fit(table, sample_weight=wrong)


def test_scores_of_no_components_give_the_mean_back(rows):
    model = PCA(0).fit(rows)
    for library in (on_torch, on_strict):
        back = model.inverse_transform(model.transform(library.to_device(rows)))
        np.testing.assert_array_equal(library.to_host(back), np.tile(model.mean_, (N, 1)))
    da = pytest.importorskip("dask.array")
    back = model.inverse_transform(model.transform(da.from_array(rows, chunks=(16, P))))
    np.testing.assert_array_equal(back.compute(), np.tile(model.mean_, (N, 1)))


def test_sparse_tensors_of_any_precision(rows):
    for dtype in (torch.float16, torch.bfloat16):
        tensor = torch.from_numpy(rows).to(dtype)
        expected = PCA(2).fit(tensor.float().numpy())
        for sparse in (tensor.to_sparse(), tensor.to_sparse_csr()):
            model = PCA(2).fit(sparse)
            assert model.components_.dtype == np.float32
            assert_same_fit(model, expected, 1e-6)


@pytest.mark.parametrize("name", ["int8", "uint8", "int16", "int32"])
def test_repeated_cells_of_sparse_tensors_may_add_up_to_more_than_their_type_holds(name, rng):
    dtype = getattr(torch, name)
    cells = rng.integers(torch.iinfo(dtype).max // 2, torch.iinfo(dtype).max, (2, N * P))
    places = torch.from_numpy(np.tile(np.indices((N, P)).reshape(2, -1), 2))
    values = torch.from_numpy(cells.ravel()).to(dtype)
    sparse = torch.sparse_coo_tensor(places, values, (N, P), check_invariants=True)
    assert_same_fit(PCA(2).fit(sparse), PCA(2).fit(cells.sum(axis=0).reshape(N, P)))


@pytest.mark.parametrize(
    ("convert", "error", "message"),
    [
        (lambda t: t.to_sparse(1), NotAvailableError, "this sparse tensor is hybrid"),
        (lambda t: t[0].to_sparse(), ShapeError, "a table has rows and columns"),
        (lambda t: t.to(torch.complex32), NotNumericError, "Complex data"),
        (lambda t: t.to(torch.complex32).to_sparse(), NotNumericError, "Complex data"),
        (lambda t: t.to("meta"), NotAvailableError, "'meta' hold no numbers"),
        (lambda t: princomp.on_device(t, "meta"), NotAvailableError, "'meta' hold no numbers"),
        (
            lambda t: torch.nested.nested_tensor([*t], layout=torch.jagged),
            ShapeError,
            "a nested tensor",
        ),
    ],
)
def test_tensors_without_rows_of_numbers_are_refused(convert, error, message, rows):
    with pytest.raises(error, match=message):
        PCA(2).fit(convert(torch.from_numpy(rows)))


@pytest.mark.parametrize(
    "use",
    [
        lambda X, there: KernelPCA(
            2, kernel="rbf", approximation="nystrom", landmarks=there[:9, :]
        ).fit(X),
        lambda X, there: RobustPCA(2).fit(X).inverse_transform(there[:, :2]),
        lambda X, there: princomp.on_device(there, "cpu"),
        lambda X, there: princomp.on_device(torch.from_numpy(X).to_sparse(), "cpu"),
        lambda X, there: PCA(2).fit(iter([there])),
        lambda X, there: PCA(2, scale=there[0, :]).fit(X),
    ],
)
def test_arrays_that_numpy_cannot_read_are_refused(use, rows):
    with pytest.raises(PrincompError, match=r"host's memory|array of numbers"):
        use(rows, on_strict.to_device(rows))


@pytest.mark.parametrize("landmarks", [{"n_landmarks": 20}, {"landmarks": np.eye(9, P)}])
def test_kernel_fits_of_several_ranks_need_rows_of_the_host(landmarks, rows):
    import torch.distributed as dist

    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        for table in (torch.from_numpy(rows), princomp.on_device(rows, "cpu")):
            model = KernelPCA(2, kernel="rbf", approximation="nystrom", **landmarks)
            with pytest.raises(NotAvailableError, match=r"host's memory[\s\S]*X\.numpy\("):
                model.fit(table, comm=dist)
    finally:
        dist.destroy_process_group()


def test_the_hint_says_where_cells_are_filled(rows):
    rows[3, 2] = np.nan
    model = PCA(2, missing="em").fit(rows)
    with pytest.raises(NotFiniteError, match="row 3") as caught:
        model.transform(torch.from_numpy(rows))
    assert "host's memory" in caught.value.hint


@pytest.mark.parametrize("library", [on_torch, on_strict])
@pytest.mark.parametrize(
    "options",
    [{}, {"svd_solver": "full"}, {"svd_solver": "sketch"}, {"scale": "range"}],
    ids=["moments", "triangle", "sketch", "range"],
)
def test_a_fit_resumed_on_a_device_has_the_same_bits(library, options, rows, tmp_path):
    """The summary in the checkpoint is on the host, and its solvers give other bits."""
    X = library.to_device(rows)
    model = PCA(3, **options).fit(X, checkpoint=tmp_path / "run")
    resumed = PCA(3, **options).fit(X, checkpoint=tmp_path / "run")
    assert bits(resumed) == bits(model)


@pytest.mark.parametrize("library", [on_torch, on_strict])
def test_deviations_that_underflow_and_sum_to_zero_are_no_constant(library):
    first = np.float32([2.376007e-28, 2.375993e-28, 2.376e-28])
    constant = np.full(3, 7.92e-29, "f4")
    X = np.stack([first, constant, constant], axis=1) * np.float32(1e10)
    found, expected = PCA().fit(library.to_device(X)), PCA().fit(X)
    assert found.total_variance_ == pytest.approx(expected.total_variance_, rel=1e-6, abs=0)
    assert expected.total_variance_ > 0


@pytest.mark.parametrize("kind", ["float32", "float64", "bfloat16", "int64"])
def test_what_needs_rows_of_the_host_reads_tensors_of_the_processor(rows, kind):
    tensor = torch.from_numpy(rows).to(getattr(torch, kind)).requires_grad_(kind == "float32")
    model, X = PCA(2).fit(tensor), tensor.detach().to(torch.float64).numpy()
    X = X if kind in ("float64", "int64") else X.astype(np.float32)
    for use in (
        model.score_samples,
        lambda rows: diagnostics.distances(model, rows),
        lambda rows: diagnostics.contributions(model, rows),
        lambda rows: diagnostics.outliers(model, rows),
        lambda rows: diagnostics.reconstruction_error(model, rows),
        lambda rows: bootstrap(model, rows, n=5).variances,
    ):
        assert np.array_equal(np.asarray(use(tensor)), np.asarray(use(X)))


def test_rows_on_other_devices_get_the_hint_to_copy_them(rows):
    model, there = PCA(2).fit(rows), on_strict.to_device(rows)
    for use in (diagnostics.outliers, bootstrap):
        with pytest.raises(NotAvailableError, match=r"host's memory[\s\S]*X\.float\(\)\.numpy\("):
            use(model, there)


def test_batches_of_bfloat16_become_float32(rows):
    half = torch.from_numpy(rows).bfloat16()
    expected = PCA(2).fit(half)
    for X in (
        iter(half.split(25)),
        lambda: iter(half.split(25)),
        princomp.on_device(lambda: iter(half.split(25)), "cpu"),
    ):
        model = PCA(2).fit(X)
        assert model.components_.dtype == np.float32
        assert_same_fit(model, expected, 1e-6)
    scores = expected.transform(iter(half.split(25)))
    np.testing.assert_allclose(scores, expected.transform(half).numpy(), atol=1e-5)


def test_the_hint_for_tensors_of_three_dimensions_makes_a_table(rows):
    images = torch.from_numpy(rows).reshape(N, 2, 2)
    with pytest.raises(ShapeError, match=r"X\.reshape\(len\(X\), -1\) makes a row"):
        PCA(2).fit(images)


def test_the_hints_for_loaders_work(rows):
    data = torch.from_numpy(rows)
    loader = torch.utils.data.DataLoader(data, batch_size=25)
    with pytest.raises(ParameterError, match=r"DataLoader is not a table[\s\S]*lambda: iter\(X\)"):
        PCA(2).fit(loader)
    assert_same_fit(PCA(2).fit(lambda: iter(loader)), PCA(2).fit(rows))
    labelled = torch.utils.data.TensorDataset(data, torch.ones(N))
    pairs = torch.utils.data.DataLoader(labelled, batch_size=25)
    assert_same_fit(PCA(2).fit(lambda: (batch for batch, *_ in pairs)), PCA(2).fit(rows))
