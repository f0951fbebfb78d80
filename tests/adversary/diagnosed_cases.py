"""Tables of princomp.diagnostics, and control limits, recomputed from the model.

Each number of a table follows from axes, variances, means and divisors of the model. It is computed
again in extended precision; its bound is that of sums of p products of float64.
"""

from __future__ import annotations

import mpmath
import numpy as np
from claims import SUBNORMAL, Finding, compare, promise_of
from oracle import EPS, LONG, truth

from princomp import diagnostics
from princomp.core import fitted_model
from princomp.diagnostics.limits_of_q import q_limit
from princomp.summaries import Moments, Triangle

_ROWS = 60
_FRAME = "listing"
# Columns whose share of the largest variance is smaller have correlations from the scatter.
_TINY_SHARE = 1e-20


def diagnosed(calls):
    """A fit, and checks of all tables of its rows."""
    X, weights = calls.rows_in_form(form=calls.recipe["source"])
    model = calls.model().fit(X, **weights)
    calls.fit_another_model()
    level = round(float(calls.rng.uniform(0.5, 0.9999)), 4)
    return model, lambda: check_diagnostics(model, calls.rows, calls.weights, level)


def check_diagnostics(model, rows, weights, level):
    """All Findings on tables of a few of the rows, and on the limits."""
    _ = model.explained_variance_
    fitted = fitted_model(model).result
    if not fitted.k:
        return [Finding("tables", 0.0)]
    step = max(1, len(rows) // _ROWS)
    known = _Known(fitted, rows[::step], None if weights is None else weights[::step])
    found = _check_limits(fitted, diagnostics.limits(model, level), level)
    if not np.isfinite(known.analysed).all():
        return [*found, Finding("tables", 0.0)]
    found += _check_variables(model, known, rows, weights)
    found += _check_rows(model, known)
    found += _check_distances(model, known)
    found += _check_outliers(model, known, level)
    return found


class _Known:
    """Rows as the model analyses them, their scores, and error bounds."""

    def __init__(self, fitted, rows, weights):
        self.fitted, self.rows, self.weights = fitted, rows, weights
        scale = LONG(1) if fitted.scale is None else fitted.scale.astype(LONG)
        mean = fitted.mean.astype(LONG)
        self.scale, self.mean = scale, mean
        # The parts of the mean are subtracted in turn: their sum has more digits than longdouble.
        self.analysed = ((rows.astype(LONG) - mean) - fitted.mean_low) / scale
        self.axes = fitted.spectrum.axes[: fitted.k].astype(np.float64).astype(LONG).T
        self.variances = fitted.variances.astype(LONG)
        self.scores = self.analysed @ self.axes
        self.lengths = np.sqrt((self.analysed**2).sum(axis=1))
        # A score is a sum of p products of a difference and a quotient; a mean in two parts is
        # known to ε² of itself.
        p = rows.shape[1]
        self.unit = EPS * (p + 8)
        far = EPS**2 * np.sqrt((((np.abs(mean)) / scale) ** 2).sum())
        tiny = np.finfo(np.float64).smallest_subnormal * (1 + 1 / np.min(scale)) * p
        self.error = self.unit * self.lengths + far + tiny
        # A residual also has the errors of its k scores.
        self.off = self.error * (np.sqrt(LONG(fitted.k)) + 2)

    def residuals(self, k):
        axes = self.axes[:, :k]
        return self.analysed - (self.analysed @ axes) @ axes.T


def _no_detail(_):
    return ""


def _compare_with_nan(check, answer, expected, claim):
    """The Finding of numbers some of which must be NaN, at the same places."""
    answer = np.asarray(answer, dtype=np.float64)
    if answer.shape != expected.shape or (np.isnan(answer) != np.isnan(expected)).any():
        return Finding(check, np.inf, "NaN at other places")
    known = ~np.isnan(expected)
    error, claim = np.where(known, answer - expected, 0), np.where(known, claim, 1)
    return compare(check, error, claim + LONG(np.finfo(float).smallest_subnormal), _no_detail)


def _check_variables(model, known, rows, weights):
    fitted, axes = known.fitted, known.axes
    table = diagnostics.variables(model, frame=_FRAME)
    k, p = fitted.k, fitted.p
    answer = {name: np.asarray(table[name]).reshape(p, k) for name in table.columns[2:]}
    loadings = axes * np.sqrt(known.variances)
    tiny = LONG(np.finfo(float).smallest_subnormal)
    claim = 8 * EPS * np.abs(loadings) + tiny
    found = [
        compare("loading", answer["loading"] - loadings, claim, _no_detail),
        compare("axis of a variable", answer["axis"] - axes, EPS * np.abs(axes), _no_detail),
    ]
    shares = 100 * axes**2 / (axes**2).sum(axis=0)
    # A square that underflows is off by a subnormal number, and the contribution by 100 times it.
    claim = known.unit * shares + 100 * tiny
    found.append(compare("contribution", answer["contribution"] - shares, claim, _no_detail))
    if not model.center or not fitted.variances[0] > 0:
        return found
    expected = truth(rows, weights, scale=None)
    spread = expected.column_variances / known.scale**2
    # Variances of columns have the relative error of the route; sums of equal squares round all
    # one way, by up to 64 units.
    own = promise_of(model).roundoff + 64 * EPS
    resolved = known.variances > fitted.spectrum.resolution
    lost = LONG(0)
    if isinstance(fitted.analysed, Moments | Triangle):
        loadings, lost = _with_tiny_columns(known, expected, loadings, spread, resolved)
    with np.errstate(all="ignore"):
        cos2 = np.where(spread[:, None] > 0, loadings**2 / spread[:, None], np.nan)
        correlation = np.where(spread[:, None] > 0, loadings / np.sqrt(spread)[:, None], np.nan)
    correlation[:, ~resolved] = np.nan
    # A column whose spread is below the rounding of its values may be called constant.
    clear = spread * known.scale**2 > (64 * EPS * np.abs(known.mean)) ** 2
    if clear.all() and expected.column_variances.min(initial=1) > 1e-290:
        expected_cos2, expected_correlation = np.minimum(cos2, 1), np.clip(correlation, -1, 1)
        found.append(
            _compare_with_nan(
                "cos² of a variable", answer["cos2"], expected_cos2, own * (cos2 + 2 * lost)
            )
        )
        # Products of entries of axes that are subnormal numbers are off by some of those.
        claim = own * (np.abs(correlation) + lost) + 8 * tiny / spread[:, None]
        found.append(
            _compare_with_nan("correlation", answer["correlation"], expected_correlation, claim)
        )
    return found


def _with_tiny_columns(known, expected, loadings, spread, resolved):
    """Loadings √λ v with v = Cv / λ in tiny columns, and errors of the correlations in roundoffs.

    Solvers may round such entries of v to zero.
    """
    variances = np.where(resolved, known.variances, 1)
    divisor = np.broadcast_to(known.scale, spread.shape)
    images = expected.image(known.axes.T / divisor).T / divisor[:, None]
    # Entries of unit vectors are off by a roundoff, those of Cv by √(c λ₁).
    better = np.sqrt(spread[:, None] * known.variances[0]) < variances
    tiny = (spread < _TINY_SHARE * spread.max())[:, None] & resolved & better
    lost = np.where(tiny, np.sqrt(known.variances[0] / variances), 0)
    return np.where(tiny, images / np.sqrt(variances), loadings), lost


def _check_rows(model, known):
    fitted, error = known.fitted, known.error[:, None]
    table = diagnostics.rows(model, known.rows, known.weights, frame=_FRAME)

    def answer(name):
        return np.stack([table[f"{name}_PC{a + 1}"] for a in range(fitted.k)], axis=1)

    found = [
        compare("score in a table", answer("score") - known.scores, error, _no_detail),
        compare("distance", table["distance"] - known.lengths, known.error, _no_detail),
    ]
    size = known.lengths[:, None]
    ok = size[:, 0] > 1e-150
    ratio = np.abs(known.scores[ok]) / size[ok]
    relative = error[ok] / size[ok]
    claim = 2 * ratio * relative * 2 + relative**2
    cos2 = np.minimum(ratio**2, 1)
    found.append(compare("cos² of a row", answer("cos2")[ok] - cos2, claim, _no_detail))
    n = float(fitted.summary.rows)
    weight = 1 if known.weights is None else known.weights.astype(LONG)[:, None]
    sound = known.variances > fitted.spectrum.resolution
    factor = np.where(sound, 100 * weight / ((LONG(n) - 1) * known.variances), np.nan)
    expected = known.scores**2 * factor
    claim = factor * (2 * np.abs(known.scores) * error + error**2) + 8 * EPS * expected
    if 1e-140 < np.abs(known.scores).max(initial=0) < 1e140:
        found.append(
            _compare_with_nan("contribution of a row", answer("contribution"), expected, claim)
        )
    return found


def _check_distances(model, known):
    fitted, k = known.fitted, known.fitted.n_resolved
    table = diagnostics.distances(model, known.rows, frame=_FRAME)
    scores, variances, error = known.scores[:, :k], known.variances[:k], known.error[:, None]
    if not 1e-140 < known.lengths.max(initial=0) < 1e140:
        return []
    t2 = (scores**2 / variances).sum(axis=1)
    claim = ((2 * np.abs(scores) * error + error**2) / variances).sum(axis=1)
    found = [compare("T²", table["t2"] - t2, claim + EPS * (k + 8) * t2, _no_detail)]
    residuals = known.residuals(k) if k < fitted.p else np.zeros_like(known.analysed)
    q, size = (residuals**2).sum(axis=1), np.sqrt((residuals**2).sum(axis=1))
    tiny = LONG(SUBNORMAL)  # squares of tiny residuals are rounded to multiples of it
    claim = 2 * size * known.off + known.off**2 + fitted.p * tiny
    found.append(compare("Q", table["q"] - q, claim, _no_detail))
    table = diagnostics.contributions(model, known.rows, form="wide", frame=_FRAME)
    names = [name.removeprefix("t2_") for name in table.columns if name.startswith("t2_")]
    inner = (scores / variances) @ known.axes[:, :k].T
    expected = known.analysed * inner
    size = np.abs(known.axes[:, :k])
    each = (error / variances) @ size.T + EPS * (k + 8) * (np.abs(scores) / variances) @ size.T
    answer = np.stack([table[f"t2_{name}"] for name in names], axis=1)
    # Products that underflow are rounded to multiples of the smallest subnormal number.
    each += (k + 1) * tiny
    claim = np.abs(known.analysed) * each + 4 * EPS * np.abs(expected) + tiny
    found.append(compare("contribution to T²", answer - expected, claim, _no_detail))
    answer = np.stack([table[f"q_{name}"] for name in names], axis=1)
    off = known.off[:, None]
    claim = 2 * np.abs(residuals) * off + off**2 + tiny
    found.append(
        compare("contribution to Q", answer - residuals * np.abs(residuals), claim, _no_detail)
    )
    return found


def _check_outliers(model, known, level):
    limits = diagnostics.limits(model, level)
    if limits.t2_new is None or limits.q_new is None:
        return []
    table = diagnostics.distances(model, known.rows, frame=_FRAME)
    t2, q = np.asarray(table["t2"]), np.asarray(table["q"])
    found = diagnostics.outliers(model, known.rows, level, frame=_FRAME)
    expected = (t2 > limits.t2_new) | (q > limits.q_new)
    # The same products may round differently in other blocks.
    tie = (np.abs(t2 / limits.t2_new - 1) < 1e-9) | (np.abs(q / limits.q_new - 1) < 1e-9)
    answer = np.zeros(len(t2), bool)
    answer[np.asarray(found["position"], dtype=int)] = True
    wrong = ((answer != expected) & ~tie).any()
    ratio = np.fmax(np.asarray(found["t2"]) / limits.t2_new, np.asarray(found["q"]) / limits.q_new)
    wrong = wrong or (np.diff(ratio.astype(float)) > 0).any()
    return [Finding("outliers", np.inf if wrong else 0.0)]


# ---- limits ------------------------------------------------------------------------------

# Quantiles of SciPy are accurate to this many units of rounding, times their condition.
_QUANTILE = 256


def _check_limits(fitted, limits, level):
    """Limits against their formulas, with distribution functions in 40 digits."""
    found = []
    with mpmath.workdps(40):
        if limits.t2_new is not None:
            n, k = mpmath.mpf(float(fitted.summary.rows)), limits.components
            factor = k * (n**2 - 1) / (n * (n - k))
            x = limits.t2_new / factor
            z = k * x / (k * x + n - k)
            found.append(_check_quantile("limit of T² of new rows", z, k / 2, (n - k) / 2, level))
            z = limits.t2_training * n / (n - 1) ** 2
            found.append(
                _check_quantile("limit of T² of training rows", z, k / 2, (n - k - 1) / 2, level)
            )
        tail = _tail(fitted, limits.components)
        if limits.q is not None and tail is not None:
            valid = limits.q_training >= 0 and limits.q_new >= 0  # not NaN
            found.append(Finding("limits of Q", 0.0 if valid else np.inf))
            found.append(_check_quantile_of_q(*q_limit(tail, level), tail, level))
    return found


def _check_quantile(check, z, a, b, level):
    """Compare the level at z, a quantile of a beta distribution, with the requested level.

    The error of z is at most ε of z and of 1 − z, times the density; and that of the level.
    """
    a, b = mpmath.mpf(a), mpmath.mpf(b)
    if a + b > 1e4 or not 0 < z < 1:
        return Finding(check, 0.0)
    reached = mpmath.betainc(a, b, 0, z, regularized=True)
    density = z**a * (1 - z) ** b / mpmath.beta(a, b)  # times z (1 − z)
    condition = density / (1 - z) + density / z + level
    error = float(abs(reached - level))
    # Terms of the logarithm of the beta function have sizes of a and b.
    claim = _QUANTILE * EPS * float(condition * (1 + (a + b) / 16))
    return compare(check, error, claim, lambda _: f"level {float(reached):.17g}, not {level:.17g}")


def _tail(fitted, k):
    """Variances beyond the first k, or None if the model does not have all of them."""
    rank = fitted.analysed.rank_limit
    known = fitted.spectrum.variances
    if len(known) < min(rank, fitted.p):
        return None
    tail = known[k:rank]
    return tail[tail > fitted.spectrum.resolution]


def _check_quantile_of_q(answer, by, tail, level):
    one, two, three = (mpmath.fsum(mpmath.mpf(float(v)) ** i for v in tail) for i in (1, 2, 3))
    h = 1 - 2 * one * three / (3 * two**2)
    c = mpmath.sqrt(2) * mpmath.erfinv(2 * mpmath.mpf(level) - 1)
    share = two / one**2
    inner = c * h * mpmath.sqrt(2 * share) + 1 + share * h * (h - 1)
    if abs(h) < 1e-6 or abs(inner) < 1e-6:
        return Finding("limit of Q", 0.0)
    if h > 0 and inner > 0:
        method, expected = "jackson-mudholkar", one * inner ** (1 / h)
        condition = (1 + abs(mpmath.log(inner) / h)) / abs(h) * (1 + 1 / inner)
    else:
        # The answer z in units of χ², and one step of Newton's method from it.
        freedom, unit = two**3 / three**2, three / two
        z, a = ((answer - one) / unit + freedom) / 2, freedom / 2
        error = mpmath.gammainc(a, 0, z, regularized=True) - mpmath.mpf(level)
        density = mpmath.exp(a * mpmath.log(z) - z - mpmath.loggamma(a)) / z
        step = error / density
        method, expected = "pearson", one + unit * (2 * (z - step) - freedom)
        condition = 1 + 2 * unit / expected * (z + a + 1 / density)
    if method != by:
        return Finding("limit of Q", np.inf, f"by {by}, not {method}")
    error = float(abs(answer - expected) / expected)
    claim = float(_QUANTILE * EPS * condition + SUBNORMAL / expected)
    return compare(
        "limit of Q", error, claim, lambda _: f"{answer:.17g}, not {float(expected):.17g}"
    )
