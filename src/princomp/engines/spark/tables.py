"""Conversion of Spark DataFrames to rows: which columns are analysed, in which precision."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from pyspark.sql import DataFrame, types

from princomp.engines.spark.rows import SparkRows, column, listed
from princomp.engines.spark.tasks import Form
from princomp.errors import ColumnError, NotNumericError, ShapeError

# Number of rows that are read to find the length of arrays, and whether all vectors are sparse.
_LOOK = 20
# Known forms of frames: finding a form is a job of Spark, and both fit and transform need it. A
# frame never changes.
_known: WeakKeyDictionary[Any, Form] = WeakKeyDictionary()


def rows_of(frame: DataFrame) -> SparkRows:
    """Return the rows of a DataFrame, from its schema and, if necessary, a look at a few rows.

    Raises
    ------
    ColumnError, NotNumericError, ShapeError
        If there are no numbers, or several columns of arrays.
    """
    kinds = {field.name: field.dataType for field in frame.schema.fields}
    if len(kinds) < len(frame.schema.fields):
        raise ColumnError("the frame has two columns of the same name", hint="rename one of them")
    arrays = tuple(name for name, kind in kinds.items() if _is_array(kind) or _is_vector(kind))
    if len(arrays) > 1:
        raise ColumnError(
            f"the frame has several columns of arrays or vectors: {listed(arrays)}",
            place={"columns": list(arrays)},
            hint="select one: df.select('features')",
        )
    if arrays:
        return _array_rows(frame, arrays[0], kinds)
    used = tuple(name for name, kind in kinds.items() if isinstance(kind, types.NumericType))
    if not used:
        raise NotNumericError(
            f"the frame has no column of numbers, arrays or vectors, only {listed(kinds)}",
            place={"columns": list(kinds)},
            hint="select or cast the columns to analyse",
        )
    return SparkRows.numeric(frame, used, tuple(name for name in kinds if name not in used))


def _array_rows(frame: DataFrame, name: str, kinds: dict[str, types.DataType]) -> SparkRows:
    form = _known.get(frame)
    if form is None:
        form = _known[frame] = _look(frame, name, kinds[name])
    return SparkRows(
        engine="Spark",
        rows=None,
        p=form.p,
        dtype=np.dtype(form.dtype),
        stored=0 if form.sparse else None,
        frame=frame,
        used=(name,),
        form=form,
        others=tuple(other for other in kinds if other != name),
    )


def _look(frame: DataFrame, name: str, kind: types.DataType) -> Form:
    """Find the form of a column of arrays or vectors from its first rows."""
    cells, vectors = column(name), _is_vector(kind)
    first = [row[0] for row in frame.select(cells).where(cells.isNotNull()).head(_LOOK)]
    if not first:
        raise ShapeError(f"the frame has no rows in column {name!r}", hint="give at least two rows")
    sparse = vectors and all(hasattr(vector, "indices") for vector in first)
    single = not vectors and isinstance(kind.elementType, types.FloatType)
    return Form(len(first[0]), "float32" if single else "float64", vectors=vectors, sparse=sparse)


def _is_vector(kind: types.DataType) -> bool:
    return isinstance(kind, types.UserDefinedType) and type(kind).__name__ == "VectorUDT"


def _is_array(kind: types.DataType) -> bool:
    return isinstance(kind, types.ArrayType) and isinstance(kind.elementType, types.FractionalType)
