"""Rows of a Spark DataFrame, classic or Connect, summed where they are.

A frame has numeric columns, or one column of arrays or of MLlib's vectors. Either way Spark
hands its Python workers one array per row (:mod:`~princomp.engines.spark.tasks`). Each
partition becomes a partial result, these are merged level by level on executors, and one is
collected. No row is cached.
"""

from __future__ import annotations

import io
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from typing import Any, Self
from weakref import WeakKeyDictionary

import numpy as np
from pyspark.sql import Column, DataFrame, functions, types

from princomp import errors
from princomp.engines.distributed import DistributedRows, PartialResult, RowFunction, SummaryKind
from princomp.engines.spark import tasks
from princomp.engines.spark.tasks import RowLayout
from princomp.engines.spark.tiles import Tiles
from princomp.errors import ColumnError, ShapeError
from princomp.io import Chunk, has_index_name, left_out_notes, row_numbers_note

# Words in notes for types without numbers; others are called by their names in Spark.
_TYPE_WORDS = {
    "boolean": "true/false",
    "string": "text",
    "timestamp": "date",
    "timestamp_ntz": "date",
}

# Number of rows that are read to find the length of arrays, and whether all vectors are sparse.
_INSPECTED_ROWS = 20
# In the text of a plan, after the name of each expression.
_EXPRESSION_NUMBER = re.compile(r"#\d+L?")
# Known layouts of frames: finding a layout is a job of Spark, and both fit and transform need it. A
# frame never changes.
_layouts: WeakKeyDictionary[Any, RowLayout] = WeakKeyDictionary()


