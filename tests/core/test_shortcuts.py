"""Shortcuts of fits change neither results nor checks."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.linalg import lapack
from threadpoolctl import threadpool_limits

from helpers import EPS
from princomp import PCA, Moments, read_table
from princomp.core.request import Request
from princomp.core.routes import small
from princomp.core.routes.moments import unresolved
from princomp.errors import ColumnError, DataError, NotFiniteError, NotNumericError
from princomp.io.readers.frames import from_frame
from princomp.kernels.native import instruction_set_in_use
from princomp.solvers import dense
from princomp.solvers.spectrum import Spectrum


def moments_with(variances, rng):
    """Moments whose scatter has these eigenvalues."""
    p = len(variances)
    basis = np.linalg.qr(rng.standard_normal((p, p)))[0]
    scatter = (basis * variances) @ basis.T
    scatter = (scatter + scatter.T) / 2
    zero = np.zeros(p)
    return Moments(2.0, 10 * p, zero, zero, scatter)


@pytest.fixture(params=["LAPACK", "kernel"])
def reduced(monkeypatch, request):
    """Only the requested axes of small scatters are computed, too, by LAPACK or by the kernel."""
    monkeypatch.setattr(dense, "MIN_REDUCED_ORDER", 32)
    monkeypatch.setattr(dense, "MIN_ORDER_FOR_THREADS", 2 if request.param == "kernel" else 10**9)


SPECTRA = {
    "decaying": lambda p: 0.9 ** np.arange(p),
    "flat": lambda p: np.linspace(2.0, 1.0, p),
    "repeated": lambda p: np.repeat([3.0, 2.0, 1.0, 0.5], p // 4),
    "low rank": lambda p: np.where(np.arange(p) < p // 10, 1.0 + np.arange(p)[::-1], 0.0),
    "tiny": lambda p: np.linspace(2e-150, 1e-150, p),
    "huge": lambda p: np.linspace(2e150, 1e150, p),
}


@pytest.mark.parametrize("spectrum", SPECTRA)
@pytest.mark.parametrize("p", [32, 100, 160])
@pytest.mark.parametrize("share", [0.0, 0.02, 0.125, 0.3, 1.0])
@pytest.mark.usefixtures("reduced")
def test_some_axes_are_as_exact_as_all(spectrum, p, share, rng):
    values = SPECTRA[spectrum](p)
    moments, k = moments_with(values, rng), round(share * p)
    for n_components in (k, lambda known: k):
        found = dense.solve_moments(moments, n_components)
        assert found.k == k
        assert len(found.variances) == p
        # Each route is backward stable: an error of a small multiple of p·u·λ₁.
        bound = 4 * p * EPS
        assert np.abs(found.variances - values).max() <= bound * values[0]
        image = moments.scatter / values[0] @ found.axes.T
        residual = image - found.axes.T * (found.variances[:k] / values[0])
        assert np.abs(residual).max(initial=0.0) <= bound
        assert found.orthogonality <= bound


@pytest.mark.usefixtures("reduced")
def test_axes_of_a_block_diagonal_scatter_are_in_order(rng):
    values = np.linspace(2.0, 1.0, 80)
    blocks = [moments_with(values[first::2], rng).scatter for first in (0, 1)]
    zero = np.zeros(80)
    scatter = np.zeros((80, 80))
    scatter[:40, :40], scatter[40:, 40:] = blocks
    found = dense.solve_moments(Moments(2.0, 800, zero, zero, scatter), 7)
    assert np.abs(found.variances - values).max() <= 4 * 80 * EPS * values[0]
    residual = scatter @ found.axes.T - found.axes.T * values[:7]
    assert np.abs(residual).max() <= 4 * 80 * EPS * values[0]


@pytest.mark.parametrize("routine", ["dsterf", "dstebz", "dstein", "dstevd"])
def test_all_axes_are_computed_if_a_lapack_routine_fails(routine, rng, monkeypatch):
    moments = moments_with(np.linspace(2.0, 1.0, 72), rng)
    k = 40 if routine == "dstevd" else 4
    expected = dense.solve_moments(moments)  # all axes of so small a scatter
    monkeypatch.setattr(dense, "MIN_REDUCED_ORDER", 32)
    original = getattr(lapack, routine)
    calls = []

    def failing(*args, **options):
        calls.append(routine)
        return (*original(*args, **options)[:-1], 1)

    monkeypatch.setattr(lapack, routine, failing)
    found = dense.solve_moments(moments, k)
    assert calls
    np.testing.assert_array_equal(found.axes, expected.axes[:k])


def test_constant_columns_keep_exact_zeros_where_few_axes_are_wanted(rng):
    X = rng.standard_normal((300, 80))
    X[:, [3, 50]] = 7.0
    model = PCA(4).fit(X)
    assert not model.components_[:, [3, 50]].any()
    assert not model.var_[[3, 50]].any()
    everything = PCA(svd_solver="full").fit(X)
    np.testing.assert_allclose(model.components_, everything.components_[:4], atol=1e-11)


@pytest.mark.parametrize(("fraction", "decay"), [(0.9, 0.5), (0.9, 0.99), (0.999, 0.999)])
@pytest.mark.usefixtures("reduced")
def test_a_fraction_keeps_as_many_components_as_a_full_fit(fraction, decay, rng):
    X = rng.standard_normal((400, 90)) * decay ** np.arange(90)
    ratios = PCA(svd_solver="full").fit(X).explained_variance_ratio_
    needed = 1 + int(np.sum(np.cumsum(ratios) <= fraction))
    model = PCA(fraction).fit(X)
    assert model.n_components_ == needed
    assert model.components_.shape == (needed, 90)
    # Other routines of LAPACK may compute these: p units over gaps of a thousandth or more.
    found = PCA(needed).fit(X).components_
    np.testing.assert_allclose(model.components_, found, rtol=0, atol=1e-10)


@pytest.mark.parametrize("k", [5, 100, 0.5])
def test_few_axes_have_equal_bits_for_any_number_of_threads(k, rng):
    X = rng.standard_normal((900, 300))
    bits = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            bits.append(PCA(k).fit(X).components_.tobytes())
    assert bits[0] == bits[1]


@pytest.mark.parametrize(
    ("left_out", "near"), [((2.5, 0.0), False), ((1.5, 1.5), False), ((1.5, 0.4), True)]
)
def test_the_mean_of_the_variances_left_out_may_be_near_the_resolution(left_out, near, rng):
    """It is near if it is at most sixteen times as large."""
    axes, limit = np.eye(4)[:2], 16 * 2.0**-40
    variances = np.array([1.0, 0.5, left_out[0] * limit, left_out[1] * limit])
    spectrum = Spectrum(variances, axes, variances.sum(), 2.0**-40)
    assert spectrum.resolution == 2.0**-40
    assert unresolved(spectrum, 2, moments_with([4.0, 3.0, 2.0, 1.0], rng)) == near


@pytest.mark.parametrize("k", [None, 0, 2])
def test_a_small_table_takes_the_shortest_route(k, rng):
    if instruction_set_in_use() == "numpy":
        pytest.skip("only compiled kernels have this route")
    X = rng.standard_normal((100, 5))
    found, model = small.fit(X, Request(k)), PCA(k).fit(X)
    assert found.k == model.n_components_
    np.testing.assert_array_equal(found.spectrum.axes, model.components_)
    assert small.fit(X, Request(0.5)) is None


# ---- checks of the axes ----------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 2, 7, 60])
@pytest.mark.parametrize("wrong", ["length", "angle", "missing"])
def test_axes_that_are_not_orthonormal_are_refused(k, wrong, rng):
    axes = np.linalg.qr(rng.standard_normal((60, 60)))[0][:k]
    values = np.arange(60.0, 0.0, -1.0)
    assert Spectrum(values, axes, values.sum(), EPS).orthogonality <= 60 * EPS
    broken = axes.copy()
    if wrong == "length":
        broken[-1] *= 1 + 1e-4
    elif wrong == "missing":
        broken[0, 0] = np.nan
    elif k == 1:
        return
    else:
        broken[-1] += 1e-4 * broken[0]
    with pytest.raises(DataError, match="orthonormal"):
        Spectrum(values, broken, values.sum(), EPS)


def test_many_float32_axes_pass_the_orthonormality_check(rng):
    axes = np.linalg.qr(rng.standard_normal((400, 400)))[0].astype(np.float32).astype(float)
    # Each entry is within the tolerance, though their sum over a row may not be.
    axes += 2e-7 * rng.standard_normal(axes.shape)
    values = np.ones(400)
    assert 1e-7 < Spectrum(values, axes, 400.0, 1e-7).orthogonality <= 1e-5


@pytest.mark.parametrize("values", [[1.0, 2.0], [2.0, np.nan, 1.0], [np.nan, 1.0]])
def test_variances_that_do_not_descend_are_refused(values):
    with pytest.raises(DataError, match="descend"):
        Spectrum(np.array(values), np.eye(1, 3), 3.0, EPS)


# ---- values that are not finite, or whose squares are not ---------------------------------


@pytest.mark.parametrize("shape", [(6, 6), (100, 10), (2000, 10)])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_non_finite_values_in_the_last_row_are_located(shape, value, rng):
    X = rng.standard_normal(shape)
    X[-1, 2] = value
    place = {"row": shape[0] - 1, "column": 2}
    for given in (X, X.astype(np.float32), X.tolist()):
        with pytest.raises(NotFiniteError) as caught:
            PCA(2).fit(given)
        assert caught.value.place == place
    model = PCA(2).fit(rng.standard_normal(shape))
    with pytest.raises(NotFiniteError) as caught:
        model.transform(X)
    assert caught.value.place == place


def test_finite_scores_whose_squares_overflow_are_accepted(rng):
    X = rng.standard_normal((50, 4))
    model = PCA(2).fit(X)
    scores = model.transform(X * 1e200)
    assert np.isfinite(scores).all()
    np.testing.assert_allclose(
        scores / 1e200, model.transform(X) + model.mean_ @ model.components_.T
    )


# ---- frames and lists that are arrays ---------------------------------------------------------


@pytest.fixture
def frame(rng):
    return pd.DataFrame(rng.standard_normal((60, 3)) + 5, columns=list("abc"))


def test_a_frame_of_floats_has_the_bits_of_its_converted_columns(frame, rng):
    mixed = frame.assign(b=frame["b"].astype(np.float32))
    for given in (frame, frame.astype(np.float32), mixed, frame[["c", "a"]], frame.iloc[::2]):
        table = from_frame(given)
        assert PCA(2).fit(given).components_.tobytes() == PCA(2).fit(table).components_.tobytes()
        assert PCA(2).fit(given).components_.dtype == table.data.dtype
        assert tuple(PCA(2).fit(given).feature_names_in_) == table.columns


def test_columns_are_compared_by_name(frame):
    model = PCA(2).fit(frame)
    for other in (frame[["b", "a", "c"]], frame.rename(columns={"c": "d"}), frame[["a", "b"]]):
        with pytest.raises(ColumnError):
            model.transform(other)
    with pytest.warns(UserWarning, match="valid feature names"):
        model.transform(frame.set_axis([0, 1, 2], axis=1))
    with pytest.warns(UserWarning, match="without feature names"):
        PCA(2).fit(frame.to_numpy()).transform(frame)
    assert not hasattr(PCA(2).fit(frame.set_axis([0, 1, 2], axis=1)), "feature_names_in_")


def test_names_of_files_and_batches_are_compared_with_those_of_the_fit(frame, tmp_path):
    model = PCA(2).fit(frame.to_numpy())
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    for named in (path, read_table(path), lambda: iter([frame]), iter([frame])):
        with pytest.warns(UserWarning, match="X has feature names, but PCA was fitted without"):
            model.transform(named)
    # These have no names; warnings are errors.
    np.save(tmp_path / "t.npy", frame.to_numpy())
    frame.to_csv(path, index=False, header=False)
    bare = read_table(path, header=False)
    for unnamed in (tmp_path / "t.npy", bare, lambda: iter([frame.to_numpy()])):
        model.transform(unnamed)


def test_a_refit_discards_earlier_column_names(frame):
    model = PCA(2).fit(frame)
    model.fit(frame.set_axis([0, 1, 2], axis=1))
    assert not hasattr(model, "feature_names_in_")
    assert list(model.fit(frame[["c", "b"]]).feature_names_in_) == ["c", "b"]


@pytest.mark.filterwarnings("ignore:the variance of:UserWarning")
def test_frames_of_other_types_are_checked_by_column(frame):
    long = frame.assign(b=np.full(60, 2**53 + 1))
    with pytest.raises(NotNumericError, match="'b'"):
        PCA(2).fit(long)
    with pytest.raises(ColumnError, match="twice or more: a"):
        PCA(2).fit(frame.set_axis(["a", "a", "c"], axis=1))
    with pytest.raises(ColumnError, match="twice or more: a"):
        PCA(2).fit(frame).transform(frame.set_axis(["a", "a", "c"], axis=1))
    with pytest.raises(TypeError, match="string"):
        PCA(2).fit(frame.set_axis(["a", 1, "c"], axis=1))
    whole = frame.assign(b=np.arange(60), d=frame["c"] > 5)
    expected = PCA(2).fit(whole[["a", "b", "c"]].to_numpy(dtype=float)).components_
    with pytest.warns(UserWarning, match="left out 1 true/false column: d"):
        model = PCA(2).fit(whole)
    np.testing.assert_array_equal(model.components_, expected)
    np.testing.assert_array_equal(model.transform(whole), model.transform(whole.drop(columns="d")))
    incomplete = frame.copy()
    incomplete.loc[59, "b"] = np.nan
    with pytest.raises(NotFiniteError) as caught:
        PCA(2).fit(incomplete)
    assert caught.value.place == {"row": 59, "column": "b"}


def test_lists_are_treated_as_arrays(frame):
    X = frame.to_numpy()
    expected = PCA(2).fit(X).components_
    for given in (X.tolist(), list(X), [tuple(row) for row in X]):
        np.testing.assert_array_equal(PCA(2).fit(given).components_, expected)
    counts = [[1, 2], [3, 5], [8, 13]]
    np.testing.assert_array_equal(
        PCA(1).fit(counts).components_, PCA(1).fit(np.array(counts, float)).components_
    )
    with pytest.raises(NotNumericError, match="beyond"):
        PCA(1).fit([[2**53 + 1, 0], [1, 2], [3, 4]])
    with pytest.raises(NotNumericError, match="'x'"):
        PCA(1).fit([[1.0, "x"], [2.0, 3.0]])
    for wrong in ([[1.0, 2.0], [3.0]], [1.0, 2.0], [], [[]]):
        with pytest.raises(ValueError):  # noqa: PT011 (scikit-learn's message)
            PCA(1).fit(wrong)


# ---- rows that are read once -----------------------------------------------------------------


@pytest.mark.parametrize(
    "convert",
    [
        lambda d: d.to_numpy(),
        lambda d: d.to_numpy(np.float32),
        lambda d: d.to_numpy().tolist(),
        lambda d: d,
        lambda d: sp.csr_array(d.to_numpy()),
        lambda d: lambda: iter([d.to_numpy()[:20], d.to_numpy()[20:]]),
    ],
    ids=["array", "float32", "list", "frame", "sparse", "callable"],
)
@pytest.mark.parametrize("options", [{}, {"whiten": True}, {"scale": "unit"}, {"center": False}])
def test_fit_transform_has_the_bits_of_fit_and_transform(convert, options, frame):
    X = convert(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        combined = PCA(2, **options).fit_transform(X)
    separate = PCA(2, **options).fit(X).transform(X)
    assert combined.dtype == separate.dtype
    assert combined.tobytes() == separate.tobytes()


def test_fitted_arrays_are_read_only(frame):
    model = PCA().fit(frame)
    before = model.transform(frame)
    for array in (model.components_, model.mean_, model.explained_variance_):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
    np.testing.assert_array_equal(model.transform(frame), before)
