"""Rows in memory (arrays, sparse matrices, frames, lists): as float32 or float64."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from princomp.errors import (
    NotAvailableError,
    NotNumericError,
    ParameterError,
    ShapeError,
    row_words,
)
from princomp.io.readers.cells import (
    LARGEST_INTEGER,
    is_number_type,
    looks_numeric,
    refuse_long_integers,
    shortened,
)
from princomp.io.readers.columns import Origin
from princomp.io.readers.frames import as_frame, frame_origin, from_frame, is_frame
from princomp.io.readers.not_tables import refuse_containers, shape_error
from princomp.io.readers.packing import packing_of
from princomp.io.readers.source import TableSource
from princomp.linalg import unmasked

# dtypes of frames that are converted like arrays; float64 holds every float32 number exactly.
_FLOATS = frozenset((np.dtype(np.float32), np.dtype(np.float64)))

# Rows (n, p), the names of their columns, and where they come from, for messages.
Rows = tuple[Any, tuple[str, ...] | None, Origin | None]


def as_rows(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Convert an array (n, p) to native float32 or float64, without a copy if possible.

    Raises
    ------
    NotNumericError
        There are text, complex numbers, dates, durations or other objects, or an integer is beyond
        2⁵³ and float64 cannot hold it.
    ShapeError
        There are no rows or no columns.
    """
    dtype = array.dtype
    if dtype.kind == "f" and dtype.itemsize in (4, 8):
        if not dtype.isnative:
            array = array.astype(dtype.newbyteorder("="))
    elif dtype.kind == "c":
        raise _complex_error(f"an array of {dtype}")
    elif dtype.kind in "mM":
        what = "dates" if dtype.kind == "M" else "durations"
        raise NotNumericError(
            f"an array of {dtype} holds {what}, not numbers",
            hint="convert it to numbers of a unit, such as days: (X - X[0, 0]) / "
            "np.timedelta64(1, 'D')",
        )
    elif dtype.kind == "O":
        array = _from_objects(array)
    elif dtype.kind in "fiub":
        _refuse_inexact(array)
        array = array.astype(np.float64)
    else:
        raise _text_error(array)
    if 0 in array.shape:
        what = "sample" if array.shape[0] == 0 else "feature"
        raise ShapeError(
            f"Found array with 0 {what}(s) (shape={array.shape}) while a minimum of 1 is required.",
            hint="give at least one row (two for a fit) and one column of numbers",
        )
    return array


def _from_objects(array: NDArray[np.object_]) -> NDArray[np.float64]:
    """Convert Python objects that are numbers or missing: None, pandas.NA or masked.

    Their types are checked, because NumPy would also convert text and dates.
    """
    absent = {type(None), np.ma.core.MaskedConstant}
    if pandas := sys.modules.get("pandas"):
        absent.add(type(pandas.NA))
    found = set(map(type, array.flat))
    if refused := {kind for kind in found - absent if not is_number_type(kind)}:
        raise next(
            _not_a_number(cell, *index)
            for index, cell in np.ndenumerate(array)
            if type(cell) in refused
        )
    if found & absent:
        cells = [np.nan if type(cell) in absent else cell for cell in array.flat]
        array = np.array(cells, dtype=object).reshape(array.shape)
    _refuse_inexact(array)
    return array.astype(np.float64)


def _complex_error(found: str) -> NotNumericError:
    problem = f"Complex data not supported, got {found}"
    hint = "give the real and the imaginary parts as columns of their own"
    return NotNumericError(problem, hint=hint)


def _refuse_inexact(rows: Any) -> None:
    """Raise NotNumericError for the first integer beyond 2⁵³ in an array or in CSR rows."""
    if not sp.issparse(rows):
        refuse_long_integers(rows, lambda index: (index[1], index[0]), Origin())
        return

    def cell(index: tuple[int, ...]) -> tuple[int, int]:
        row = int(np.searchsorted(rows.indptr, index[0], side="right")) - 1
        return int(rows.indices[index]), row

    refuse_long_integers(rows.data, cell, Origin())


