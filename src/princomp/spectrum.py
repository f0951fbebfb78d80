"""What a solver answers: variances and axes, with what must hold of them."""

from __future__ import annotations

import operator
from dataclasses import InitVar, dataclass, field, replace
from functools import cached_property, lru_cache

import numpy as np

from princomp.arrays import FloatArray, fix_signs
from princomp.errors import DataError, NotFiniteError

__all__ = ["Spectrum"]

# Axes further than this from orthonormal are no axes: a solver failed or a file was changed.
_ORTHONORMAL = 1e-5
_LARGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Variances and axes of a centred (and scaled) table.

    Parameters
    ----------
    variances : ndarray of shape (q,)
        Eigenvalues of the covariance, in any order of rounding noise: they are
        clipped at zero here and must then descend. ``q`` may exceed ``k``: a dense
        solver knows them all.
    axes : ndarray of shape (k, p)
        Unit eigenvectors, one a row. Signs are fixed here.
    total : float
        Total variance, the trace of the covariance.
    roundoff : float
        Relative error of the route, about p times the unit roundoff.
    squared : bool
        Whether the route formed a covariance (its error is ``roundoff · λ₁`` whatever
        the variance) or worked on the rows (``roundoff · σ₁`` in a singular value).
    residuals : ndarray of shape (k,), optional
        ‖Cv − λv‖ / λ₁ where the solver measured it itself.
    missed : float or None
        Probability, at most, that a variance larger than the last of the ``k`` is missing: zero
        where all were computed, None where it is not known.
    spend : bool
        Keep the axes in the memory that is given, if they lie row by row.

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
    spend: InitVar[bool] = False

    def __post_init__(self, spend: bool) -> None:
        put = object.__setattr__  # the record is frozen for everyone but its constructor
        values = np.array(self.variances, dtype=np.float64)
        if values.size:
            if values[-1] < 0:
                put(self, "clipped", int((values < 0).sum()))
                np.maximum(values, 0.0, out=values)
            # A list is quicker than array operations for as many as make a difference.
            known: list[float] = values.tolist()
            if not all(map(operator.ge, known, known[1:])):
                raise DataError("the variances do not descend")
            if not known[0] <= _LARGEST:
                raise _overflow()
        put(self, "variances", _sealed(values))
        if not len(self.axes):
            return
        axes, signs = self.axes, fix_signs(self.axes)
        # A zero becomes +0 whatever the sign.
        if spend and axes.flags.c_contiguous:
            for axis, sign in zip(axes, signs, strict=True):
                (np.add if sign > 0 else np.subtract)(0.0, axis, out=axis)
        else:
            axes = np.multiply(axes, signs[:, None], order="C")
            axes += 0.0
        put(self, "axes", _sealed(axes))
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
        """Of a solver that sorts, clips, fixes the signs and measures ``orthogonality`` itself.

        The other parameters are those of the class; the arrays are kept as they are.
        """
        if not variances.item(0) <= _LARGEST:
            raise _overflow()
        if not orthogonality <= _ORTHONORMAL:
            raise _not_orthonormal(orthogonality)
        made = object.__new__(cls)
        made.__dict__.update(
            variances=_sealed(variances),
            axes=_sealed(axes),
            total=total,
            roundoff=roundoff,
            squared=True,
            residuals=None,
            missed=0.0,
            clipped=clipped,
        )
        return made

    @cached_property
    def orthogonality(self) -> float:
        """Largest entry of |VVᵀ − I|, zero for no axes."""
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
        """The first variance, zero where there is none."""
        return self.variances.item(0) if self.variances.size else 0.0

    @property
    def resolution(self) -> float:
        """Variance under which a number of this route is noise."""
        return self.largest * (self.roundoff if self.squared else self.roundoff**2)

    @cached_property
    def rates(self) -> FloatArray:
        """Contribution rates (q,): variance over total variance, zero where there is none."""
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
        # A truncated solver knows the total and what it found.
        return max(self.total - float(np.add.reduce(self.variances[:k])), 0.0)

    def times_power(self, exponent: int) -> Spectrum:
        """The same axes with variances multiplied by 2 to the ``exponent``, exactly."""
        if not exponent:
            return self
        variances = np.ldexp(self.variances, exponent)
        return replace(self, variances=variances, total=float(np.ldexp(self.total, exponent)))

    def first(self, k: int) -> Spectrum:
        """The same variances with only the first ``k`` axes."""
        residuals = None if self.residuals is None else self.residuals[:k]
        return replace(self, axes=self.axes[:k], residuals=residuals)


def _overflow() -> NotFiniteError:
    return NotFiniteError(
        "the variances overflow float64",
        hint="divide the columns by a power of ten, or use scale='unit'",
    )


def _not_orthonormal(away: float) -> DataError:
    return DataError(f"the axes are not orthonormal: VVᵀ is {away:.1e} from the identity")


@lru_cache(maxsize=8)
def _probe(k: int) -> FloatArray:
    """Numbers from 1 to 2 without a pattern: multiples of the golden ratio, modulo 1."""
    return _sealed(1.0 + np.arange(k) * 0.6180339887498949 % 1.0)


def _probed(axes: FloatArray) -> float:
    """Largest entry of (VVᵀ − I) z for a z whose entries are 1 at least.

    An entry of VVᵀ − I shows there in full, unless others of its row undo it for just this
    z. That takes k·p products, where all entries take k² p.
    """
    probe = _probe(len(axes))
    away = axes.dot(probe.dot(axes)) - probe
    return float(np.maximum.reduce(np.abs(away, out=away)))


def _sealed(array: FloatArray) -> FloatArray:
    array.setflags(write=False)
    return array
