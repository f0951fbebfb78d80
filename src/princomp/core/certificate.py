"""The certificate of a result: its errors, measured rather than assumed.

Residuals are measured with the summary that a fit kept or, which needs another pass, with its rows.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from princomp.core.context import FitContext, in_safe_range
from princomp.core.request import Request
from princomp.core.weights import WEIGHT_TOLERANCE, attach_weights, checked_weights
from princomp.errors import NotAvailableError, NotFiniteError, ShapeError, warn
from princomp.io import listed, not_finite_error
from princomp.linalg import FloatArray, frozen, one_blas_thread
from princomp.solvers import Images, ImagesOf, Spectrum
from princomp.summaries import Columns, SampleWeight, Sketch

if TYPE_CHECKING:
    from princomp.core.fitted import Fitted
    from princomp.core.fitted_model import PCAModel
    from princomp.core.routes.base import Summary

# A certificate calls axes inseparable if the gap leaves them fewer than this many correct digits.
_MIN_DIGITS = 4
# Residuals above this, and far above those of the certificate, show that rows are not of the fit.
_MAX_OWN_RESIDUAL = 1e-2

# What to do if rows are not those of a fit whose rows have faded.
DECAY_HINT = "with decay, give sample_weight=decay**age: the last row has age 0"


@dataclass(frozen=True, eq=False)
class Certificate:
    """How far a fit can be trusted.

    Attributes
    ----------
    residuals : ndarray of shape (k,)
        ‖Cv − λv‖ / λ₁ of each component. An estimate if the rows were only sketched; NaN if
        the fit kept nothing to measure it with.
    orthogonality : float
        Largest entry of VVᵀ − I in absolute value.
    below_resolution : ndarray of bool of shape (k,)
        Whether the route cannot distinguish a variance from zero, so that it is noise.
    inseparable : list of (int, int)
        Pairs of neighbouring components, counted from 0, whose variances are too close for the
        precision: their plane is determined, unless their residuals are large, but the axes in it
        are not. The last pair may contain the first component that was not kept.
    missed : float or None
        Upper bound of the probability that a component with a larger variance than the last one
        is missing: 0 if all variances were computed, None if it is not known.
    passes : int
        Number of times that the rows were read.
    bytes_read : int
        Bytes of rows that went into the fit.
    against_rows : bool
        Whether the residuals were measured with the rows, as :meth:`princomp.PCA.verify` does,
        rather than with the summary that the fit kept.

    Examples
    --------
    >>> import numpy as np
    >>> from princomp import PCA
    >>> X = np.array([[1.0, 2, 3], [2, 1, 3], [3, 4, 7], [4, 3, 7]])
    >>> model = PCA().fit(X)
    >>> model.certificate_.below_resolution
    array([False, False,  True])
    """

    residuals: FloatArray
    orthogonality: float
    below_resolution: NDArray[np.bool_]
    inseparable: list[tuple[int, int]]
    missed: float | None
    passes: int
    bytes_read: int
    against_rows: bool = False

    @property
    def missed_in_words(self) -> str:
        """Whether a component with a larger variance may be missing, in words."""
        if self.missed is None or self.missed >= 1.0:
            return "not known"
        return f"probability at most {self.missed:.1e}" if self.missed else "no"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; NaN and infinity become null."""
        return {
            **vars(self),
            "residuals": [float(r) if np.isfinite(r) else None for r in self.residuals],
            "below_resolution": self.below_resolution.tolist(),
            "inseparable": [list(pair) for pair in self.inseparable],
        }

    def to_json(self) -> str:
        """The certificate as a JSON object."""
        return json.dumps(self.to_dict())

    def __str__(self) -> str:
        known = self.residuals[~np.isnan(self.residuals)]
        worst = f"{known.max():.1e}" if known.size else "not measured"
        worst += ", measured with the rows" if self.against_rows else ""
        noise = [str(i + 1) for i in np.flatnonzero(self.below_resolution)]
        pairs = [f"{a + 1} and {b + 1}" for a, b in self.inseparable]
        return "\n".join(
            [
                "Certificate",
                f"  largest residual      {worst}",
                f"  loss of orthogonality {self.orthogonality:.1e}",
                f"  below resolution      {'component ' * bool(noise)}{listed(noise, 8) or 'none'}",
                f"  inseparable           {listed(pairs, 8) or 'none'}",
                f"  missed a larger one   {self.missed_in_words}",
                f"  passes                {self.passes}",
                f"  bytes read            {self.bytes_read:,}",
            ]
        )


def certify(
    spectrum: Spectrum, summary: Summary | None, k: int, *, passes: int | None, bytes_read: int
) -> Certificate:
    """Measure the errors of a spectrum with its (centred, scaled) summary, if there is one."""
    variances, residuals = spectrum.variances, frozen(_residuals(spectrum, summary, k))
    return Certificate(
        residuals,
        spectrum.orthogonality,
        variances[:k] <= spectrum.resolution,
        inseparable_pairs(spectrum, k, residuals, _MIN_DIGITS),
        spectrum.missed,
        passes or 0,
        bytes_read,
    )


def _residuals(spectrum: Spectrum, summary: Summary | None, k: int) -> FloatArray:
    if spectrum.residuals is not None:
        return spectrum.residuals[:k]
    if summary is None or isinstance(summary, Columns | Sketch):
        return np.full(k, np.nan)
    if spectrum.largest == 0.0:
        return np.zeros(k)
    axes = spectrum.axes[:k].T
    # Relative to λ₁ before anything is squared: a variance may be 1e300.
    images = summary.times(axes) / (summary.rows - 1.0) / spectrum.largest
    shares = spectrum.variances[:k] / spectrum.largest
    return np.linalg.norm(images - axes * shares, axis=0)


