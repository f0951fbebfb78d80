"""Detect how delimited text is written: encoding, separator, decimal mark, comments.

Each property is set by an option, by unambiguous evidence in the first part of the text, or by
the default of the file's ending. A text that can be read in two ways is refused; the error names
both.
"""

from __future__ import annotations

import codecs
import csv
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from princomp.errors import MalformedFileError
from princomp.io.readers.cells import plain_minus
from princomp.io.readers.delimited_pieces import Dialect
from princomp.io.readers.number_text import NumberFormat
from princomp.io.readers.read_options import ReadOptions
from princomp.io.readers.reader_errors import malformed

__all__ = ["LOOK", "detect"]

# Number of bytes, records and cells that are checked.
LOOK = 1 << 20
_RECORDS, _CELLS = 500, 20_000

_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "blanks"}
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_ONE_GROUP = re.compile(r"[+-]?[1-9][0-9]{0,2}[.,][0-9]{3}")
_GROUPS = re.compile(
    r"[+-]?[0-9]{1,3}(?:([.,'’ \u00a0\u202f])[0-9]{3})(?:\1[0-9]{3})*([.,][0-9]+)?"
)
_NO_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1f]")
_WHOLE = re.compile(r"[+-]?[0-9]+")
_POINT = re.compile(r"[+-]?[0-9]*\.[0-9]+(?:[eE][+-]?[0-9]+)?")
_UNITS = re.compile(r"[%‰°$€£¥₹]")
_COMMA = re.compile(r"[+-]?[0-9]*,[0-9]+(?:[eE][+-]?[0-9]+)?")


def detect(
    first: bytes,
    path: Path,
    *,
    separator: str | None,
    compression: str | None,
    options: ReadOptions,
) -> Dialect:
    """Detect how a text is written.

    Parameters
    ----------
    first : bytes
        The first part of the text, decompressed.
    path : Path
        The file; also its name in messages.
    separator : str, optional
        The separator that the file's ending implies; None if it implies none.
    compression : str, optional
    options : ReadOptions

    Raises
    ------
    MalformedFileError
        The text can be read in two ways.
    """
    notes: list[str] = []
    encoding = options.encoding or _encoding(first, notes)
    # The last character may be incomplete; invalid bytes are reported when the text is read.
    text = codecs.getincrementaldecoder(encoding)(errors="replace").decode(first)
    lines = text.lstrip("\ufeff").splitlines()
    skip = options.skip or 0
    asked = options.sep
    if options.skip is None and lines and (found := re.fullmatch(r"(?i)sep=(.)", lines[0])):
        skip, asked = 1, asked or found[1]
    comment = options.comment
    if comment is None:
        top = next((line for line in lines[skip:] if line.strip()), "")
        comment = "#" if top.startswith("#") else ""
        if comment:
            notes.append("lines that begin with '#' are comments; comment='' reads them")
    # Blank out comments and skipped lines, so that the other lines keep their numbers.
    lines = ["" if comment and line.startswith(comment) else line for line in lines]
    lines[:skip] = [""] * len(lines[:skip])
    sep = asked or _separator(lines, separator, path)
    if sep != separator and (separator is not None or sep not in ",\t"):
        notes.append(f"fields are separated by {_SEPARATORS.get(sep, repr(sep))}")
    numbers = _numbers(lines, sep, options, path, notes)
    return Dialect(
        path,
        "\t" if sep == " " else sep,
        compression,
        encoding=encoding,
        skip=skip,
        comment=comment,
        blanks=sep == " ",
        numbers=numbers,
        header=options.header,
        skip_end=options.skip_end,
        notes=tuple(notes),
    )


# ---- encoding -------------------------------------------------------------------------


def _encoding(first: bytes, notes: list[str]) -> str:
    for mark, encoding in _MARKS:
        if first.startswith(mark):
            if encoding != "utf-8-sig":
                notes.append("the text is UTF-16")
            return encoding
    zeros = first[:400].count(0) / max(len(first[:400]), 1)
    if 0.3 < zeros < 0.6 and not _NO_TEXT.search(first[:400].replace(b"\0", b"")):
        # Half of the bytes of western text in UTF-16 are zero.
        encoding = "utf-16-le" if first[1] == 0 else "utf-16-be"
        if first[0] == 0 or first[1] == 0:
            notes.append("the text is UTF-16")
            return encoding
    try:
        codecs.getincrementaldecoder("utf-8")().decode(first)
    except UnicodeDecodeError:
        if _NO_TEXT.search(first):
            return "utf-8-sig"  # not text at all; reported when it is read
        notes.append("the text is not UTF-8, and read as Latin-1")
        try:
            first.decode("cp1252")  # Latin-1 with quotes, dashes and the euro sign
        except UnicodeDecodeError:
            return "latin-1"
        return "cp1252"
    return "utf-8-sig"


# ---- separator ------------------------------------------------------------------------


def _separator(lines: Sequence[str], default: str | None, path: Path) -> str:
    found: dict[str, tuple[float, int]] = {}
    for sep in ",;\t|":
        widths, share = _shape(lines, sep)
        if widths > 1:
            found[sep] = (share, widths)
    if not found:
        width, share = _shape(lines, " ")
        if default is None:
            return " " if width > 1 else ","
        if share > 0.5 and len(_records(lines, " ")[0][1]) in (width - 1, width):
            raise malformed(
                path,
                f"it has no {_SEPARATORS[default]}, and its fields may be separated by blanks "
                f"({width} columns)",
                f"Say which it is: sep=' ' splits lines at blanks, sep={default!r} does not.",
            )
        return default
    best = max(found, key=lambda sep: (found[sep], sep == default))
    rivals = [sep for sep in found if sep != best and found[sep] == found[best]]
    if rivals and default not in (best, *rivals):
        raise malformed(
            path,
            f"its fields may be separated by {_SEPARATORS[best]} ({found[best][1]} columns) or by "
            f"{_SEPARATORS[rivals[0]]} ({found[rivals[0]][1]} columns)",
            f"Choose one: sep={best!r} or sep={rivals[0]!r}.",
        )
    return best


