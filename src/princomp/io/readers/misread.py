"""Tables that seem to be something else: a covariance matrix, text that was not split."""

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


def is_symmetric(rows: object) -> bool:
    """Whether a table in memory is symmetric: covariances, correlations or distances, probably."""
    C = rows.data if isinstance(rows, TableSource) else rows
    if not isinstance(C, np.ndarray) or not C.shape[0] == C.shape[1] >= _FEWEST_COLUMNS:
        return False
    # The first row decides for nearly all other tables.
    return bool(_are_equal(C[0], C[:, 0]) and _are_equal(C, C.T) and C.any())


def _are_equal(a: FloatArray, b: FloatArray) -> bool:
    return np.allclose(a, b, rtol=_ROUNDING, atol=0.0)


def separator_note(names: Sequence[str]) -> tuple[WarningNote, ...]:
    """Note on a frame of one column whose name seems to be the names of several."""
    if len(names) != 1:
        return ()
    mark = max(_SEPARATORS, key=names[0].count)
    if names[0].count(mark) < _FEWEST_SEPARATORS:
        return ()
    problem = f"the only column is called {names[0]!r}: if {mark!r} separates columns, read the "
    remedy = f"file with this separator, as in pandas.read_csv(path, sep={mark!r})"
    return (WarningNote(problem + remedy),)
