"""Notes on tables that seem to be something else: a covariance matrix, text that was not split."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from princomp.io.readers.left_out import WarningNote
from princomp.io.readers.source import TableSource
from princomp.linalg import FloatArray

# A smaller square table may be symmetric by chance. Copies of an entry differ by rounding at most.
_FEWEST_COLUMNS, _ROUNDING = 3, 1e-6
# Separators of columns that are rare in names, and how often one separates names.
_SEPARATORS, _FEWEST_SEPARATORS = (";", "\t", "|"), 2


def symmetric_note(table: TableSource) -> tuple[WarningNote, ...]:
    """Note on a symmetric table, which probably holds covariances, correlations or distances."""
    C = table.data
    is_square = isinstance(C, np.ndarray) and C.shape[0] == C.shape[1] >= _FEWEST_COLUMNS
    # The first row decides for nearly all other tables.
    if not is_square or not (_are_equal(C[0], C[:, 0]) and _are_equal(C, C.T)) or not C.any():
        return ()
    problem = "the table is symmetric, as covariances, correlations and distances are, and its rows"
    remedy = "PCA.from_covariance(C) analyses a covariance or correlation matrix"
    return (WarningNote(f"{problem} are analysed as observations: {remedy}"),)


def _are_equal(a: FloatArray, b: FloatArray) -> bool:
    return np.allclose(a, b, rtol=_ROUNDING, atol=0.0)


def separator_note(names: Sequence[str]) -> tuple[WarningNote, ...]:
    """Note on a frame of one column whose name seems to be the names of several."""
    if len(names) != 1:
        return ()
    marks = (mark for mark in _SEPARATORS if names[0].count(mark) >= _FEWEST_SEPARATORS)
    return tuple(
        WarningNote(
            f"the only column is called {names[0]!r}: if {mark!r} separates columns, read the "
            f"file with this separator, as in pandas.read_csv(path, sep={mark!r})"
        )
        for mark in marks
    )
