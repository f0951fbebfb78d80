"""Conversion of Spark DataFrames to rows: which columns are analysed, in which precision."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from pyspark.sql import DataFrame, types

from princomp.engines.spark.rows import SparkRows, column, quoted_names
from princomp.engines.spark.tasks import RowLayout
from princomp.errors import ColumnError, NotNumericError, ShapeError

# Number of rows that are read to find the length of arrays, and whether all vectors are sparse.
_INSPECTED_ROWS = 20
# Known layouts of frames: finding a layout is a job of Spark, and both fit and transform need it. A
# frame never changes.
_layouts: WeakKeyDictionary[Any, RowLayout] = WeakKeyDictionary()


def rows_of(frame: DataFrame) -> SparkRows:
    """Return the rows of a DataFrame, from its schema and, if necessary, a look at a few rows.

    Raises
    ------
    ColumnError, NotNumericError, ShapeError
        If there are no numbers, or several columns of arrays.
    """
    column_types = {field.name: field.dataType for field in frame.schema.fields}
    if len(column_types) < len(frame.schema.fields):
        raise ColumnError("the frame has two columns of the same name", hint="rename one of them")
    arrays = tuple(
        name for name, kind in column_types.items() if _is_array(kind) or _is_vector(kind)
    )
    if len(arrays) > 1:
        raise ColumnError(
            f"the frame has several columns of arrays or vectors: {quoted_names(arrays)}",
            place={"columns": list(arrays)},
            hint="select one: df.select('features')",
        )
    if arrays:
        return _array_rows(frame, arrays[0], column_types)
    value_columns = tuple(
        name for name, kind in column_types.items() if isinstance(kind, types.NumericType)
    )
    if not value_columns:
        raise NotNumericError(
            "the frame has no column of numbers, arrays or vectors, only "
            f"{quoted_names(column_types)}",
            place={"columns": list(column_types)},
            hint="select or cast the columns to analyse",
        )
    return SparkRows.numeric(
        frame, value_columns, tuple(name for name in column_types if name not in value_columns)
    )


def _array_rows(frame: DataFrame, name: str, column_types: dict[str, types.DataType]) -> SparkRows:
    layout = _layouts.get(frame)
    if layout is None:
        layout = _layouts[frame] = _inspect_layout(frame, name, column_types[name])
    return SparkRows(
        p=layout.p,
        dtype=layout.dtype,
        stored=0 if layout.sparse else None,
        frame=frame,
        value_columns=(name,),
        layout=layout,
        other_columns=tuple(other for other in column_types if other != name),
    )


def _inspect_layout(frame: DataFrame, name: str, kind: types.DataType) -> RowLayout:
    """Find the layout of a column of arrays or vectors from its first rows."""
    cells, vectors = column(name), _is_vector(kind)
    first = [row[0] for row in frame.select(cells).where(cells.isNotNull()).head(_INSPECTED_ROWS)]
    if not first:
        raise ShapeError(f"the frame has no rows in column {name!r}", hint="give at least two rows")
    sparse = vectors and all(hasattr(vector, "indices") for vector in first)
    single = not vectors and isinstance(kind.elementType, types.FloatType)
    dtype = np.dtype(np.float32 if single else np.float64)
    return RowLayout(len(first[0]), dtype, vectors=vectors, sparse=sparse)


def _is_vector(kind: types.DataType) -> bool:
    return isinstance(kind, types.UserDefinedType) and type(kind).__name__ == "VectorUDT"


def _is_array(kind: types.DataType) -> bool:
    return isinstance(kind, types.ArrayType) and isinstance(kind.elementType, types.FractionalType)
