"""Base class of the summaries about a mean, and the arithmetic to merge and remove rows."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

import numpy as np

from princomp.errors import NotFiniteError, ParameterError, ShapeError
from princomp.kernels import CHUNK_ROWS
from princomp.linalg import EPS, FloatArray
from princomp.summaries.blocks import block_rows, check_mergeable, column_overflow, merged_mean
from princomp.summaries.space import Space

Names = tuple[str, ...] | None
Kind = TypeVar("Kind", bound="Centred")

# Units of roundoff by which sums of weights may be off.
_WEIGHT_UNITS = 64
# Units of roundoff by which the scatter of a few rows may be off.
_FEWEST_UNITS = 64
# Different doubles of at least this size are more than 1e-162 apart, so that the square of their
# difference is not 0.
_MIN_RESOLVED_MEAN = 1e-145
# Deviations whose squares have a smaller sum are below 1e-157.
_UNDERFLOWED = 1e-315


class Joined(NamedTuple):
    """Rows and mean after a merge, and the difference of the two means.

    After a removal: the rows and mean that remain, and the offset of the removed rows' mean from
    the mean of all rows; ``delta_weight`` is then negative.

    Parameters
    ----------
    fields : dict
        Fields ``rows``, ``count``, ``mean`` and ``mean_low``.
    delta : ndarray of shape (p,)
        δ, the difference of the means.
    delta_weight : float
        n₁n₂/(n₁+n₂), the weight of δδᵀ in the joint scatter.
    """

    fields: dict[str, Any]
    delta: FloatArray
    delta_weight: float


@dataclass(frozen=True, slots=True, eq=False)
class Centred:
    """Base class of summaries with a mean; see :class:`~princomp.summaries.Moments`."""

    rows: float
    count: int
    mean: FloatArray
    mean_low: FloatArray

    # Rows per block.
    block_rows = staticmethod(block_rows)
    # Whether incomplete rows must be removed before a summary is made. If not, they are found
    # because the sums are NaN.
    complete_only = False
    # Summaries of two kinds are merged as the kind with less detail of the scatter; see
    # `_merged_as_kind`.
    detail = 0

    if TYPE_CHECKING:  # attributes of all subclasses

        @property
        def column_scatter(self) -> FloatArray:
            """Diagonal of the scatter (p,)."""

        @property
        def centred(self) -> bool:
            """Whether the scatter is about the mean, not about the origin."""

        @property
        def unit(self) -> float:
            """Unit roundoff of the least precise product in the scatter."""

        @property
        def lost(self) -> FloatArray | None:
            """Errors (p,) of the column scatters due to removed rows; see `_lost_by_removing`."""

    @property
    def p(self) -> int:
        """Number of columns."""
        return len(self.mean)

    @property
    def rank_limit(self) -> int:
        """Upper bound of the rank of the scatter."""
        return max(0, min(self.p, self.count - self.centred))

    @property
    def effective_unit(self) -> float:
        """Unit roundoff of the scatter: of its products, plus the loss due to removed rows."""
        if self.lost is None:
            return float(self.unit)
        total, lost = float(np.sum(self.column_scatter)), float(np.sum(self.lost))
        return float(self.unit + lost / total) if lost < total else 1.0

    @property
    def kind(self) -> str:
        """Name of this kind of summary in messages, the same on any device."""
        return type(self).__name__.removeprefix("Device")

    def to_host(self) -> Any:
        """Return the summary with its arrays in this process's memory."""
        return self

    def _joined(self, other: Centred) -> Joined | None:
        """Return what a merge needs, or None if one of the two has no rows."""
        check_mergeable(self, other)
        if not (self.rows and other.rows):
            return None
        rows = self.rows + other.rows
        delta = (other.mean - self.mean) + (other.mean_low - self.mean_low)
        share = other.rows / rows
        # Start from the mean with more weight: it moves less, so it loses fewer digits.
        if other.rows <= self.rows:
            mean, low = merged_mean(self.mean, self.mean_low, delta, share)
        else:
            mean, low = merged_mean(other.mean, other.mean_low, -delta, self.rows / rows)
        fields = {"rows": rows, "count": self.count + other.count, "mean": mean, "mean_low": low}
        return Joined(fields, delta, self.rows * share)

    def _merged_errors(self, other: Centred) -> dict[str, Any]:
        """Return the fields ``unit`` and ``lost`` of the summary of the rows of both."""
        lost = [summary.lost for summary in (self, other) if summary.lost is not None]
        return {"unit": max(self.unit, other.unit), "lost": sum(lost) if lost else None}

    def _merged_as_kind(self: Any, other: Any) -> Any:
        """Merge with a summary of another kind, as the less detailed kind of the two.

        A triangle can become a scatter, and both can become a sketch. The resulting kind depends
        only on the two kinds, not on their order or their rows.

        Raises
        ------
        ParameterError
            If ``other`` is not a summary.
        ShapeError
            For different numbers of columns or different centres.
        """
        if not issubclass(type(other), Centred):
            raise ParameterError(
                f"a summary is merged with another one, got {type(other).__name__}",
                place={"parameter": "other"},
                hint="summarise rows first: Moments.of(X)",
            )
        check_mergeable(self, other)
        if self.detail < other.detail:
            return self.merge(self.converted(other.to_host()))
        return other.converted(self.to_host()).merge(other)

    def _without(self, other: Centred) -> Joined | None:
        """Return what a removal needs, or None if no rows or all rows are removed.

        Raises
        ------
        ShapeError
            If ``other`` has more rows than this summary.
        ParameterError
            If ``other`` is not a summary of the same kind.
        """
        if not isinstance(other, Centred) or other.detail != self.detail:
            raise ParameterError(
                f"a {type(other).__name__} cannot be removed from a summary of kind {self.kind}",
                place={"parameter": "other"},
                hint="summarise the rows to remove as the same kind",
            )
        check_mergeable(self, other)
        rows, rounding = self.rows - other.rows, self.rows * _WEIGHT_UNITS * EPS
        if rows < -rounding or (other.rows and not self.rows):
            raise ShapeError(
                f"cannot remove {other.rows:g} rows from {self.rows:g}",
                hint="remove only rows that were added before",
            )
        if not other.rows or rows <= rounding:
            return None
        offset = (other.mean - self.mean) + (other.mean_low - self.mean_low)
        mean, low = merged_mean(self.mean, self.mean_low, offset, -other.rows / rows)
        # With weights, part of the weight of a removed row may remain.
        unweighted = self.rows == self.count and other.rows == other.count
        count = self.count - other.count if unweighted else self.count
        # The two means differ by δ = offset · n/n_left. So the scatter loses
        # (n_removed·n_left/n)·δδᵀ = (n_removed·n/n_left)·offset offsetᵀ.
        fields = {"rows": rows, "count": count, "mean": mean, "mean_low": low}
        return Joined(fields, offset, -other.rows * (self.rows / rows))

    def _lost_by_removing(
        self, part: Centred, remaining: FloatArray, delta: FloatArray, delta_weight: float
    ) -> FloatArray:
        """Errors (p,) of the column scatters ``remaining`` when ``part`` is removed.

        The difference keeps the rounding errors of the removed rows: if their values were 10⁶ times
        larger than the others, twelve digits are lost. ``unit`` covers the rounding of the other
        rows. The errors of the two means, up to ``unit`` times the deviations of the rows, are
        multiplied by δ and its weight, which is large if few rows remain.
        """
        removed = np.abs(self.column_scatter - remaining)
        lost = self.unit * removed + part.unit * part.column_scatter
        errors = self.unit * np.sqrt(self.column_scatter / self.rows)
        errors += part.unit * np.sqrt(part.column_scatter / part.rows)
        size, length = float(np.linalg.norm(errors)), float(np.linalg.norm(delta))
        if size and length:
            # Entry (i, j) of w (δeᵀ + eδᵀ) is at most √(lᵢ lⱼ) for l = w (t δ² + e²/t) and any t.
            lost -= delta_weight * (size / length * delta**2 + length / size * errors**2)
        for summary in (self, part):
            if summary.lost is not None:
                lost = lost + summary.lost
        return lost

    def _slack_of_remaining(self, part: Centred, remaining: FloatArray) -> FloatArray:
        """Return the scatter (p,) that a constant column may have from rounding alone.

        Raises
        ------
        ShapeError
            If the rows to remove have a larger scatter than all rows.
        """
        error = max(self.unit, part.unit) * self.column_scatter
        error += self.count * np.finfo(np.float64).smallest_subnormal  # products may underflow
        slack = self._sum_units * (error if self.lost is None else error + self.lost)
        upper = remaining + self.p * slack
        if (upper < 0).any():
            column = int(np.argmin(upper))
            raise ShapeError(
                f"the rows to remove spread further in column {column} than all rows do",
                place={"column": column},
                hint="remove only rows that were added before",
            )
        return slack

    def check_same_rows(self, other: Centred) -> None:
        """Refuse a summary of as many other rows, which differs by more than rounding.

        Raises
        ------
        ShapeError
        """
        remaining = self.column_scatter - other.column_scatter
        bound = self.p * self._slack_of_remaining(other, remaining)
        shift = (other.mean - self.mean) + (other.mean_low - self.mean_low)
        with np.errstate(over="ignore"):  # then the column is not compared
            error_of_mean = self._sum_units * max(self.unit, other.unit) * self.mean
            bound += self.rows * error_of_mean**2
            difference = np.maximum(np.abs(remaining), self.rows * shift**2)
        if (difference > bound).any():
            column = int(np.argmax(difference > bound))
            raise ShapeError(
                f"the rows to remove are not those that were added: column {column} differs",
                place={"column": column},
                hint="remove only rows that were added before",
            )

    @property
    def _sum_units(self) -> int:
        """Units of roundoff by which the difference of two scatters may be off.

        If equal numbers are added to a larger one, each addition may round by half a unit, all in
        the same direction. Both scatters have such sums, over a chunk of rows at most.
        """
        if self.lost is not None:  # from removed rows, whose number is not known
            return self._chunk_rows
        return min(self._chunk_rows, max(self.count, _FEWEST_UNITS))

    @property
    def _chunk_rows(self) -> int:
        """Largest number of rows whose products are added one by one."""
        return CHUNK_ROWS

    def _put(self, array: FloatArray) -> Any:
        """Return the array in the memory that holds the scatter: here unchanged, on the host."""
        return array

    def _faded_fields(self, factor: float) -> dict[str, Any]:
        """Return the fields that change if weights are multiplied by ``factor``."""
        lost = None if self.lost is None else self.lost * factor
        return {"rows": self.rows * factor, "lost": lost}

    def _scaled_fields(self, divisor: FloatArray) -> dict[str, Any]:
        """Return the fields that change if rows are divided by ``divisor`` (p,)."""
        lost = None if self.lost is None else self.lost / divisor / divisor
        return {"mean": self.mean / divisor, "mean_low": self.mean_low / divisor, "lost": lost}

    def _fields_about_origin(self) -> dict[str, Any]:
        """Return the fields that change if the scatter is taken about the origin."""
        zero = np.zeros_like(self.mean)
        return {"mean": zero, "mean_low": zero, "centred": False}


