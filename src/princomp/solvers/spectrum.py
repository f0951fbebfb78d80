"""Spectrum: the variances and axes computed by a solver, checked."""

from __future__ import annotations

import math
import operator
from dataclasses import InitVar, dataclass, replace

import numpy as np

from princomp.errors import DataError, NotFiniteError
from princomp.linalg import FloatArray, cached_property, empty, fix_signs, frozen

# Axes further from orthonormal than this are wrong: a solver failed or a file was changed.
_ORTHONORMAL = 1e-5
_LARGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Variances and axes of a centred (and scaled) table.

    Parameters
    ----------
    variances : ndarray of shape (q,)
        Eigenvalues of the covariance matrix. They are clipped at zero and must then descend. ``q``
        may exceed ``k``, because dense solvers compute all variances.
    axes : ndarray of shape (k, p)
        Unit eigenvectors as rows. Their signs are fixed here, unless ``signs_given``.
    total : float
        Total variance, the trace of the covariance.
    roundoff : float
        Relative error of the solver, about p times the unit roundoff.
    squared : bool
        True if the solver formed a covariance matrix: the error of each variance is about
        ``roundoff · λ₁``. False if it worked on the rows: the error of each singular value is about
        ``roundoff · σ₁``.
    residuals : ndarray of shape (k,), optional
        ‖Cv − λv‖ / λ₁, if the solver measured it.
    missed : float or None
        Upper bound of the probability that a variance larger than the last of the ``k`` is
        missing: zero if all variances were computed, None if the probability is unknown.
    signs_given : bool
        Keep the signs of the axes.
    overwrite : bool
        Fix the signs of the axes in the given memory, if it is in C order.

    Raises
    ------
    DataError
        If the axes are not orthonormal or the variances do not descend.
    NotFiniteError
        If the variances or their total overflow.
    """

    variances: FloatArray
    axes: FloatArray
    total: float
    roundoff: float
    squared: bool = True
    residuals: FloatArray | None = None
    missed: float | None = 0.0
    signs_given: bool = False
    overwrite: InitVar[bool] = False

    def __post_init__(self, overwrite: bool) -> None:
        set_field = object.__setattr__  # the dataclass is frozen
        values = np.array(self.variances, dtype=np.float64)
        if values.size:
            if values[-1] < 0:
                np.maximum(values, 0.0, out=values)
            # For small tables, a list is faster than array operations.
            listed: list[float] = values.tolist()
            if not all(map(operator.ge, listed, listed[1:])):
                raise DataError("the variances do not descend")
            if not (listed[0] <= _LARGEST and self.total <= _LARGEST):
                raise _overflow()
        set_field(self, "variances", frozen(values))
        if not len(self.axes):
            return
        axes = self.axes
        signs = np.ones(len(axes), axes.dtype) if self.signs_given else fix_signs(axes)
        # Adding zero turns −0 into +0.
        if overwrite and axes.flags.c_contiguous:
            for axis, sign in zip(axes, signs, strict=True):
                (np.add if sign > 0 else np.subtract)(0.0, axis, out=axis)
        else:
            axes = np.multiply(axes, signs[:, None], order="C")
            axes += 0.0
        set_field(self, "axes", frozen(axes))
        if not (_probe_error(axes) <= _ORTHONORMAL or self.orthogonality <= _ORTHONORMAL):
            raise _not_orthonormal(self.orthogonality)

    @classmethod
    def measured(
        cls,
        variances: FloatArray,
        axes: FloatArray,
        total: float,
        roundoff: float,
        *,
        orthogonality: float,
    ) -> Spectrum:
        """Make a Spectrum from results that are already sorted, clipped and have fixed signs.

        Parameters are those of the class, and measured attributes. The arrays are not copied.
        """
        if not (variances.item(0) <= _LARGEST and total <= _LARGEST):
            raise _overflow()
        if not orthogonality <= _ORTHONORMAL:
            raise _not_orthonormal(orthogonality)
        spectrum = object.__new__(cls)
        spectrum.__dict__.update(
            variances=frozen(variances), axes=frozen(axes), total=total, roundoff=roundoff
        )
        return spectrum

    @cached_property
    def orthogonality(self) -> float:
        """Largest absolute entry of VVᵀ − I; zero if there are no axes."""
        if not len(self.axes):
            return 0.0
        gram = self.axes @ self.axes.T
        gram.ravel()[:: self.k + 1] -= 1.0
        return float(np.maximum.reduce(np.abs(gram, out=gram), axis=None))

    @property
    def k(self) -> int:
        """Number of axes."""
        return len(self.axes)

    @property
    def largest(self) -> float:
        """The first variance, or zero if there are none."""
        return self.variances.item(0) if self.variances.size else 0.0

    @property
    def resolution(self) -> float:
        """Variance below which results of this solver are noise."""
        return self.largest * (self.roundoff if self.squared else self.roundoff**2)

    @cached_property
    def rates(self) -> FloatArray:
        """Shares of the total variance (q,); zeros if there is no variance."""
        if self.total > 0:
            return self.variances / self.total
        return np.zeros_like(self.variances)

    @property
    def accumulated(self) -> FloatArray:
        """Cumulative sum of the rates (q,), at most one."""
        return np.minimum(np.cumsum(self.rates), 1.0)

    def left_out(self, k: int, rank: int) -> float:
        """Variance of all components after the first ``k``, if the rank is at most ``rank``."""
        if len(self.variances) >= rank:
            return float(np.add.reduce(self.variances[k:]))
        # A truncated solver only computes the total and the first variances.
        return max(self.total - float(np.add.reduce(self.variances[:k])), 0.0)

    def times_power(self, exponent: int) -> Spectrum:
        """Multiply the variances by 2 to the ``exponent``, exactly."""
        if not exponent:
            return self
        variances = np.ldexp(self.variances, exponent)
        return replace(self, variances=variances, total=float(np.ldexp(self.total, exponent)))

    def first(self, k: int) -> Spectrum:
        """Keep only the first ``k`` axes, and all variances."""
        residuals = None if self.residuals is None else self.residuals[:k]
        return replace(self, axes=self.axes[:k], residuals=residuals)


def _overflow() -> NotFiniteError:
    return NotFiniteError(
        "the variances overflow float64",
        hint="divide the columns by a power of ten, or use scale='unit'",
    )


def _not_orthonormal(error: float) -> DataError:
    return DataError(f"the axes are not orthonormal: VVᵀ is {error:.1e} from the identity")


def _probe_error(axes: FloatArray) -> float:
    """Largest absolute entry of (VVᵀ − I) z, for a vector z with entries of at least 1.

    It is at least as large as any entry of VVᵀ − I, unless other entries of the same row cancel it
    for this particular z. This takes about k·p multiplications instead of k²·p for all entries.
    """
    # Numbers from 1 to 2 without a pattern: multiples of the golden ratio, modulo 1.
    probe = 1.0 + np.arange(len(axes)) * 0.6180339887498949 % 1.0
    errors = axes.dot(probe.dot(axes)) - probe
    return float(np.maximum.reduce(np.abs(errors, out=errors)))


def completed(spectrum: Spectrum, k: int) -> Spectrum:
    """Return the spectrum with exactly ``k`` axes, replacing axes that are rounding noise.

    Axes with a variance below the resolution are rounding noise. They are replaced by unit vectors
    made orthogonal to the other axes. The result depends only on the span of the other axes, so a
    table with repeated rows and the same table with weights get the same axes.
    """
    if spectrum.k == k and (not k or spectrum.variances[k - 1] > spectrum.resolution):
        return spectrum
    known = min(k, spectrum.k)
    sound = int(np.count_nonzero(spectrum.variances[:known] > spectrum.resolution))
    if sound >= k:
        return spectrum.first(k)
    axes = _with_units(spectrum.axes[:sound], k - sound)
    variances = spectrum.variances
    if len(variances) < k:
        variances = np.concatenate([variances, np.zeros(k - len(variances))])
    residuals = spectrum.residuals
    if residuals is not None:
        # The residual of a replaced axis is bounded by the resolution, combined with the components
        # of the other axes' residuals along this axis. If larger variances may have been missed,
        # it is bounded by all variance that is not accounted for.
        bound = math.hypot(spectrum.roundoff, *residuals[:sound].tolist())
        if spectrum.missed != 0.0 and spectrum.largest > 0:
            left_out = spectrum.total - float(spectrum.variances[:sound].sum())
            bound = max(bound, left_out / spectrum.largest)
        rest = np.full(k - sound, bound)
        residuals = np.concatenate([residuals[:sound], rest])
    return replace(spectrum, variances=variances, axes=axes, residuals=residuals)


def _with_units(axes: FloatArray, count: int) -> FloatArray:
    """Append ``count`` rows, made from unit vectors, to orthonormal ``axes``."""
    known, p = axes.shape
    found = empty((known + count, p))
    found[:known] = axes
    kept = 1.0 - np.einsum("ij,ij->j", axes, axes)  # squared length that each unit vector keeps
    for row in range(known, known + count):
        # Pick the first unit vector that keeps at least half as much as the best one, so that
        # rounding does not change the choice.
        pick = int((kept >= 0.5 * np.maximum.reduce(kept)).argmax())
        before, unit = found[:row], found[row]
        # The coordinates of a unit vector in the basis are a column of the basis.
        np.negative(before[:, pick].dot(before), out=unit)
        unit[pick] += 1.0
        unit -= before.dot(unit).dot(before)
        unit /= math.sqrt(unit.dot(unit))
        kept -= unit * unit
    return found
