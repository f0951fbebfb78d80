"""Parse MatrixMarket files: a header with kind and sizes, then one entry per line.

SciPy's own reader crashes the process on some files that are cut short, and silently
reads "1,5" as 1. So the lines are read as delimited text instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from princomp.errors import MalformedFileError, NotNumericError
from princomp.io.readers.reader_errors import REMAKE, malformed, need, reading

__all__ = ["Head", "read_array", "read_entries", "read_head"]

# Bytes of text turned into numbers at once.
_PIECE = 2**23
# Longest line in bytes: comments may be long, lines of numbers are short.
_LONGEST = 2**16

_COMMON = bytes.maketrans(b"\t\r\fdD", b" \n ee")

_NUMBERS = ("real", "double", "integer", "unsigned-integer", "pattern")
_SYMMETRIES = ("general", "symmetric", "skew-symmetric")


class Head(NamedTuple):
    """The header of a file.

    Parameters
    ----------
    shape : tuple of int
        Rows and columns.
    entries : int or None
        Number of entries in coordinate format; None in array format.
    numbers : str
        Kind of the numbers, such as "real".
    symmetry : str
        How the file implies the other half of the matrix: "general" if it does not.
    """

    shape: tuple[int, int]
    entries: int | None
    numbers: str
    symmetry: str

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype to read the numbers with; integers stay integers, so that no digits are lost."""
        kinds = {"integer": np.int64, "unsigned-integer": np.uint64}
        return np.dtype(kinds.get(self.numbers, np.float64))


def read_head(path: Path, file: BinaryIO) -> Head:
    """Read the header, which ends with the line of sizes.

    Raises
    ------
    MalformedFileError
        The file is not a MatrixMarket file, or the kind of its matrix is unknown.
    NotNumericError
        The numbers are complex.
    """
    with reading(path, "MatrixMarket"):
        line = file.readline(_LONGEST)
    words = line.decode("latin1").lower().split()
    if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"]:
        raise _malformed(path, "is no MatrixMarket matrix: its first line is not of that form")
    layout, numbers, symmetry = words[2:]
    if numbers == "complex":
        raise NotNumericError(
            f"{path}: holds complex numbers, not real numbers",
            place={"file": str(path)},
            hint="Write the real and the imaginary parts as columns of their own.",
        )
    known = numbers in _NUMBERS and symmetry in _SYMMETRIES
    if layout not in ("coordinate", "array") or not known or words[2:4] == ["array", "pattern"]:
        raise _malformed(path, f"is a matrix of an unknown kind: {' '.join(words[2:])}")
    line = b"%"
    while line and (line.startswith(b"%") or not line.strip()):
        with reading(path, "MatrixMarket"):
            line = file.readline(_LONGEST)
    sizes = line.split()
    if len(sizes) != (3 if layout == "coordinate" else 2) or not all(map(bytes.isdigit, sizes)):
        raise _malformed(path, f"its sizes are not understood: {line[:60].decode('latin1')!r}")
    n, p, *entries = map(int, sizes)
    if symmetry != "general" and n != p:
        raise _malformed(path, f"is said to be {symmetry}, but has {n:,} rows and {p:,} columns")
    return Head((n, p), entries[0] if entries else None, numbers, symmetry)


