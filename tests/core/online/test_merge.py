"""merge: fits of separate rows add up, by every route."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from online_cases import EXACT, OPTIONS, assert_close, assert_same_bits, bits, online
from sklearn.exceptions import NotFittedError

import princomp
from helpers import EPS, EPS32, truth
from princomp import PCA
from princomp.errors import (
    ColumnError,
    MemoryLimitError,
    NotAvailableError,
    ParameterError,
    ShapeError,
)
from princomp.summaries import Moments, Triangle

# ---- merge --------------------------------------------------------------------------------------


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("solver", EXACT)
@pytest.mark.usefixtures("small_blocks")
def test_fits_merge_in_any_order(solver, option, table, tmp_path):
    """Fits, streams in mid-block and loaded models are all sums of their rows."""
    make = {"svd_solver": solver, **OPTIONS[option]}
    PCA(**make).fit(table[110:150]).save(tmp_path / "third.pca")

    def parts():
        return [
            PCA(**make).fit(table[:37]),
            online(PCA(**make), table[37:110], 5),
            princomp.load(tmp_path / "third.pca"),
            PCA(**make).partial_fit(table[150:151]),
            online(PCA(**make), table[151:], 11),
        ]

    whole = PCA(**make).fit(table)
    for order in ([0, 1, 2, 3, 4], [4, 2, 0, 3, 1], [3, 4, 1, 0, 2]):
        first, *others = (parts()[i] for i in order)
        befores = [pickle.loads(pickle.dumps(other)) for other in others]
        for other in others:
            assert first.merge(other) is first
        for other, before in zip(others, befores, strict=True):
            rest = table[:2] + 1.0
            assert_same_bits(other.partial_fit(rest), before.partial_fit(rest))
        assert_close(first, whole)
        assert first.n_samples_ == 200
    a, b, c, d, e = parts()
    assert_close(a.merge(b.merge(c)).merge(d.merge(e)), whole)


# ---- fits by different routes merge -------------------------------------------------------------


def _loaded(model, path):
    model.save(path / "kept.pca", overwrite=True)
    return princomp.load(path / "kept.pca")


# Every way to a fit of some rows with the same parameters; None where they have no such way.
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

# Rows and columns of the two parts: what 'auto' keeps of each is said beside it.
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


def _of_routes(shape, rows):
    """Two parts of a table with their weights, and the same as dense rows without holes."""
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
    known, used = X, w
    if rows == "dropped":
        X = X.copy()
        X[[3, n + 7], [1, 2]] = np.nan
        whole = ~np.isnan(X).any(axis=1)
        known, used = X[whole], w[whole]
    X = sp.csr_array(X) if rows == "sparse" else X
    return (X[:n], w[:n]), (X[n:], w[n:]), (known, used)


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("shape", SHAPES)
def test_fits_with_equal_parameters_merge_whatever_route_they_took(
    shape, rows, tmp_path, monkeypatch
):
    """Against the SVD of all rows, to the precision of the coarser of both routes.

    An entry of a scatter is off by a few (n + p) units of √(Sᵢᵢ Sⱼⱼ), so a variance by that of
    the trace: float32 rows are multiplied in float32 by a fit, and a product of rows or of
    columns adds min(n, p) roundings. Forgetting five rows of 25 loses less than a bit, twice.
    """
    (one, w1), (other, w2), (X, w) = _of_routes(shape, rows)
    options = ROWS[rows]
    if "Columns" in shape:  # as tables of 2¹⁸ numbers are
        monkeypatch.setattr(princomp.core.routes.triangle, "SMALL", 900)
        assert PCA(**options).fit(other, sample_weight=w2).plan_.summary == "columns"

    def make():
        return PCA(**options)

    center = options.get("center", True)
    scale = {
        "unit": lambda: np.sqrt(truth_of_columns(X, w)),
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
        mine = ROUTES[first](make, one, w1, tmp_path)
        theirs = ROUTES[second](make, other, w2, tmp_path)
        for model, added in ((mine, theirs), (theirs, copy.copy(mine))):
            merged = copy.copy(model).merge(added)
            k = min(merged.n_components_, len(variances))
            np.testing.assert_allclose(
                merged.explained_variance_[:k], variances[:k], rtol=0, atol=error,
                err_msg=f"{first}, {second}",
            )  # fmt: skip
            assert (merged.explained_variance_[k:] <= error).all()
            assert merged.n_samples_ == len(X)
            np.testing.assert_allclose(merged.total_variance_, variances.sum(), rtol=0, atol=error)
            # The certificate allows for what was lost.
            spectrum = merged._result.spectrum
            claim = spectrum.roundoff * (1 if spectrum.squared else 2) * variances.sum()
            off = np.abs(merged.explained_variance_[:k] - variances[:k]).max()
            assert off <= 4 * claim


def truth_of_columns(X, w):
    moved = X - np.average(X.astype(np.longdouble), axis=0, weights=w)
    return np.asarray(w @ moved**2 / (w.sum() - 1), dtype=np.float64)


def test_the_plan_says_what_a_merge_of_two_kinds_keeps():
    Z = np.random.default_rng(0).standard_normal((200, 40))
    few, many = PCA().fit(Z[:30]), PCA().fit(Z[30:])
    assert [type(m.summary_) for m in (few, many)] == [Triangle, Moments]
    message = "merged Moments and Triangle: the result is a scatter"
    for one, other in ((few, many), (many, few)):
        merged = copy.copy(one).merge(other)
        assert type(merged.summary_) is Moments
        assert merged.plan_.reasons[1].startswith(message)
    # Two of one kind need no word; rows that follow do not take it back.
    assert copy.copy(few).merge(few).plan_.reasons[1:] == ()
    assert merged.partial_fit(Z[:3]).plan_.reasons[1].startswith(message)


def test_a_triangle_forgets_by_way_of_its_scatter():
    Z = np.random.default_rng(0).standard_normal((30, 40))
    model = PCA().fit(Z)
    assert type(model.summary_) is Triangle
    model.forget(Z[:5])
    # 25 rows left of 30: the roundings of both are six fifths of those of the rest.
    error = 16 * 70 * EPS * truth(Z)[0].sum()
    np.testing.assert_allclose(model.explained_variance_[:25], truth(Z[5:])[0], rtol=0, atol=error)
    assert type(model.summary_) is Moments
    assert "squared to a scatter" in model.plan_.reasons[1]
    # A scatter that does not fit is refused, and nothing is changed.
    wide = PCA(memory_limit="20MB").fit(np.random.default_rng(0).standard_normal((20, 2000)))
    with pytest.raises(MemoryLimitError, match="a scatter of 2,000 columns"):
        wide.forget(np.zeros((1, 2000)))
    assert type(wide.summary_) is Triangle


@pytest.mark.parametrize(
    ("options", "p", "hint"),
    [
        ({"memory_limit": "50MB"}, 300, "svd_solver='covariance_eigh'"),
        ({"memory_limit": "5MB"}, 400, "n_components=None"),
    ],
)
def test_what_is_advised_where_components_are_missing_works(options, p, hint, monkeypatch):
    """A fit of a few components without a scatter is no sum of its rows: the hint keeps one."""
    monkeypatch.setattr(princomp.core.routes.triangle, "SMALL", 900)
    X = np.random.default_rng(3).standard_normal((200, p)) * np.r_[9, 7, 5, np.ones(p - 3)]
    make = {"n_components": 2, **options}
    with pytest.raises(NotAvailableError, match="kept no scatter and only 2 of 89 comp") as caught:
        PCA(**make).fit(X[:90]).merge(PCA(**make).fit(X[90:]))
    assert hint in caught.value.hint
    make |= {"svd_solver": "covariance_eigh"} if "eigh" in hint else {"n_components": None}
    merged = PCA(**make).fit(X[:90]).merge(PCA(**make).fit(X[90:])).truncated(2)
    variances = truth(X)[0]
    error = 8 * 400 * EPS * variances.sum()
    np.testing.assert_allclose(merged.explained_variance_, variances[:2], rtol=0, atol=error)


def test_ranges_that_no_one_asks_for_any_more_do_no_harm(table):
    ranged = PCA(scale="range").fit(table)
    assert ranged.rescaled(None).merge(PCA().fit(table)).n_samples_ == 400
    model = ranged.rescaled(None).forget(table[:70])
    assert_close(model, PCA().fit(table[70:]))


def test_a_merged_model_continues_and_the_other_too(table):
    a, b = PCA().partial_fit(table[:60]), PCA().partial_fit(table[60:150])
    a.merge(b).partial_fit(table[150:])
    b.partial_fit(table[150:]).forget(table[150:])
    assert_close(a, PCA().fit(table))
    assert_close(b, PCA().fit(table[60:150]))
    a.merge(a)
    np.testing.assert_allclose(a.mean_, table.mean(axis=0), rtol=1e-13)
    assert a.n_samples_ == 400


def test_merging_takes_the_wider_precision(table):
    single = table.astype(np.float32)
    one = PCA().partial_fit(single[:50])
    assert one.merge(PCA().partial_fit(single[50:])).components_.dtype == np.float32
    assert one.merge(PCA().partial_fit(table)).components_.dtype == np.float64


def test_fits_that_do_not_go_together_are_not_merged(table):
    model = PCA().partial_fit(table)
    before = bits(model)
    for other, error, match in (
        (PCA().fit(table[:, :4]), ShapeError, "4 features"),
        (table, ParameterError, "merge takes a fitted PCA, got ndarray"),
        (PCA(2, svd_solver="arpack").fit(table), NotAvailableError, "no scatter"),
    ):
        with pytest.raises(error, match=match):
            model.merge(other)
    assert bits(model) == before
    ranged = PCA(scale="range").fit(table)
    with pytest.raises(NotAvailableError, match="range"):
        ranged.merge(model)
    assert model.merge(ranged).n_samples_ == 400
    named = [PCA().fit(pd.DataFrame(table, columns=list(order))) for order in ("abcde", "abced")]
    with pytest.raises(ColumnError, match="their order"):
        named[0].merge(named[1])
    with pytest.raises(ColumnError, match="missing: e; new: z"):
        named[0].merge(PCA().fit(pd.DataFrame(table, columns=list("abcdz"))))
    two, three = (PCA(k, svd_solver="sketch").partial_fit(table) for k in (0, 3))
    if two.summary_.width != three.summary_.width:
        with pytest.raises(ShapeError, match="directions"):
            two.merge(three)


@pytest.mark.parametrize("turn", [1, -1])
def test_an_unfitted_model_cannot_be_merged(turn, table):
    one, other = [PCA().fit(table), PCA()][::turn]
    with pytest.raises(NotFittedError):
        one.merge(other)
