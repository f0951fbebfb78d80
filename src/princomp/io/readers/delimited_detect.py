"""Detect how delimited text is written: encoding, separator, decimal mark, comments.

Each property is set by an option, by evidence in the first part of the text, or by a default: for
the separator, that of the file extension. Where two readings are equally likely, the text is
refused, and the error names both.
"""

from __future__ import annotations

import codecs
import csv
import itertools
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from princomp.errors import MalformedFileError
from princomp.io.readers.columns import Selection
from princomp.io.readers.delimited_marks import MAX_CELLS, detect_number_format, is_number
from princomp.io.readers.delimited_text import Dialect
from princomp.io.readers.number_text import plain_minus
from princomp.io.readers.read_options import ReadOptions
from princomp.io.readers.reader_errors import malformed, reading

# Largest number of bytes and records that are examined.
DETECT_BYTES = 1 << 20
_MAX_RECORDS = 500

_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars", " ": "spaces"}
_CONTROL_BYTES = re.compile(rb"[\x00-\x08\x0e-\x1f]")
_DECIMAL_COMMA = re.compile(r'"?[+\-\u2212]?[0-9]+,[0-9]+(?:[eE][+-]?[0-9]+)?"?')
# A label, and pairs of the number of a column and a value.
_SVMLIGHT = re.compile(r"[-+.,0-9eE]+(?: qid:[0-9]+)?(?: [0-9]+:[-+.0-9eE]+)+\s*(?:#.*)?")
_LINES_OF_SVMLIGHT = 5
# The first bytes of compressed data: how these were compressed, and what unpacks them.
_PACKED = {
    rb"\xfd7zXZ\0": ("xz", "xz -dc"),
    rb"BZh[1-9](?:1AY&SY|\x17rE8P)": ("bzip2", "bzip2 -dc"),
    rb"\x1f\x8b": ("gzip", "gzip -dc, or give it a name that ends in .csv.gz"),
    rb"\x28\xb5\x2f\xfd": ("zstd", "zstd -dc, or give it a name that ends in .csv.zst"),
}


def detect_dialect(
    head: bytes,
    path: Path,
    selection: Selection,
    *,
    separator: str | None = None,
    compression: str | None = None,
    complete: bool = True,
) -> Dialect:
    """Detect how a text is written.

    Parameters
    ----------
    head : bytes
        The first part of the text, decompressed.
    path : Path
        The file; also its name in messages.
    selection : Selection
        With the options that say how the text is written.
    separator : str, optional
        The separator that the file extension implies; None if it implies none.
    compression : str, optional
    complete : bool
        Whether ``head`` is the whole text, so that its last line is not cut.

    Raises
    ------
    MalformedFileError
        The text can be read in two ways, or not in its encoding.
    """
    _refuse_packed(head, path)
    options = selection.options
    notes: list[str] = []
    encoding = _encoding_of(head, options.encoding, notes)
    lines = _lines_of(head, encoding, path)
    if not complete and len(lines) > 1:
        lines.pop()  # a part of 1.234, such as 1.2, could decide about the marks in numbers
    skip, requested = _skipped_and_separator(lines[0], options, path)
    if options.skip_end and complete:
        # Notes below a table may have other separators.
        end = len(lines) - (not lines[-1])  # a last line end begins no line
        lines = lines[: max(0, end - options.skip_end)]
    written = lines
    comment = _detect_comment(lines[skip:]) if options.comment is None else options.comment
    # Blank out comments and skipped lines, so that the other lines keep their numbers.
    lines = ["" if comment and line.startswith(comment) else line for line in lines]
    lines[:skip] = [""] * len(lines[:skip])
    _refuse_escaped_quotes("\n".join(lines), requested or "".join(_SEPARATORS), path)
    if requested is None:
        _refuse_svmlight(lines, path)
    sep = requested or _detect_separator(lines, separator, path)
    if options.comment is None and comment:
        named = _commented_names(written, lines, sep) if options.header != 0 else None
        if named is None:
            notes.append("lines that begin with '#' are comments; comment='' reads them as rows")
        else:
            lines[named] = written[named]
            skip, comment = named, ""
            notes.append(f"line {named + 1} names the columns; comment='#' makes it a comment")
    if sep != separator and (separator is not None or sep not in ",\t"):
        notes.append(f"fields are separated by {_SEPARATORS.get(sep, repr(sep))}")
    number_format, assumes_point = detect_number_format(
        _records(lines, sep), sep, options, path, notes, of_model=selection.of_model
    )
    return Dialect(
        path,
        "\t" if sep == " " else sep,
        compression,
        encoding=encoding,
        skip=skip,
        comment=comment,
        split_at_blanks=sep == " ",
        number_format=number_format,
        assumes_point=assumes_point,
        skip_end=options.skip_end,
        notes=tuple(notes),
        of_model=selection.of_model,
    )


