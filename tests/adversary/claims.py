"""The accuracy that a model claims, and how its errors compare with that.

Only ``promise_of`` reads certificates: extend it when they make a new kind of claim.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from oracle import EPS, LONG, truths

from princomp.core import fitted_model
from princomp.errors import PrincompError

# An error of more than this many times the claim is a counterexample.
FACTOR = 10.0
# The spacing of subnormal float64 numbers: no variance can be more accurate. Errors are compared
# with FACTOR times the claim.
SUBNORMAL = np.finfo(np.float64).smallest_subnormal
_QUANTUM = LONG(SUBNORMAL) / LONG(FACTOR)
# Axes of components that are not reported as inseparable have four correct digits.
_DIGITS = 1e-4
# KernelPCA sets eigenvalues below this many units of rounding to zero, and negative ones.
_ZEROED = 40
# Units of error of sums of equal numbers, as in docs/explain/numerics.md.
_EQUAL_UNITS = 64
# Number of rows whose scores are compared, and of multiplications in extended precision that are
# quick.
_ROWS, _QUICK = 20, 1e7


class Promise(NamedTuple):
    """Claimed errors, relative to the first variance, as in certificates.

    The first variance is that of the model. It differs from the true one by its claimed error: if
    no digit is claimed, as after the removal of much larger rows, it is only a bound.

    ``roundoff`` is the route's, ``squared`` whether it formed a covariance; ``residuals`` (k,)
    are those of the certificate. ``complete``: no larger variance was missed.
    """

    roundoff: float
    squared: bool
    residuals: np.ndarray
    complete: bool


@dataclass(frozen=True)
class Finding:
    """One comparison; ``ratio`` is the error divided by the claim."""

    check: str
    ratio: float
    detail: str = ""


def promise_of(model):
    """The Promise of a fitted model."""
    certificate, spectrum = model.certificate_, fitted_model(model).result.spectrum
    residuals = np.nan_to_num(np.asarray(certificate.residuals, dtype=float))
    missed = getattr(certificate, "missed", None)
    solver = getattr(model.plan_, "solver", "")
    complete = solver not in ("randomized", "nystrom") and not (missed and missed > 1e-3)
    return Promise(spectrum.roundoff, spectrum.squared, residuals, complete)


def compare(check, error, claim, detail):
    """The Finding of the largest error over its claim."""
    error, claim = np.atleast_1d(np.abs(error)), np.atleast_1d(claim)
    claim = np.broadcast_to(claim, error.shape)
    with np.errstate(all="ignore"):
        ratio = np.where(error > 0, error / np.where(claim > 0, claim, 0), 0).astype(float)
    if not ratio.size:
        return Finding(check, 0.0)
    ratio = np.where(np.isnan(ratio), np.inf, ratio)
    i = int(ratio.argmax())
    return Finding(check, float(ratio.ravel()[i]), detail(i) if ratio.max() > 1 else "")


def truth_arguments(fit):
    """Arguments of `oracle.truth` for a Fit."""
    scale, center = getattr(fit.model, "scale", None), getattr(fit.model, "center", True)
    return fit.rows, fit.weights, scale, center


def findings_of(fit, truth=None):
    """All Findings on a Fit, compared with the Truth of its rows. May raise errors of the model.

    ``truth`` is their Truth, if it is known already.
    """
    if fit.wrong_refusal:
        return [Finding("refused", np.inf, fit.wrong_refusal)]
    with np.errstate(all="ignore"):
        if fit.check is not None:
            return fit.check()
        _ = fit.model.explained_variance_  # solves it, if it was not solved yet
        truth = truths([truth_arguments(fit)])[0] if truth is None else truth
        if not (truth.divisor > 0).all():
            return [Finding("a constant column was scaled", np.inf)]
        return check_pca(fit, truth)


def worst_of(findings):
    """The Finding with the largest ratio."""
    return max(findings, key=lambda one: one.ratio)


def check_pca(fit, truth):
    """All Findings on the model of a Fit, compared with a Truth."""
    model = fit.model
    promise = promise_of(model)
    found = [check_variances(model, promise, truth), check_total(model, promise, truth)]
    found.append(_number_of_rows(model, fit))
    if not hasattr(model, "components_") or not len(model.components_):
        return found
    found += [
        check_fraction(model, promise, truth),
        _axes(model, promise, truth),
        _orthogonality(model),
        _angles(model, promise, truth),
        _mean(model, promise, fit, truth),
    ]
    if truth.variances[0] > 0 and len(fit.rows):
        found.append(_scores(model, promise, fit, truth))
    return found


def _first(truth, answer):
    """The first variance, to which claims are relative: the larger of truth and answer."""
    return max(truth.variances[0], LONG(answer[0]) if len(answer) else LONG(0))


def _claims(promise, truth, values, answer):
    """The claimed error of each variance."""
    first, roundoff = _first(truth, answer), promise.roundoff
    slack = truth.slack * 2 * np.sqrt(values * first) + truth.slack**2 * first
    each = np.full(len(values), roundoff * first, LONG)
    if not promise.squared:
        each = 2 * roundoff * np.sqrt(values * first) + roundoff**2 * first
    return each + promise.residuals[: len(values)] * first + slack + _QUANTUM


def check_variances(model, promise, truth):
    answer = np.asarray(model.explained_variance_)
    true = np.zeros(max(len(answer), len(truth.variances)), LONG)
    true[: len(truth.variances)] = truth.variances
    values = np.maximum(true[: len(answer)], answer)
    claims = _claims(promise, truth, values, answer)
    if not hasattr(model, "components_"):
        true[: len(answer)][(answer == 0) & (true[: len(answer)] < 0)] = 0
        zero = _ZEROED / FACTOR * promise.roundoff * truth.variances[0]
        claims = np.where(answer == 0, np.maximum(claims, zero), claims)
    error = answer - true[: len(answer)]
    if not promise.complete:
        # Each answer is near some true variance, and none exceeds the one of its rank, except where
        # an earlier one, within its own claim, has taken that rank.
        nearest = np.abs(answer[:, None] - true).min(axis=1)
        error = np.maximum(nearest, error * (claims / np.maximum.accumulate(claims)))

    def detail(i):
        expected, claim = float(true[i]), float(claims[i])
        return f"λ{i + 1} {answer[i]:.6g}, right: {expected:.6g}, claimed ±{claim:.1e}"

    return compare("variance", error, claims, detail)


def check_total(model, promise, truth):
    answer, true = model.total_variance_ if hasattr(model, "total_variance_") else None, truth.total
    if answer is None:
        return Finding("total variance", 0.0)
    size = max(LONG(true), LONG(answer))
    claim = (promise.roundoff + truth.slack) * size + _QUANTUM * len(truth.divisor)
    claim += truth.total_error
    return compare(
        "total variance", answer - true, claim, lambda _: f"{answer:.6g}, right: {true:.6g}"
    )


def _number_of_rows(model, fit):
    used, given = getattr(model, "n_samples_", None), fit.rows.shape[0]
    if used is None or fit.weights is not None or used == given:
        return Finding("number of rows", 0.0)
    return Finding("number of rows", np.inf, f"{used} of {given}")


def check_fraction(model, promise, truth):
    requested, k = model.n_components, model.n_components_
    if not isinstance(requested, float) or not truth.total > 0 or not promise.complete:
        return Finding("number of components", 0.0)
    rates = np.cumsum(np.maximum(truth.variances, 0)) / truth.total
    claim = k * promise.roundoff + promise.residuals.sum() + EPS + truth.total_error / truth.total
    lacks = requested - rates[min(k, len(rates)) - 1]
    if not hasattr(model, "components_") and k < len(rates):
        # KernelPCA warns where the eigenvalues that it sets to zero are needed for the share.
        zeroed = truth.variances[k] <= _ZEROED * promise.roundoff * truth.variances[0]
        lacks = min(lacks, 0.0) if zeroed else lacks
    spare = rates[k - 2] - requested if k > 1 else -1.0
    return compare(
        "number of components",
        max(float(lacks), float(spare), 0.0),
        claim,
        lambda _: f"{k} for a share of {requested}",
    )


def _axes(model, promise, truth):
    """Residuals against the true covariance, relative to the first variance."""
    first = truth.variances[0]
    if not first >= SUBNORMAL:
        return Finding("axis", 0.0)
    axes = model.components_.astype(LONG)
    answer = np.asarray(model.explained_variance_)
    deviation = (truth.image(axes) - answer[:, None] * axes) / _first(truth, answer)
    error = np.sqrt((deviation.astype(LONG) ** 2).sum(axis=1)).astype(float)
    stored = float(np.finfo(model.components_.dtype).eps)
    claim = 2 * promise.roundoff + promise.residuals + stored + 2 * truth.slack
    return compare("axis", error, claim, lambda i: f"axis {i + 1}: residual {error[i]:.1e}")


def _orthogonality(model):
    k, p = model.components_.shape
    axes = model.components_.astype(LONG if k * k * p < _QUICK else np.float64)
    error = np.abs(axes @ axes.T - np.eye(k)).max(initial=0)
    stored = float(np.finfo(model.components_.dtype).eps)
    claim = model.certificate_.orthogonality + stored * max(4, np.sqrt(p))
    return compare("orthogonality", float(error), claim, lambda _: f"{float(error):.1e}")


def _angles(model, promise, truth):
    """Axes that the certificate reports neither as inseparable nor as noise have four digits."""
    answer, certificate = model.components_, model.certificate_
    first = truth.variances[0]
    if truth.axes is None or not promise.complete or len(truth.axes) < len(answer):
        return Finding("angle", 0.0)
    if not first >= SUBNORMAL:
        return Finding("angle", 0.0)
    # A truncated solver does not know the next variance after the last one.
    sound = ~np.asarray(certificate.below_resolution)
    sound[-1] &= len(answer) == min(truth.rows.shape)
    for pair in certificate.inseparable:
        sound[[i for i in pair if i < len(sound)]] = False
    inner = (answer.astype(LONG) * truth.axes[: len(answer)]).sum(axis=1)
    deviation = answer - np.sign(inner)[:, None] * truth.axes[: len(answer)]
    error = np.sqrt((deviation**2).sum(axis=1)).astype(float) * sound
    claim = _DIGITS + float(np.finfo(answer.dtype).eps) * 4
    return compare("angle", error, claim, lambda i: f"axis {i + 1}: {error[i]:.1e}")


def _mean(model, promise, fit, truth):
    if not model.center:
        return Finding("mean", 0.0)
    # Squares of deviations below 1e-162 are zero.
    spread = np.sqrt(np.maximum(truth.column_variances, _QUANTUM))
    claim = promise.roundoff * spread + EPS * np.abs(truth.near) + _QUANTUM
    claim = claim + _removal_error_of_mean(model.summary_, fit.rows, promise)
    error = (model.mean_ - truth.near) - truth.offset
    return compare("mean", error, claim, lambda j: f"column {j}: {float(error[j]):.1e} off")


def _removal_error_of_mean(summary, rows, promise):
    """Error that the removal of other rows may have added to each mean (p,), or 0.

    The error promised of means of the rows before and of those removed, relative to their
    deviations as that of any rows is, each divided by the rows left. By the Cauchy-Schwarz
    inequality a sum is at most √(n G), where n are the rows before, at most twice those left in
    this search, and G the scatter removed, of which EPS · G was lost. Sums of equal numbers round
    all one way, by up to 64 units, also about a shift between them and the rows to remove.
    """
    if getattr(summary, "lost", None) is None:
        return 0.0
    equal = [np.unique(column, return_counts=True)[1].max() / len(rows) for column in rows.T]
    units = promise.roundoff / EPS + _EQUAL_UNITS * np.array(equal)
    # Take roots first, since products of such small numbers underflow.
    return units * np.sqrt(2 * EPS / summary.rows) * np.sqrt(summary.lost)


def _removal_errors_of_divisors(model):
    """Relative errors that the removal of other rows may have added to the divisors (p,), or 0.

    A divisor is at most as sensitive as the root of the scatter of its column.
    """
    summary = model.summary_
    if model.scale_ is None or getattr(summary, "lost", None) is None:
        return 0.0
    share = np.minimum(summary.lost / np.maximum(summary.column_scatter, _QUANTUM), 1.0)
    return 1.0 - np.sqrt(1.0 - share)


def _scores(model, promise, fit, truth):
    """Scores of a few rows against projections in extended precision on the axes of the model."""
    step = max(1, len(fit.rows) // _ROWS)
    rows = fit.rows[::step]
    try:
        answer = model.transform(rows) if fit.scores is None else fit.scores()[::step]
    except PrincompError:
        return Finding("scores", 0.0)
    unit = max(float(np.finfo(kind).eps) for kind in (answer.dtype, model.components_.dtype))
    unit = max(unit, promise.roundoff / 16)
    wide = rows.astype(LONG)
    if model.center:
        wide = (wide - truth.near) - truth.offset
    wide = wide / truth.divisor
    expected = wide @ model.components_.astype(LONG).T
    length = np.sqrt((wide**2).sum(axis=1))[:, None] + np.sqrt(LONG(truth.total))
    quantum = np.finfo(answer.dtype).smallest_subnormal
    # Each product of a sum may be rounded to a multiple of the smallest number, and so may each
    # centred cell of float32 rows, before it is divided.
    quantum *= 1 + 1 / LONG(np.min(truth.divisor))
    claim = max(wide.shape[1], 16) * unit * length + quantum * max(wide.shape[1] / 2, 1)
    divisor_errors = _removal_errors_of_divisors(model)
    claim = claim + np.sqrt(((wide * divisor_errors) ** 2).sum(axis=1))[:, None]
    if model.center:
        # An error of the mean from removed rows shifts all scores equally; see `_mean`.
        lost = np.ones(wide.shape[1]) * _removal_error_of_mean(model.summary_, fit.rows, promise)
        claim = claim + np.sqrt(((lost / truth.divisor) ** 2).sum())
    error = answer - expected
    return compare("scores", error, claim, lambda _: f"{float(np.abs(error).max()):.1e} off")
