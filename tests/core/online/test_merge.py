"""merge: fits of separate rows add up, by every route."""

from __future__ import annotations

import copy
import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from online_cases import EXACT, OPTIONS, assert_close, assert_same_bits, bits, fit_in_batches
from sklearn import decomposition
from sklearn.exceptions import NotFittedError

import princomp
from helpers import EPS, EPS32, truth
from princomp import PCA
from princomp.core import LazyFit, fitted_model
from princomp.core.request import Request
from princomp.errors import (
    ColumnError,
    MemoryLimitError,
    NotAvailableError,
    ParameterError,
    ShapeError,
)
from princomp.summaries import Moments, Triangle


def test_rows_that_ranks_share_come_before_their_own(table):
    shared = fitted_model(PCA(2).fit(table[:60])).result
    own = PCA(2).partial_fit(table[60:])
    fit = LazyFit(own._fitted.stream, Request(2), None, shared)
    assert fit.n_samples == fit.fitted.n_samples == len(table)
    whole = PCA(2).fit(table)
    np.testing.assert_allclose(fit.fitted.variances, whole.explained_variance_, rtol=1e-12)
    assert own.n_samples_ == len(table) - 60  # the stream has not changed


# ---- merge --------------------------------------------------------------------------------------


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("solver", EXACT)
@pytest.mark.usefixtures("small_blocks")
def test_fits_merge_in_any_order(solver, option, table, tmp_path):
    """Fits, streams in mid-block and loaded models are all sums of their rows."""
    parameters = {"svd_solver": solver, **OPTIONS[option]}
    PCA(**parameters).fit(table[110:150]).save(tmp_path / "third.pca")

    def parts():
        return [
            PCA(**parameters).fit(table[:37]),
            fit_in_batches(PCA(**parameters), table[37:110], 5),
            princomp.load(tmp_path / "third.pca"),
            PCA(**parameters).partial_fit(table[150:151]),
            fit_in_batches(PCA(**parameters), table[151:], 11),
        ]

    whole = PCA(**parameters).fit(table)
    for order in ([0, 1, 2, 3, 4], [4, 2, 0, 3, 1], [3, 4, 1, 0, 2]):
        first, *others = (parts()[i] for i in order)
        copies = [pickle.loads(pickle.dumps(other)) for other in others]
        for other in others:
            assert first.merge(other) is first
        for other, unmerged in zip(others, copies, strict=True):
            more = table[:2] + 1.0
            assert_same_bits(other.partial_fit(more), unmerged.partial_fit(more))
        assert_close(first, whole)
        assert first.n_samples_ == 200
    a, b, c, d, e = parts()
    assert_close(a.merge(b.merge(c)).merge(d.merge(e)), whole)


# ---- fits by different routes merge -------------------------------------------------------------


def _loaded(model, path):
    model.save(path / "kept.pca", overwrite=True)
    return princomp.load(path / "kept.pca")


# Every way to fit rows with given parameters.
ROUTES = {
    "fit": lambda make, X, w, path: make().fit(X, sample_weight=w),
    "partial_fit": lambda make, X, w, path: make().partial_fit(X, sample_weight=w),
    "both": lambda make, X, w, path: (
        make().fit(X[:9], sample_weight=w[:9]).partial_fit(X[9:], sample_weight=w[9:])
    ),
    "forget": lambda make, X, w, path: (
        make()
        .fit(sp.vstack([X[:5], X]) if sp.issparse(X) else np.vstack([X[:5], X]),
             sample_weight=np.r_[w[:5], w])
        .forget(X[:5], sample_weight=w[:5])
    ),
    "file": lambda make, X, w, path: _loaded(make().fit(X, sample_weight=w), path),
}  # fmt: skip

# Rows of the two parts, and columns; the names are the summaries that 'auto' keeps of each.
SHAPES = {
    "Triangle and Moments": (30, 170, 40),
    "Triangle and Triangle": (30, 35, 80),
    "Columns and Columns": (30, 35, 90),
    "Triangle and Columns": (9, 35, 90),
}

ROWS = {
    "plain": {},
    "weighted": {},
    "float32": {},
    "sparse": {},
    "unit": {"scale": "unit"},
    "range": {"scale": "range"},
    "uncentred": {"center": False},
    "dropped": {"missing": "drop"},
}