def _records(lines: Sequence[str], sep: str) -> list[tuple[int, list[str]]]:
    """Last line number and fields of each record."""
    if sep == " ":
        split = ((i, re.findall(r'"[^"]*"|[^ \t]+', line)) for i, line in enumerate(lines, 1))
    else:
        reader = csv.reader(lines, delimiter=sep)
        split = ((reader.line_num, record) for record in reader)
    try:
        return list(itertools.islice((one for one in split if one[1]), _RECORDS))
    except csv.Error:
        return []


def _shape(lines: Sequence[str], sep: str) -> tuple[int, float]:
    """Number of fields in most records, or 0, and the share of numbers among the cells."""
    records = [record for _, record in _records(lines, sep)]
    records = records[1:] if len(records) > 1 else records
    if not records:
        return 0, 0.0
    width, count = Counter(map(len, records)).most_common(1)[0]
    if width < 2 or count < 0.8 * len(records):
        return 0, 0.0
    found = (plain_minus(cell.strip()) for record in records[:100] for cell in record)
    cells = list(itertools.islice(filter(None, found), _CELLS))
    kinds = (_WHOLE, _POINT, _COMMA, _GROUPS)
    numbers = sum(any(kind.fullmatch(cell) for kind in kinds) for cell in cells)
    return width, numbers / max(len(cells), 1)


# ---- numbers --------------------------------------------------------------------------


class _Seen(NamedTuple):
    """The first cell, as line and text, of each kind of evidence for the number format."""

    comma: tuple[int, str] | None
    point: tuple[int, str] | None
    comma_or_group: tuple[int, str] | None
    point_or_group: tuple[int, str] | None
    separators: frozenset[str]


def _numbers(
    lines: Sequence[str],
    sep: str,
    options: ReadOptions,
    path: Path,
    notes: list[str],
) -> NumberFormat:
    decimal, thousands = options.decimal, options.thousands
    seen = _seen(lines, sep)
    if decimal is None and thousands in (".", ","):
        decimal = "," if thousands == "." else "."
    if decimal is None:
        decimal = _decimal(seen, sep, path)
        if decimal == ",":
            notes.append("numbers have decimal commas")
    if thousands is None:
        other = "." if decimal == "," else ","
        if other in seen.separators or (
            (seen.point_or_group if other == "." else seen.comma_or_group) is not None
            and (seen.comma if decimal == "," else seen.point) is not None
        ):
            thousands = other
        else:
            thousands = next(iter(sorted(seen.separators - {".", ","})), None)
        if thousands is not None:
            notes.append(f"thousands are separated by {thousands!r}")
    return NumberFormat(decimal, thousands, options.na)


def _decimal(seen: _Seen, sep: str, path: Path) -> str:
    if seen.comma and seen.point:
        (line, one), (other_line, other) = seen.comma, seen.point
        raise _two_readings(
            path,
            f"line {line} has {one!r}, with a decimal comma, and line {other_line} {other!r}, "
            "with a decimal point",
            line,
        )
    if seen.comma or "." in seen.separators:
        return ","
    if seen.point or "," in seen.separators:
        return "."
    unclear = seen.comma_or_group or (seen.point_or_group if sep == ";" else None)
    if unclear is not None:
        line, cell = unclear
        as_fraction, as_thousands = cell.replace(",", "."), re.sub("[.,]", "", cell)
        raise _two_readings(
            path, f"line {line}: {cell!r} may be {as_fraction} or {as_thousands}", line
        )
    return "."


def _two_readings(path: Path, what: str, line: int) -> MalformedFileError:
    return malformed(
        path,
        what,
        "Say which it is: decimal=',' (1,5 is one and a half), or decimal='.', "
        "with thousands=',' where commas separate thousands.",
        line=line,
    )


def _seen(lines: Sequence[str], sep: str) -> _Seen:
    comma = point = comma_or_group = point_or_group = None
    separators: set[str] = set()
    for line, cell in itertools.islice(_cells(lines, sep), _CELLS):
        at = line, cell
        if _ONE_GROUP.fullmatch(cell):
            if "," in cell:
                comma_or_group = comma_or_group or at
            else:
                point_or_group = point_or_group or at
        elif groups := _GROUPS.fullmatch(cell):
            mark, fraction = groups[1], groups[2]
            if fraction and fraction[0] == mark:
                continue  # such as 1.234.5: a date or a version
            if fraction and fraction[0] == ",":
                comma = comma or at
            elif fraction:
                point = point or at
            if not (cell.lstrip("+-").startswith("0") and mark in ".,"):
                separators.add(" " if mark.isspace() else mark)
            elif mark == ",":
                comma = comma or at
            else:
                point = point or at
        elif _COMMA.fullmatch(cell):
            comma = comma or at
        elif _POINT.fullmatch(cell):
            point = point or at
    return _Seen(comma, point, comma_or_group, point_or_group, frozenset(separators))


def _cells(lines: Sequence[str], sep: str) -> Iterator[tuple[int, str]]:
    """Line number and text of each cell, without units."""
    for line, record in _records(lines, sep):
        for cell in record:
            yield line, plain_minus(_UNITS.sub("", cell).strip())