def read_entries(
    path: Path, file: BinaryIO, head: Head
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Rows and columns, from 0, and values of all entries, including those symmetry implies."""
    kinds = ["int64", "int64"]
    if head.numbers != "pattern":
        kinds.append(str(head.dtype))
    parts = list(_lines(path, file, kinds, head.entries or 0))
    places = []
    for k, length in enumerate(head.shape):
        place = np.concatenate([np.empty(0, np.int64), *(part[k] for part in parts)]) - 1
        if place.size and not 0 <= int(place.min()) <= int(place.max()) < length:
            raise _malformed(
                path, f"an entry lies outside of its {' × '.join(map(str, head.shape))}"
            )
        places.append(place)
    row, column = places
    if head.numbers == "pattern":
        values = np.ones(len(row), head.dtype)
    else:
        values = np.concatenate([np.empty(0, head.dtype), *(part[2] for part in parts)])
    if head.symmetry != "general":
        off_diagonal = row != column
        other = _mirrored(path, values[off_diagonal], head)
        row, column = np.append(row, column[off_diagonal]), np.append(column, row[off_diagonal])
        values = np.append(values, other)
    return row, column, values


def read_array(path: Path, file: BinaryIO, head: Head) -> NDArray[Any]:
    """Read an array of shape (n, p), which the file stores column by column."""
    n, p = head.shape
    k = 1 if head.symmetry == "skew-symmetric" else 0
    count = n * p if head.symmetry == "general" else n * (n + 1) // 2 - k * n
    parts = [part[0] for part in _lines(path, file, [str(head.dtype)], count)]
    values = np.concatenate([np.empty(0, head.dtype), *parts])
    if head.symmetry == "general":
        return values.reshape(p, n).T
    # The lower triangle in column order is the upper triangle of the transpose in row order.
    array = np.zeros((n, n), head.dtype)
    upper = np.triu_indices(n, k)
    array[upper] = _mirrored(path, values, head)
    array.T[upper] = values
    return array


def _mirrored(path: Path, values: NDArray[Any], head: Head) -> NDArray[Any]:
    if head.symmetry == "symmetric":
        return values
    if head.numbers == "unsigned-integer":
        raise _malformed(path, "is said to be skew-symmetric, but its integers have no sign")
    return -values


def _lines(
    path: Path, file: BinaryIO, kinds: list[str], count: int
) -> Iterator[list[NDArray[Any]]]:
    """Parse the remaining lines, which must be ``count``, into columns, piece by piece."""
    pa = need("pyarrow", path)
    csv = need("pyarrow.csv", path)
    names = [str(k) for k in range(len(kinds))]
    options = {
        "read_options": csv.ReadOptions(column_names=names),
        "parse_options": csv.ParseOptions(delimiter=" ", quote_char=False),
        "convert_options": csv.ConvertOptions(
            column_types={
                name: getattr(pa, kind)() for name, kind in zip(names, kinds, strict=True)
            },
            null_values=[],
        ),
    }
    met, odd = 0, False
    for piece in _pieces(path, file):
        if piece.isspace() or not piece:
            continue
        table = None
        if not odd:
            # Most files have one blank between fields. For other files this parse fails; then
            # this piece and all later pieces are normalized first.
            with suppress(pa.ArrowInvalid):
                table = csv.read_csv(pa.BufferReader(piece), **options)
            odd = table is None
        with reading(path, "MatrixMarket"):
            if table is None:
                table = csv.read_csv(pa.BufferReader(_plain(piece)), **options)
            columns = [column.to_numpy() for column in table.columns]
        met += table.num_rows
        if met > count:
            break
        yield columns
    if met != count:
        many = "more" if met > count else f"{met:,}"
        raise _malformed(path, f"its head announces {count:,} numbers, but there are {many}")


def _pieces(path: Path, file: BinaryIO) -> Iterator[bytes]:
    """The rest of the file in pieces of whole lines."""
    rest, piece = b"", b" "
    while piece:
        with reading(path, "MatrixMarket"):
            piece = file.read(_PIECE)
        end = piece.rfind(b"\n") + 1
        if end:
            yield rest + piece[:end]
            rest = b""
        rest += piece[end:]
        if len(rest) > _LONGEST:
            raise _malformed(path, "has a line without end")
    yield rest


def _plain(piece: bytes) -> bytes:
    """Normalize lines: one blank between fields, no plus signs, and exponents after an e."""
    # Fortran writes 1.0D+00.
    piece = b"\n" + piece.translate(_COMMON)
    while b"  " in piece:
        piece = piece.replace(b"  ", b" ")
    piece = piece.replace(b"\n ", b"\n").replace(b" \n", b"\n").removesuffix(b" ")
    return piece.replace(b" +", b" ").replace(b"\n+", b"\n")


def _malformed(path: Path, why: str) -> MalformedFileError:
    return malformed(path, why, REMAKE)
