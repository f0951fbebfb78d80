"""Control limits of T² and Q, computed from the model alone."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

import numpy as np
import scipy.linalg
from scipy import special

from princomp.core import Fitted, is_number
from princomp.diagnostics.arguments import fitted_of
from princomp.diagnostics.ignored_rows import ignoring_rows
from princomp.diagnostics.shared_docs import shared_docs
from princomp.errors import invalid_value
from princomp.estimators import PCA
from princomp.linalg import FloatArray
from princomp.summaries import Moments, Triangle


@dataclass(frozen=True)
@shared_docs
class Limits:
    """Control limits of T² and Q.

    Parameters
    ----------
    level : float
        Share of regular rows below a limit.
    components : int
        Components in T²: those whose variance is above the fit's resolution. All other
        directions belong to Q.
    t2_new, t2_training : float or None
        For rows that were not in the fit, and for those that were.
    q : float or None
        In squared units of the analysed columns.
    q_method : {"jackson-mudholkar", "box"} or None
    reasons : dict of str to str
        Why a limit is None, under "t2" and "q".

    Examples
    --------
    %(example_model)s
    >>> diagnostics.limits(model, level=0.99).level
    0.99
    """

    level: float
    components: int
    t2_new: float | None
    t2_training: float | None
    q: float | None
    q_method: str | None
    reasons: dict[str, str]

    def t2(self, training: bool) -> float | None:
        """Return the limit of T² for training or for new rows."""
        return self.t2_training if training else self.t2_new


@ignoring_rows
def limits(model: PCA, level: float = 0.95) -> Limits:
    """Compute the control limits of T² and Q at a level.

    T² of new rows: k(n² − 1)/(n(n − k)) F(k, n − k); of training rows:
    (n − 1)²/n Beta(k/2, (n − k − 1)/2). Q: from the variances of the other directions, by
    Jackson and Mudholkar's power transformation, or Box's χ² if that is not defined.

    Parameters
    ----------
    model : PCA
        Fitted.
    level : float, default=0.95

    Returns
    -------
    Limits
        A limit that cannot be computed is None, with the reason in ``reasons``. T²: too few
        rows (n ≤ k + 1), an unknown number of rows, or no centring. Q: no other directions, or
        a fit that stores only some variances and no covariance.

    Raises
    ------
    ParameterError
        For a level outside (0, 1).

    Notes
    -----
    Tracy, Young & Mason (1992) for T²; Jackson & Mudholkar (1979) and Box (1954) for Q. Both
    assume normal rows. If rows have weights, n is their sum.

    Examples
    --------
    >>> from princomp import PCA
    >>> from princomp.diagnostics import limits
    >>> model = PCA(1).fit([[1.0, 2.0], [2.0, 1.0], [3.0, 4.0], [4.0, 3.0], [6.0, 5.0]])
    >>> print(f"{limits(model).t2_new:.3f}", f"{limits(model).t2_training:.3f}")
    9.250 2.469
    """
    fitted = fitted_of(model)
    level = checked_level(level)
    k = fitted.n_resolved
    reasons: dict[str, str] = {}
    t2_new = t2_training = None
    if reason := _why_no_t2_limit(fitted, k):
        reasons["t2"] = reason
    else:
        n = float(fitted.summary.rows)
        t2_new = k * (n**2 - 1) / (n * (n - k)) * float(special.fdtri(k, n - k, level))
        t2_training = (n - 1) ** 2 / n * float(special.betaincinv(k / 2, (n - k - 1) / 2, level))
    residual = residual_variances(fitted, k)
    q = q_method = None
    if residual is None:
        reasons["q"] = (
            "the model stores only some variances and no covariance; fit with "
            "svd_solver='covariance_eigh' or 'full'"
        )
    elif not residual.size:
        reasons["q"] = (
            f"the components span all directions (k = p = {k})"
            if k == fitted.p
            else "the rows of the fit do not vary outside the components"
        )
    else:
        q, q_method = q_limit(residual, level)
    return Limits(level, k, t2_new, t2_training, q, q_method, reasons)


def checked_level(level: object) -> float:
    """Return a level between 0 and 1.

    Raises
    ------
    ParameterError
    """
    if not is_number(level, Real) or not 0.0 < float(level) < 1.0:  # type: ignore[arg-type]
        raise invalid_value("level", level, "a number between 0 and 1", "0.95 is usual")
    return float(level)  # type: ignore[arg-type]


def _why_no_t2_limit(fitted: Fitted, k: int) -> str | None:
    """Return why T² has no limit, or None if it has one."""
    if fitted.n_samples is None:
        return "the number of rows behind the covariance is not known (n_samples=…)"
    if not fitted.centred:
        return "the limits assume an estimated mean, and the model has center=False"
    if not k:
        return "all components have zero variance"
    n = float(fitted.summary.rows)
    if n <= k + 1:
        return f"{n:g} rows are too few for {k} components: more than k + 1 are needed"
    return None


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


def q_limit(variances: FloatArray, level: float) -> tuple[float, str]:
    """Return the limit of Q from the variances outside the components, and the method.

    ``variances`` are normalised first, so that third powers neither overflow nor underflow.
    """
    total = float(variances.sum())
    shares = variances / total
    theta2, theta3 = float((shares**2).sum()), float((shares**3).sum())
    h = 1.0 - 2.0 * theta3 / (3.0 * theta2**2)
    # With h below 0 the transformation is decreasing, which the sign of h accounts for.
    base = special.ndtri(level) * h * np.sqrt(2.0 * theta2) + 1.0 + theta2 * h * (h - 1.0)
    if base > 0.0 and h != 0.0:
        return total * float(base ** (1.0 / h)), "jackson-mudholkar"
    return total * theta2 * 2.0 * float(special.gammaincinv(0.5 / theta2, level)), "box"
