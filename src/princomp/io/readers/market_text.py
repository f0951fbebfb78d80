"""Parse MatrixMarket files: a header with kind and sizes, then one entry per line.

SciPy's own reader crashes the process on some files that are cut short, and silently
reads "1,5" as 1. So the lines are read as delimited text instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from princomp.errors import MalformedFileError, NotNumericError
from princomp.io.readers.reader_errors import DAMAGED_HINT, file_error, malformed, reading

# Bytes of text turned into numbers at once.
_PIECE_BYTES = 2**23
# Longest line in bytes: comments may be long, lines of numbers are short.
_MAX_LINE_BYTES = 2**16

_SUBSTITUTES = bytes.maketrans(b"\t\r\fdD", b" \n ee")

_NUMBER_KINDS = ("real", "double", "integer", "unsigned-integer", "pattern")
_SYMMETRIES = ("general", "symmetric", "skew-symmetric")


class Header(NamedTuple):
    """The header of a file.

    Parameters
    ----------
    shape : tuple of int
        Rows and columns.
    entries : int or None
        Number of entries in coordinate format; None in array format.
    number_kind : str
        Kind of the numbers, such as "real".
    symmetry : str
        How the file implies the other half of the matrix: "general" if it does not.
    """

    shape: tuple[int, int]
    entries: int | None
    number_kind: str
    symmetry: str

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype to read the numbers with; integers stay integers, so that no digits are lost."""
        kinds = {"integer": np.int64, "unsigned-integer": np.uint64}
        return np.dtype(kinds.get(self.number_kind, np.float64))


def read_header(path: Path, file: BinaryIO) -> Header:
    """Read the header, which ends with the line of sizes.

    Raises
    ------
    MalformedFileError
        The file is not a MatrixMarket file, or the kind of its matrix is unknown.
    NotNumericError
        The numbers are complex.
    """
    with reading(path, "MatrixMarket"):
        line = file.readline(_MAX_LINE_BYTES)
    words = line.decode("latin1").lower().split()
    if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"]:
        raise _malformed(path, "is no MatrixMarket matrix: its first line is not of that form")
    layout, number_kind, symmetry = words[2:]
    if number_kind == "complex":
        problem = "holds complex numbers, not real numbers"
        hint = "Write the real and the imaginary parts as columns of their own."
        raise file_error(NotNumericError, path, problem, hint)
    known = number_kind in _NUMBER_KINDS and symmetry in _SYMMETRIES
    if layout not in ("coordinate", "array") or not known or words[2:4] == ["array", "pattern"]:
        raise _malformed(path, f"is a matrix of an unknown kind: {' '.join(words[2:])}")
    line = b"%"
    while line and (line.startswith(b"%") or not line.strip()):
        with reading(path, "MatrixMarket"):
            line = file.readline(_MAX_LINE_BYTES)
    sizes = line.split()
    if len(sizes) != (3 if layout == "coordinate" else 2) or not all(map(bytes.isdigit, sizes)):
        raise _malformed(path, f"its sizes are not understood: {line[:60].decode('latin1')!r}")
    n, p, *entries = map(int, sizes)
    if symmetry != "general" and n != p:
        raise _malformed(path, f"is said to be {symmetry}, but has {n:,} rows and {p:,} columns")
    return Header((n, p), entries[0] if entries else None, number_kind, symmetry)


