"""The text of a delimited file: how it is written, and the file opened as clean bytes and lines."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import deque
from collections.abc import Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TextIO, cast

import pyarrow as pa

from princomp.io.readers.columns import Origin
from princomp.io.readers.number_text import PLAIN, NumberFormat
from princomp.io.readers.reader_errors import open_complete, reading

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

# A line with its end, or a last line without one.
_LINE = re.compile(r"[^\r\n]*+(?:\r\n?|\n)|[^\r\n]++\Z")

# A row longer than this is an error: an unclosed quote, or missing line ends.
LONGEST_ROW = 2**26
# The csv module refuses cells of more than 131,072 characters by default, which pyarrow reads.
csv.field_size_limit(max(csv.field_size_limit(), LONGEST_ROW))
# Bytes of a compressed file that are read at once.
_READ = 2**22


@dataclass(frozen=True, slots=True)
class Dialect:
    """A delimited file, and how it is written.

    Parameters
    ----------
    path : Path
        The file; also its name in messages.
    delimiter : str
        One character.
    compression : {None, "gzip", "zstd"}
    text : bytes, optional
        All or part of the text, if it is in memory; it is then used instead of the file. It
        must be clean: UTF-8, without the lines that are left out.
    encoding : str
        Name of a Python encoding.
    skip : int
        Number of lines left out at the top.
    comment : str
        Lines that begin with this text are left out; "" for none.
    split_at_blanks : bool
        Fields are separated by any number of blanks, which are replaced by one ``delimiter``.
    number_format : NumberFormat
    assumes_point : bool
        Whether no option and no number so far says that a point is a decimal mark.
    skip_end : int, optional
        Number of lines left out at the end, also blank ones; None refuses totals.
    notes : tuple of str
        Messages on what was detected.
    names : tuple of str
        The column names; these and all below are empty until ``read_header`` has read them.
    header_lines : int
        Number of lines of names, including blank lines before them.
    label_candidates : tuple of str
        Columns that may name the rows: the first one, and others judging by the first rows.
    unnamed : bool
        Whether the file has no name for the first column.
    rows_before, lines_before : int
        Number of data rows, and of lines (including the header), before ``text`` in the file.
    of_model : bool
        As in ``Selection``.
    """

    path: Path
    delimiter: str
    compression: str | None
    text: bytes | None = None
    encoding: str = "utf-8-sig"
    skip: int = 0
    comment: str = ""
    split_at_blanks: bool = False
    number_format: NumberFormat = PLAIN
    assumes_point: bool = False
    skip_end: int | None = None
    notes: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    header_lines: int = 0
    label_candidates: tuple[str, ...] = ()
    unnamed: bool = False
    rows_before: int = 0
    lines_before: int = 0
    of_model: bool = False

    @property
    def kind(self) -> str:
        """Name of the format in messages."""
        name = "TSV" if self.delimiter == "\t" and not self.split_at_blanks else "CSV"
        return f"{name} compressed by {self.compression}" if self.compression else name

    @property
    def origin(self) -> Origin:
        """Where the rows come from, for messages."""
        return Origin(str(self.path), self.line_of, offset=self.rows_before, of_model=self.of_model)

    def reading(self) -> AbstractContextManager[None]:
        """Turn the errors of a library that reads this text into errors of princomp."""
        return reading(self.path, self.kind)

    def open_binary(self) -> BinaryIO:
        """Open as bytes: decompressed, in UTF-8, with blank lines for lines that are left out."""
        if self.text is not None:
            return io.BytesIO(self.text)
        return self.cleaned(open_decompressed(self.path, self.compression))

    def cleaned(self, stream: BinaryIO) -> BinaryIO:
        """Return a stream of clean text for a stream of decompressed bytes."""
        is_utf8 = self.encoding in ("utf-8", "utf-8-sig")
        if is_utf8 and not (self.skip or self.comment or self.split_at_blanks):
            return stream
        return io.BufferedReader(_CleanedText(stream, self), 1 << 20)

    def open_text(self) -> TextIO:
        """Open as text; bytes that are not UTF-8 become lone surrogates, reported later."""
        # newline="" leaves quoted line ends to the csv module.
        return io.TextIOWrapper(
            self.open_binary(),  # closed along with the text
            encoding="utf-8-sig",
            errors="surrogateescape",
            newline="",
        )

    def records(self, *, blank: bool = False) -> Iterator[tuple[int, int, list[str]]]:
        """First line, last line and fields of each record after the header.

        Blank lines are left out, or are records without fields if ``blank`` is true. Many times
        slower than pyarrow, so used only for the header and to locate errors.
        """
        with self.open_text() as file:
            reader = csv.reader(file, delimiter=self.delimiter)
            before, last_line = self.lines_before, 0
            for record in reader:
                if (record or blank) and last_line >= self.header_lines:
                    yield before + last_line + 1, before + reader.line_num, record
                last_line = reader.line_num

    def line_of(self, row: int) -> int | None:
        """Line of the file on which its data row ``row``, from 0, starts."""
        with suppress(OSError, EOFError, csv.Error):
            for line, _, _ in islice(self.records(), row - self.rows_before, None):
                return line
        return None

    def skip_end_from(self, row: int) -> int:
        """The ``skip_end`` that leaves out the rows from number ``row`` on."""
        first_line = self.line_of(row) or 0
        return sum(line >= first_line for line, _, _ in self.records(blank=True))

    def without_last_records(self, last: int) -> tuple[Dialect, list[list[str]]]:
        """Cut off the last records of the text; also return these, which may have any form.

        Blank lines count.
        """
        text, records = self.text or b"", deque(self.records(blank=True), int(last))
        lines = records[0][0] - 1 if records else 0
        shorter = replace(self, text=text[: offset_after_lines(text, lines)])
        return shorter, [record for *_, record in records]


def offset_after_lines(text: bytes, lines: int) -> int:
    """Position after the first ``lines`` lines."""
    match = re.match(rb"(?:[^\r\n]*+(?:\r\n?|\n)){%d}" % lines, text)
    return 0 if match is None else match.end()


def open_decompressed(path: Path, compression: str | None) -> BinaryIO:
    """Open a file as bytes, decompressed."""
    if compression is None:
        return open_complete(path)
    # Use few reads, because each one waits for the GIL, which the parsing threads also use.
    stream = pa.BufferedInputStream(pa.PythonFile(open_complete(path), "r"), _READ)
    return cast(BinaryIO, pa.CompressedInputStream(stream, compression))


class _CleanedText(io.RawIOBase):
    """Text in UTF-8 with blank lines for comments and skipped lines, to keep line numbers."""

    def __init__(self, stream: BinaryIO, dialect: Dialect) -> None:
        self._stream, self._dialect, self._skip = stream, dialect, dialect.skip
        self._decoder = codecs.getincrementaldecoder(dialect.encoding)()
        self._rest, self._ready, self._ended = "", b"", False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer).cast("B")
        while not self._ready and not self._ended:
            self._ready = self._next_lines().encode()
        part, self._ready = self._ready[: len(view)], self._ready[len(view) :]
        view[: len(part)] = part
        return len(part)

    def close(self) -> None:
        self._stream.close()
        super().close()

    def _next_lines(self) -> str:
        """Read and clean some whole lines."""
        data = self._stream.read(1 << 20)
        self._ended = not data
        text = self._rest + self._decoder.decode(data, final=self._ended)
        text = text.removeprefix("\ufeff")
        # A last "\r" may be half of a line end.
        last = max(text.rfind("\n"), text.rfind("\r", 0, len(text) - 1))
        end = len(text) if self._ended else last + 1
        if not end and len(text) > LONGEST_ROW:
            end = len(text)  # no line ends; the error is reported later
        text, self._rest = text[:end], text[end:]
        if self._skip:
            text, n_skipped = _LINE.subn("\n", text, self._skip)
            self._skip -= n_skipped
        if self._dialect.comment:
            text = self._without_comments(text)
        if self._dialect.split_at_blanks:
            text = _blanks_as_tabs(text)
        return text

    def _without_comments(self, text: str) -> str:
        """Remove comments, but not lines of quoted fields that look like comments.

        A record whose quoted field does not end in this text waits for the next text.
        """
        # The look-behinds follow a literal character, because a pattern that begins with one is
        # found 100 times faster.
        mark = re.escape(self._dialect.comment)
        comment = rf"{mark}(?<![^\r\n]{mark})[^\r\n]*"
        if '"' not in text or mark.startswith('"'):
            return re.sub(comment, "", text)
        before = r" \t" if self._dialect.split_at_blanks else re.escape(self._dialect.delimiter)
        opened = rf'"(?<![^\r\n{before}]")[^"]*+(?:""[^"]*+)*+'
        if re.search(comment, text) is None:
            # Much faster than the function below: whether all quoted fields end in this text.
            elsewhere = rf'"(?<=[^\r\n{before}]")'
            if re.fullmatch(rf'(?:[^"]++|{opened}"|{elsewhere})*+', text):
                return text
        record = end_of_field = 0
        unfinished = False

        def keep_quoted(match: re.Match[str]) -> str:
            nonlocal record, end_of_field, unfinished
            if match[1] is None:
                return ""
            between = (end_of_field, match.start())
            record = 1 + max(text.rfind("\n", *between), text.rfind("\r", *between), record - 1)
            end_of_field, unfinished = match.end(), not match[1]
            return match[0]

        kept = re.sub(f'{opened}("?)|{comment}', keep_quoted, text)
        if unfinished and not self._ended and len(text) - record <= LONGEST_ROW:
            self._rest = text[record:] + self._rest
            kept = kept[: len(kept) - (len(text) - record)]
        return kept


def _blanks_as_tabs(text: str) -> str:
    """Replace blanks outside quotes: by a tab between fields, by nothing at the ends of a line."""
    parts = text.split('"')  # every second one is quoted, but never the last
    quoted = parts[1:-1:2]
    outside = '"'.join([*parts[:-1:2], parts[-1]]).replace("\t", " ")
    while "  " in outside:
        outside = outside.replace("  ", " ")
    for end in "\r\n":
        if end in outside:
            outside = outside.replace(f" {end}", end).replace(f"{end} ", end)
    unquoted = outside.strip(" ").replace(" ", "\t").split('"')
    parts[:-1:2], parts[1:-1:2], parts[-1] = unquoted[:-1], quoted, unquoted[-1]
    return '"'.join(parts)
