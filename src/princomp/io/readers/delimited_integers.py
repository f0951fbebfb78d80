"""Columns of integers in delimited text: refuse those that may be codes or lose digits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as compute
from numpy.typing import NDArray

from princomp.errors import NotNumericError
from princomp.io.readers.cells import LARGEST_INTEGER, first_long_integer, long_integer_error
from princomp.io.readers.columns import Origin
from princomp.io.readers.delimited_pieces import Dialect, pieces_of
from princomp.io.readers.reader_errors import reading

if TYPE_CHECKING:
    from princomp.io.readers.delimited import Reader


# At least one digit is not 0, because 0000 is the number zero.
_CODE = r"\s*0+[1-9][0-9]*\s*"


def are_integers(values: NDArray[np.float64]) -> bool:
    """Whether every value is a whole number, infinite or missing."""
    return bool(np.all((values == np.trunc(values)) | np.isnan(values)))


def may_have_lost_digits(values: NDArray[np.float64]) -> bool:
    """Whether some magnitudes are 2**53 or more, so that the integers in the text may differ."""
    # Infinities count, because integers of hundreds of digits are read as infinity.
    return bool(np.fmax.reduce(np.abs(values), initial=0.0) >= LARGEST_INTEGER)


def refuse_long_integers(
    reader: Reader, name: str, origin: Origin, rows: int | None = None
) -> None:
    """Raise NotNumericError for an integer beyond 2**53 in a column of integers.

    Only the first ``rows`` are checked.
    """
    with reading(reader.dialect.path, reader.dialect.kind):
        table = reader.read_as_text([name])
    cells = [] if table is None else table.column(name)[:rows].to_pylist()
    long = first_long_integer(cells)
    if long is not None:
        raise long_integer_error(name, long, cells[long], origin)


def refuse_codes(reader: Reader, names: Sequence[str], origin: Origin, rows: int) -> None:
    """Raise NotNumericError for a cell such as 01234 in the first ``rows`` rows of columns."""
    if not names or not _may_have_codes(reader.dialect):
        return
    with reading(reader.dialect.path, reader.dialect.kind):
        table = reader.read_as_text(names)
    if table is None:
        return
    for name in names:
        cells = table.column(name)[:rows]
        matches = compute.match_substring_regex(cells, f"^{_CODE}$")
        count = compute.sum(matches).as_py() or 0
        if count:
            row = compute.index(matches, True).as_py()
            words, place = origin.describe_cell(name, row)
            raise NotNumericError(
                f"{words}: {cells[row].as_py().strip()!r} begins with 0, as codes do "
                f"({count:,} such {'cell' if count == 1 else 'cells'} in the column)",
                place=place,
                hint=f"Codes such as postcodes are no quantities: exclude=[{name!r}] leaves the "
                f"column out, id_column={name!r} names the rows by it. If it holds quantities, "
                "name it among the columns=.",
            )


def _may_have_codes(dialect: Dialect) -> bool:
    """Whether any field seems to begin with 0 and another digit."""
    ends = re.escape(dialect.delimiter.encode())
    # Allow only a few blanks or quotes, because a long run would be searched again from each one.
    patterns = [re.compile(end + rb'[" ]{0,8}0[0-9]') for end in (ends, rb"\n", rb"\r")]
    # A piece begins after a line end, so its first field follows no delimiter.
    first = re.compile(rb'(?:\xef\xbb\xbf)?[" ]{0,8}0[0-9]')
    with reading(dialect.path, dialect.kind), dialect.open_binary() as stream:
        for piece in pieces_of(dialect, stream, 1 << 22):
            text = piece.text
            if first.match(text) or any(pattern.search(text) for pattern in patterns):
                return True
    return False