def from_sparse(matrix: sp.sparray | sp.spmatrix) -> Any:
    """Convert a SciPy sparse array or matrix of any format to CSR with float values.

    The input is never changed, because duplicates are summed in a copy.
    """
    if matrix.dtype.kind == "c":
        raise _complex_error(f"a sparse matrix of {matrix.dtype}")
    if matrix.ndim != 2:
        raise ShapeError(f"a table has two dimensions, got a sparse array of {matrix.ndim}")
    if 0 in matrix.shape:
        as_rows(np.empty(matrix.shape))
    if matrix.dtype.kind in "iu" and matrix.dtype.itemsize < 8:
        matrix = matrix.astype(np.float64)  # repeated cells may add up to more than the type holds
    rows = sp.csr_array(matrix)
    _refuse_inexact(rows)
    if not rows.has_canonical_format:
        # rows may be views of the arrays of the input, which are other objects than these arrays.
        rows = rows.copy()
        rows.sum_duplicates()  # in their own dtype: two booleans are one, as in X.toarray()
    if rows.dtype not in (np.float32, np.float64):
        rows = rows.astype(np.float64)
    return rows


def is_numeric_array(X: object) -> bool:
    """Whether X is a two-dimensional array of numbers, so that its cells need no checks."""
    return type(X) is np.ndarray and X.ndim == 2 and X.dtype.kind in "fiubc"


def labels_of_float_frame(X: Any) -> tuple[str, ...] | None:
    """Column labels of a pandas frame that holds only float32 and float64.

    Empty if no label is text. None for any other frame, and if labels are only partly text,
    repeated or have several levels; :func:`from_frame` checks such frames column by column.
    """
    pandas = sys.modules.get("pandas")
    if pandas is None or type(X) is not pandas.DataFrame or not X.size:
        return None
    if X.columns.nlevels != 1 or not X.columns.is_unique or not _FLOATS.issuperset(X.dtypes):
        return None
    labels = X.columns.tolist()
    text = tuple(label for label in labels if isinstance(label, str))
    return text if len(text) in (0, len(labels)) else None


def in_memory(X: Any) -> Rows:
    """Rows (n, p), column names and origin of an array, sparse matrix, table, frame or list.

    Masked values are missing: NaN.
    """
    X = _filled(X)
    if is_numeric_array(X):
        return as_rows(X), None, None
    if sp.issparse(X):
        return from_sparse(X), None, None
    if isinstance(X, TableSource):
        return X.data, X.columns, X.row_origin
    if type(X) in (list, tuple):
        refuse_containers(next(iter(X), None))
        if X and len(getattr(X[0], "shape", ())) == 2:
            problem = f"this {type(X).__name__} holds tables, and one table is needed"
            hint = "give X[0]" if len(X) == 1 else "to join them, give iter(X)"
            shapes = {getattr(table, "shape", None) for table in X}
            if len(X) > 1 and len(shapes) == 1 and hasattr(X[0], "reshape"):
                hint += "; if each is one row, such as an image, numpy.stack(X).reshape(len(X), -1)"
            raise ParameterError(problem, place={"parameter": "X"}, hint=hint)
        numbers = _array_from_lists(X)
        if numbers is not None:
            return as_rows(numbers), None, None
    labels = labels_of_float_frame(X)
    if labels is not None:
        return as_rows(X.to_numpy()), labels or None, frame_origin(X)
    if is_frame(X := as_frame(X)):
        return in_memory(from_frame(X))
    refuse_containers(X)
    given, X = X, _filled(_as_numpy(X))
    try:
        array = host_array(X)
    except ValueError as error:
        raise shape_error(given) or error from None
    if wrong_shape := shape_error(array):
        raise shape_error(given) or wrong_shape
    return as_rows(array), None, None


