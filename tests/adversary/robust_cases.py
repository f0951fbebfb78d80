"""RobustPCA: equivariance under scaling, and numbers that follow from the kept rows.

No seed-independent answer is promised, since directions and starts are random: the claims are on
what follows from the rows that a fit kept, and on equivariance where the same rows are drawn.
"""

from __future__ import annotations

from contextlib import ExitStack
from unittest.mock import patch

import numpy as np
from claims import Finding, compare
from oracle import EPS, LONG, divisor_of
from scipy import stats

from princomp import RobustPCA
from princomp.core import fitted_model
from princomp.errors import PrincompError
from princomp.estimators.robust import mcd, robpca

_ROWS, _COLUMNS = 300, 30
# Powers of two in the middle of the range, whose squares lose nothing.
_POWERS = (-40, -3, 3, 40)


class _Steps:
    """Arguments of the last steps of a fit."""

    def __init__(self):
        self.inside = self.near = self.scores = self.kept = None

    def recorded(self):
        """A context in which the steps are recorded."""
        stack = ExitStack()
        callbacks = (
            (robpca, "_orthogonal_distances", lambda rows, *_: setattr(self, "inside", rows)),
            (robpca, "_principal_axes", lambda rows: setattr(self, "near", rows)),
            (robpca, "fast_mcd", lambda rows, *_: setattr(self, "scores", rows)),
            (mcd, "_moments", lambda rows: setattr(self, "kept", rows)),
        )
        for module, name, callback in callbacks:
            real = getattr(module, name)
            stack.enter_context(patch.object(module, name, _with_callback(real, callback)))
        return stack


def _with_callback(function, callback):
    def call(*arguments):
        callback(*arguments)
        return function(*arguments)

    return call


def fit_with_steps(rows, options):
    """A robust fit, and its last steps."""
    steps = _Steps()
    with steps.recorded():
        return RobustPCA(**options).fit(rows), steps


