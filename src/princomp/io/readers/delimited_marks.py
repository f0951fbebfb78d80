"""Detect the marks in the numbers of delimited text: decimal marks, and marks of thousands."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from princomp.io.readers.number_text import NumberFormat, plain_minus
from princomp.io.readers.read_options import ReadOptions
from princomp.io.readers.reader_errors import malformed
from princomp.io.readers.unclear_points import unclear_mark_error

# Largest number of cells that are examined.
MAX_CELLS = 20_000

_ONE_GROUP = re.compile(r"[+-]?[1-9][0-9]{0,2}([.,])[0-9]{3}")
# Groups of three digits, such as 1.234.567,8 or 1 234.
_GROUPS = re.compile(r"[+-]?[0-9]{1,3}([.,'’ \u00a0\u202f])[0-9]{3}(?:\1[0-9]{3})*([.,][0-9]+)?")
# An IP address, such as 192.168.100.101.
_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_ADDRESS = re.compile(rf"(?:{_OCTET}\.){{3}}{_OCTET}")
# An integer, or a fraction whose mark cannot separate thousands: what most cells are.
_CLEAR_NUMBER = re.compile(r"[+-]?(?:[0-9]+|[0-9]*([.,])(?![0-9]{3}\Z)[0-9]+(?:[eE][+-]?[0-9]+)?)")
_FRACTION = re.compile(r"[+-]?[0-9]*([.,])[0-9]+(?:[eE][+-]?[0-9]+)?")
# Letters, but not those of an exponent.
_LETTERS = re.compile(r"(?![eE][+-]?[0-9])[^\W\d_]")
# A symbol such as % or €, or a word at the end, such as kg.
_UNITS = re.compile(r"[%‰°$€£¥₹]|\s[A-Za-zµμ°/²³]{1,8}$")


def is_number(cell: str) -> bool:
    """Whether a cell is a number in some format."""
    patterns = _CLEAR_NUMBER, _FRACTION, _GROUPS
    return any(pattern.fullmatch(cell) for pattern in patterns)


class _Evidence(NamedTuple):
    """Evidence for the number format.

    Parameters
    ----------
    decimal : dict
        The first cell, as line and text, in which a comma or a point is a decimal mark.
    unclear : dict
        For a comma or a point, the first cell of each column in which it may be a decimal mark or
        separate thousands.
    thousands : dict
        For each mark that seems to separate thousands, the numbers of the columns in which it does.
    first_line : int
        Number of the first line, if it may name the columns; otherwise 0.
    """

    decimal: dict[str, tuple[int, str]]
    unclear: dict[str, dict[int, tuple[int, str]]]
    thousands: dict[str, set[int]]
    first_line: int


def detect_number_format(
    records: Sequence[tuple[int, list[str]]],
    sep: str,
    options: ReadOptions,
    path: Path,
    notes: list[str],
    *,
    of_model: bool,
) -> tuple[NumberFormat, bool]:
    """Detect the marks in the numbers of some records, and whether a decimal point is only assumed.

    What was detected is added to ``notes``.
    """
    decimal, thousands = options.decimal, options.thousands
    evidence = _gather_evidence(records, options.header)
    if decimal is None and thousands in (".", ","):
        decimal = "," if thousands == "." else "."
    if decimal is None:
        decimal = _detect_decimal(evidence, sep, path, of_model=of_model)
        if decimal == ",":
            notes.append("numbers have decimal commas")
    assumes_point = decimal is None
    decimal = decimal or "."
    if thousands is None:
        other = "." if decimal == "," else ","
        is_decimal = decimal in evidence.decimal
        if other in evidence.thousands or (other in evidence.unclear and is_decimal):
            thousands = other
        else:
            thousands = min(evidence.thousands.keys() - {".", ","}, default=None)
        if thousands is not None:
            notes.append(f"thousands are separated by {thousands!r}")
    return NumberFormat(decimal, thousands, options.na), assumes_point


def _detect_decimal(evidence: _Evidence, sep: str, path: Path, *, of_model: bool) -> str | None:
    """Choose the decimal mark; None without evidence; refuse a text in which it is unclear."""
    comma, point = evidence.decimal.get(","), evidence.decimal.get(".")
    if comma and point:
        (line, one), (other_line, other) = comma, point
        correct = "correct" if of_model else "correct or exclude"
        names = "Set header=True if line {} names the columns. Otherwise, say which mark it is, "
        may_name = evidence.first_line in (line, other_line)
        say = names.format(evidence.first_line) if may_name else "Say which it is, "
        raise malformed(
            path,
            f"line {line} has {one!r}, with a decimal comma, and line {other_line} {other!r}, "
            "with a decimal point",
            f"{say}decimal='.' or decimal=',' (1,5 is one and a half), and "
            f"{correct} the columns with the other mark.",
            line=line,
        )
    grouped, points = evidence.thousands.get("."), evidence.unclear.get(".", {})
    # Points that separate thousands (1.234.567) imply decimal commas. But such cells may be
    # product codes (301.555.120): if cells such as 1.234 are only in other columns, they stay
    # unclear.
    if comma or (grouped and not point and (not points or grouped & points.keys())):
        return ","
    if point or "," in evidence.thousands:
        return "."
    unclear = evidence.unclear.get(",") or (points if sep == ";" or grouped else {})
    if unclear:
        raise unclear_mark_error(path, *next(iter(unclear.values())))
    return None


def _gather_evidence(records: Sequence[tuple[int, list[str]]], header: int | None) -> _Evidence:
    """Sort the first cells of a text by what they say about the marks in numbers.

    Names of columns say nothing: they are in the first lines, if ``header`` gives their number, or
    are cells of the first line with letters, such as 1100.5 nm.
    """
    records = records[header or 0 :]
    first_line = records[0][0] if records and header is None else 0
    evidence = _Evidence({}, {}, {}, first_line)
    cells = (
        (line, column, cell)
        for line, record in records
        for column, cell in enumerate(record)
        if line != first_line or not _LETTERS.search(cell)
    )
    for line, column, cell in itertools.islice(cells, MAX_CELLS):
        if match := _CLEAR_NUMBER.fullmatch(cell):
            if match[1]:
                evidence.decimal.setdefault(match[1], (line, cell))
            continue
        cell = plain_minus(_UNITS.sub("", cell.strip()).strip())
        located = line, cell
        if group := _ONE_GROUP.fullmatch(cell):
            evidence.unclear.setdefault(group[1], {}).setdefault(column, located)
        elif groups := _GROUPS.fullmatch(cell):
            mark, fraction = groups[1], groups[2]
            # Such as 1.234.5, a version, or an IP address.
            if (fraction and fraction[0] == mark) or _ADDRESS.fullmatch(cell):
                continue
            if cell.lstrip("+-").startswith("0"):
                # 0.123 is a fraction, and 0.123.456 a code: thousands do not begin with 0.
                if mark in ".," and cell.count(mark) == 1 and not fraction:
                    evidence.decimal.setdefault(mark, located)
                continue
            if fraction:
                evidence.decimal.setdefault(fraction[0], located)
            mark = " " if mark.isspace() else mark
            evidence.thousands.setdefault(mark, set()).add(column)
        elif match := _FRACTION.fullmatch(cell):
            evidence.decimal.setdefault(match[1], located)
    return evidence