@dataclass(kw_only=True, eq=False)
class SparkRows(DistributedRows):
    """Rows of a Spark DataFrame.

    Parameters
    ----------
    frame : DataFrame
    value_columns : tuple of str
        Columns that are analysed.
    layout : RowLayout
        Layout of the rows that workers get.
    other_columns : tuple of str
        Other columns, which a transform keeps and a fit refuses.
    weights : str, optional
        Column of frequencies.
    """

    frame: DataFrame
    value_columns: tuple[str, ...]
    layout: RowLayout
    other_columns: tuple[str, ...] = ()
    engine: str = "Spark"
    rows: int | None = None

    has_chunks = False

    @classmethod
    def numeric(
        cls, frame: DataFrame, value_columns: tuple[str, ...], other_columns: tuple[str, ...]
    ) -> Self:
        """Return the rows in the numeric columns ``value_columns``."""
        column_types = _column_types(frame)
        kinds = [column_types[name] for name in value_columns]
        integers = tuple(i for i, kind in enumerate(kinds) if _is_long_integer(kind))
        single = all(isinstance(kind, types.FloatType) for kind in kinds)
        dtype = np.dtype(np.float32 if single else np.float64)
        layout = RowLayout(len(kinds), dtype, integer_columns=integers)
        type_names = {name: column_types[name].typeName() for name in other_columns}
        numbering = [n for n in other_columns if isinstance(column_types[n], types.NumericType)]
        left_out = {
            name: _TYPE_WORDS.get(kind, kind)
            for name, kind in type_names.items()
            if name not in numbering
        }
        notes = [row_numbers_note(name) for name in numbering]
        return cls(
            p=layout.p,
            dtype=dtype,
            columns=value_columns,
            notes=(*notes, *left_out_notes(left_out)),
            frame=frame,
            value_columns=value_columns,
            layout=layout,
            other_columns=other_columns,
        )

    def reduce(self, kind: SummaryKind, *, drop: bool, precise: bool) -> PartialResult:
        """Summarise all rows in one pass; one state is collected."""
        if self.other_columns and self.columns is None:
            raise ColumnError(
                "the frame has columns besides those of arrays: "
                f"{_quoted_names(self.other_columns)}",
                place={"columns": list(self.other_columns)},
                hint=f"fit(df.select({_quoted_names(self.value_columns)})); transform takes all "
                "and keeps them",
            )
        columns = [self.array_column().alias("rows"), *self.weights_column()]
        task = tasks.reduce_batches(self.layout, kind, drop, precise)
        states = self.frame.select(*columns).mapInArrow(task, tasks.STATE_COLUMNS)
        batches = tasks.merge_states(states, 8 * self.p**2).toArrow().to_batches()
        results = [result for _, result in tasks.unpack_states(batches)]
        if not results:
            return PartialResult(kind.empty(self.p), 0, 0)
        return results[0].with_row_in_message()

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """Refuse: rows stay with Spark."""
        raise errors.NotAvailableError(
            "this needs rows in the memory of this process, but these are on Spark",
            hint="collect them first, if they fit: df.toPandas()",
        )

    def weights_column(self) -> list[Column]:
        """Return a list with the column of weights that workers get; empty without weights."""
        if self.weights is None:
            return []
        return [_column(self.weights).cast("double").alias("weights")]

    def tiles(self, *, complete: bool) -> Tiles:
        """Return the scatter (p, p) in tiles, for one that is too large for a task.

        ``complete`` leaves out rows with NaN.
        """
        return Tiles(self, complete=complete)

    def array_column(self, names: tuple[str, ...] | None = None) -> Column:
        """Return the column of arrays or vectors; if there is none, numeric columns as arrays."""
        if self.columns is None:
            return _column(self.value_columns[0])
        number = "float" if self.dtype == np.float32 else "double"
        # As text: a call for each column takes longer than some sums.
        cast = ", ".join(
            f"cast(`{_quoted(name)}` as {number})" for name in names or self.value_columns
        )
        return functions.expr(f"array({cast})")

    def weighted(self, weights: Any) -> Self:
        """Return the same rows with the frequencies of a column, which is then not analysed."""
        place = {"parameter": "sample_weight"}
        if not isinstance(weights, str):
            raise errors.ParameterError(
                f"sample_weight must be the name of a column, got {type(weights).__name__}: rows "
                "on Spark have no order",
                place=place,
                hint="give the name of a column of the frame",
            )
        column_types = _column_types(self.frame)
        if not isinstance(column_types.get(weights), types.NumericType):
            raise ColumnError(
                f"sample_weight={weights!r} is not a numeric column of the frame",
                place={**place, "column": weights},
                hint=f"its columns: {_quoted_names(column_types)}",
            )
        other_columns = tuple(name for name in self.other_columns if name != weights)
        if self.columns is None:
            rows = replace(self, other_columns=other_columns)
        else:
            value_columns = tuple(name for name in self.value_columns if name != weights)
            rows = self.numeric(self.frame, value_columns, other_columns)
        return replace(rows, weights=weights, layout=rows.layout._replace(weighted=True))

    def fingerprint(self) -> tuple[str, ...]:
        """Return the columns, and a checksum of the files and of the plan that makes the rows."""
        printed, files = io.StringIO(), sorted(self.frame.inputFiles())
        with redirect_stdout(printed):  # the only public way to the text that Connect has, too
            self.frame.explain(mode="extended")
        plan = printed.getvalue().partition("== Analyzed")[2].partition("== Optimized")[0]
        # Numbers of expressions differ from session to session. So does the hash of a plan that
        # reads files; of other plans, only the hash shows the values of local rows.
        parts = [*files, _EXPRESSION_NUMBER.sub("", plan)]
        parts += [] if files else [str(self.frame.semanticHash())]
        return (
            *self.value_columns,
            f"weights: {self.weights}",
            f"rows: {zlib.crc32(chr(10).join(parts).encode()):08x}",
        )

    def map_rows(
        self, function: RowFunction, names: tuple[str, ...], dtype: np.dtype[Any]
    ) -> DataFrame:
        """Return the frame with new columns ``names``; if rows are arrays, with one of arrays.

        The column of arrays is named after ``names``: ``PC_features`` for PC1, PC2, ….
        """
        if not names:
            return self.frame
        number = "float" if dtype == np.float32 else "double"
        as_array = self.columns is None
        new_columns = (_name_of_arrays(names),) if as_array else names
        compared = _compared(self.frame)
        new = set(map(compared, new_columns))
        taken = [name for name in self.frame.columns if compared(name) in new]
        if taken:
            raise ColumnError(
                f"the frame already has a column {taken[0]!r}, the name of a new column",
                place={"column": taken[0]},
                hint=f"rename or drop it before: df.drop({_quoted_names(taken)})",
            )
        fields = ", ".join(f"`{_quoted(name)}`:{number}" for name in names)
        result_type = f"array<{number}>" if as_array else f"struct<{fields}>"
        mapped = tasks.map_batches(function, self.layout, names, as_array, result_type)
        scores = mapped(self.array_column())
        if as_array:
            return self.frame.withColumn(new_columns[0], scores)
        struct = f"princomp_{names[0]}"
        while compared(struct) in map(compared, self.frame.columns):
            struct += "_"
        with_struct = self.frame.withColumn(struct, scores)
        return with_struct.select(*map(_column, self.frame.columns), f"`{_quoted(struct)}`.*")