def read_entries(
    path: Path, file: BinaryIO, header: Header
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Rows and columns, from 0, and values of all entries, including those symmetry implies."""
    kinds = ["int64", "int64"]
    if header.number_kind != "pattern":
        kinds.append(str(header.dtype))
    parts = list(_lines(path, file, kinds, header.entries or 0))
    indices = []
    for k, length in enumerate(header.shape):
        index = np.concatenate([np.empty(0, np.int64), *(part[k] for part in parts)]) - 1
        if index.size and not 0 <= int(index.min()) <= int(index.max()) < length:
            raise _malformed(
                path, f"an entry lies outside of its {' × '.join(map(str, header.shape))}"
            )
        indices.append(index)
    row, column = indices
    if header.number_kind == "pattern":
        values = np.ones(len(row), header.dtype)
    else:
        values = np.concatenate([np.empty(0, header.dtype), *(part[2] for part in parts)])
    if header.symmetry != "general":
        off_diagonal = row != column
        mirrored = _mirrored(path, values[off_diagonal], header)
        row, column = np.append(row, column[off_diagonal]), np.append(column, row[off_diagonal])
        values = np.append(values, mirrored)
    return row, column, values


def read_array(path: Path, file: BinaryIO, header: Header) -> NDArray[Any]:
    """Read an array of shape (n, p), which the file stores column by column."""
    n, p = header.shape
    k = 1 if header.symmetry == "skew-symmetric" else 0
    count = n * p if header.symmetry == "general" else n * (n + 1) // 2 - k * n
    parts = [part[0] for part in _lines(path, file, [str(header.dtype)], count)]
    values = np.concatenate([np.empty(0, header.dtype), *parts])
    if header.symmetry == "general":
        return values.reshape(p, n).T
    # The lower triangle in column order is the upper triangle of the transpose in row order.
    array = np.zeros((n, n), header.dtype)
    upper = np.triu_indices(n, k)
    array[upper] = _mirrored(path, values, header)
    array.T[upper] = values
    return array


def _mirrored(path: Path, values: NDArray[Any], header: Header) -> NDArray[Any]:
    if header.symmetry == "symmetric":
        return values
    if header.number_kind == "unsigned-integer":
        raise _malformed(path, "is said to be skew-symmetric, but its integers have no sign")
    return -values


def _lines(
    path: Path, file: BinaryIO, kinds: list[str], count: int
) -> Iterator[list[NDArray[Any]]]:
    """Parse the remaining lines, which must be ``count``, into columns, piece by piece."""
    import pyarrow as pa
    import pyarrow.csv as csv

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
    n_read = 0
    for piece in _pieces(path, file):
        if piece.isspace() or not piece:
            continue
        with reading(path, "MatrixMarket"):
            try:
                # Most files have one blank between fields; for other files this soon fails.
                table = csv.read_csv(pa.BufferReader(piece), **options)
            except pa.ArrowInvalid:
                table = csv.read_csv(pa.BufferReader(_normalized(piece)), **options)
            columns = [column.to_numpy() for column in table.columns]
        n_read += table.num_rows
        if n_read > count:
            break
        yield columns
    if n_read != count:
        how_many = "more" if n_read > count else f"{n_read:,}"
        raise _malformed(path, f"its header announces {count:,} numbers, but there are {how_many}")


def _pieces(path: Path, file: BinaryIO) -> Iterator[bytes]:
    """The rest of the file in pieces of whole lines."""
    rest, piece = b"", b" "
    while piece:
        with reading(path, "MatrixMarket"):
            piece = file.read(_PIECE_BYTES)
        end = piece.rfind(b"\n") + 1
        if end:
            yield rest + piece[:end]
            rest = b""
        rest += piece[end:]
        if len(rest) > _MAX_LINE_BYTES:
            raise _malformed(path, "has a line without end")
    yield rest


def _normalized(piece: bytes) -> bytes:
    """Normalize lines: one blank between fields, no plus signs, and exponents after an e."""
    # Fortran writes 1.0D+00.
    piece = b"\n" + piece.translate(_SUBSTITUTES)
    while b"  " in piece:
        piece = piece.replace(b"  ", b" ")
    piece = piece.replace(b"\n ", b"\n").replace(b" \n", b"\n").removesuffix(b" ")
    return piece.replace(b" +", b" ").replace(b"\n+", b"\n")


def _malformed(path: Path, why: str) -> MalformedFileError:
    return malformed(path, why, DAMAGED_HINT)
