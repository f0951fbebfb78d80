"""Numbers such as 99 or -999 that may be codes for missing cells."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, takewhile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from princomp.errors import counted
from princomp.io.readers.columns import listed
from princomp.io.readers.left_out import WarningNote

# Codes above other values, and codes below them.
_FILLS = (1e20, 1e30, float(np.float32(1e20)), float(np.float32(1e30)))
_HIGH = (88, 98, 99, 888, 998, 999, 8888, 9998, 9999, 99999, *_FILLS)
_LOW = (-9, -88, -99, -888, -999, -8888, -9999, -99999, *(-code for code in _FILLS))
# Codes in answers on a scale such as 1 to 5: 9 if it is far enough away, and 8 if 9 is one.
_CODES_OF_SCALES = (8, 9)
_LARGEST_ANSWER = 7
_ALL_CODES = frozenset([*_LOW, *_HIGH, *_CODES_OF_SCALES])
# Codes are sought in some rows of large tables, so that it takes little time: in so many numbers,
# in this number of groups of rows.
_MAX_NUMBERS, _GROUPS = 2**18, 8
# Minimum counts in a column: cells with a code, other cells, and other distinct values.
_MIN_CELLS, _MIN_OTHER_CELLS, _MIN_OTHER_VALUES = 2, 10, 2
# Smallest distance of a code from the other values, in units of their range.
_MIN_GAP = 0.5
# A code that is farther away may occur once.
_GAP_OF_ONE = 10


def code_notes(
    names: Sequence[str], data: NDArray[Any], *, in_frame: bool = False, low_only: bool = False
) -> list[WarningNote]:
    """Note on columns (n, p) in which a number that is a usual code is far from all others.

    Parameters
    ----------
    names : sequence of str
        The p names of the columns.
    data : ndarray of shape (n, p)
    in_frame : bool
        Whether they are columns of a frame or an array, where options of files do not apply.
    low_only : bool
        Seek only codes below the other values. Counts and pixels may have single large values.
    """
    if not data.size or not _columns_with_codes(data, _sample(data), low_only):
        return []
    found = _columns_with_codes(data, data, low_only)
    columns: dict[tuple[float, ...], list[int]] = {}
    for j, codes in found.items():
        columns.setdefault(codes, []).append(j)
    parts = [_describe(codes, names, data, js) for codes, js in sorted(columns.items())]
    all_codes = sorted({*chain(*columns)})
    if in_frame:
        advice = "replace them with NaN"
    elif any(np.isin(data[:, j], all_codes).any() for j in {*range(data.shape[1])} - {*found}):
        advice = "replace them in the file, because other columns hold such numbers, too"
    else:
        advice = f"give na={[f'{code:g}' for code in all_codes]}"
    return [WarningNote(f"{'; '.join(parts)}: if such numbers mark missing cells, {advice}")]


def _sample(data: NDArray[Any]) -> NDArray[Any]:
    """Some rows of a table: groups of rows at equal distances, or all rows of a small table."""
    n, p = data.shape
    rows = max(1, _MAX_NUMBERS // (p * _GROUPS))
    if n <= rows * _GROUPS:
        return data
    starts = np.linspace(0, n - rows, _GROUPS).astype(int)
    return np.concatenate([data[start : start + rows] for start in starts])


def _columns_with_codes(
    data: NDArray[Any], rows: NDArray[Any], low_only: bool
) -> dict[int, tuple[float, ...]]:
    """Find the columns of ``data`` with codes, among those where ``rows`` has a code at an end."""
    low, high = np.minimum.reduce(rows, axis=0), np.maximum.reduce(rows, axis=0)
    if np.isnan(low).any():  # the two functions that ignore NaN take longer
        low, high = np.fmin.reduce(rows, axis=0), np.fmax.reduce(rows, axis=0)
    ends = zip(low.tolist(), high.tolist(), strict=True)
    at_an_end = [j for j, both in enumerate(ends) if not _ALL_CODES.isdisjoint(both)]
    return {j: codes for j in at_an_end if (codes := _codes_in(data[:, j], low_only))}


def _describe(
    codes: tuple[float, ...], names: Sequence[str], data: NDArray[Any], columns: list[int]
) -> str:
    """Describe the columns with the same codes, and the other values of the first one."""
    first, more = columns[0], len(columns) - 1
    others = data[~np.isin(data[:, first], codes), first]
    column = f"{names[first]!r} ({np.nanmin(others):g} to {np.nanmax(others):g})"
    words = listed(f"{code:g}" for code in codes)
    return f"{words} {'is' if len(codes) == 1 else 'are'} far from the other values of {column}" + (
        f" and of {counted(more, 'more column')}" if more else ""
    )


def _codes_in(cells: NDArray[Any], low_only: bool) -> tuple[float, ...]:
    """The codes at one end of a column, ascending."""
    ascending, counts = np.unique(cells[np.isfinite(cells)], return_counts=True)
    ends = ((_HIGH, -1), (_CODES_OF_SCALES, -1), (_LOW, 1))
    for codes, step in ends[-1:] if low_only else ends:
        values, found = ascending[::step], counts[::step]
        n = sum(1 for _ in takewhile(codes.__contains__, values))
        others, count = values[n:], found[:n].sum()
        if not n or len(others) < _MIN_OTHER_VALUES or found[n:].sum() < _MIN_OTHER_CELLS:
            continue
        if codes is _CODES_OF_SCALES:
            is_far = count >= _MIN_CELLS and _are_answers(others, values[0])
        else:
            least = _MIN_GAP if count >= _MIN_CELLS else _GAP_OF_ONE
            is_far = abs(values[n - 1] - others[0]) >= least * np.ptp(others)
        if is_far:
            return tuple(sorted(values[:n].tolist()))
    return ()


def _are_answers(descending: NDArray[Any], code: float) -> bool:
    """Whether values are all whole numbers of a scale, and 9 is as far away as they spread."""
    high, low = descending[0], descending[-1]
    return bool(
        code == max(_CODES_OF_SCALES)
        and low >= 1
        and high <= _LARGEST_ANSWER
        and np.array_equal(descending, np.arange(high, low - 1, -1))
        and code - high >= high - low
    )
