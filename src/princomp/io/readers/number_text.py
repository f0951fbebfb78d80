"""Parse numbers in text: decimal commas, thousands separators, units, missing-value words."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from princomp.linalg import cached_property

if TYPE_CHECKING:
    import pyarrow as pa

MISSING = frozenset(
    {"", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "-NaN", "-nan", "NULL", "null", "None"}
)

# Cells of a column of true and false, whose numbers are refused: they may be quantities.
TRUE_WORDS, FALSE_WORDS = ["true", "True", "TRUE"], ["false", "False", "FALSE"]

_SPACES = "[ \u00a0\u202f]"
_APOSTROPHES = "['’]"
_CURRENCIES = "$€£¥₹"
# "12 %", "€ 5", "80 kg"; letters must follow a blank, because "5a" is a code.
_WITH_UNIT = re.compile(
    rf"(?P<sign>[+-]?)(?P<before>[{_CURRENCIES}]?)\s*(?P<number>[+-]?[0-9.,'’ \u00a0\u202f]*[0-9]"
    rf"(?:[eE][+-]?[0-9]+)?)(?P<after>\s*[%‰°{_CURRENCIES}][CF]?|\s[A-Za-zµμ°/²³]{{1,8}})?"
)
# Such as (12.5), which is a negative number of accountants, 5/60 and 1.2k; but not 01/2020 and
# 2019/20, which are months and seasons, nor 3M, a code.
_OTHER_AMOUNT = re.compile(
    r"\([$€£¥₹]?\s*[0-9][0-9.,'’ \u00a0\u202f]*\)|"
    r"(?:0|[1-9][0-9]{0,2})(?:[.,][0-9]+)?/[1-9][0-9]{0,2}"
)
_SUFFIXED = re.compile(r"[+-]?[0-9]+([.,][0-9]+)?\s?[kKM]")


def plain_minus(cell: str) -> str:
    """Replace the Unicode minus sign by the ASCII hyphen that Python expects."""
    return cell.replace("\u2212", "-")


class Unit(NamedTuple):
    """The text before and after all numbers of a column."""

    before: str
    after: str

    def __str__(self) -> str:
        return (self.before or self.after).strip()


@dataclass(frozen=True)
class NumberFormat:
    """How numbers are written.

    Parameters
    ----------
    decimal : {".", ","}
        Decimal separator.
    thousands : str, optional
        Thousands separator; a blank also matches non-breaking spaces.
    na : tuple of str
        Words for missing cells, in addition to ``MISSING``.
    """

    decimal: str = "."
    thousands: str | None = None
    na: tuple[str, ...] = ()

    @property
    def is_plain(self) -> bool:
        """Whether this is Python's own number format."""
        return self.decimal == "." and self.thousands is None

    @cached_property
    def missing(self) -> frozenset[str]:
        """All words for a missing cell, without blanks around them."""
        return MISSING.union(word.strip() for word in self.na)

    @cached_property
    def _missing_numbers(self) -> list[float]:
        """Numbers that mean a missing cell, also in other spellings: -999 is -999.0."""
        numbers = (self._number(plain_minus(word.strip())) for word in self.na)
        return [x for x in numbers if x is not None and x == x]

    @cached_property
    def _thousands_pattern(self) -> str:
        """Regular expression for the thousands separator."""
        if self.thousands is None:
            return ""
        if self.thousands.isspace():
            return _SPACES
        return _APOSTROPHES if self.thousands in "'’" else re.escape(self.thousands)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        """Regular expression for a number.

        Python's float() would also accept "1_000" and digits of other scripts; files mean neither.
        """
        whole = "[0-9]+"
        if self.thousands is not None:
            # Not 0.125, which is a fraction with another decimal mark, nor codes such as 030 123.
            whole = f"(?:[1-9][0-9]{{0,2}}(?:{self._thousands_pattern}[0-9]{{3}})+|[0-9]+)"
        point = re.escape(self.decimal)
        digits = f"(?:{whole}(?:{point}[0-9]*)?|{point}[0-9]+)(?:[eE][+-]?[0-9]+)?"
        # For Unicode, "ı" would be another "i".
        return re.compile(f"[+-]?(?:{digits}|(?i:inf(?:inity)?|nan))", re.ASCII)

    def parse(self, cell: str) -> float | None:
        """Read a cell: return its number, NaN if it is missing, None if it is neither."""
        text = plain_minus(cell.strip())
        number = math.nan if text in self.missing else self._number(text)
        return math.nan if number in self._missing_numbers else number

    def _number(self, text: str) -> float | None:
        return None if self._pattern.fullmatch(text) is None else float(self._plain(text))

    def _plain(self, text: str) -> str:
        if self.thousands is not None:
            text = re.sub(self._thousands_pattern, "", text)
        return text.replace(self.decimal, ".")

    def plain_column(self, cells: Iterable[str | None]) -> list[str | None]:
        """Cells with None for missing ones and, if no cell is text, numbers as in Python."""
        found: list[str | None] = []
        for cell in cells:
            text = plain_minus((cell or "").strip())
            is_missing = text in self.missing or self._number(text) in self._missing_numbers
            found.append(None if is_missing else cell)
        if self.is_plain or any(cell and self.is_text(cell) for cell in found):
            return found
        return [cell and self._plain(cell.strip()) for cell in found]

    def is_text(self, cell: str) -> bool:
        """Whether a cell is neither a number nor missing."""
        return self.parse(cell) is None

    def canonical(self, cells: pa.ChunkedArray, unit: Unit | None = None) -> pa.ChunkedArray:
        """Rewrite numbers as in Python, missing cells as null, and other cells as a word.

        So a cast to float64 succeeds only if each cell is a number or missing.
        """
        import pyarrow as pa
        import pyarrow.compute as compute

        cells = compute.replace_substring(compute.utf8_trim_whitespace(cells), "\u2212", "-")
        missing = compute.is_in(cells, value_set=pa.array(sorted(self.missing), cells.type))
        cells = compute.if_else(missing, None, cells)
        not_a_number = pa.scalar("not a number", cells.type)
        if unit is not None:
            before, after = re.escape(unit.before), re.escape(unit.after)
            pattern = f"^([+-]?){before}\\s*(.*?){after}$"
            valid = compute.match_substring_regex(cells, pattern)
            bare = compute.replace_substring_regex(cells, pattern, r"\1\2")
            cells = compute.if_else(valid, compute.utf8_trim_whitespace(bare), not_a_number)
        if self.is_plain:
            return cells
        valid = compute.match_substring_regex(cells, f"^{self._pattern.pattern}$")
        if self.thousands is not None:
            cells = compute.replace_substring_regex(cells, self._thousands_pattern, "")
        cells = compute.replace_substring(cells, self.decimal, ".")
        return compute.if_else(valid, cells, not_a_number)

    def cast(
        self, cells: pa.ChunkedArray, kind: pa.DataType, unit: Unit | None = None
    ) -> pa.ChunkedArray | None:
        """Convert text to numbers or booleans, as ``kind`` says; None unless all cells allow it."""
        import pyarrow as pa
        import pyarrow.compute as compute

        if kind == pa.bool_():
            written = NumberFormat(na=self.na).canonical(cells)
            words = pa.array([*TRUE_WORDS, *FALSE_WORDS, None], written.type)
            if not compute.all(compute.is_in(written, value_set=words)).as_py():
                return None
        else:
            written = self.canonical(cells, unit)
        try:
            return self.without_missing(compute.cast(written, kind))
        except pa.ArrowInvalid:
            return None

    def without_missing(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """Replace the numbers of a column that mean a missing cell by null."""
        import pyarrow as pa
        import pyarrow.compute as compute

        if not self._missing_numbers or column.type != pa.float64():
            return column
        missing = compute.is_in(column, value_set=pa.array(self._missing_numbers))
        return compute.if_else(missing, pa.scalar(None, pa.float64()), column)

    def unused_na(self, columns: Iterable[pa.ChunkedArray]) -> list[str]:
        """Words in ``na`` that no cell of these columns of text has, also in other spellings."""
        unused = {
            word: plain_minus(word.strip()) for word in self.na if word.strip() not in MISSING
        }
        for cells in columns:
            unused = {word: text for word, text in unused.items() if not self._occurs(text, cells)}
        return list(unused)

    def _occurs(self, word: str, cells: pa.ChunkedArray) -> bool:
        """Whether a cell of a column is a word, or has its number."""
        import pyarrow.compute as compute

        cells = compute.replace_substring(compute.utf8_trim_whitespace(cells), "\u2212", "-")
        if compute.any(compute.equal(cells, word)).as_py():
            return True
        number = self._number(word)
        if number is None:
            return False
        # In all spellings of a number, only marks are between its digits.
        digits = re.sub(r"[^0-9]", "", word.lower().partition("e")[0]).strip("0") or "0"
        found = cells.filter(compute.match_substring_regex(cells, "[^0-9]*".join(digits)))
        plain = replace(self, na=())
        amounts = (amount_of(cell, plain) for cell in compute.unique(found).to_pylist())
        return any(amount is not None and amount[1] == number for amount in amounts)


PLAIN = NumberFormat()


def is_true_or_false(cell: str) -> bool:
    """Whether a cell of text is true or false."""
    return cell.strip() in (*TRUE_WORDS, *FALSE_WORDS)


def cell_unit(cell: str) -> Unit | None:
    """Unit of a cell that looks like a number in any format (it may be empty); None otherwise."""
    match = _WITH_UNIT.fullmatch(plain_minus(cell.strip()))
    return None if match is None else Unit(match["before"], match["after"] or "")


def are_mostly_quantities(cells: Sequence[str]) -> bool:
    """Whether most cells look like numbers, also ones such as (12.5), 5/60 and 1.2k."""
    suffixed = [match for cell in cells if (match := _SUFFIXED.fullmatch(cell.strip()))]
    count = sum(bool(cell_unit(cell) or _OTHER_AMOUNT.fullmatch(cell.strip())) for cell in cells)
    count += len(suffixed) if any(match[1] for match in suffixed) else 0
    return 2 * count > len(cells)


def amount_of(cell: str, number_format: NumberFormat) -> tuple[Unit, float] | None:
    """Unit (it may be empty) and value of a cell that holds a number; None otherwise."""
    match = _WITH_UNIT.fullmatch(plain_minus(cell.strip()))
    value = None if match is None else number_format.parse(match["sign"] + match["number"])
    if match is None or value is None:
        return None
    return Unit(match["before"], match["after"] or ""), value


def column_unit(cells: Iterable[str | None], number_format: NumberFormat) -> Unit | None:
    """The unit of the numbers in a column; None unless all cells have the same unit."""
    units: set[Unit] = set()
    for cell in cells:
        if cell is None or cell.strip() in number_format.missing:
            continue
        amount = amount_of(cell, number_format)
        if amount is None:
            return None
        units.add(amount[0])
    return units.pop() if len(units) == 1 and units != {Unit("", "")} else None
