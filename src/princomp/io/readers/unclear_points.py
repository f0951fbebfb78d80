"""Numbers such as 1.234 that may mean 1234, in texts whose first records do not decide.

Detection looks only at the first records. If none of them has a number with a decimal mark, a point
is assumed to be one, and the numbers that were read are checked here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as compute

from princomp.errors import MalformedFileError
from princomp.io.readers.delimited_text import Dialect
from princomp.io.readers.number_text import Unit
from princomp.io.readers.reader_errors import malformed

# Number of rows of a text with many fractions that are searched for a decimal mark.
_SAMPLE = 1000
_GROUPED = r"^[+-]?[1-9][0-9]{0,2}\.[0-9]{3}$"
# The look-behind follows a literal character, because such a pattern is found much faster.
_GROUP_IN_TEXT = re.compile(rb"\.[0-9]{3}(?<=[0-9]\.[0-9]{3})(?![0-9])")


class Points(NamedTuple):
    """What the points in numbers are.

    Parameters
    ----------
    are_decimal : bool
        Whether a number has a point that cannot separate thousands.
    unclear : tuple of (int, str), optional
        Row and text of a cell whose point probably separates thousands, if there is none like that.
    """

    are_decimal: bool = False
    unclear: tuple[int, str] | None = None


def may_have_groups(text: bytes) -> bool:
    """Whether a text seems to have a number such as 1.234."""
    return _GROUP_IN_TEXT.search(text) is not None


def points_in(
    table: pa.Table, names: Iterable[str], units: Mapping[str, Unit], dialect: Dialect
) -> Points:
    """Find out what the points in columns of numbers, read as text, are.

    Where semicolons separate fields, any cell such as 1.234 is unclear, because such files often
    have decimal commas. Elsewhere, it is so only in a column of numbers below 1000 without a point:
    fractions that are rounded to three decimals would nearly always include others.
    """
    needs_integers = dialect.delimiter != ";"
    pointed = {name: compute.match_substring(table.column(name), ".") for name in names}
    if needs_integers and not any(_any(compute.invert(mask)) for mask in pointed.values()):
        # Without integers, nothing is unclear, and the first rows show most other fractions.
        table = table.slice(0, _SAMPLE)
    unclear = None
    for name in (name for name, mask in pointed.items() if _any(mask)):
        cells = dialect.number_format.canonical(table.column(name), units.get(name))
        grouped = compute.match_substring_regex(cells, _GROUPED)
        if _any(compute.and_not(compute.match_substring(cells, "."), grouped)):
            return Points(are_decimal=True)
        is_unclear = not needs_integers or _has_only_small_integers(cells)
        if unclear is None and is_unclear and _any(grouped):
            row = compute.index(grouped, True).as_py()
            unclear = row, cells[row].as_py()
    return Points(unclear=unclear)


def _has_only_small_integers(cells: pa.ChunkedArray) -> bool:
    """Whether some cells are integers without a point, and all of these are below 1000."""
    integers, small = (
        compute.match_substring_regex(cells, f"^[+-]?{digits}$")
        for digits in ("[0-9]+", "[0-9]{1,3}")
    )
    return _any(small) and not _any(compute.and_not(integers, small))


def _any(mask: pa.ChunkedArray) -> bool:
    return bool(compute.any(mask).as_py())


def unclear_mark_error(path: Path, line: int | None, cell: str) -> MalformedFileError:
    """Make the error for a number whose mark may be a decimal mark or separate thousands."""
    as_fraction, as_thousands = cell.replace(",", "."), re.sub("[.,]", "", cell)
    mark = "," if "," in cell else "."
    return malformed(
        path,
        f"line {line}: {cell!r} may be {as_fraction} or {as_thousands}",
        f"Say which it is: decimal={mark!r} reads {as_fraction}, thousands={mark!r} reads "
        f"{as_thousands}.",
        line=line,
    )