def _two_parts(shape, rows):
    """Two parts of a table with their weights, and all its complete rows as a dense array."""
    n, m, p = SHAPES[shape]
    rng = np.random.default_rng(17)
    X = rng.standard_normal((n + m, p)) * np.linspace(3, 1, p) + 2
    w = np.ones(n + m)
    if rows == "weighted":
        w = rng.integers(0, 4, n + m) * 1.0
    if rows == "float32":
        X = X.astype(np.float32)
    if rows == "sparse":
        X[rng.random(X.shape) < 0.7] = 0.0
    complete, used = X, w
    if rows == "dropped":
        X = X.copy()
        X[[3, n + 7], [1, 2]] = np.nan
        whole = ~np.isnan(X).any(axis=1)
        complete, used = X[whole], w[whole]
    X = sp.csr_array(X) if rows == "sparse" else X
    return (X[:n], w[:n]), (X[n:], w[n:]), (complete, used)


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("shape", SHAPES)
def test_fits_by_any_two_routes_merge(shape, rows, tmp_path, monkeypatch):
    """Compare with the SVD of all rows, to the precision of the coarser of both routes.

    An entry of a scatter is off by a few (n + p) units of √(Sᵢᵢ Sⱼⱼ), so a variance by that of
    the trace: float32 rows are multiplied in float32 by a fit, and a product of rows or of
    columns adds min(n, p) roundings. Forgetting five rows of 25 loses less than a bit, twice.
    """
    (one, w1), (other, w2), (X, w) = _two_parts(shape, rows)
    options = ROWS[rows]
    if "Columns" in shape:  # like tables of 2¹⁸ numbers
        monkeypatch.setattr(princomp.core.routes.triangle, "SMALL_TABLE_SIZE", 900)
        assert PCA(**options).fit(other, sample_weight=w2).plan_.summary == "columns"

    def make():
        return PCA(**options)

    center = options.get("center", True)
    scale = {
        "unit": lambda: np.sqrt(column_variances(X, w)),
        "range": lambda: np.ptp(X[w > 0], axis=0),
    }.get(rows, lambda: None)()
    variances, _ = truth(X, weights=w, divisor=scale, center=center)
    unit = EPS32 if rows == "float32" else EPS
    error = 8 * min(sum(X.shape), 2 * len(X)) * unit * variances.sum()
    # A weighted row is a fraction of one, and so are the products that centre it.
    cases = [(r, s) for r in ROUTES for s in ROUTES if r in ("fit", "file") or s == "fit"]
    for first, second in cases:
        if "forget" in (first, second) and rows == "range":
            continue  # refused
        left = ROUTES[first](make, one, w1, tmp_path)
        right = ROUTES[second](make, other, w2, tmp_path)
        for model, added in ((left, right), (right, copy.copy(left))):
            merged = copy.copy(model).merge(added)
            k = min(merged.n_components_, len(variances))
            np.testing.assert_allclose(
                merged.explained_variance_[:k], variances[:k], rtol=0, atol=error,
                err_msg=f"{first}, {second}",
            )  # fmt: skip
            assert (merged.explained_variance_[k:] <= error).all()
            assert merged.n_samples_ == len(X)
            np.testing.assert_allclose(merged.total_variance_, variances.sum(), rtol=0, atol=error)
            # The certificate includes the error.
            spectrum = merged._result.spectrum
            claim = spectrum.roundoff * (1 if spectrum.squared else 2) * variances.sum()
            off = np.abs(merged.explained_variance_[:k] - variances[:k]).max()
            assert off <= 4 * claim


def column_variances(X, w):
    moved = X - np.average(X.astype(np.longdouble), axis=0, weights=w)
    return np.asarray(w @ moved**2 / (w.sum() - 1), dtype=np.float64)


def test_the_plan_explains_a_merge_of_two_kinds():
    Z = np.random.default_rng(0).standard_normal((200, 40))
    few, many = PCA().fit(Z[:30]), PCA().fit(Z[30:])
    assert [type(m.summary_) for m in (few, many)] == [Triangle, Moments]
    message = "merged Moments and Triangle: the result is a scatter"
    for one, other in ((few, many), (many, few)):
        merged = copy.copy(one).merge(other)
        assert type(merged.summary_) is Moments
        assert merged.plan_.reasons[1].startswith(message)
    # A merge of one kind needs no reason; later rows do not remove one.
    assert copy.copy(few).merge(PCA().fit(Z[1:31])).plan_.reasons[1:] == ()
    assert merged.partial_fit(Z[:3]).plan_.reasons[1].startswith(message)
    assert few.partial_fit(Z[:3]).plan_.reasons[1:] == ()
    continued = PCA(svd_solver="row_gram").fit(Z[:30]).partial_fit(Z[:3])
    assert continued.plan_.reasons[1].startswith("a fit kept no scatter: its rows are represented")


