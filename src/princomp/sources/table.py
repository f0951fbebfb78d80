"""A table of numbers in memory, whatever it was read from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Matrix", "Table"]

Matrix: TypeAlias = NDArray[np.float32 | np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Rows in memory, and what is known of them.

    Parameters
    ----------
    data : ndarray or CSR array of shape (n, p)
        The numbers, n ≥ 1 and p ≥ 1; float32 where every used column was
        float32, float64 otherwise. A missing cell is NaN; an infinite one stays.
    columns : tuple of str or None
        The p names; None where the input has none.
    ids : ndarray of object of shape (n,) or None
        The id column's values as they stood (text stays text), None where missing.
    id_column : str or None
        The id column's name.
    notes : tuple of str
        What a person should be told, such as which text columns were left out.
    file : str or None
        The file it was read from.
    unused : tuple of str
        Columns that are there but were not among those asked for.
    """

    data: Matrix
    columns: tuple[str, ...] | None = None
    ids: NDArray[np.object_] | None = None
    id_column: str | None = None
    notes: tuple[str, ...] = ()
    file: str | None = None
    unused: tuple[str, ...] = ()

    def label(self, j: int) -> str:
        """Call column ``j`` by its name, or by its number counted from 0."""
        return f"column {j}" if self.columns is None else f"column {self.columns[j]!r}"
