"""What all summaries about a mean share: their sizes, and the arithmetic of a merge."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from princomp.arrays import EPS, FloatArray
from princomp.errors import ShapeError
from princomp.summaries.blocks import block_rows, check_mergeable, merged_mean

__all__ = [
    "Centred",
    "Joined",
    "alike",
    "check_left_scatter",
    "constant_columns",
    "left_count",
    "left_rows",
    "lost_by_both",
    "lost_by_removing",
]


class Joined(NamedTuple):
    """Rows and mean of two summaries together, and how far apart their means are."""

    rows: float
    added: int
    mean: FloatArray
    mean_low: FloatArray
    delta: FloatArray
    between: float  # n₁n₂/(n₁+n₂), the weight of δδᵀ in the joint scatter


class Centred:
    """Base of the summaries that keep a mean; see :class:`~princomp.summaries.Moments`."""

    __slots__ = ()

    # A kind says how its blocks are cut, and whether incomplete rows must go before they
    # are seen or show in its own sums.
    block_rows = staticmethod(block_rows)
    complete_only = False
    # Two kinds merge as the one with less detail of the scatter: see `alike`.
    detail = 0
    # Errors (p,) of the column scatters that removed rows have left; see `lost_by_removing`.
    lost: FloatArray | None = None

    rows: float
    count: int
    mean: FloatArray
    mean_low: FloatArray
    centred: bool
    unit: float

    @property
    def p(self) -> int:
        """Number of columns."""
        return len(self.mean)

    @property
    def rank_limit(self) -> int:
        """The rank of the scatter is at most this."""
        return max(0, min(self.p, self.count - self.centred))

    @property
    def effective_unit(self: Any) -> float:
        """Unit roundoff of the scatter: that of its products, and what removed rows have lost."""
        if self.lost is None:
            return float(self.unit)
        total, lost = float(np.sum(self.column_scatter)), float(np.sum(self.lost))
        return float(self.unit + lost / total) if lost < total else 1.0

    @property
    def kind(self) -> str:
        """What messages call it, wherever its numbers are."""
        return type(self).__name__

    def held(self) -> Any:
        """The same summary with its numbers in this process's memory."""
        return self

    def _joined(self, other: Centred) -> Joined | None:
        """What a merge needs, or None where one of the two has no rows."""
        check_mergeable(self, other)
        if not (self.rows and other.rows):
            return None
        rows = self.rows + other.rows
        delta = (other.mean - self.mean) + (other.mean_low - self.mean_low)
        share = other.rows / rows
        mean, low = merged_mean(self.mean, self.mean_low, delta, share)
        return Joined(rows, self.count + other.count, mean, low, delta, self.rows * share)


def alike(one: Any, other: Any) -> tuple[Any, Any]:
    """Two summaries converted to one kind: the less detailed of the two.

    A triangle can become a scatter, and both can become a sketch. The resulting kind depends on
    the two kinds alone, not on their order or their rows.
    """
    if one.detail < other.detail:
        return one, one.converted(other.held())
    return other.converted(one.held()), other


# ---- what removing rows leaves: shared by the summaries that are groups ------------------


def left_rows(whole: Any, part: Any) -> float:
    """Rows left when those of ``part`` are taken out of ``whole``.

    Raises
    ------
    ShapeError
        When more is removed than was there.
    """
    rows: float = whole.rows - part.rows
    if rows < -whole.rows * EPS or (part.rows and not whole.rows):
        raise ShapeError(
            f"cannot remove {part.rows:g} rows from {whole.rows:g}",
            hint="remove only rows that were added before",
        )
    return rows


def left_count(whole: Any, part: Any) -> int:
    """Rows counted once each; where weights are in play a row may be left in part."""
    plain = whole.rows == whole.count and part.rows == part.count
    return int(whole.count - part.count if plain else whole.count)


def lost_by_removing(whole: Any, part: Any, left: FloatArray) -> FloatArray:
    """Errors (p,) of the column scatters ``left`` when ``part`` is taken out of ``whole``.

    The difference keeps the rounding errors of the removed rows: if these were 10⁶ times larger
    than the rest, twelve digits are lost. Rounding of the rest is counted in ``unit``.
    """
    gone = np.maximum(whole.column_scatter - left, 0.0)
    lost: FloatArray = whole.unit * gone + part.unit * part.column_scatter
    for one in (whole, part):
        if one.lost is not None:
            lost = lost + one.lost
    return lost


def lost_by_both(one: Any, other: Any) -> FloatArray | None:
    """Errors (p,) that removed rows left in two merged summaries; None where there are none."""
    if one.lost is None or other.lost is None:
        return other.lost if one.lost is None else one.lost
    both: FloatArray = one.lost + other.lost
    return both


def check_left_scatter(whole: Any, part: Any, left: FloatArray) -> FloatArray:
    """What rounding may leave of each column's scatter (p,): a column below it may be constant.

    Raises
    ------
    ShapeError
        When the rows to remove spread further than all rows do.
    """
    error = max(whole.unit, part.unit) * whole.column_scatter
    slack = 64 * whole.p * (error if whole.lost is None else error + whole.lost)
    if (left < -slack).any():
        column = int(np.argmin(left + slack))
        raise ShapeError(
            f"the rows to remove spread further in column {column} than all rows do",
            place={"column": column},
            hint="remove only rows that were added before",
        )
    return slack


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
        See :func:`check_left_scatter`.
    """
    noise = np.abs(products) <= np.sqrt(slack[few, None] * slack)
    return few[noise.all(axis=1)]
