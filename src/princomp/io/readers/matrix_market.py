"""Tables from MatrixMarket files, which can only be read whole.

SciPy's own reader crashes the process on some files that are cut short, and silently reads "1,5" as
1. So the lines after the header are read as delimited text instead.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from princomp.errors import NotNumericError
from princomp.io.readers.array_lookup import (
    Member,
    numbered_columns,
    refuse_id_column,
    refuse_not_table,
)
from princomp.io.readers.columns import Origin, Selection
from princomp.io.readers.reader_errors import file_error, malformed, reading
from princomp.io.readers.source import Source, TableSource
from princomp.io.readers.stored_array import as_csr, to_floats

# Bytes of MatrixMarket text turned into numbers at once.
_PIECE_BYTES = 2**23
# Longest line in bytes: comments may be long, lines of numbers are short.
_MAX_LINE_BYTES = 2**16

_SUBSTITUTES = bytes.maketrans(b"\t\r\fdD", b" \n ee")

_NUMBER_KINDS = ("real", "double", "integer", "unsigned-integer", "pattern")
_SYMMETRIES = ("general", "symmetric", "skew-symmetric")


def open_matrix_market(path: Path, selection: Selection) -> Source:
    """Read a MatrixMarket file, uncompressed or compressed with gzip.

    Parameters
    ----------
    path : Path
        The file (.mtx, .mtx.gz). The rows of the matrix are the rows of the table.
    selection : Selection
        Columns by number. There is no id column.

    Returns
    -------
    TableSource
        Rows of shape (n, p), float64; CSR if the file is in coordinate format. In a file
        without values ("pattern"), each entry is 1.

    Raises
    ------
    MissingLibraryError
        pyarrow is not installed.
    InputNotFoundError, MalformedFileError
        The file does not exist, is damaged, or has another format.
    ColumnError, ShapeError, NotNumericError
        A column does not exist, there are no rows, or the numbers are complex.
    """
    origin = Origin(str(path))
    refuse_id_column(selection, "a MatrixMarket file", origin)
    opener: Any = gzip.open if path.name.lower().endswith(".gz") else open
    with reading(path, "MatrixMarket"):
        opened = opener(path, "rb")
    with opened as file:
        header = read_market_header(path, file)
        refuse_not_table(Member("the matrix", header.shape, header.dtype), origin)
        column_indices = numbered_columns(header.shape[1], selection, origin)
        if header.entries is None:
            data = to_floats(read_array(path, file, header), column_indices, origin)
        else:
            row, column, values = read_entries(path, file, header)
            matrix = sp.coo_array((values, (row, column)), shape=header.shape)
            with reading(path, "a sparse matrix"):
                data = as_csr(matrix, column_indices, origin)
    return TableSource(data, origin=origin)


class MarketHeader(NamedTuple):
    """The header of a MatrixMarket file.

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


def read_market_header(path: Path, file: BinaryIO) -> MarketHeader:
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
        raise malformed(path, "is no MatrixMarket matrix: its first line is not of that form")
    layout, number_kind, symmetry = words[2:]
    if number_kind == "complex":
        hint = "Write the real and the imaginary parts as columns of their own."
        raise file_error(NotNumericError, path, "holds complex numbers, not real numbers", hint)
    known = number_kind in _NUMBER_KINDS and symmetry in _SYMMETRIES
    if layout not in ("coordinate", "array") or not known or words[2:4] == ["array", "pattern"]:
        raise malformed(path, f"is a matrix of an unknown kind: {' '.join(words[2:])}")
    line, is_comment = b"%\n", True
    while line and (is_comment or not line.strip()):
        continues = is_comment and not line.endswith(b"\n")  # a comment is read in parts
        with reading(path, "MatrixMarket"):
            line = file.readline(_MAX_LINE_BYTES)
        is_comment = continues or line.startswith(b"%")
    sizes = line.split()
    # Larger numbers than of 18 digits do not fit into an integer of 8 bytes.
    are_sizes = all(size.isdigit() and len(size) <= 18 for size in sizes)
    if len(sizes) != (3 if layout == "coordinate" else 2) or not are_sizes:
        raise malformed(path, f"its sizes are not understood: {line[:60].decode('latin1')!r}")
    n, p, *entries = map(int, sizes)
    if symmetry != "general" and n != p:
        raise malformed(path, f"is said to be {symmetry}, but has {n:,} rows and {p:,} columns")
    return MarketHeader((n, p), entries[0] if entries else None, number_kind, symmetry)