def robust(calls):
    """A fit of rows without weights, with its steps recorded."""
    recipe = calls.recipe
    rows = np.asarray(calls.rows)[:_ROWS, :_COLUMNS]
    calls.rows = rows
    n, p = rows.shape
    k = recipe["k"]
    if isinstance(k, int):
        k = max(1, min(k, p, max((n - 1) // 2, 1), 10))
    scale = None if recipe["scale"] is None else "mad"
    support = (0.5, 0.75, 1.0)[int(calls.rng.integers(3))]
    options = {"n_components": k, "support": support, "scale": scale, "n_directions": 60}
    model, steps = fit_with_steps(rows, options)
    calls.fit_another_model()
    power = _POWERS[int(calls.rng.integers(len(_POWERS)))]
    order = calls.rng.permutation(n)
    return model, lambda: check_robust(model, rows, options, steps, power, order)


def check_robust(model, rows, options, steps, power, order):
    """All Findings on a fit."""
    wide = rows.astype(np.float64).astype(LONG)
    size = float(np.abs(wide).max())
    if not 1e-100 < size < 1e100:
        return [Finding("robust", 0.0)]
    fit = fitted_model(model).result
    divisor = divisor_of(fit.scale, np.ones(rows.shape[1]), rows)
    found = [_orthogonal(fit), _distances(fit, wide, divisor), _cutoff(fit)]
    if fit.k:
        found += _of_kept_rows(fit, wide, divisor, steps)
        found += _equivariant(model, rows, options, power, order)
    return found


def _orthogonal(fit):
    error = np.abs(fit.axes.astype(LONG) @ fit.axes.T.astype(LONG) - np.eye(fit.k)).max(initial=0)
    claim = EPS * 8 * max(fit.axes.shape[1], 8)
    return compare("orthogonality", float(error), claim, lambda _: f"{float(error):.1e}")


def _distances(fit, wide, divisor):
    """Distances of the rows from centre and space, from centre, axes and variances of the model.

    Rounded as a sum of p products of the row; a score distance also by the root of its variance.
    """
    about = (wide - fit.mean.astype(LONG)) / divisor
    scores = about @ fit.axes.T.astype(LONG)
    floor = np.finfo(np.float64).tiny
    # Deviations are at least the rounding errors of the scores.
    size = np.abs(about).max(axis=1) + np.abs(fit.mean / divisor).max()
    rounding = 8 * EPS * wide.shape[1] * size[:, None]
    deviations = np.maximum(np.sqrt(np.maximum(fit.variances, floor)), rounding).astype(LONG)
    lengths = np.sqrt((about**2).sum(axis=1)) + (np.abs(wide) / divisor).max(axis=1)
    unit = EPS * (wide.shape[1] + 8) * lengths
    expected = np.sqrt(((about - scores @ fit.axes.astype(LONG)) ** 2).sum(axis=1))
    off = compare(
        "orthogonal distance", fit.orthogonal_distances - expected, 2 * unit, lambda i: f"row {i}"
    )
    within = np.sqrt(((scores / deviations) ** 2).sum(axis=1))
    claim = unit * np.sqrt((1 / deviations**2).sum(axis=1)) + EPS * (fit.k + 8) * within
    known = np.isfinite(fit.score_distances)
    error = np.where(known, fit.score_distances - within, 0)
    score = compare("score distance", error, claim, lambda i: f"row {i}")
    return max(off, score, key=lambda one: one.ratio)


def _cutoff(fit):
    """The χ² quantile of k degrees of freedom."""
    expected = np.sqrt(stats.chi2.ppf(0.975, max(fit.k, 1)))
    error = fit.score_cutoff - expected
    return compare("score cut-off", error, 64 * EPS * expected, lambda _: f"{fit.score_cutoff}")


def _of_kept_rows(fit, wide, divisor, steps):
    """Centre, axes and variances against those of the kept rows in extended precision.

    The space is that of the rows near it, whose SVD has errors of a multiple of ε times its first
    singular value; the centre is their mean, moved within the space to that of the kept rows.
    """
    middle = np.median(wide, axis=0)
    rows = (wide - middle) / divisor
    sizes = np.abs(rows).max(axis=1)
    if sizes.max() > robpca._FAR * np.median(sizes):
        return []  # a fit moves such rows nearer
    near = rows[_places(steps.near, steps.inside)]
    n, p = rows.shape
    centre = near.mean(axis=0)
    about = near - centre
    axes = fit.axes.astype(LONG)
    covariance = about.T @ about / max(len(near) - 1, 1)
    images = covariance @ axes.T
    off = images - axes.T @ (axes @ images)
    total = np.trace(covariance)
    # Coordinates of the rows lose what is below max(n, p) ε of the extent of all rows.
    extent = np.sqrt((rows**2).sum())
    lost = 8 * EPS * max(n, p) * extent
    claim = 2 * np.sqrt(total) * lost + lost**2
    found = [
        compare("space of the rows near it", np.sqrt((off**2).sum(axis=0)), claim, lambda _: "")
    ]
    chosen = _places(steps.kept, steps.scores)
    kept = near[chosen]
    expected = centre + (axes.T @ (axes @ (kept.mean(axis=0) - centre)))
    error = (fit.mean.astype(LONG) - middle) - expected * divisor
    reach = 8 * EPS * np.abs(wide).max(axis=0)
    found.append(compare("centre", error, lost * divisor + reach, lambda j: f"column {j}"))
    scores = (kept - kept.mean(axis=0)) @ axes.T
    spread = scores.T @ scores / max(len(kept) - 1, 1)
    factors = _consistencies(fit, len(kept), len(near))
    difference = [np.abs(spread * factor - np.diag(fit.variances)).max() for factor in factors]
    size = max(float(np.trace(spread)), 0.0)
    claim = 2 * np.sqrt(size) * lost + lost**2
    found.append(
        compare("variances of the kept rows", min(difference), max(factors) * claim, lambda _: "")
    )
    return found


def _consistencies(fit, kept, near):
    """The factors that a covariance may have: of all rows, of those in an ellipsoid, of h rows."""
    level = mcd.consistency(0.975, fit.k)
    found = [1.0 if kept == near else level]
    if kept == fit.support:
        raw = mcd.consistency(fit.support / near, fit.k)
        found += [raw]
    return found


def _places(some, rows):
    """Places in ``rows`` of each of ``some``, which are copies of its rows; equal ones in turn."""
    places = {}
    for i, row in enumerate(rows):
        places.setdefault(row.tobytes(), []).append(i)
    return np.array([places[row.tobytes()].pop(0) for row in some])


def _equivariant(model, rows, options, power, order):
    """Rows times a power of two: all numbers follow exactly, but for the roots of cut-offs.

    With support=1 nothing is drawn, and another order of the rows changes only the rounding.
    """
    if rows.dtype.kind != "f" or rows.dtype == np.float16:
        return []
    wide = rows.astype(np.float64)
    # LAPACK divides matrices beyond 1e146 or so by what is no power of two.
    size = float(((wide - np.median(wide, axis=0)) ** 2).sum())
    if not 1e-140 < size < 1e140 or not 1e-140 < size * 4.0**power < 1e140:
        return []
    # Squares of smaller values would lose digits.
    if np.abs(wide[wide != 0]).min(initial=1) * min(2.0**power, 1) < 1e-140:
        return []
    try:
        other = RobustPCA(**options).fit(wide * 2.0**power)
        same = RobustPCA(**options).fit(wide)
    except PrincompError as error:
        return [Finding("robust fit of scaled rows", np.inf, str(error))]
    unit = 1.0 if options["scale"] else 2.0**power
    found = [
        _equal("scaled centre", other.mean_, same.mean_ * 2.0**power),
        _equal("scaled axes", other.components_, same.components_),
        _equal("scaled variances", other.explained_variance_, same.explained_variance_ * unit**2),
        _equal("scaled distances", other.orthogonal_distances_, same.orthogonal_distances_ * unit),
    ]
    expected = same.orthogonal_cutoff_ * unit
    error = other.orthogonal_cutoff_ - expected
    # Roots of 2/3 and 3/2 have an error of one unit, of exponents up to 2/3 · log2 of the power.
    found.append(compare("scaled cut-off", error, 64 * EPS * expected, lambda _: f"{error:.1e}"))
    if options["support"] == 1.0 and options["scale"] is None:
        reordered = RobustPCA(**options).fit(wide[order])
        claim = 64 * EPS * max(wide.shape) * np.abs(wide - np.median(wide, axis=0)).max()
        claim = claim + 64 * EPS * np.abs(wide).max()
        error = reordered.mean_ - same.mean_
        if reordered.n_components_ == same.n_components_ and _same_rows(reordered, same, order):
            found.append(compare("centre in another order", error, claim, lambda j: f"column {j}"))
    return found


def _same_rows(reordered, same, order):
    """Whether both fits have no outliers, so that rounding at a cut-off changed nothing."""
    return bool((reordered.outliers_ == same.outliers_[order]).all()) and not same.outliers_.any()


def _equal(check, answer, expected):
    if answer.shape != expected.shape:
        return Finding(check, np.inf, f"{answer.shape}, not {expected.shape}")
    with np.errstate(invalid="ignore"):
        difference = np.abs(answer - expected).max(initial=0)
    return Finding(check, 0.0 if (answer == expected).all() else np.inf, f"{difference:.1e} off")
