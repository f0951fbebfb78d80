"""A first column of numbers that are dates or times, which only rise or only fall."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Fewest rows for detection: fewer numbers are often in order by chance.
MIN_DATED_ROWS = 5
# Words in names of columns of dates and times, also German and Spanish ones.
_TIME_WORD = re.compile(
    "dates?|datetime|days?|epoch|hours?|minutes?|months?|seconds|times?|timestamp|weeks?|years?|"
    "datum|fecha|jahr|monat|tag|zeit"
)
# Years of dates that are written as whole numbers, such as 198101.
_DATED_YEARS = 1700, 2200
# Whole numbers counted from a fixed date: smallest plausible one, largest, and units per day.
_COUNTED_FROM_A_DATE: dict[str, tuple[float, float, float]] = {
    "days as in Excel": (20_000, 60_000, 1),  # 1954 to 2064
    "days as in MATLAB": (700_000, 750_000, 1),  # 1916 to 2053
    "seconds since 1970": (3e8, 3e9, 86_400),  # 1979 to 2065
    "milliseconds since 1970": (3e11, 3e12, 86_400e3),
    "microseconds since 1970": (3e14, 3e15, 86_400e6),
}
# Most days from one row to the next. Other sorted numbers, such as incomes, have larger gaps.
_MAX_DAYS = 366


def trend(cells: NDArray[Any]) -> str | None:
    """Return "rises" or "falls" if numbers do so from each row to the next; else None."""
    if len(cells) < MIN_DATED_ROWS:
        return None
    before, after = cells[:-1], cells[1:]
    head = slice(MIN_DATED_ROWS)  # rejects most columns quickly
    if (before[head] < after[head]).all() and (before < after).all():
        return "rises"
    if (before[head] > after[head]).all() and (before > after).all():
        return "falls"
    return None


def has_time_name(name: str) -> bool:
    """Whether the name of a column contains a word for a date or time, such as "Time (s)"."""
    return any(map(_TIME_WORD.fullmatch, re.findall(r"[^\W\d_]+", name.lower())))


def date_pattern(cells: NDArray[Any]) -> str | None:
    """Return how whole numbers that only rise or fall stand for dates; None if they do not."""
    if trend(cells) is None or (cells != np.trunc(cells)).any():
        return None
    least, largest = sorted((float(cells[0]), float(cells[-1])))
    for pattern, day_factor in (("YYYYMM", 1), ("YYYYMMDD", 100)):
        years = least // (100 * day_factor), largest // (100 * day_factor)
        are_usual = _DATED_YEARS[0] <= years[0] and years[1] <= _DATED_YEARS[1]
        if are_usual and _are_dates(cells.astype(np.int64), day_factor):
            return pattern
    for pattern, (first, last, day) in _COUNTED_FROM_A_DATE.items():
        if first <= least and largest <= last:
            steps = np.abs(np.diff(cells.astype(np.float64)))
            return pattern if steps.max() <= _MAX_DAYS * day else None
    return None


def _are_dates(cells: NDArray[np.int64], day_factor: int) -> bool:
    """Whether numbers are months (YYYYMM, factor 1) or days (YYYYMMDD, factor 100)."""
    year_months, day = np.divmod(cells, day_factor)
    year, month = np.divmod(year_months, 100)
    starts = ((year - 1970) * 12 + month - 1).astype("datetime64[M]")
    lengths = (starts + 1).astype("datetime64[D]") - starts.astype("datetime64[D]")
    is_day = (day >= 1) & (day <= lengths.astype(np.int64)) if day_factor > 1 else True
    return bool(np.all((month >= 1) & (month <= 12) & is_day))