def _filled(X: object) -> Any:
    """Replace the masked values of a NumPy array by NaN; return any other object unchanged."""
    if isinstance(X, np.ma.MaskedArray) and X.dtype.kind in "iu" and X.ndim == 2:
        _refuse_inexact(X.filled(0))
    return unmasked(X)


def _as_numpy(X: Any) -> Any:
    """Convert an array of any library to one of NumPy; return any other object unchanged.

    The array is masked if the library makes masked ones, as netCDF4 does.
    """
    if isinstance(X, np.ndarray):
        return X
    if hasattr(X, "__dlpack__"):
        return host_array(X)
    if not hasattr(X, "__array__"):
        is_array = all(hasattr(X, name) for name in ("shape", "dtype", "__getitem__"))
        return X[:] if is_array else X  # such as a variable of netCDF4.MFDataset
    try:
        packing = packing_of(X)
    except ValueError as error:
        hint = "give an array of its values instead, such as X[:]"
        raise ParameterError(str(error), place={"parameter": "X"}, hint=hint) from None
    array = host_array(X, np.asanyarray)  # np.asarray would drop masks
    if packing.changes_numbers and array.ndim in (1, 2):
        return packing.unpack(as_rows(np.atleast_2d(array))).reshape(array.shape)
    return array


def _array_from_lists(X: Iterable[Any]) -> np.ndarray[Any, Any] | None:
    """Convert lists of equal length, but not of text, to an (n, p) array; None otherwise."""
    rows = [row if type(row) in (list, tuple) else unmasked(_as_numpy(row)) for row in X]
    try:
        array = np.array(rows)
    except ValueError:
        return None
    if array.ndim != 2 or array.dtype.kind in "US" or not array.size:
        return None
    if array.dtype.kind == "f" and (np.abs(array) >= LARGEST_INTEGER).any():
        _refuse_inexact(np.array(rows, dtype=object))  # NumPy rounds integers among fractions
    return array


def host_array(X: Any, convert: Callable[[Any], Any] = np.asarray) -> np.ndarray[Any, Any]:
    """Convert an array of any library to one of NumPy, where NumPy can read it.

    ``convert`` makes an array of one that has ``__array__``, or of lists.

    Raises
    ------
    NotAvailableError
        If it is on another device, sparse, or tracks gradients.
    """
    if str(getattr(X, "dtype", "")) == "torch.bfloat16":  # which NumPy lacks
        X = X.float()
    if hasattr(X, "__dlpack__") and not hasattr(X, "__array__"):
        convert = np.from_dlpack
    try:
        return convert(X)
    except (BufferError, RuntimeError, TypeError) as error:
        reason = str(error).partition("\n")[0]
        raise NotAvailableError(
            f"this needs rows in the host's memory, in an array that NumPy can read: {reason}",
            hint="convert them first: X.numpy(force=True) for a torch tensor "
            "(X.to_dense().numpy(force=True) if it is sparse), X.get() for a CuPy array",
        ) from None


def _text_error(array: NDArray[Any]) -> NotNumericError:
    """Make an error for the first cell of an array of text that is not a number, if any."""
    for index, cell in np.ndenumerate(array):
        try:
            float(cell)
        except (TypeError, ValueError):
            return _not_a_number(cell, *index)
    problem = f"the array holds text (dtype {array.dtype}), though all of it reads as numbers"
    return NotNumericError(problem, hint="numpy.asarray(X, dtype=float)")


def _not_a_number(cell: object, row: int, column: int) -> NotNumericError:
    # NumPy's repr would be numpy.str_('a').
    shown = repr(cell.item() if isinstance(cell, np.character) else cell)
    problem = f"{shortened(shown)} at {row_words(row)}, column {column} is "
    problem += "text, not a number" if looks_numeric(cell) else "not a number"
    if not isinstance(cell, str):  # with Python's words, which scikit-learn's check_estimator wants
        kind = type(cell).__name__
        problem += f": float() argument must be a string or a real number, not {kind!r}"
    hint = "convert the column to numbers, or leave it out"
    return NotNumericError(problem, place={"row": row, "column": column}, hint=hint)