def read_entries(
    path: Path, file: BinaryIO, header: MarketHeader
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Rows and columns, from 0, and values of all entries, including those symmetry implies."""
    kinds = ["int64", "int64"]
    if header.number_kind != "pattern":
        kinds.append(str(header.dtype))
    n, p = header.shape
    row, column, *written = _columns(path, file, kinds, header.entries or 0)
    row, column = row - 1, column - 1
    for index, length in ((row, n), (column, p)):
        if index.size and not 0 <= int(index.min()) <= int(index.max()) < length:
            raise malformed(path, f"an entry lies outside of its {n} × {p}")
    values = written[0] if written else np.ones(len(row), header.dtype)
    if header.symmetry != "general":
        off_diagonal = row != column
        mirrored = _mirrored(path, values[off_diagonal], header)
        row, column = np.append(row, column[off_diagonal]), np.append(column, row[off_diagonal])
        values = np.append(values, mirrored)
    return row, column, values


def read_array(path: Path, file: BinaryIO, header: MarketHeader) -> NDArray[Any]:
    """Read an array of shape (n, p), which the file stores column by column."""
    n, p = header.shape
    k = 1 if header.symmetry == "skew-symmetric" else 0
    count = n * p if header.symmetry == "general" else n * (n + 1) // 2 - k * n
    (values,) = _columns(path, file, [str(header.dtype)], count)
    if header.symmetry == "general":
        return values.reshape(p, n).T
    # The lower triangle in column order is the upper triangle of the transpose in row order.
    array = np.zeros((n, n), header.dtype)
    upper = np.triu_indices(n, k)
    array[upper] = _mirrored(path, values, header)
    array.T[upper] = values
    return array


def _mirrored(path: Path, values: NDArray[Any], header: MarketHeader) -> NDArray[Any]:
    if header.symmetry == "symmetric":
        return values
    if header.number_kind == "unsigned-integer":
        raise malformed(path, "is said to be skew-symmetric, but its integers have no sign")
    return -values


def _columns(path: Path, file: BinaryIO, kinds: list[str], count: int) -> list[NDArray[Any]]:
    """Parse the remaining lines, which must be ``count``, into columns."""
    import pyarrow as pa
    import pyarrow.csv as csv

    types = {str(k): pa.type_for_alias(kind) for k, kind in enumerate(kinds)}
    options = {
        "read_options": csv.ReadOptions(column_names=list(types)),
        "parse_options": csv.ParseOptions(delimiter=" ", quote_char=False),
        "convert_options": csv.ConvertOptions(column_types=types, null_values=[]),
    }
    # Empty arrays, because there may be no lines.
    parts = [[np.empty(0, kind) for kind in kinds]]
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
            parts.append([column.to_numpy() for column in table.columns])
        n_read += table.num_rows
        if n_read > count:
            break
    if n_read != count:
        how_many = "more" if n_read > count else f"{n_read:,}"
        raise malformed(path, f"its header announces {count:,} numbers, but there are {how_many}")
    return [np.concatenate(column) for column in zip(*parts, strict=True)]


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
            raise malformed(path, "has a line without end")
    yield rest


def _normalized(piece: bytes) -> bytes:
    """Normalize lines: one blank between fields, no plus signs, and exponents after an e."""
    # Fortran writes 1.0D+00.
    piece = b"\n" + piece.translate(_SUBSTITUTES)
    while b"  " in piece:
        piece = piece.replace(b"  ", b" ")
    piece = piece.replace(b"\n ", b"\n").replace(b" \n", b"\n").removesuffix(b" ")
    return piece.replace(b" +", b" ").replace(b"\n+", b"\n")