def test_forgetting_turns_a_triangle_into_a_scatter():
    Z = np.random.default_rng(0).standard_normal((30, 40))
    model = PCA().fit(Z)
    assert type(model.summary_) is Triangle
    model.forget(Z[:5])
    # 25 rows left of 30: the roundings of both are six fifths of those of the rest.
    error = 16 * 70 * EPS * truth(Z)[0].sum()
    np.testing.assert_allclose(model.explained_variance_[:25], truth(Z[5:])[0], rtol=0, atol=error)
    assert type(model.summary_) is Moments
    assert "squared to a scatter" in model.plan_.reasons[1]
    # A scatter that does not fit in memory is refused, and nothing is changed.
    wide = PCA(memory_limit="20MB").fit(np.random.default_rng(0).standard_normal((20, 2000)))
    with pytest.raises(MemoryLimitError, match="a scatter of 2,000 columns"):
        wide.forget(np.zeros((1, 2000)))
    assert type(wide.summary_) is Triangle


@pytest.mark.parametrize(
    ("options", "p", "hint"),
    [
        ({"svd_solver": "arpack"}, 70, "'covariance_eigh', which keeps a scatter of 39 kB"),
        ({"memory_limit": "50MB"}, 300, "n_components=None: all 89 components, of 214 kB"),
        ({"memory_limit": "5MB"}, 400, "n_components=None"),
    ],
)
def test_the_hint_for_missing_components_works(options, p, hint, monkeypatch):
    """Fits of a few components without a scatter cannot be merged; the hint keeps a scatter."""
    monkeypatch.setattr(princomp.core.routes.triangle, "SMALL_TABLE_SIZE", 900)
    X = np.random.default_rng(3).standard_normal((200, p)) * np.r_[9, 7, 5, np.ones(p - 3)]
    parameters = {"n_components": 2, **options}
    with pytest.raises(NotAvailableError, match=r"kept no scatter and only 2 of [87]") as caught:
        PCA(**parameters).fit(X[:90]).merge(PCA(**parameters).fit(X[90:]))
    assert hint in caught.value.hint
    parameters |= {"svd_solver": "covariance_eigh"} if "eigh" in hint else {"n_components": None}
    merged = PCA(**parameters).fit(X[:90]).merge(PCA(**parameters).fit(X[90:])).truncated(2)
    variances = truth(X)[0]
    error = 8 * 400 * EPS * variances.sum()
    np.testing.assert_allclose(merged.explained_variance_, variances[:2], rtol=0, atol=error)


def test_the_hint_for_missing_components_keeps_the_memory_limit(rng):
    """Neither 599 components nor a scatter of 3,000 columns, with their copies, fit in 40 MB."""
    X = rng.standard_normal((600, 3000), dtype=np.float32) * np.r_[9, 7, np.ones(2998)]
    model = PCA(2, svd_solver="arpack", tol=1e-2, memory_limit="40MB").fit(X.astype("f4"))
    with pytest.raises(NotAvailableError, match="only 2 of 599 components") as caught:
        model.merge(model)
    assert "svd_solver='sketch' and a whole number of components" in caught.value.hint


def test_the_hint_for_a_truncated_model_works(monkeypatch):
    """All components of a wide fit stand for its rows, until it is truncated."""
    monkeypatch.setattr(princomp.core.routes.triangle, "SMALL_TABLE_SIZE", 900)
    X = np.random.default_rng(4).standard_normal((60, 400)) * np.r_[9, 7, 5, np.ones(397)]
    one, other = PCA().fit(X[:25]), PCA().fit(X[25:])
    for models, name in (
        ((one.truncated(2), other), "this fit"),
        ((one, other.truncated(2)), "the other fit"),
    ):
        with pytest.raises(NotAvailableError, match=f"^{name} kept no scatter") as caught:
            models[0].merge(models[1])
        assert caught.value.hint.startswith("use a fit with n_components=None: all")
    merged, variances = one.merge(other).truncated(2), truth(X)[0]
    error = 8 * 400 * EPS * variances.sum()
    np.testing.assert_allclose(merged.explained_variance_, variances[:2], rtol=0, atol=error)