class OnDevice(Centred):
    """Base class of summaries on a device: pickled as host summaries, and never copied."""

    __slots__ = ()

    space: Space

    def _put(self, array: FloatArray) -> Any:
        """Copy an array to the device."""
        return self.space.put(array)

    def __reduce__(self) -> Any:
        summary = self.to_host()
        return type(summary), tuple(getattr(summary, field.name) for field in fields(summary))

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self


def as_kind(kind: type[Kind], summary: Centred, **changes: Any) -> Kind:
    """Return a summary as class ``kind``, with its fields except for those in ``changes``."""
    names = {field.name for field in fields(kind)} - changes.keys()
    return kind(**{name: getattr(summary, name) for name in names}, **changes)


def check_range(summary: Centred, names: Names = None, *, each: bool = False) -> None:
    """Check that the squares of all columns neither overflow nor lose digits to underflow.

    The squares of a column lose digits if they are subnormal on average. If they are zero, the
    column may be constant, or all of them have underflowed; where the mean is near zero, this is
    not known. Unless ``each`` is true, such columns are accepted if the largest column is so much
    larger that their entries in the axes are rounding.

    Raises
    ------
    NotFiniteError
        If the check fails; names the first such column.
    """
    squares = summary.column_scatter
    finite = np.isfinite(squares)
    if not finite.all():
        raise column_overflow(column_name(names, np.argmin(finite)))
    min_squares = max(summary.count, summary.rows) * np.finfo(np.float64).tiny
    # Deviations whose squares are lost are below eps times those with squares this large.
    large = min_squares / np.finfo(np.float64).eps ** 2
    if not each and squares.size and squares.item(0) >= large:
        return  # as usual
    may_vary = (summary.mean != 0.0) & (np.abs(summary.mean) < _MIN_RESOLVED_MEAN)
    too_small = (squares < min_squares) & ((squares > 0.0) | may_vary)
    if too_small.any() and (each or not (squares >= large).any()):
        first = int(np.flatnonzero(too_small)[0])
        column = column_name(names, first)
        which, square = ("the column", squares[first]) if each else ("all columns", squares.max())
        # A sum of squares that have underflowed may be zero, or a few times the smallest double.
        factor = "1e150" if square > _UNDERFLOWED else "1e300"
        raise NotFiniteError(
            f"the spread of column {column!r} is too small: squares of deviations below "
            "about 1e-154 underflow float64",
            place={"column": column},
            hint=f"multiply {which} by a power of ten, such as {factor}",
        )


def column_name(names: Names, column: int | np.intp) -> str | int:
    """The name of a column, or its number if columns have no names."""
    return int(column) if names is None else names[int(column)]
