"""Limits of T² and Q, functions of the model alone: new rows do not move them."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import scipy.linalg
from scipy import stats

from princomp.arrays import FloatArray
from princomp.diagnostics.given import state_of
from princomp.errors import NotAvailableError, ParameterError
from princomp.fitted import Fitted
from princomp.summaries import Moments, Triangle

__all__ = ["Limits", "limits", "sound_components"]


@dataclass(frozen=True)
class Limits:
    """How far T² and Q go at a level, where the model says so.

    Parameters
    ----------
    level : float
        Share of lawful rows below a limit.
    components : int
        Components in T²: those whose variance is above the fit's resolution. All other
        directions count to Q.
    t2_new, t2_training : float or None
        For rows that were not in the fit, and for those that were.
    q : float or None
        In squared units of the analysed columns.
    q_method : {"jackson-mudholkar", "box"} or None
    reasons : dict of str to str
        Why a limit is None, under "t2" and "q".
    """

    level: float
    components: int
    t2_new: float | None
    t2_training: float | None
    q: float | None
    q_method: str | None
    reasons: dict[str, str]

    def t2(self, training: bool) -> float | None:
        """The limit of T² for training or for new rows."""
        return self.t2_training if training else self.t2_new


def limits(model: Any, level: float = 0.95) -> Limits:
    """Limits of T² and Q at a level.

    T² of new rows: k(n² − 1)/(n(n − k)) F(k, n − k); of training rows:
    (n − 1)²/n Beta(k/2, (n − k − 1)/2). Q: from the variances that were left out, by
    Jackson and Mudholkar's power transformation, or Box's χ² where that has no value.

    Parameters
    ----------
    model : PCA
        Fitted.
    level : float, default=0.95

    Returns
    -------
    Limits
        None where a limit cannot be had, with the reason in ``reasons``: too few rows
        (n ≤ k + 1), a number of rows that is not known, no centring (T²); no direction
        left out, or a fit that kept only some variances and no scatter (Q).

    Raises
    ------
    ParameterError
        For a level outside (0, 1).

    Notes
    -----
    Tracy, Young & Mason (1992) for T²; Jackson & Mudholkar (1979) and Box (1954) for Q. Both
    suppose normal rows. Where rows have weights, n is their sum.

    Examples
    --------
    >>> from princomp import PCA
    >>> from princomp.diagnostics import limits
    >>> model = PCA(1).fit([[1.0, 2.0], [2.0, 1.0], [3.0, 4.0], [4.0, 3.0], [6.0, 5.0]])
    >>> print(f"{limits(model).t2_new:.3f}", f"{limits(model).t2_training:.3f}")
    9.250 2.469
    """
    fitted = state_of(model)
    level = checked_level(level)
    k = sound_components(fitted)
    reasons: dict[str, str] = {}
    new = training = None
    if why := _no_t2(fitted, k):
        reasons["t2"] = why
    else:
        n = float(fitted.summary.rows)
        new = k * (n**2 - 1) / (n * (n - k)) * float(stats.f.ppf(level, k, n - k))
        training = (n - 1) ** 2 / n * float(stats.beta.ppf(level, k / 2, (n - k - 1) / 2))
    tail = left_out_variances(fitted, k)
    q = method = None
    if tail is None:
        reasons["q"] = (
            "the fit knows only some of the variances and kept no scatter; one with "
            "svd_solver='covariance_eigh' or 'full' keeps it"
        )
    elif not tail.size:
        reasons["q"] = (
            f"no direction is left out (k = p = {k})"
            if k == fitted.p
            else "the rows of the fit vary in no direction that is left out"
        )
    else:
        q, method = q_limit(tail, level)
    return Limits(level, k, new, training, q, method, reasons)


def checked_level(level: Any) -> float:
    """A level in (0, 1).

    Raises
    ------
    ParameterError
    """
    if isinstance(level, bool) or not isinstance(level, Real) or not 0.0 < float(level) < 1.0:
        raise ParameterError(
            f"level={level!r} is no share between 0 and 1",
            place={"parameter": "level"},
            hint="0.95 is the usual one",
        )
    return float(level)


def sound_components(fitted: Fitted) -> int:
    """Components whose variance is above the resolution: dividing by others enlarges noise."""
    return fitted._sound


def _no_t2(fitted: Fitted, k: int) -> str | None:
    """Why T² has no limit, if it has none."""
    if fitted.n_samples is None:
        return "the number of rows behind the covariance is not known (n_samples=…)"
    if not fitted.centred:
        return "the limits suppose a mean that was estimated, and the fit has center=False"
    if not k:
        return "no component has variance"
    n = float(fitted.summary.rows)
    if n <= k + 1:
        return f"{n:g} rows are too few for {k} components: it takes more than k + 1"
    return None


def left_out_variances(fitted: Fitted, k: int) -> FloatArray | None:
    """Variances above the resolution beyond the first k, or None where not all are known."""
    rank = fitted.analysed.rank_limit
    known = fitted.spectrum.variances
    if len(known) < min(rank, fitted.p):
        summary = fitted.analysed.held()
        if len(known) == rank - 1:  # the total knows the last one
            known = np.append(known, fitted.spectrum.left_out(len(known), rank))
        elif isinstance(summary, Moments):
            known = scipy.linalg.eigvalsh(summary.scatter)[::-1] / (summary.rows - 1.0)
        elif isinstance(summary, Triangle):
            known = scipy.linalg.svdvals(summary.factor) ** 2 / (summary.rows - 1.0)
        else:
            return None
    tail = known[k:rank]
    left: FloatArray = tail[tail > fitted.spectrum.resolution]
    return left


def q_limit(tail: FloatArray, level: float) -> tuple[float, str]:
    """Limit of Q from the variances left out, and by whose method.

    ``tail`` is brought to sums near 1 first: third powers would overflow or vanish.
    """
    size = float(tail.sum())
    one = tail / size
    two, three = float((one**2).sum()), float((one**3).sum())
    h = 1.0 - 2.0 * three / (3.0 * two**2)
    # With h below 0 the transformation turns large into small: the sign of h takes care of it.
    inner = stats.norm.ppf(level) * h * np.sqrt(2.0 * two) + 1.0 + two * h * (h - 1.0)
    if inner > 0.0 and h != 0.0:
        return size * float(inner ** (1.0 / h)), "jackson-mudholkar"
    return size * two * float(stats.chi2.ppf(level, 1.0 / two)), "box"


def need_a_limit(found: Limits, training: bool) -> None:
    """Refuse to go on where neither statistic has a limit.

    Raises
    ------
    NotAvailableError
    """
    if found.t2(training) is None and found.q is None:
        raise NotAvailableError(
            f"neither statistic has a limit here. T²: {found.reasons['t2']}. "
            f"Q: {found.reasons['q']}",
            hint="keep fewer components, or fit more rows",
        )
