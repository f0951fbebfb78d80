"""Spectrum: the result of a solver, variances and axes, checked."""

from __future__ import annotations

import math
import operator
from dataclasses import InitVar, dataclass, field, replace
from functools import cached_property, lru_cache

import numpy as np

from princomp.errors import DataError, NotFiniteError
from princomp.linalg import FloatArray, empty, fix_signs, frozen

# Axes further than this from orthonormal are wrong: a solver failed or a file was changed.
_ORTHONORMAL = 1e-5
_LARGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Variances and axes of a centred (and scaled) table.

    Parameters
    ----------
    variances : ndarray of shape (q,)
        Eigenvalues of the covariance. They are clipped at zero and must then descend. ``q`` may
        exceed ``k``: a dense solver computes them all.
    axes : ndarray of shape (k, p)
        Unit eigenvectors, one a row. Their signs are fixed here.
    total : float
        Total variance, the trace of the covariance.
    roundoff : float
        Relative error of the solver, about p times the unit roundoff.
    squared : bool
        Whether the solver formed a covariance (the error of each variance is ``roundoff · λ₁``)
        or worked on the rows (``roundoff · σ₁`` in a singular value).
    residuals : ndarray of shape (k,), optional
        ‖Cv − λv‖ / λ₁, where the solver measured it.
    missed : float or None
        Upper bound of the probability that a variance larger than the last of the ``k`` is
        missing: zero where all were computed, None where it is unknown.
    overwrite : bool
        Keep the axes in the given memory, if it is in C order.

    Raises
    ------
    DataError
        When the axes are not orthonormal or the variances do not descend.
    """

    variances: FloatArray
    axes: FloatArray
    total: float
    roundoff: float
    squared: bool = True
    residuals: FloatArray | None = None
    missed: float | None = 0.0
    clipped: int = field(init=False, default=0)
    overwrite: InitVar[bool] = False

    def __post_init__(self, overwrite: bool) -> None:
        put = object.__setattr__  # the dataclass is frozen
        values = np.array(self.variances, dtype=np.float64)
        if values.size:
            if values[-1] < 0:
                put(self, "clipped", int((values < 0).sum()))
                np.maximum(values, 0.0, out=values)
            # For small tables a list is quicker than array operations.
            known: list[float] = values.tolist()
            if not all(map(operator.ge, known, known[1:])):
                raise DataError("the variances do not descend")
            if not (known[0] <= _LARGEST and self.total <= _LARGEST):
                raise _overflow()
        put(self, "variances", frozen(values))
        if not len(self.axes):
            return
        axes, signs = self.axes, fix_signs(self.axes)
        # Adding zero turns −0 into +0.
        if overwrite and axes.flags.c_contiguous:
            for axis, sign in zip(axes, signs, strict=True):
                (np.add if sign > 0 else np.subtract)(0.0, axis, out=axis)
        else:
            axes = np.multiply(axes, signs[:, None], order="C")
            axes += 0.0
        put(self, "axes", frozen(axes))
        if not (_probed(axes) <= _ORTHONORMAL or self.orthogonality <= _ORTHONORMAL):
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
        clipped: int,
    ) -> Spectrum:
        """Make one of results that are sorted, clipped, signed and measured already.

        Parameters are those of the class and its attributes; the arrays are kept as they are.
        """
        if not (variances.item(0) <= _LARGEST and total <= _LARGEST):
            raise _overflow()
        if not orthogonality <= _ORTHONORMAL:
            raise _not_orthonormal(orthogonality)
        spectrum = object.__new__(cls)
        spectrum.__dict__.update(
            variances=frozen(variances),
            axes=frozen(axes),
            total=total,
            roundoff=roundoff,
            squared=True,
            residuals=None,
            missed=0.0,
            clipped=clipped,
        )
        return spectrum

    @cached_property
    def orthogonality(self) -> float:
        """Largest entry of VVᵀ − I in absolute value, zero for no axes."""
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
        """The first variance, or zero."""
        return self.variances.item(0) if self.variances.size else 0.0

    @property
    def resolution(self) -> float:
        """Variance below which results of this solver are noise."""
        return self.largest * (self.roundoff if self.squared else self.roundoff**2)

    @cached_property
    def rates(self) -> FloatArray:
        """Contribution rates (q,): variance over total variance, or zeros."""
        if self.total > 0:
            return self.variances / self.total
        return np.zeros_like(self.variances)

    @property
    def accumulated(self) -> FloatArray:
        """Running sum of the rates (q,), not above one."""
        return np.minimum(np.cumsum(self.rates), 1.0)

    def left_out(self, k: int, rank: int) -> float:
        """Variance beyond the first ``k``, of rows whose rank is at most ``rank``."""
        if len(self.variances) >= rank:
            return float(np.add.reduce(self.variances[k:]))
        # A truncated solver knows the total and the first variances.
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


@lru_cache(maxsize=8)
def _probe(k: int) -> FloatArray:
    """Return numbers from 1 to 2 without a pattern: multiples of the golden ratio, modulo 1."""
    return frozen(1.0 + np.arange(k) * 0.6180339887498949 % 1.0)


def _probed(axes: FloatArray) -> float:
    """Largest entry of (VVᵀ − I) z for a z whose entries are at least 1.

    An entry of VVᵀ − I shows there in full, unless others of its row cancel it for just this z.
    That takes k·p products instead of the k²·p of all entries.
    """
    probe = _probe(len(axes))
    errors = axes.dot(probe.dot(axes)) - probe
    return float(np.maximum.reduce(np.abs(errors, out=errors)))


def completed(spectrum: Spectrum, k: int) -> Spectrum:
    """Return the spectrum with exactly ``k`` axes, those of rounding noise replaced.

    Axes of variances below the resolution are rounding noise. They are replaced by unit vectors
    made orthogonal to the other axes, a function of their span alone: a table with repeated rows
    and the same table with weights get the same axes.
    """
    if spectrum.k == k and (not k or spectrum.variances[k - 1] > spectrum.resolution):
        return spectrum
    known = min(k, spectrum.k)
    sound = int(np.sum(spectrum.variances[:known] > spectrum.resolution))
    if sound >= k:
        return spectrum.first(k)
    axes = _with_units(spectrum.axes[:sound], k - sound)
    variances = spectrum.variances
    if len(variances) < k:
        variances = np.concatenate([variances, np.zeros(k - len(variances))])
    residuals = spectrum.residuals
    if residuals is not None:
        # Of a variance under the resolution, the resolution bounds the residual, and what the
        # residuals of the axes above it have in common with its axis. Where some axes may have
        # been missed, all variance that is not accounted for does.
        bound = math.hypot(spectrum.roundoff, *residuals[:sound].tolist())
        if spectrum.missed is None and spectrum.largest > 0:
            left_out = spectrum.total - float(spectrum.variances[:sound].sum())
            bound = max(bound, left_out / spectrum.largest)
        rest = np.full(k - sound, bound)
        residuals = np.concatenate([residuals[:sound], rest])
    total, error, squared = spectrum.total, spectrum.roundoff, spectrum.squared
    return Spectrum(variances, axes, total, error, squared, residuals, spectrum.missed)


def _with_units(axes: FloatArray, count: int) -> FloatArray:
    """Append ``count`` rows to orthonormal ``axes``, made of the first unit vectors."""
    known, p = axes.shape
    found = empty((known + count, p))
    found[:known] = axes
    kept = 1.0 - np.einsum("ij,ij->j", axes, axes)  # squared length that each unit vector keeps
    for row in range(known, known + count):
        # The first that keeps half of what the best keeps: rounding cannot change the pick.
        pick = int((kept >= 0.5 * np.maximum.reduce(kept)).argmax())
        before, unit = found[:row], found[row]
        # A unit vector's coordinates are a column.
        np.negative(before[:, pick].dot(before), out=unit)
        unit[pick] += 1.0
        unit /= math.sqrt(unit.dot(unit))
        unit -= before.dot(unit).dot(before)
        unit /= math.sqrt(unit.dot(unit))
        kept -= unit * unit
    return found