def _lines_of(head: bytes, encoding: str, path: Path) -> list[str]:
    """Decode a text and split it at line ends of all kinds."""
    # The last character may be incomplete; invalid bytes are reported when the text is read.
    with reading(path, "delimited text"):
        text = codecs.getincrementaldecoder(encoding)(errors="replace").decode(head)
    # str.splitlines would also split at other characters, such as U+2028, which cells may contain.
    return text.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _refuse_packed(head: bytes, path: Path) -> None:
    """Refuse a text whose first bytes say that it is compressed."""
    for pattern, (kind, command) in _PACKED.items():
        if re.match(pattern, head):
            hint = f"Unpack it first, with {command}."
            raise malformed(path, f"it is compressed with {kind}", hint)


def _skipped_and_separator(line: str, options: ReadOptions, path: Path) -> tuple[int, str | None]:
    """Number of skipped lines and the separator, given or in a first line ``sep=;`` of Excel."""
    found = re.fullmatch(r"(?i)sep=(.)", line)
    if options.skip is not None or found is None:
        return options.skip or 0, options.sep
    sep = options.sep or found[1]
    if not sep.isascii():
        problem = f"line 1 sets the separator {sep!r}, which is not an ASCII character"
        hint = "Save the table with commas or tabs between its columns."
        raise malformed(path, problem, hint, line=1)
    return 1, sep


def _refuse_escaped_quotes(text: str, separators: str, path: Path) -> None:
    """Refuse quoted fields with a quote after a backslash, unless they end as quoted fields do."""
    if '\\"' not in text or "\\" in separators:
        return
    ends = re.escape(separators)
    quoted = rf'(?:^|[{ends}])("[^"]*+(?:""[^"]*+)*+")([^{ends}\n]?)'
    fields = re.finditer(quoted, text, re.MULTILINE)
    match = next((field for field in fields if field[2] and '\\"' in field[1]), None)
    if match is not None:
        line = 1 + text.count("\n", 0, text.index('\\"', match.start()))
        raise malformed(
            path,
            f"line {line} has a quote after a backslash in a quoted field",
            "Write a quote that belongs to the text twice, without a backslash; in R, use "
            "write.csv, or write.table with qmethod='double'.",
            line=line,
        )


def _refuse_svmlight(lines: Sequence[str], path: Path) -> None:
    """Refuse rows of the svmlight format, of which only the labels would be numbers."""
    first = [line for line in lines if line.strip()][:_LINES_OF_SVMLIGHT]
    if first and all(map(_SVMLIGHT.fullmatch, first)):
        problem = f"lines such as {first[0]!r} are of the svmlight format"
        hint = "Give sklearn.datasets.load_svmlight_file(path)[0], a sparse matrix."
        raise malformed(path, problem, hint)


def _detect_comment(lines: Sequence[str]) -> str:
    """Return "#" if the first line that is not blank begins with it, else ""."""
    top = next((line for line in lines if line.strip()), "")
    # A # before a separator is the name of a column, not a comment.
    return "#" if re.match(r"#(?!\s*[,;\t|])", top) else ""


def _commented_names(written: Sequence[str], lines: Sequence[str], sep: str) -> int | None:
    """Index of a line of names that begins with ``#``, such as ``#gene,x``; None without one.

    It is the last line that begins with ``#``, and stands above all rows. Its cells are different
    texts, as many as the next line has cells, and at least one of those is a number.
    """
    i = max(i for i, line in enumerate(written) if line.startswith("#"))
    records = [record for _, record in _records([written[i], *lines[i + 1 :]], sep)[:2]]
    if any(lines[:i]) or len(records) < 2:
        return None
    names, row = ([plain_minus(cell.strip()) for cell in record] for record in records)
    fits = len(set(filter(None, names))) == len(row) > 1
    return i if fits and not any(map(is_number, names)) and any(map(is_number, row)) else None


# ---- encoding -------------------------------------------------------------------------


def _encoding_of(head: bytes, given: str | None, notes: list[str]) -> str:
    """The given encoding, by the name of its codec, or the detected one; adds to ``notes``."""
    if given:
        return codecs.lookup(given).name  # "utf-16" for all of its aliases, such as "UTF16"
    encoding = _detect_encoding(head)
    if encoding.startswith("utf-16"):
        notes.append("the text is UTF-16")
    elif not encoding.startswith("utf-8"):
        notes.append(f"the text is not UTF-8; it was read as Western European ({encoding})")
    return encoding


