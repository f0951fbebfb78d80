"""A table of numbers in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from princomp.io.readers.columns import Origin

Matrix: TypeAlias = NDArray[np.float32 | np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Rows in memory, with names and notes.

    Parameters
    ----------
    data : ndarray or CSR array of shape (n, p)
        The numbers, n ≥ 1 and p ≥ 1; float32 where every used column was
        float32, float64 otherwise. A missing cell is NaN; infinite values are kept.
    columns : tuple of str or None
        The p column names; None if the input has none.
    ids : ndarray of object of shape (n,) or None
        Unchanged values of the id column (text stays text); None where missing.
    id_column : str or None
        The id column's name.
    notes : tuple of str
        Messages for the user, such as which text columns were left out.
    file : str or None
        The file it was read from.
    unused : tuple of str
        Columns of the input that the user did not ask for.
    line_of, label_of : callable, optional
        As in :class:`Origin`; if there are ids, they are the labels.
    """

    data: Matrix
    columns: tuple[str, ...] | None = None
    ids: NDArray[np.object_] | None = None
    id_column: str | None = None
    notes: tuple[str, ...] = ()
    file: str | None = None
    unused: tuple[str, ...] = ()
    line_of: Callable[[int], int | None] | None = None
    label_of: Callable[[int], object] | None = None

    @property
    def origin(self) -> Origin:
        """Where the rows come from, for messages."""
        ids = self.ids
        return Origin(self.file, self.line_of, self.label_of if ids is None else ids.__getitem__)

    def label(self, j: int) -> str:
        """Name of column ``j`` in messages: its name, or its number from 0."""
        return f"column {j}" if self.columns is None else f"column {self.columns[j]!r}"