def rows_of(frame: DataFrame, columns: Sequence[str] = ()) -> SparkRows:
    """Return the rows of a DataFrame, from its schema and, if necessary, a look at a few rows.

    If the frame has numeric columns with all names ``columns``, these are the rows; of several
    columns of arrays, the one that :meth:`SparkRows.map_rows` names after them.

    Raises
    ------
    ColumnError, NotNumericError, ShapeError
        If there are no numbers, or several columns of arrays.
    ParameterError
        For an RDD, or another object of Spark.
    """
    if not hasattr(frame, "schema"):
        raise _not_a_frame(frame)
    column_types = _column_types(frame)
    if len(column_types) < len(frame.schema.fields):
        raise ColumnError("the frame has two columns of the same name", hint="rename one of them")
    value_columns, are_arrays = _analysed_columns(column_types, columns)
    compared = _compared(frame)
    counts = Counter(map(compared, column_types))
    if alike := [name for name in value_columns if counts[compared(name)] > 1]:
        raise ColumnError(
            f"Spark does not distinguish {alike[0]!r} from another column of the frame",
            place={"column": alike[0]},
            hint="rename one of them, or set spark.sql.caseSensitive to true",
        )
    if are_arrays:
        return _array_rows(frame, value_columns[0], column_types)
    if not value_columns:
        raise errors.NotNumericError(
            "the frame has no column of numbers, arrays of fractions or vectors, only "
            f"{_quoted_names(column_types)}",
            place={"columns": list(column_types)},
            hint="select or cast the columns to analyse; arrays of integers to array<double>",
        )
    return SparkRows.numeric(
        frame, value_columns, tuple(name for name in column_types if name not in value_columns)
    )


def _analysed_columns(
    column_types: dict[str, types.DataType], columns: Sequence[str]
) -> tuple[tuple[str, ...], bool]:
    """Return the columns to analyse, and whether they are one column of arrays or vectors.

    ``columns`` are those of a fit, as for :func:`rows_of`.
    """
    arrays = tuple(
        name for name, kind in column_types.items() if _is_array(kind) or _is_vector(kind)
    )
    numeric = tuple(
        name for name, kind in column_types.items() if isinstance(kind, types.NumericType)
    )
    if columns and set(columns) <= set(numeric):
        return tuple(name for name in numeric if name in columns), False
    if columns and (name := _name_of_arrays(columns)) in arrays:
        return (name,), True
    if len(arrays) > 1:
        raise ColumnError(
            f"the frame has several columns of arrays or vectors: {_quoted_names(arrays)}",
            place={"columns": list(arrays)},
            hint="select one: df.select('features')",
        )
    if arrays:
        return arrays, True
    first = next(iter(column_types), "")
    is_index = has_index_name(first) and first not in columns
    if is_index and len(column_types) > 1 and isinstance(column_types[first], types.IntegralType):
        return numeric[1:], False  # as in memory
    return numeric, False


def _not_a_frame(X: object) -> errors.ParameterError:
    """The error for an object of Spark that is not a DataFrame, with a hint on how to get one."""
    hint = "give a DataFrame"
    if hasattr(X, "toDF"):
        hint = 'rdd.map(lambda row: (Vectors.dense(row),)).toDF(["features"]), with Vectors of '
        hint += "pyspark.ml.linalg"
    elif hasattr(X, "computePrincipalComponents"):  # a RowMatrix
        hint = 'matrix.rows.map(lambda row: (row.asML(),)).toDF(["features"])'
    problem = f"X must be a DataFrame of Spark, got its {type(X).__name__}"
    return errors.ParameterError(problem, place={"parameter": "X"}, hint=hint)


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
    cells, vectors = _column(name), _is_vector(kind)
    first = [row[0] for row in frame.select(cells).where(cells.isNotNull()).head(_INSPECTED_ROWS)]
    if not first:
        raise ShapeError(f"the frame has no rows in column {name!r}", hint="give at least one row")
    sparse = vectors and all(hasattr(vector, "indices") for vector in first)
    single = not vectors and isinstance(kind.elementType, types.FloatType)
    dtype = np.dtype(np.float32 if single else np.float64)
    return RowLayout(len(first[0]), dtype, vectors=vectors, sparse=sparse)


def _name_of_arrays(names: Sequence[str]) -> str:
    """The name of a new column of arrays of numbers with these names."""
    return f"{names[0].rstrip('0123456789')}_features"


def _is_vector(kind: types.DataType) -> bool:
    return isinstance(kind, types.UserDefinedType) and type(kind).__name__ == "VectorUDT"


def _is_array(kind: types.DataType) -> bool:
    return isinstance(kind, types.ArrayType) and isinstance(kind.elementType, types.FractionalType)


def _is_long_integer(kind: types.DataType) -> bool:
    """Whether float64 may not hold a column's integers exactly."""
    return isinstance(kind, types.LongType) or (
        isinstance(kind, types.DecimalType) and kind.scale == 0
    )


def _compared(frame: DataFrame) -> Callable[[str], str]:
    """Return a function of names of columns; Spark takes those with equal results for one."""
    sensitive = frame.sparkSession.conf.get("spark.sql.caseSensitive") == "true"
    return str if sensitive else str.lower


def _column_types(frame: DataFrame) -> dict[str, types.DataType]:
    return {field.name: field.dataType for field in frame.schema.fields}


def _column(name: str) -> Column:
    """Return the column with exactly this name, which may contain dots."""
    return functions.col(f"`{_quoted(name)}`")


def _quoted(name: str) -> str:
    return name.replace("`", "``")


def _quoted_names(names: Iterable[str]) -> str:
    """Return names as text, quoted and separated by commas."""
    return ", ".join(map(repr, names))
