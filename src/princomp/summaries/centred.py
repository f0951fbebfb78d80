"""Base of the summaries about a mean: their sizes, and the arithmetic of merging and removing."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from princomp.errors import NotFiniteError, ShapeError
from princomp.linalg import EPS, FloatArray
from princomp.summaries.blocks import block_rows, check_mergeable, merged_mean

Names = tuple[str, ...] | None
Kind = TypeVar("Kind", bound="Centred")

# Units of rounding of a column's scatter below which a column may be constant.
ROUNDING = 64
_SUBNORMAL = np.finfo(np.float64).smallest_subnormal


class Joined(NamedTuple):
    """Rows and mean of two summaries together, and how far apart their means are.

    Or of one without the rows of the other: then ``between`` is negative.
    """

    rows: float
    added: int
    mean: FloatArray
    mean_low: FloatArray
    delta: FloatArray
    between: float  # n₁n₂/(n₁+n₂), the weight of δδᵀ in the joint scatter


class Centred:
    """Base of the summaries that keep a mean; see :class:`~princomp.summaries.Moments`."""

    __slots__ = ()

    # How blocks are cut, and whether incomplete rows must be removed beforehand; else they show
    # in the sums.
    block_rows = staticmethod(block_rows)
    complete_only = False
    on_device = False
    # Two kinds merge as the one with less detail of the scatter; see `alike`.
    detail = 0
    # Errors (p,) of the column scatters that removed rows have left; see `lost_by_removing`.
    lost: FloatArray | None = None

    rows: float
    count: int
    mean: FloatArray
    mean_low: FloatArray
    centred: bool
    unit: float

    if TYPE_CHECKING:

        @property
        def column_scatter(self) -> FloatArray:
            """Diagonal of the scatter (p,)."""

        def converted(self, other: Centred) -> Centred:
            """Convert a summary with more detail to this kind."""

        @property
        def scatter(self) -> FloatArray:
            """The scatter (p, p)."""

        def times(self, vectors: FloatArray) -> FloatArray:
            """Scatter @ vectors (p, m)."""

    @property
    def p(self) -> int:
        """Number of columns."""
        return len(self.mean)

    @property
    def rank_limit(self) -> int:
        """The rank of the scatter is at most this."""
        return max(0, min(self.p, self.count - self.centred))

    @property
    def effective_unit(self) -> float:
        """Unit roundoff of the scatter: that of its products, and what removed rows have lost."""
        if self.lost is None:
            return float(self.unit)
        total, lost = float(np.sum(self.column_scatter)), float(np.sum(self.lost))
        return float(self.unit + lost / total) if lost < total else 1.0

    @property
    def kind(self) -> str:
        """Its name in messages, on any device."""
        return type(self).__name__

    def to_host(self) -> Any:
        """Return the summary with its arrays in this process's memory."""
        return self

    def _joined(self, other: Centred) -> Joined | None:
        """Return what a merge needs; None where one of the two has no rows."""
        check_mergeable(self, other)
        if not (self.rows and other.rows):
            return None
        rows = self.rows + other.rows
        delta = (other.mean - self.mean) + (other.mean_low - self.mean_low)
        share = other.rows / rows
        # From the mean of more weight, which moves less and so loses less.
        if other.rows <= self.rows:
            mean, low = merged_mean(self.mean, self.mean_low, delta, share)
        else:
            mean, low = merged_mean(other.mean, other.mean_low, -delta, self.rows / rows)
        return Joined(rows, self.count + other.count, mean, low, delta, self.rows * share)

    def _without(self, other: Centred) -> Joined | None:
        """Return what a removal needs; None where none of the rows is removed, or all are.

        Raises
        ------
        ShapeError
            When more is removed than was there.
        """
        check_mergeable(self, other)
        rows = self.rows - other.rows
        if rows < -self.rows * EPS or (other.rows and not self.rows):
            raise ShapeError(
                f"cannot remove {other.rows:g} rows from {self.rows:g}",
                hint="remove only rows that were added before",
            )
        if not other.rows or rows <= self.rows * EPS:
            return None
        offset = (other.mean - self.mean) + (other.mean_low - self.mean_low)
        mean, low = merged_mean(self.mean, self.mean_low, offset, -other.rows / rows)
        # With weights, a part of a removed row may remain.
        plain = self.rows == self.count and other.rows == other.count
        count = self.count - other.count if plain else self.count
        # With δ = offset · rows(all)/rows(left), c·δδᵀ is this multiple of offset offsetᵀ.
        return Joined(rows, count, mean, low, offset, -other.rows * (self.rows / rows))


class OnDevice(Centred):
    """Base of summaries on a device: pickled they are those of the host, and never copied."""

    __slots__ = ()

    on_device = True

    def __reduce__(self) -> Any:
        held = self.to_host()
        return type(held), tuple(getattr(held, one.name) for one in fields(held))

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self