def _detect_encoding(head: bytes) -> str:
    """Name the encoding by a byte order mark, by zero bytes, or by what can be decoded."""
    if head.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    # Half of the bytes of western text in UTF-16 are zero.
    half_zeros = 0.3 < head[:400].count(0) / max(len(head[:400]), 1) < 0.6
    is_text = not _CONTROL_BYTES.search(head[:400].replace(b"\0", b""))
    if half_zeros and is_text and 0 in head[:2]:
        return "utf-16-le" if head[1] == 0 else "utf-16-be"
    # Bytes with control characters are not text at all, which is reported when they are read.
    if _is_text_in("utf-8", head) or _CONTROL_BYTES.search(head):
        return "utf-8-sig"
    # cp1252 is Latin-1 with quotes, dashes and the euro sign.
    return "cp1252" if _is_text_in("cp1252", head) else "latin-1"


def _is_text_in(encoding: str, head: bytes) -> bool:
    """Whether bytes are text in an encoding; the last character may be incomplete."""
    try:
        codecs.getincrementaldecoder(encoding)().decode(head)
    except UnicodeDecodeError:
        return False
    return True


# ---- separator ------------------------------------------------------------------------


class _Layout(NamedTuple):
    """Lines split at a separator. Of two layouts, the larger one as a tuple is more likely.

    Parameters
    ----------
    header_fits : bool
        Whether the first line has as many fields as the others, or one more or less (with
        spaces, one less).
    number_share : float
        Share of numbers among the cells of the first 100 rows.
    width : int
        Number of fields in most lines.
    """

    header_fits: bool
    number_share: float
    width: int


def _detect_separator(lines: Sequence[str], default: str | None, path: Path) -> str:
    """Choose the separator that gives the most regular lines with the most numbers.

    Spaces separate fields only if nothing else does, or if commas are decimal marks.
    """
    found = {sep: layout for sep in _SEPARATORS if (layout := _layout(lines, sep)) is not None}
    blanks = found.pop(" ", None)
    if not found:
        if default is None:
            return "," if blanks is None else " "
        if blanks is not None and blanks.header_fits and blanks.number_share > 0.5:
            raise _spaces_error(path, blanks.width, default)
        return default
    only_commas = found.keys() == {","} and found[","].number_share < 1
    if only_commas and blanks is not None and _has_decimal_commas(lines):
        first = _records(lines, " ")[0][1]
        if default is None and (blanks.number_share == 1 or not any("," in cell for cell in first)):
            return " "
        if blanks.header_fits:
            raise _spaces_error(path, blanks.width, ",")
    best = max(found, key=lambda sep: (found[sep], sep == default))
    rivals = [sep for sep in found if sep != best and found[sep] == found[best]]
    if rivals and default not in (best, *rivals):
        raise malformed(
            path,
            f"its fields may be separated by {_SEPARATORS[best]} ({found[best].width} columns) "
            f"or by {_SEPARATORS[rivals[0]]} ({found[rivals[0]].width} columns)",
            f"Choose one: sep={best!r} or sep={rivals[0]!r}.",
        )
    return best


def _spaces_error(path: Path, width: int, sep: str) -> MalformedFileError:
    return malformed(
        path,
        f"its fields may be separated by spaces ({width} columns), not by {_SEPARATORS[sep]}",
        f"Say which it is: sep=' ' splits lines at spaces, sep={sep!r} does not.",
    )


def _has_decimal_commas(lines: Sequence[str]) -> bool:
    """Whether, split at blanks, all cells with commas are numbers, as in ``1 2,5``."""
    records = _records(lines, " ")
    cells = [cell for _, record in records for cell in record if "," in cell]
    return all(map(_DECIMAL_COMMA.fullmatch, cells))


def _records(lines: Sequence[str], sep: str) -> list[tuple[int, list[str]]]:
    """Last line number and fields of each record."""
    if sep == " ":
        split = ((i, re.findall(r'"[^"]*"|[^ \t]+', line)) for i, line in enumerate(lines, 1))
    else:
        reader = csv.reader(lines, delimiter=sep)
        split = ((reader.line_num, record) for record in reader)
    return list(itertools.islice((item for item in split if item[1]), _MAX_RECORDS))


def _layout(lines: Sequence[str], sep: str) -> _Layout | None:
    """The lines split at a separator; None if they have one field, or no usual number of fields."""
    records = [record for _, record in _records(lines, sep)]
    rows = records[1:] or records
    if not rows:
        return None
    width, count = Counter(map(len, rows)).most_common(1)[0]
    if width < 2 or count < 0.8 * len(rows):
        return None
    names = len(records[0])
    if sep == " ":
        # A name for each column, but perhaps none for that of the row names.
        header_fits = names in (width - 1, width)
    else:
        header_fits = names > 1 and abs(names - width) < 2
    found = (plain_minus(cell.strip()) for record in rows[:100] for cell in record)
    cells = list(itertools.islice(filter(None, found), MAX_CELLS))
    return _Layout(header_fits, sum(map(is_number, cells)) / max(len(cells), 1), width)
