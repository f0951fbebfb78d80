"""Limits of Q, from the variances of a sample outside the components.

Shares are these variances divided by their sum, θ2 is the sum of their squares, and θ3 that of
their cubes.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
from scipy import special

from princomp.core import Fitted
from princomp.linalg import FloatArray
from princomp.summaries import Moments, Triangle

# Degrees of freedom from which the sums of squares and cubes are corrected.
_MIN_FREEDOM = 3.0


def residual_variances(fitted: Fitted, k: int) -> FloatArray | None:
    """Return variances above the resolution after the first k; None if not all are known."""
    rank = fitted.analysed.rank_limit
    known = fitted.spectrum.variances
    if len(known) < min(rank, fitted.p):
        summary = fitted.analysed.to_host()
        if len(known) == rank - 1:  # the last one follows from the total
            known = np.append(known, fitted.spectrum.left_out(len(known), rank))
        elif isinstance(summary, Moments):
            known = scipy.linalg.eigvalsh(summary.scatter)[::-1] / (summary.rows - 1.0)
        elif isinstance(summary, Triangle):
            known = scipy.linalg.svdvals(summary.factor) ** 2 / (summary.rows - 1.0)
        else:
            return None
    residual = known[k:rank]
    return residual[residual > fitted.spectrum.resolution]


def q_limits(
    fitted: Fitted, residual: FloatArray, k: int, level: float
) -> tuple[float, float, str]:
    """Return the limits of Q of new and of training rows, and the method.

    For new rows, the mean and the variance of Q grow by what :func:`noise_of_components` returns,
    and Q by :func:`_growth_by_divisors`.
    """
    total = float(residual.sum())
    shares = residual / total
    theta2, theta3 = float((shares**2).sum()), float((shares**3).sum())
    limit, method = q_limit_of_shares(*training_thetas(fitted, k, theta2, theta3), level)
    q_training = q_new = total * limit
    if fitted.n_samples is not None:
        rows = float(fitted.summary.rows)
        absorbed, unexplained = noise_of_components(
            fitted.variances[:k] / total, shares, rows - 1.0 - k
        )
        theta2, theta3 = population_thetas(fitted, k, theta2, theta3)
        theta2 += float((unexplained**2).sum())
        theta3 = _clipped_theta3(theta2, theta3 + float((unexplained**3).sum()))
        growth = (1.0 + absorbed.sum()) * (1.0 + unexplained.sum()) * (1.0 + 1.0 / rows)
        growth *= _growth_by_divisors(fitted, k)
        q_new = total * float(growth) * q_limit_of_shares(theta2, theta3, level)[0]
    return q_new, q_training, method


def noise_of_components(
    variances: FloatArray, residual: FloatArray, freedom: float
) -> tuple[FloatArray, FloatArray]:
    """Return variances (k,) that components absorbed, and leave unexplained in new rows.

    A component of variance λ, of rows with residual variances μ, has λ/(1 + s) in the population
    and λ/(1 + s)² in new rows, where s = Σ μ/(λ − μ)/(n − 1 − k) (Bai & Yao 2012; Ledoit & Péché
    2011). It absorbed the first difference; the second one adds to Q of new rows. If λ is large,
    both are Σμ/(n − 1 − k).
    """
    with np.errstate(divide="ignore"):  # all of a variance is noise if the residual has the same
        sums = [(residual / np.maximum(of_one - residual, 0.0)).sum() for of_one in variances]
    s = np.array(sums) / freedom
    absorbed = variances / (1.0 + 1.0 / s)
    return absorbed, absorbed / (1.0 + s)


def _growth_by_divisors(fitted: Fitted, k: int) -> float:
    """Return the mean variance of columns of new rows, if those of the rows of the fit are 1.

    The mean of σ²/s² is (n − 1)/(n − 3) for normal rows.
    """
    if fitted.scale is None or not _correctable(fitted, k):
        return 1.0
    deviations = np.sqrt(fitted.column_variances)
    varies = deviations > 0.0
    unit = np.isclose(fitted.scale[varies], deviations[varies], rtol=1e-6, atol=0.0)
    return 1.0 + 2.0 / (float(fitted.summary.rows) - 3.0) if unit.all() else 1.0


def training_thetas(fitted: Fitted, k: int, theta2: float, theta3: float) -> tuple[float, float]:
    """Return θ2 and θ3 of Q of training rows.

    Q of a row is smaller by its leverage. 1 − leverage has the distribution
    Beta((n − 1 − k)/2, k/2): its variance is 2k/((n − 1 − k)(n + 1)) of its squared mean.
    """
    if not _correctable(fitted, k):
        return theta2, theta3
    theta2, theta3 = population_thetas(fitted, k, theta2, theta3)
    n = float(fitted.summary.rows)
    theta2 += k / (n - 1.0 - k) / (n + 1.0)
    return theta2, _clipped_theta3(theta2, theta3)


def population_thetas(fitted: Fitted, k: int, theta2: float, theta3: float) -> tuple[float, float]:
    """Estimate θ2 and θ3, the sums of squares and cubes of the shares of residual variances.

    Those of the sample (``theta2``, ``theta3``) are too large, because it has unequal variances
    even if those of the population are equal. If S is a sample covariance with ν degrees of
    freedom, unbiased estimates of the sums over the population follow from E (tr S)², E tr S²,
    E (tr S)³, E tr S tr S² and E tr S³, up to a common factor (Srivastava 2005; Letac & Massam
    2004). They are kept within what is possible for as many variances.
    """
    if not _correctable(fitted, k):
        return theta2, theta3
    w = 1.0 / (float(fitted.summary.rows) - 1.0 - k)
    squares = (theta2 - w) / (1.0 + w - 2.0 * w * theta2)
    cubes = (theta3 - 3.0 * w * theta2 + 2.0 * w**2) / (
        1.0 + 3.0 * w - 2.0 * w**2 - 6.0 * w * (1.0 + 2.0 * w) * theta2 + 16.0 * w**2 * theta3
    )
    squares = min(max(squares, 1.0 / (fitted.p - k)), theta2)
    return squares, _clipped_theta3(squares, cubes)


def _correctable(fitted: Fitted, k: int) -> bool:
    """Whether the number of rows is known, and enough degrees of freedom remain."""
    free = float(fitted.summary.rows) - 1.0 - k
    return fitted.n_samples is not None and k < fitted.p and free >= _MIN_FREEDOM


def _clipped_theta3(theta2: float, theta3: float) -> float:
    """Return the nearest sum of cubes of positive shares whose squares sum to ``theta2``."""
    return float(min(max(theta3, theta2**2), theta2**1.5))


def q_limit(variances: FloatArray, level: float) -> tuple[float, str]:
    """Return the limit of Q from the variances outside the components, and the method.

    Jackson and Mudholkar: a power of Q, which depends on the variances, is nearly normal. If that
    power is not positive, as it may be with one large variance and many small ones, their limit may
    be many times too large; for low levels it may not exist. Then the limit is Pearson's, that of a
    scaled and shifted χ² with the first three moments of Q.

    ``variances`` are normalised first, so that third powers neither overflow nor underflow.
    """
    total = float(variances.sum())
    shares = variances / total
    theta2, theta3 = float((shares**2).sum()), float((shares**3).sum())
    limit, method = q_limit_of_shares(theta2, theta3, level)
    return total * limit, method


def q_limit_of_shares(theta2: float, theta3: float, level: float) -> tuple[float, str]:
    """Return the limit of Q, and the method, from the sums of squares and cubes of the shares."""
    power = 1.0 - 2.0 * theta3 / (3.0 * theta2**2)
    growth = special.ndtri(level) * np.sqrt(2.0 * theta2) + theta2 * (power - 1.0)
    if power > 0.0 and power * growth > -1.0:
        limit = float(np.exp(np.log1p(power * growth) / power))
        return limit, "jackson-mudholkar"
    freedom = theta2**3 / theta3**2
    chi2 = 2.0 * float(special.gammaincinv(freedom / 2.0, level))
    return 1.0 + theta3 / theta2 * (chi2 - freedom), "pearson"
