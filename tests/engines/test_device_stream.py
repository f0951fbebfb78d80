"""Rows of the host, read and copied to a device block by block."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import princomp
from princomp import PCA
from princomp.engines.device import spaces as device_spaces
from princomp.engines.device.stream import DeviceStream
from princomp.errors import (
    CheckpointError,
    MemoryLimitError,
    NotFiniteError,
    ParameterError,
    ShapeError,
)
from princomp.io.readers import files
from princomp.kernel_pca.feature_maps import Fourier, mapped
from princomp.kernel_pca.functions import KernelFunction
from princomp.linalg import EPS

torch = pytest.importorskip("torch", reason="torch is not installed: make test-engines")

N, P = 3000, 6
LIMIT = "200kB"  # blocks of 400 to 700 rows


@pytest.fixture
def table(rng):
    return (rng.standard_normal((N, P)) * 2.0 ** -np.arange(P)) + 2.0


def waves(p):
    return Fourier.of(KernelFunction("rbf", 0.1), p, 16, seed=0, dtype=np.dtype(np.float64))


def assert_close(model, expected, bound=1e-12):
    largest = expected.explained_variance_[0]
    np.testing.assert_allclose(
        model.explained_variance_, expected.explained_variance_, rtol=0, atol=bound * largest
    )
    np.testing.assert_allclose(model.components_, expected.components_, atol=1e3 * bound)
    assert model.n_samples_ == expected.n_samples_


@pytest.fixture(params=["array", "file", "frame", "callable", "sparse"])
def origin(request, table, tmp_path):
    if request.param == "file":
        np.save(tmp_path / "rows.npy", table)
        return str(tmp_path / "rows.npy")
    return {
        "array": table,
        "frame": pd.DataFrame(table, columns=list("abcdef")),
        "callable": lambda: (table[at : at + 77] for at in range(0, N, 77)),
        "sparse": sp.csr_array(table),
    }[request.param]


@pytest.mark.parametrize("solver", ["auto", "full", "krylov"])
def test_rows_of_any_origin_are_summed_on_the_device(origin, solver, table):
    rows = princomp.on_device(origin, "cpu", memory_limit=LIMIT)
    model = PCA(2, svd_solver=solver).fit(rows)
    expected = PCA(2).fit(table)
    assert_close(model, expected)
    scores = model.transform(rows)
    assert isinstance(scores, torch.Tensor)
    np.testing.assert_allclose(scores.numpy(), expected.transform(table), atol=1e-12)
    if isinstance(origin, pd.DataFrame):
        assert model.feature_names_in_.tolist() == list("abcdef")


def test_blocks_are_no_larger_than_the_limit_allows(table):
    rows = princomp.on_device(table, "cpu", memory_limit=LIMIT)
    sizes = [block.rows.shape[0] for block in rows.blocks(10**6)]
    assert sum(sizes) == N
    assert 32 < max(sizes) <= 200_000 // (48 * P)
    whole = princomp.on_device(table, "cpu")
    assert [block.rows.shape[0] for block in whole.blocks(10**6)] == [N]


def test_an_iterator_is_read_once(table):
    def batches():
        return iter([table[:5], table[5:1700], table[1700:]])

    model = PCA(2).fit(princomp.on_device(batches(), "cpu", memory_limit=LIMIT))
    assert_close(model, PCA(2).fit(table))
    for scale in ("range", "unit"):
        by_scale = PCA(2, scale=scale)
        expected = PCA(2, scale=scale).fit(table)
        assert_close(by_scale.fit(princomp.on_device(batches(), "cpu")), expected)
        for batch in (table[:700], table[700:]):
            by_scale.partial_fit(princomp.on_device(iter([batch]), "cpu"))
    table[1800, 4] = np.nan
    for solver in ("auto", "full", "sketch"):
        with pytest.raises(NotFiniteError, match="row 1,800, column 4"):
            PCA(2, svd_solver=solver).fit(princomp.on_device(batches(), "cpu", memory_limit=LIMIT))
    for use in (model.transform, model.verify):
        with pytest.raises(NotFiniteError, match="row 1,800, column 4"):
            use(princomp.on_device(batches(), "cpu", memory_limit=LIMIT))


@pytest.mark.parametrize("seed", range(8))
def test_no_variance_is_negative_after_rows_are_forgotten(seed):
    """One column nearly vanishes with these rows, but is correlated with a large one."""
    rng = np.random.default_rng(seed)
    x, kept = rng.standard_normal((60, 3)) * [1e4, 1.0, 1.0], rng.standard_normal((50, 3))
    kept[:, 1], kept[:, 0] = 1e-9 * kept[:, 0], 1e4 * kept[:, 0]
    model, found = PCA(2).partial_fit(np.vstack([x, kept])).forget(x), PCA(2)
    found.partial_fit(princomp.on_device(np.vstack([x, kept]), "cpu"))
    found.forget(princomp.on_device(x, "cpu"))
    assert (found.summary_.column_scatter > 0).all()
    assert_close(found, model, 1e-11)


def test_batches_and_weights(table, rng):
    expected = PCA(2).fit(table)
    model = PCA(2).partial_fit(princomp.on_device(table[:999], "cpu")).partial_fit(table[999:])
    assert_close(model, expected)
    assert_close(
        model.forget(princomp.on_device(table[:999], "cpu")), PCA(2).fit(table[999:]), 1e-11
    )
    weights = rng.integers(0, 3, N)
    rows = princomp.on_device(table, "cpu", memory_limit=LIMIT)
    assert_close(PCA(2).fit(rows, sample_weight=weights), PCA(2).fit(table, sample_weight=weights))
    rows = princomp.on_device(lambda: iter([table]), "cpu")
    with pytest.raises(ParameterError, match="number of rows"):
        PCA(2).fit(rows, sample_weight=weights)


def test_the_place_in_a_file_is_reported(table, tmp_path):
    table[2500, 3] = np.nan
    np.save(tmp_path / "rows.npy", table)
    rows = princomp.on_device(tmp_path / "rows.npy", "cpu", memory_limit=LIMIT)
    with pytest.raises(NotFiniteError, match=r"row 2,500, column 3 of .*rows\.npy"):
        PCA(2).fit(rows)
    assert_close(PCA(2, missing="drop").fit(rows), PCA(2, missing="drop").fit(table))


def test_memory_refusals_name_a_sufficient_limit(rng):
    rows = princomp.on_device(rng.standard_normal((300, 200)), "cpu", memory_limit="1MB")
    with pytest.raises(MemoryLimitError, match=r"allow .*krylov") as caught:
        PCA(2, svd_solver="covariance_eigh").fit(rows)
    needed = caught.value.place["needed"]
    assert needed > 10**6
    rows = princomp.on_device(rng.standard_normal((300, 200)), "cpu", memory_limit=needed)
    PCA(2, svd_solver="covariance_eigh").fit(rows)


def test_blocks_and_sums_share_the_memory_limit(rng, monkeypatch):
    bytes_of_row, bytes_of_sums, limit, sizes = 48 * 100, 4 * 8 * 100**2, 500_000, []
    blocks = DeviceStream.blocks

    def recorded(rows, step):
        for block in blocks(rows, step):
            sizes.append(block.rows.shape[0])
            yield block

    monkeypatch.setattr(DeviceStream, "blocks", recorded)
    rows = princomp.on_device(rng.standard_normal((300, 100)), "cpu", memory_limit=limit)
    PCA(2, svd_solver="covariance_eigh").fit(rows)
    assert bytes_of_sums + bytes_of_row * max(sizes) <= limit


def test_unavailable_devices_are_refused():
    with pytest.raises(ParameterError, match="device='nowhere' is not available"):
        princomp.on_device(np.eye(3), "nowhere")
    for device in (torch.float32, torch.ones(2)):
        with pytest.raises(ParameterError, match=r"device=.* is not available"):
            princomp.on_device(np.eye(3), device)
    with pytest.raises(ParameterError, match="not a memory size"):
        princomp.on_device(np.eye(3), "cpu", memory_limit="much")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
def test_pinned_buffers_hold_each_block_until_it_is_summed(table):
    rows = princomp.on_device(table.astype(np.float32), "cuda", memory_limit=LIMIT)
    seen = [block.rows.cpu().numpy() for block in rows.blocks(500)]
    np.testing.assert_array_equal(np.concatenate(seen), table.astype(np.float32))
    assert_close(PCA(2).fit(rows), PCA(2).fit(table.astype(np.float32)), 1e-5)
    assert device_spaces.space_named("cuda").free_memory() > 0


def test_blocks_go_through_two_buffers(monkeypatch, rng):
    """Run the code for GPUs with stubbed CUDA streams, and check which buffers it copies to."""
    from princomp.engines.device import stream as device_stream

    class StubStream:
        def __init__(self, *args):
            self.waited = 0

        def __getattr__(self, name):
            return lambda *args: None

    empty, made = torch.empty, []

    def allocated(shape, pin_memory=False, **options):
        made.append((tuple(shape), pin_memory))
        return empty(shape, **options)

    monkeypatch.setattr(torch, "empty", allocated)
    for name in ("Stream", "Event", "current_stream"):
        monkeypatch.setattr(torch.cuda, name, StubStream)
    monkeypatch.setattr(torch.cuda, "stream", lambda stream: nullcontext())
    blocks = [rng.standard_normal((rows, 3)) for rows in (50, 50, 50, 50, 7)]
    device = torch.device("cpu")
    copied = device_stream._pinned(iter(blocks), device)
    addresses = []
    for block, buffer in zip(blocks, copied, strict=True):
        np.testing.assert_array_equal(buffer.numpy(), block)
        addresses.append(buffer.data_ptr())
    assert made == [((50, 3), True), ((50, 3), False)] * 2
    assert len(set(addresses)) == 2
    assert addresses[0] == addresses[2] != addresses[1]


def origins(table, kind, tmp_path):
    """Rows whose number is not known before they are read."""
    if kind == "csv":
        path = tmp_path / f"{len(table)}.csv"
        pd.DataFrame(table, columns=list("abcdef")).to_csv(path, index=False)
        return str(path)
    return iter([table[:77], table[77:]])


@pytest.mark.parametrize("kind", ["iterator", "csv"])
@pytest.mark.parametrize("missing", ["error", "drop"])
def test_rows_of_unknown_number_are_added_and_removed(kind, missing, table, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "SMALL_FILE_BYTES", 0)
    first, rest = table[:999].copy(), table[999:]
    if missing == "drop":
        first[5, 2] = np.nan
    model = PCA(2, missing=missing)
    model.partial_fit(princomp.on_device(origins(first, kind, tmp_path), "cpu"))
    model.partial_fit(princomp.on_device(origins(rest, kind, tmp_path), "cpu"))
    expected = PCA(2, missing=missing).fit(np.concatenate([first, rest]))
    assert_close(model, expected, 1e-11)
    model.forget(princomp.on_device(origins(first, kind, tmp_path), "cpu"))
    assert_close(model, PCA(2).fit(rest), 1e-11)
    with pytest.raises(ParameterError, match="number of rows"):
        PCA(2).partial_fit(
            princomp.on_device(origins(first, "iterator", tmp_path), "cpu"),
            sample_weight=np.ones(999),
        )


def test_the_bytes_of_added_rows_are_counted_where_a_library_does_not_tell_them(table):
    xp = pytest.importorskip("array_api_strict", reason="array_api_strict is not installed")
    model = PCA(2).partial_fit(xp.asarray(table))
    assert model.certificate_.bytes_read == table.nbytes


def test_weights_of_rows_on_a_device_count_when_rows_are_added_and_removed(table, rng):
    weights = rng.integers(0, 4, N).astype(float)
    expected = PCA(2).fit(table, sample_weight=weights)
    for rows in (torch.from_numpy(table), princomp.on_device(table, "cpu")):
        assert_close(PCA(2).partial_fit(rows, sample_weight=weights), expected, 1e-11)
        whole = (
            PCA(2).fit(table, sample_weight=weights).partial_fit(rows, sample_weight=weights + 1)
        )
        assert_close(whole.forget(rows, sample_weight=weights + 1), expected, 1e-11)


@pytest.mark.parametrize("once", [True, False])
def test_copied_rows_stay_repeatable_or_single_pass(once, table):
    rows = princomp.on_device(iter([table]) if once else lambda: iter([table]), "cpu")
    for copied in (replace(rows), replace(mapped(rows, waves(P)))):
        assert copied.repeatable is not once
    # With the number of rows known, frequencies are taken, and the rows stay what they are.
    rows.rows = N
    assert rows.weighted(np.ones(N)).repeatable is not once


def devices(table):
    """The rows as a tensor, and copied block by block."""
    return torch.from_numpy(table), princomp.on_device(table, "cpu", memory_limit=LIMIT)


@pytest.mark.parametrize("solver", ["auto", "sketch"])
@pytest.mark.parametrize("weight", [0.0, 1e-300, None])
def test_large_first_rows_that_do_not_count_leave_no_trace(solver, weight, table):
    table[:2000] = 9.96921e36
    weights = None if weight is None else np.where(np.arange(N) < 2000, weight, 1.0)
    if weight is None:
        table[:2000, 0] = np.nan
    rows = princomp.on_device(table, "cpu", memory_limit=LIMIT)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "2,000 of 3,000 rows have missing values")
        model = PCA(2, svd_solver=solver, missing="drop").fit(rows, sample_weight=weights)
    expected = PCA(2).fit(table[2000:])
    np.testing.assert_allclose(model.mean_, expected.mean_, rtol=1e-12)
    np.testing.assert_allclose(model.explained_variance_, expected.explained_variance_, rtol=1e-9)
    assert model.n_dropped_ == (2000 if weight is None else 0)


def test_a_checkpoint_of_other_rows_or_weights_is_refused(table, tmp_path):
    others = [other.copy() for other in (table, table, table)]
    others[0][7, 2] += 1e-9
    others[1][[3, 4], 1] = others[1][[4, 3], 1]
    others[2][7, 2] = np.nan
    for form in range(2):
        path = tmp_path / str(form)
        model = PCA(2).fit(devices(table)[form], checkpoint=path)
        assert_close(PCA(2).fit(devices(table.copy())[form], checkpoint=path), model)
        for other in others:
            with pytest.raises(CheckpointError, match="another run"):
                PCA(2).fit(devices(other)[form], checkpoint=path)
        with pytest.raises(CheckpointError, match="another run"):
            PCA(2).fit(devices(table)[form], sample_weight=np.arange(N), checkpoint=path)
    path = tmp_path / "sparse"
    sparse = torch.from_numpy(table).to_sparse()
    PCA(2).fit(sparse, checkpoint=path)
    for rows, weights in ((sparse, np.arange(N)), (2 * sparse, None)):
        with pytest.raises(CheckpointError, match="another run"):
            PCA(2).fit(rows, sample_weight=weights, checkpoint=path)


@pytest.mark.parametrize("once", [True, False])
def test_a_checkpoint_of_batches_that_begin_otherwise_is_refused(once, table, tmp_path):
    """The other batches are not known before a pass."""

    def batches(rows):
        def make():
            return iter([rows[:700], rows[700:]])

        return princomp.on_device(make() if once else make, "cpu", memory_limit=LIMIT)

    path = tmp_path / "run"
    model = PCA(2).fit(batches(table), checkpoint=path)
    assert_close(PCA(2).fit(batches(table.copy()), checkpoint=path), model)
    other = table.copy()
    other[[3, 4], 1] = other[[4, 3], 1]
    with pytest.raises(CheckpointError, match="another run"):
        PCA(2).fit(batches(other), checkpoint=path)


@pytest.mark.parametrize("missing", ["error", "drop"])
def test_scores_that_overflow_are_refused(missing, table):
    model = PCA(2, scale="unit", missing=missing).fit(table * 1e-30)
    rows = table.astype(np.float32)
    rows[1234] *= 1e15
    if missing == "drop":
        rows[5, 1] = np.nan
    batches = princomp.on_device(iter([rows[:700], rows[700:]]), "cpu", memory_limit=LIMIT)
    for given in (rows, *devices(rows), batches):
        with pytest.raises(NotFiniteError, match=r"scores of row 1,234 overflow float32") as caught:
            model.transform(given)
        assert caught.value.place == {"row": 1234}


def test_verify_counts_rows_on_a_device(table):
    model = PCA(2).fit(table)
    for rows in devices(table):
        assert model.verify(rows).residuals.max() < 1e-14
    single = table.astype(np.float32)
    expected = model.verify(single).residuals  # products in float64
    for rows in devices(single):
        np.testing.assert_allclose(model.verify(rows).residuals, expected, rtol=1e-3)
    for rows in devices(np.vstack([table, np.tile(model.mean_, (40, 1))])):
        with pytest.raises(ShapeError, match=r"stands for 3,000 rows, and these are 3,040"):
            model.verify(rows)
    for rows in devices(table):
        with pytest.raises(ShapeError, match=r"these are 6,000"):
            model.verify(rows, sample_weight=np.full(N, 2.0))


@pytest.mark.parametrize("solver", ["auto", "full"])
def test_squares_that_underflow_are_not_taken_for_constant_columns(solver, table):
    for rows in devices(table * 1e-170):
        with pytest.raises(NotFiniteError, match="spread of column 0 is too small"):
            PCA(2, svd_solver=solver).fit(rows)
    table[:, 3] *= 1e-170
    model = PCA(2, scale="unit", svd_solver=solver)
    for part in (table[:999], table[999:]):
        model.partial_fit(devices(part)[0])
    with pytest.raises(NotFiniteError, match="spread of column 3 is too small"):
        model.explained_variance_  # noqa: B018  (solves)


@pytest.mark.parametrize("solver", ["auto", "sketch"])
def test_a_stream_far_from_its_first_block_claims_the_digits_it_lost(solver, table):
    table[40:] += 1e4
    batches = princomp.on_device(iter([table]), "cpu", memory_limit="15kB")  # blocks of 48 rows
    model = PCA(2, svd_solver=solver).fit(batches)
    summary, exact = model.summary_, PCA(2).fit(table).summary_
    errors = np.abs(summary.column_scatter - exact.column_scatter)
    assert (errors > 2 * EPS * exact.column_scatter).any()
    assert (errors <= N * (EPS * exact.column_scatter + summary.lost)).all()
    assert summary.effective_unit > 10 * EPS


def test_no_variance_is_negative_where_a_stream_lost_all_digits(rng):
    """Its constant columns are summed about rows that are far off and hardly count."""
    X, weights = np.ones((N, P)) + rng.random(P), np.ones(N)
    X[:40], weights[:40] = 10.0 ** rng.uniform(0, 7, (40, P)), 1e-300
    batches = princomp.on_device(iter([X]), "cpu", memory_limit="15kB")
    batches.rows = N  # so that weights are taken
    model = PCA(2).fit(batches.weighted(weights))
    scatter = model.summary_.to_host().scatter
    np.testing.assert_array_equal(model.summary_.column_scatter, scatter.diagonal())
    assert (scatter.diagonal() >= 0).all()
    assert (model.summary_.lost > 0).all()


def test_columns_of_a_frame_are_left_out_as_in_a_fit(table, tmp_path):
    frame = pd.DataFrame(table, columns=list("abcdef"))
    frame.insert(0, "id", range(N))
    frame["flag"] = table[:, 0] > 2
    frame["word"] = "text"
    frame.to_csv(tmp_path / "rows.csv", index=False)
    expected = PCA(2).fit(table)
    for origin in (frame, princomp.read_table(frame), tmp_path / "rows.csv"):
        with pytest.warns(UserWarning, match=r"flag.*on_device\(read_table"):
            model = PCA(2).fit(princomp.on_device(origin, "cpu"))
        assert model.feature_names_in_.tolist() == list("abcdef")
        assert_close(model, expected)
    scores = model.transform(princomp.on_device(frame, "cpu"))
    np.testing.assert_allclose(scores.numpy(), expected.transform(table), atol=1e-12)


def test_row_numbers_in_batches_of_frames_are_left_out_with_a_warning(table):
    frame = pd.DataFrame(table, columns=list("abcdef"))
    frame.insert(0, "Unnamed: 0", range(N))
    with pytest.warns(UserWarning, match="left out 'Unnamed: 0', the first column"):
        model = PCA(2).fit(princomp.on_device(lambda: iter([frame[:50], frame[50:]]), "cpu"))
    assert_close(model, PCA(2).fit(table))


@pytest.mark.filterwarnings("ignore:Dask support is moving:FutureWarning")
def test_a_lazy_frame_of_dask_is_refused_with_its_method(table):
    dd = pytest.importorskip("dask.dataframe")
    lazy = dd.from_pandas(pd.DataFrame(table, columns=list("abcdef")), npartitions=2)
    with pytest.raises(ParameterError, match=r"Call \.compute\(\)"):
        princomp.on_device(lazy, "cpu")


def test_the_certificate_counts_the_rounding_of_many_small_batches():
    # Sums of equal squares near 1.4 all round in one direction.
    batch, count = torch.tensor([[0.7**0.5], [-(0.7**0.5)]], dtype=torch.float64), 1500
    model = PCA(1)
    for _ in range(count):
        model.partial_fit(batch)
    exact = count * Fraction(PCA(1).fit(batch).summary_.scatter.item())
    error = abs(Fraction(model.summary_.scatter.item()) / exact - 1)
    assert 64 * EPS < error < model._result.spectrum.roundoff
