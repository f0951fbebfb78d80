"""Control limits of T² and Q."""

from __future__ import annotations

from dataclasses import dataclass

from scipy import special

from princomp.core import Fitted, fitted_model, row_total
from princomp.diagnostics.arguments import checked_level, ignoring_rows, shared_docs
from princomp.diagnostics.limits_of_q import q_limits, residual_variances
from princomp.diagnostics.models import fitted_of, solvers_with_covariance
from princomp.errors import counted
from princomp.estimators import PCA

# At most 1, up to rounding.
_AT_MOST_ONE = 1.0 + 1e-6
# Why an uncentred fit has no limits.
_NO_MEAN = "the limits assume an estimated mean; the model has center=False"


@dataclass(frozen=True)
@shared_docs
class Limits:
    """Control limits of T² and Q.

    Parameters
    ----------
    level : float
        Expected share of regular rows below each limit.
    components : int
        Components in T²: those whose variance is above the fit's resolution. All other
        directions belong to Q.
    t2_new, t2_training : float or None
        Limit of T² for rows that were not in the fit, and for those that were.
    q_new, q_training : float or None
        Limits of Q, in squared units of the analysed columns. Both are equal if the number of
        rows is not known.
    q_method : {"jackson-mudholkar", "pearson"} or None
        How the limit of Q of training rows was computed; see :func:`limits`.
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
    q_new: float | None
    q_training: float | None
    q_method: str | None
    reasons: dict[str, str]

    def t2(self, training: bool) -> float | None:
        """Return the limit of T² for training or for new rows."""
        return self.of(training=training)[0]

    @property
    def q(self) -> float | None:
        """Earlier name of ``q_training``."""
        return self.q_training

    def of(self, *, training: bool) -> tuple[float | None, float | None]:
        """Return the limits of T² and Q for training or for new rows."""
        return (self.t2_training, self.q_training) if training else (self.t2_new, self.q_new)


@ignoring_rows
def limits(model: PCA, level: float = 0.95) -> Limits:
    """Compute the control limits of T² and Q at a level.

    T² of new rows: k(n² − 1)/(n(n − k)) F(k, n − k); of training rows:
    (n − 1)²/n Beta(k/2, (n − k − 1)/2). Q of training rows: from the sums of the variances of the
    other directions, of their squares and of their cubes, by Jackson and Mudholkar's power
    transformation if its power is positive, and otherwise by Pearson's χ² with the same three
    moments, which stays accurate if one direction dominates. Q of new rows: the same, times a
    factor that is ((n − 1)/(n − 1 − k))² (1 + 1/n) if the components are strong.

    Parameters
    ----------
    model : PCA
        Fitted.
    level : float, default=0.95

    Returns
    -------
    Limits
        A limit that cannot be computed is None, with the reason in ``reasons``. T²: an unknown
        number of rows, or no component with a variance. Q: no other directions, or a fit that
        stores only some variances and no covariance. Both: too few rows (n ≤ k + 1), or no
        centring.

    Raises
    ------
    ParameterError
        For a level outside (0, 1).

    Notes
    -----
    Tracy, Young & Mason (1992) for T²; Jackson & Mudholkar (1979) and Pearson (1959) for Q. They
    assume multivariate normal rows, all of whose cells are known: :func:`outliers`, and
    :func:`distances` with a level, have limits for rows with filled cells. If rows have weights, n
    is their sum.

    Variances of a sample are unequal even where those of the population are equal. The sums of
    squares and cubes are therefore unbiased estimates of those of the population, from moments of
    Wishart matrices (Srivastava 2005; Letac & Massam 2004); with more columns than rows, sums over
    the sample would be many times too large. Components follow the noise of the rows of the fit, so
    the residuals of new rows are larger. The factor follows from the variances (Bai & Yao 2012;
    Ledoit & Péché 2011), and includes (n − 1)/(n − 3) if columns were divided by their standard
    deviations. If the number of rows is unknown, the factor is 1. Then, or if n − 1 − k is below 3,
    the sums are those of the sample.

    Examples
    --------
    >>> from princomp import PCA
    >>> from princomp.diagnostics import limits
    >>> model = PCA(1).fit([[1.0, 2.0], [2.0, 1.0], [3.0, 4.0], [4.0, 3.0], [6.0, 5.0]])
    >>> print(f"{limits(model).t2_new:.3f}", f"{limits(model).t2_training:.3f}")
    9.250 2.469
    """
    fitted = fitted_of(model)
    fitted_model(model).warn_of_columns_left_out("values of T²", fitted.k)
    level = checked_level(level)
    k = fitted.n_resolved
    reasons: dict[str, str] = {}
    t2_new = t2_training = None
    if reason := _why_no_t2_limit(fitted, k):
        reasons["t2"] = reason
    else:
        n = float(fitted.summary.rows)
        # Factors near 1 first, because the square of a sum of weights may overflow.
        t2_new = (n + 1) / n * ((n - 1) / (n - k)) * k * float(special.fdtri(k, n - k, level))
        beta = float(special.betaincinv(k / 2, (n - k - 1) / 2, level))
        t2_training = (n - 1) / n * ((n - 1) * beta)
    q_new, q_training, q_method, reason = _q_limits(fitted, k, level)
    if reason:
        reasons["q"] = reason
    return Limits(level, k, t2_new, t2_training, q_new, q_training, q_method, reasons)


def _q_limits(
    fitted: Fitted, k: int, level: float
) -> tuple[float | None, float | None, str | None, str]:
    """Return the limits of Q for new and training rows, the method, and why there are none."""
    residual = residual_variances(fitted, k)
    reason = ""
    if not fitted.centred:
        reason = _NO_MEAN
    elif residual is None:
        solvers = solvers_with_covariance(fitted)
        reason = f"the model stores only some variances and no covariance; fit with {solvers}"
    elif not residual.size and k == fitted.p:
        reason = f"the components span all directions (k = p = {k})"
    elif not residual.size:
        reason = "the rows of the fit do not vary outside the components, up to its resolution"
    elif fitted.n_samples is not None:
        reason = _why_too_few(fitted, k)
    if reason or residual is None:
        return None, None, None, reason
    return *q_limits(fitted, residual, k, level), ""


def _why_no_t2_limit(fitted: Fitted, k: int) -> str | None:
    """Return why T² has no limit, or None if it has one."""
    if fitted.n_samples is None:
        return "the number of rows behind the covariance is not known (n_samples=…)"
    if not fitted.centred:
        return _NO_MEAN
    if not k:
        return "all components have zero variance" if fitted.k else "the model has no components"
    return _why_too_few(fitted, k) or None


def _why_too_few(fitted: Fitted, k: int) -> str:
    """Return why the rows are too few for limits, or an empty text."""
    n = float(fitted.summary.rows)
    if n > k + 1:
        return ""
    components = counted(k, "component")
    if not row_total(n, fitted.n_samples):
        return f"{n:g} rows are too few for {components}: more than k + 1 are needed"
    decay, most = fitted.faded_by, ""
    if decay is not None and n * (1 - decay) <= _AT_MOST_ONE:
        most = f" (with decay={decay:g}, at most {1 / (1 - decay):.4g})"
    return (
        f"the weights of the rows sum to {n:g}{most}, too little for {components}: the sum must "
        "exceed k + 1"
    )