def as_kind(kind: type[Kind], summary: Centred, **changes: Any) -> Kind:
    """Return a summary as one of class ``kind``: its fields are copied, or are in ``changes``."""
    kept = {one.name for one in fields(kind)} - changes.keys()  # type: ignore[arg-type]
    return kind(**{name: getattr(summary, name) for name in kept}, **changes)


def alike(one: Centred, other: Centred) -> tuple[Any, Any]:
    """Two summaries converted to one kind: the less detailed of the two.

    A triangle can become a scatter, and both can become a sketch. The resulting kind depends on
    the two kinds alone, not on their order or their rows.
    """
    if one.detail < other.detail:
        return one, one.converted(other.to_host())
    return other.converted(one.to_host()), other


def check_range(summary: Centred, names: Names = None, *, each: bool = False) -> None:
    """Refuse columns whose squares overflow, or are so small that float64 lost digits of them.

    Squares that are subnormal on an average have lost digits. Unless ``each`` column counts, one
    of ordinary size makes up for those.

    Raises
    ------
    NotFiniteError
        Naming the first such column.
    """
    squares = summary.column_scatter
    finite = np.isfinite(squares)
    if not finite.all():
        column = column_name(names, np.argmin(finite))
        raise NotFiniteError(
            f"the squares of column {column!r} overflow float64",
            place={"column": column},
            hint="divide the column by a power of ten",
        )
    least = max(summary.count, summary.rows) * np.finfo(np.float64).tiny
    if not each and squares.size and squares.item(0) >= least:
        return  # of ordinary size; the first column usually is
    low = (squares > 0.0) & (squares < least)
    if low.any() and (each or not (squares >= least).any()):
        column = column_name(names, np.flatnonzero(low)[0])
        raise NotFiniteError(
            f"the spread of column {column!r} is too small: squares of deviations below "
            "about 1e-154 underflow float64",
            place={"column": column},
            hint="multiply the column by a power of ten, such as 1e150",
        )


def column_name(names: Names, column: int | np.intp) -> str | int:
    """The name of a column, or its number where columns have no names."""
    return int(column) if names is None else names[int(column)]


# ---- removing rows: shared by the summaries that are groups ------------------------------


def lost_by_removing(whole: Centred, part: Centred, left: FloatArray) -> FloatArray:
    """Errors (p,) of the column scatters ``left`` when ``part`` is removed from ``whole``.

    The difference keeps the rounding errors of the removed rows: if these were 10⁶ times larger
    than the rest, twelve digits are lost. Rounding of the rest is counted in ``unit``.
    """
    gone = np.maximum(whole.column_scatter - left, 0.0)
    lost: FloatArray = whole.unit * gone + part.unit * part.column_scatter
    for one in (whole, part):
        if one.lost is not None:
            lost = lost + one.lost
    return lost


def lost_by_both(one: Centred, other: Centred) -> FloatArray | None:
    """Errors (p,) that removed rows left in two merged summaries; None where there are none."""
    if one.lost is None or other.lost is None:
        return other.lost if one.lost is None else one.lost
    both: FloatArray = one.lost + other.lost
    return both


def check_remaining_scatter(whole: Centred, part: Centred, left: FloatArray) -> FloatArray:
    """Return the scatter (p,) that rounding may leave of a constant column.

    Equal numbers that are added one by one round in one direction: of the 256 rows of a chunk,
    their sum is off by up to 48 units (see docs/explain/numerics.md).

    Raises
    ------
    ShapeError
        When the rows to remove spread further than all rows do.
    """
    error = max(whole.unit, part.unit) * whole.column_scatter
    error = error + whole.count * _SUBNORMAL  # of products that underflow
    slack = ROUNDING * (error if whole.lost is None else error + whole.lost)
    beyond = left + whole.p * slack
    if (beyond < 0).any():
        column = int(np.argmin(beyond))
        raise ShapeError(
            f"the rows to remove spread further in column {column} than all rows do",
            place={"column": column},
            hint="remove only rows that were added before",
        )
    return slack


def lost_by_zeroing(lost: FloatArray, columns: NDArray[np.intp], products: FloatArray) -> None:
    """Add the ``products`` (m, p) of m constant columns, which are set to zero, to ``lost`` (p,).

    In place. The sum of ``lost`` bounds the norm of the error, here of these products twice.
    """
    if columns.size:
        lost[columns] += 2.0 * np.sqrt(np.einsum("ij,ij->", products, products)) / columns.size


def constant_columns(
    few: NDArray[np.intp], products: FloatArray, slack: FloatArray
) -> NDArray[np.intp]:
    """The columns among ``few`` that are constant: their products are all rounding.

    Parameters
    ----------
    few : ndarray of shape (m,)
        Columns whose scatter may be rounding.
    products : ndarray of shape (m, p)
        Their rows of the scatter.
    slack : ndarray of shape (p,)
        See :func:`check_remaining_scatter`.
    """
    # Products that underflow are no sign of a constant column: it is refused when it is solved.
    deviations = np.sqrt(np.where(slack >= np.finfo(np.float64).tiny, slack, 0.0))
    noise = np.abs(products) <= deviations[few, None] * deviations
    return few[noise.all(axis=1)]