def test_unused_ranges_prevent_neither_merging_nor_forgetting(table):
    ranged = PCA(scale="range").fit(table)
    assert ranged.rescaled(None).merge(PCA().fit(table[:-1])).n_samples_ == 399
    model = ranged.rescaled(None).forget(table[:70])
    assert_close(model, PCA().fit(table[70:]))


def test_both_models_continue_after_a_merge(table):
    a, b = PCA().partial_fit(table[:60]), PCA().partial_fit(table[60:150])
    a.merge(b).partial_fit(table[150:])
    b.partial_fit(table[150:]).forget(table[150:])
    assert_close(a, PCA().fit(table))
    assert_close(b, PCA().fit(table[60:150]))
    assert a.certificate_.bytes_read == table.nbytes
    with pytest.warns(UserWarning, match="these count twice"):
        a.merge(a)
    np.testing.assert_allclose(a.mean_, table.mean(axis=0), rtol=1e-13)
    assert a.n_samples_ == 400
    assert_close(a.forget(table), PCA().fit(table))


def test_merging_takes_the_wider_precision(table):
    single = table.astype(np.float32)
    one = PCA().partial_fit(single[:50])
    assert one.merge(PCA().partial_fit(single[50:])).components_.dtype == np.float32
    assert one.merge(PCA().partial_fit(table)).components_.dtype == np.float64


def test_rows_left_out_of_both_fits_are_counted(table):
    table[[3, 150, 160], 1] = np.nan
    one, other = (PCA(missing="drop").fit(part) for part in (table[:80], table[80:]))
    merged = one.merge(other)
    assert (merged.n_samples_, merged.n_dropped_) == (197, 3)
    assert merged.certificate_.bytes_read == table.nbytes


def test_incompatible_fits_are_not_merged(table):
    model = PCA().partial_fit(table)
    before = bits(model)
    for other, error, match in (
        (PCA().fit(table[:, :4]), ShapeError, "the two fits have 5 and 4 columns\n"),
        (table, ParameterError, "merge takes a fitted PCA, got ndarray"),
        (decomposition.PCA(), ParameterError, "merge takes a fitted PCA, got scikit-learn's PCA"),
        (PCA(2, svd_solver="arpack").fit(table), NotAvailableError, "no scatter"),
    ):
        with pytest.raises(error, match=match):
            model.merge(other)
    assert bits(model) == before
    ranged = PCA(scale="range").fit(table)
    with pytest.raises(NotAvailableError, match="range"):
        ranged.merge(model)
    assert model.merge(PCA(scale="range").fit(table[1:])).n_samples_ == 399
    named = PCA().fit(pd.DataFrame(table, columns=list("abcde")))
    with pytest.raises(ColumnError, match="missing: e; new: z"):
        named.merge(PCA().fit(pd.DataFrame(table, columns=list("abcdz"))))
    fewer = PCA().fit(pd.DataFrame(table[:, :4], columns=list("abcd")))
    with pytest.raises(ShapeError, match="have 5 and 4 columns; missing: e\n"):
        named.merge(fewer)
    with pytest.raises(ShapeError, match="have 4 and 5 columns; new: e\n"):
        fewer.merge(named)
    wide_table = np.tile(table, 8)
    narrow, wide = (PCA(k, svd_solver="sketch").partial_fit(wide_table) for k in (1, 3))
    with pytest.raises(ShapeError, match="directions"):
        narrow.merge(wide)
    names = [f"x{i}" for i in range(40)]
    sketches = [PCA(1, svd_solver="sketch") for _ in range(2)]
    for sketch, order in zip(sketches, (names, names[::-1]), strict=True):
        sketch.partial_fit(pd.DataFrame(wide_table, columns=order))
    with pytest.raises(ColumnError, match="their order"):
        sketches[0].merge(sketches[1])


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("solver", EXACT)
def test_columns_are_matched_by_name(solver, option, table):
    frame, order = pd.DataFrame(table, columns=list("abcde")), list("dbeca")
    pca = PCA(svd_solver=solver, **OPTIONS[option])
    whole = copy.copy(pca).fit(frame)
    for other in (
        copy.copy(pca).fit(frame[order][70:]),
        copy.copy(pca).partial_fit(frame[order][70:72]).partial_fit(frame[order][72:]),
    ):
        before = bits(other)
        merged = copy.copy(pca).fit(frame[:70]).merge(other)
        assert list(merged.feature_names_in_) == list("abcde")
        assert_close(merged, whole)
        assert bits(other) == before


