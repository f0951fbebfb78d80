"""Rows of a text that are not data: empty rows at the end are left out, totals are refused."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from io import SEEK_END, BytesIO
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from princomp.errors import MalformedFileError, counted
from princomp.io.readers.columns import Origin, listed
from princomp.io.readers.left_out import WarningNote
from princomp.io.readers.number_text import PLAIN, NumberFormat, amount_of, cell_unit
from princomp.io.readers.row_names import MIN_ROWS

if TYPE_CHECKING:
    import pyarrow as pa

    from princomp.io.readers.delimited_text import Dialect

_TOTALS = re.compile(
    r"(?i)(grand |sub)?(totals?|sums?|summe|gesamt(summe|ergebnis)?|insgesamt|somme|suma|totale|"
    r"total g[eé]n[eé]ral|totale complessivo|mean|average|mittelwert|durchschnitt|moyenne|"
    r"promedio|median|razem|ogółem|всего|итого|среднее|Σ|Ø|st(andar)?d\.? ?dev(iation|\.)?|stdev|"
    r"standardabweichung|[ée]cart[- ]type|deviazione standard|desviación estándar)"
    r"(\W*n ?= ?\d+)?\W*"
)
_Statistic: TypeAlias = Callable[[NDArray[np.float64]], tuple[float, ...]]
# Words that may also be a name or a category (Max, n, South Dakota), and the values that they
# stand for.
_STATISTICS: tuple[tuple[re.Pattern[str], _Statistic], ...] = tuple(
    (re.compile(rf"(?i)({words})\W*"), statistic)
    for words, statistic in (
        ("min|minimum|mínimo|minimo", lambda x: (x.min(),)),
        ("max|maximum|máximo|massimo", lambda x: (x.max(),)),
        (r"s\.?d\.?|std|stabw", lambda x: (x.std(), x.std(ddof=1) if len(x) > 1 else 0.0)),
        (r"(n|count|anzahl)(\W*\d+)?|bas(e|is)\b.*", lambda x: (len(x),)),
        ("mittel|mw|avg", lambda x: (x.mean(),)),
    )
)
# Relative tolerance for statistics, which tables round.
_ROUNDED = 0.01
# Fewest rows above a row of means without a word.
_MIN_ROWS_OF_MEANS = 7
# Sums that are rounded are at most this imprecise, relative to the numbers that are added.
_ROUNDED_SUM = 1e-4
# Number of last rows in which totals are sought.
_MOST_ROWS_AT_END = 100
# Bytes at the end of a large file that are searched for its last row.
_TAIL = 2**16


def empty_rows_at_end(table: pa.Table) -> int:
    """Number of empty rows at the end; the first row is never one of them."""
    return sum(1 for _ in takewhile(_is_empty, _rows_upwards(table.columns)))


def refuse_totals(
    table: pa.Table,
    origin: Origin,
    *,
    labels: pa.Table | None = None,
    number_format: NumberFormat = PLAIN,
    sums: bool = True,
) -> None:
    """Refuse totals: rows that have a word such as "total", or sums or means of columns.

    They are at the end; the first row is refused, too, if it has a word that only totals have, such
    as "total". Below those at the end, rows without any number (footnotes) and rows with words such
    as "max" may follow. The latter are totals themselves only if their numbers are what the word
    says, because "Max" may be a name.

    Parameters
    ----------
    table : pyarrow.Table
    origin : Origin
        Without ``skip_end_from``, nothing is refused, because more rows may follow.
    labels : pyarrow.Table, optional
        More columns of the same rows, in which words are sought.
    number_format : NumberFormat
        How numbers in columns of text are written.
    sums : bool
        Whether a row of sums or means without a word is refused.

    Raises
    ------
    MalformedFileError
    """
    last = len(table) - 1
    if last < MIN_ROWS or origin.skip_end_from is None:
        return
    columns = table.columns if labels is None else [*table.columns, *labels.columns]
    if word := _total_in([column[0].as_py() for column in columns]):
        place = origin.place_of(0)
        problem = f"{place.description}, the first one, looks like totals ({word!r})"
        hint = "Delete the line if it is not data; skip_end=0 accepts all such rows as data."
        raise origin.error(MalformedFileError, problem, hint, **place.as_dict())
    end = RowsAtEnd.of(_rows_upwards(columns))
    n_above = len(table) - (end.words[-1][0] + 1 if end.words else 0)
    found = [
        (i, word)
        for i, word, is_sure in end.words
        if is_sure or _is_statistic(word, table, last - i, n_above, number_format)
    ]
    if (
        not found
        and sums
        and _last_row_is_sums_or_means(_numeric(table.slice(0, len(table) - end.footnotes)))
    ):
        found = [(end.footnotes, "")]
    if found:
        below, word = found[0]
        place = origin.place_of(last - below)
        where = f"followed by {counted(below, 'more row')}" if below else "the last one"
        count = origin.skip_end_from(last - found[-1][0])
        raise _totals_error(
            f"{place.description}, {where},", word, count, origin, **place.as_dict()
        )


class RowsAtEnd(NamedTuple):
    """Rows at the end that are footnotes or have a word for totals or a statistic.

    Parameters
    ----------
    words : list of tuple
        From the last row up: number of the row, counted from the end; its word; whether the word
        alone shows that the row is not data.
    footnotes : int
        Number of last rows without any number.
    """

    words: list[tuple[int, str, bool]]
    footnotes: int

    @property
    def unlike_rows(self) -> int:
        """Number of last rows from the first that is not data: a footnote, or one of totals."""
        sure = (i + 1 for i, _, is_sure in self.words if is_sure)
        return max((self.footnotes, *sure))

    @classmethod
    def of(cls, rows: Iterable[Sequence[Any]]) -> RowsAtEnd:
        """Search rows, which are given from the last one up."""
        words: list[tuple[int, str, bool]] = []
        footnotes = 0
        for i, row in enumerate(islice(rows, _MOST_ROWS_AT_END)):
            total = _total_in(row)
            word = total or next(filter(_statistic_of, _texts(row)), None)
            if word is not None:
                words.append((i, word, total is not None))
            elif _has_number(row):
                break
            elif footnotes == i:
                footnotes = i + 1
        return cls(words, footnotes)


def refuse_totals_at_end(records: list[list[str]], dialect: Dialect, width: int) -> bool:
    """Refuse a word such as "total" in the last row of a large file, given its last records.

    Returns
    -------
    bool
        Whether the last row could be read.

    Raises
    ------
    MalformedFileError
    """
    rest = records[: max(0, len(records) - (dialect.skip_end or 0))]
    while rest and _is_empty(rest[-1]):
        rest.pop()
    if not rest or len(rest[-1]) != width:
        return False
    found = [(i, word) for i, word, is_sure in RowsAtEnd.of(reversed(rest)).words if is_sure]
    if found:
        below, word = found[0]
        below = sum(map(bool, rest[len(rest) - below :]))  # without blank lines
        what = f"the row before the last {below}" if below > 1 else "the row before the last"
        count = len(records) - len(rest) + found[-1][0] + 1
        raise _totals_error(what if below else "the last row", word, count, dialect.origin)
    return True


def skipped_notes(records: Sequence[Sequence[str]], skip_end: int) -> tuple[str, ...]:
    """Note on last records that ``skip_end`` leaves out, with their names if these are known."""
    rows = counted(len(records) or skip_end, "row")
    names = f": {listed(map(_row_name, records), limit=5)}" if records else ""
    return (f"skip_end={skip_end} left out {rows}{names}",)


def _row_name(record: Sequence[str]) -> str:
    """The first text of a row or, if it has none, its cells."""
    cells = [" ".join(cell.split()) for cell in record if cell.strip()]
    text = next((cell for cell in cells if cell_unit(cell) is None), " ".join(cells))
    return "an empty row" if not text else text if len(text) <= 40 else f"{text[:39]}…"


def last_records(dialect: Dialect) -> list[list[str]]:
    """Rows at the end of a large file; none if they cannot be read without those before."""
    if dialect.compression is not None or dialect.encoding.startswith(("utf-16", "utf-32")):
        return []
    with dialect.reading(), dialect.path.open("rb") as file:
        file.seek(max(0, file.seek(0, SEEK_END) - _TAIL))
        lines = file.read().partition(b"\n")[2]  # without the first line, which is incomplete
        text = replace(dialect, skip=0).cleaned(BytesIO(lines)).read()
        return [record for *_, record in replace(dialect, text=text).records(blank=True)]


def _totals_error(
    what: str, word: str, count: int, origin: Origin, **place: object
) -> MalformedFileError:
    problem = f"{what} looks like totals" + (f" ({word!r})" if word else "")
    out, them = ("it out", "it") if count == 1 else (f"out the last {count} rows", "them")
    hint = f"skip_end={count} leaves {out}, skip_end=0 reads {them} as data."
    return origin.error(MalformedFileError, problem, hint, **place)


def _rows_upwards(columns: Sequence[pa.ChunkedArray]) -> Iterator[list[Any]]:
    """Rows of a table from the last one up to the second."""
    return ([column[i].as_py() for column in columns] for i in range(len(columns[0]) - 1, 0, -1))


def _texts(row: Sequence[Any]) -> list[str]:
    return [cell.strip() for cell in row if isinstance(cell, str)]


def _total_in(row: Sequence[Any]) -> str | None:
    """The first word of a row that only totals have."""
    return next(filter(_TOTALS.fullmatch, _texts(row)), None)


def _has_number(row: Sequence[Any]) -> bool:
    """Whether a row holds anything but text: also true, and numbers in any format."""
    return any(
        cell_unit(cell) is not None if isinstance(cell, str) else cell is not None and cell == cell
        for cell in row
    )


def _statistic_of(word: str) -> _Statistic | None:
    return next((of for pattern, of in _STATISTICS if pattern.fullmatch(word)), None)


def _is_statistic(
    word: str, table: pa.Table, row: int, n_above: int, number_format: NumberFormat
) -> bool:
    """Whether the numbers of a row are, in at least two columns and all, what its word says.

    They are compared with the first ``n_above`` rows.
    """
    statistic, count = _statistic_of(word), 0
    for column in table.columns:
        value = _numbers(column.slice(row, 1), number_format)[0]
        if statistic is None or math.isnan(value):
            continue
        above = _numbers(column.slice(0, n_above), number_format)
        above = above[np.isfinite(above)]
        if not len(above):
            continue
        with np.errstate(over="ignore", invalid="ignore"):
            expected = np.array(statistic(above))
            if not (abs(value - expected) <= _ROUNDED * abs(expected)).any():
                return False
        count += 1
    return count > 1


def _numbers(column: pa.ChunkedArray, number_format: NumberFormat) -> NDArray[np.float64]:
    """Numbers of a column, also of one of text; NaN for other cells."""
    if str(column.type) == "double":
        return column.to_numpy()
    amounts = [
        amount_of(cell, number_format) if isinstance(cell, str) else None
        for cell in column.to_pylist()
    ]
    return np.array([math.nan if amount is None else amount[1] for amount in amounts])


def _numeric(table: pa.Table) -> Iterator[NDArray[np.float64]]:
    """The columns of numbers."""
    return (column.to_numpy() for column in table.columns if str(column.type) == "double")


def _is_empty(row: Sequence[Any]) -> bool:
    return all(cell is None or (isinstance(cell, str) and not cell.strip()) for cell in row)


def totals_note(data: NDArray[Any], last_row: Sequence[Any]) -> list[WarningNote]:
    """Note on a last row that looks like totals, in a table without lines of text.

    Parameters
    ----------
    data : ndarray of shape (n, p)
    last_row : sequence
        Its cells, among which a word such as "total" is sought.
    """
    if len(data) <= MIN_ROWS:
        return []
    word = _total_in(last_row)
    if word is None and not _last_row_is_sums_or_means(data.T):
        return []
    what = "holds the sums or means of the others" if word is None else f"is named {word!r}"
    return [WarningNote(f"the last row {what} and is analysed: leave it out if it is not data")]


def _last_row_is_sums_or_means(columns: Iterable[NDArray[Any]]) -> bool:
    """Whether the last row holds the sums or the means of all columns that it fills.

    At least two of them must not occur above, because the last row may be a corner or the centre of
    a design. Columns of zeros are ignored. Sums may be rounded to fewer decimals. Means count only
    below at least seven rows.
    """
    n_sums = n_means = 0
    are_sums = are_means = True
    for values in columns:
        above, last = values[:-1][np.isfinite(values[:-1])], float(values[-1])
        if not len(above) or np.isnan(last) or not (above.any() or last):
            continue
        with np.errstate(over="ignore", invalid="ignore"):
            total, size = above.sum(dtype=np.float64), np.abs(above).sum(dtype=np.float64)
            exact = max(1e-9, 10 * float(np.finfo(values.dtype).eps)) * size
            rounding = min(_ROUNDED_SUM * size, _unit_of_last_decimal(values[-1]) / 2)
            are_sums &= bool(abs(total - last) <= max(exact, rounding) < np.inf)
            are_means &= bool(abs(total - len(above) * last) <= exact < np.inf)
        if not (are_sums or are_means):
            return False
        is_new = last != 0.0 and last not in above
        n_sums += is_new
        n_means += is_new and len(above) >= _MIN_ROWS_OF_MEANS
    return (are_sums and n_sums > 1) or (are_means and n_means > 1)


def _unit_of_last_decimal(number: np.floating[Any]) -> float:
    """The value of a one in the last decimal place of a number: 0.01 for 503.17."""
    decimals = str(number).partition(".")[2]
    return 10.0 ** -len(decimals) if decimals.isdecimal() and decimals != "0" else 1.0