def inseparable_pairs(
    spectrum: Spectrum, k: int, residuals: FloatArray, digits: int
) -> list[tuple[int, int]]:
    """Find neighbours, up to the first one left out, with too small a gap for ``digits`` digits.

    By Davis & Kahan (1970), the angle is at most error / gap. The error is a bound, so most axes
    are more accurate.
    """
    values = spectrum.variances[: k + 1]
    if not values.any():
        return [(i, i + 1) for i in range(len(values) - 1)]
    shares = values / values[0]
    error: FloatArray = np.full(len(values) - 1, spectrum.roundoff)
    if not spectrum.squared:
        # An error u·σ₁ in σ is 2·u·√(λ λ₁) in λ.
        error = 2 * spectrum.roundoff * np.sqrt(shares[:-1]) + spectrum.roundoff**2
    # A residual, if it is known, turns an axis as much as an error of the matrix of the same size.
    for first in (0, 1):
        known = residuals[first : first + len(error)]
        error[: len(known)] = np.fmax(error[: len(known)], known)
    close = (shares[:-1] - shares[1:]) < 10.0**digits * error
    return [(int(i), int(i) + 1) for i in np.flatnonzero(close)]


def verify_table(model: PCAModel, X: object, sample_weight: SampleWeight = None) -> Certificate:
    """Return the certificate of a fit, with residuals measured in one more pass over the rows.

    Each block is centred, scaled and multiplied with the axes in float64, so the residuals include
    what was lost in the summary.

    Parameters
    ----------
    model : PCAModel
    X, sample_weight
        As for :meth:`princomp.PCA.verify`.

    Raises
    ------
    ShapeError
        If these are not the rows of the fit: their number or weight differs.
    NotFiniteError
        For NaN or infinity.
    NotAvailableError
        If the fit filled missing cells, or its mean or number of rows is not known.
    """
    X, sample_weight = attach_weights(X, sample_weight)
    data, names, origin = model.schema.open(X)
    weights = checked_weights(sample_weight, data.shape[0])
    request, fitted = Request.of(model.parameters), model.result
    # If no cell was filled, the rows with NaN have no known cell, and the fit left them out.
    request = request._replace(drop=request.drop or request.fill is not None)
    if fitted.filled is not None and fitted.filled.cells:
        raise NotAvailableError(
            "this fit filled missing cells, so its rows are not those given",
            hint="fill the rows first (model.impute), and fit and check the filled rows",
        )
    fitted.require_mean()
    fitted.row_count("residuals against rows")
    summary, columns = fitted.summary, fitted.columns
    centring = columns if fitted.centred else columns.about_origin()
    scaled = centring if fitted.scale is None else centring.scaled(fitted.scale)
    exponent, _, divisor = in_safe_range(scaled, fitted.scale, np.dtype(np.float64))
    axes: FloatArray = fitted.spectrum.axes[: fitted.k]
    kind = ImagesOf(np.ascontiguousarray(axes.T), centring, divisor)
    fit = FitContext(request, request.problem(data), data, weights, names)
    try:
        folded = _fold_images(fit, kind)
    except NotFiniteError as error:
        raise not_finite_error(data, error, columns=names, origin=origin) from None
    if not abs(folded.rows - summary.rows) <= WEIGHT_TOLERANCE * summary.rows:
        raise ShapeError(
            f"these are not the rows of the fit: it stands for {summary.rows:,.10g} rows, "
            f"and these are {folded.rows:,.10g}",
            place={"rows": folded.rows, "fitted": summary.rows},
            hint="give the rows (and sample_weight) that the model was fitted to"
            if fitted.faded_by is None
            else DECAY_HINT,
        )
    if not fitted.spectrum.largest > 0.0:
        residuals = np.linalg.norm(folded.image, axis=0)
    else:
        size = np.ldexp(fitted.spectrum.largest, -2 * exponent) * (summary.rows - 1.0)
        shares = fitted.variances / fitted.spectrum.largest
        residuals = np.linalg.norm(folded.image / size - axes.T * shares, axis=0)
    _warn_of_other_rows(fitted, residuals)
    return replace(fitted.certificate, residuals=residuals, against_rows=True)


def _warn_of_other_rows(fitted: Fitted, residuals: FloatArray) -> None:
    """Warn of residuals far above what the route allows: the rows are not those of the fit."""
    largest = float(residuals.max(initial=0.0))
    expected = 100 * float(np.nan_to_num(fitted.certificate.residuals).max(initial=0.0))
    if not isinstance(fitted.summary, Sketch) and largest > max(_MAX_OWN_RESIDUAL, expected):
        warn(
            "these are probably not the rows of the fit: the largest residual is "
            f"{largest:.2g} times the first variance, far more than rounding explains. Check the "
            "file, the units and the order of the columns"
        )


def _fold_images(fit: FitContext, kind: ImagesOf) -> Images:
    """Multiply the rows with the axes.

    Raises
    ------
    NotFiniteError
        For NaN, infinity or products that overflow; with the place if the rows can be read again.
    """
    with one_blas_thread():
        images: Images = fit.fold(kind, "check", precise=True).summary
        if not np.isfinite(images.image).all():
            if not fit.problem.repeatable:
                raise NotFiniteError(
                    "the rows contain NaN or infinity, or their products overflow, and they "
                    "can be read only once",
                    hint="give a function that makes a new iterator to see where: "
                    "model.verify(lambda: batches())",
                )
            fit.fold(Columns, "check")  # raises, with the place of the value
    return images