def test_fits_that_may_be_of_the_same_rows_cause_a_warning(table):
    message = "the same number of rows, means and variances"
    for one, other in (
        (PCA().fit(table), PCA(2).fit(table)),
        (PCA().partial_fit(table), PCA(scale="unit").partial_fit(table)),
        (PCA(scale="range").partial_fit(table), PCA(scale="range").partial_fit(table)),
    ):
        with pytest.warns(UserWarning, match=message):
            assert one.merge(other).n_samples_ == 400
    # Other rows, and rows that are all equal, cause none.
    changed = table.copy()
    changed[0, 0] += 1e-9
    assert PCA().fit(table).merge(PCA().fit(changed)).n_samples_ == 400
    assert PCA().partial_fit(table[:1]).merge(PCA().partial_fit(table[:1])).n_samples_ == 2


@pytest.mark.parametrize("saved", [False, True])
def test_a_model_without_names_adopts_those_of_others(saved, table, tmp_path):
    """Otherwise, columns of named fits in two orders would be added to each other."""
    frame = pd.DataFrame(table, columns=list("abcde"))
    message = "only one of the two fits has names of columns"
    with pytest.warns(UserWarning, match=message):
        merged = PCA().fit(table[:20]).merge(PCA().fit(frame[20:40]))
    assert list(merged.feature_names_in_) == list("abcde")
    if saved:
        merged.save(tmp_path / "merged.pca")
        merged = princomp.load(tmp_path / "merged.pca")
    assert_close(merged.merge(PCA().fit(frame[40:][list("edcba")])), PCA().fit(table))
    with pytest.warns(UserWarning, match=message):
        merged.merge(PCA().fit(table[:9]))
    assert list(merged.feature_names_in_) == list("abcde")
    # A refused merge leaves the model without names.
    unnamed = PCA(scale="range").fit(table)
    with (
        pytest.warns(UserWarning, match=message),
        pytest.raises(NotAvailableError, match="range"),
    ):
        unnamed.merge(PCA().fit(frame))
    assert not hasattr(unnamed, "feature_names_in_")


@pytest.mark.parametrize("order", [1, -1])
def test_an_unfitted_model_cannot_be_merged(order, table):
    one, other = [PCA().fit(table), PCA()][::order]
    with pytest.raises(NotFittedError, match="Call 'fit'"):
        one.merge(other)


@pytest.mark.filterwarnings("ignore:both fits have the same number")
@pytest.mark.parametrize("seed", [8, 18])
def test_the_certificate_counts_the_rounding_of_many_merges(seed):
    # Equal rows are merged again and again, so errors in one direction add up.
    rng, count = np.random.default_rng(seed), 1500
    batch = rng.standard_normal((3, 1)) * rng.uniform(0.5, 2)
    model, part = PCA(1).fit(batch), PCA(1).fit(batch)
    for _ in range(count - 1):
        model.merge(part)
    values = [Fraction(float(x)) for x in batch[:, 0]]
    exact = count * sum((x - sum(values) / 3) ** 2 for x in values)
    error = abs(Fraction(float(model.summary_.scatter.item())) / exact - 1)
    assert 100 * EPS < error < model._result.spectrum.roundoff


@pytest.mark.filterwarnings("ignore:both fits have the same")
def test_the_merges_of_both_models_count(table):
    part, models = PCA(1).fit(table), []
    for _ in range(2):
        models.append(PCA(1).fit(table))
        for _ in range(150):
            models[-1].merge(part)
        assert models[-1].summary_.lost is None
    one, other = models
    merged = one.merge(other).summary_
    # 3/8 of a unit of rounding, of which the bound contains 64 times as much.
    expected = 3 / 8 / 64 * EPS * merged.scatter.diagonal()
    np.testing.assert_allclose(merged.lost, expected, rtol=1e-12)


@pytest.mark.filterwarnings("ignore:both fits have the same")
def test_the_rounding_of_many_merges_does_not_depend_on_units():
    batch, errors = np.random.default_rng(8).standard_normal((3, 2)), []
    for power in (0, -40):
        rows = np.ldexp(batch, power)
        model, part = PCA(1).fit(rows), PCA(1).fit(rows)
        for _ in range(300):
            model.merge(part)
        errors.append(model._result.spectrum.roundoff)
    assert errors[0] == errors[1]


def test_fits_of_equal_rows_merge():
    one, two = (PCA(3, svd_solver="lanczos").fit(np.full((10, 3), 1.5)) for _ in range(2))
    merged = one.merge(two)
    assert isinstance(merged.summary_, Triangle)
    assert not merged.explained_variance_.any()
