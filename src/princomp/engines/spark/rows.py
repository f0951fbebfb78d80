"""Rows of a Spark DataFrame, classic or Connect, summed where they are.

A frame has numeric columns, or one column of arrays or of MLlib's vectors. Either way Spark
hands its Python workers one array per row (:mod:`~princomp.engines.spark.tasks`). Each
partition becomes a partial result, these are merged level by level on executors
(:mod:`~princomp.engines.spark.states`), and one is collected. No row is cached.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from pyspark.sql import Column, DataFrame, functions, types

from princomp.engines.distributed import Distributed, RowFunction
from princomp.engines.partial_result import PartialResult, SummaryKind
from princomp.engines.spark.states import COLUMNS, merge_states, unpack_states
from princomp.engines.spark.tasks import Form, map_batches, reduce_batches
from princomp.engines.spark.tiles import Tiles
from princomp.errors import ColumnError, ParameterError, row_words
from princomp.io import left_out_notes


@dataclass(kw_only=True, eq=False)
class SparkRows(Distributed):
    """Rows of a Spark DataFrame.

    Parameters
    ----------
    frame : DataFrame
    used : tuple of str
        Columns that are analysed.
    form : Form
        Layout of the rows that workers get.
    others : tuple of str
        Other columns, which a transform keeps and a fit refuses.
    weight : str, optional
        Column of frequencies.
    """

    frame: DataFrame
    used: tuple[str, ...]
    form: Form
    others: tuple[str, ...] = ()
    weight: str | None = None

    @classmethod
    def numeric(cls, frame: DataFrame, used: tuple[str, ...], others: tuple[str, ...]) -> SparkRows:
        """Return the rows in the numeric columns ``used``."""
        kinds = _kinds(frame)
        single = all(isinstance(kinds[name], types.FloatType) for name in used)
        whole = tuple(i for i, name in enumerate(used) if isinstance(kinds[name], types.LongType))
        form = Form(len(used), "float32" if single else "float64", whole=whole)
        return cls(
            engine="Spark",
            rows=None,
            p=len(used),
            dtype=np.dtype(form.dtype),
            columns=used,
            notes=left_out_notes({name: _kind_name(kinds[name]) for name in others}),
            frame=frame,
            used=used,
            form=form,
            others=others,
        )

    def reduce(self, kind: SummaryKind, *, drop: bool, precise: bool) -> PartialResult:
        """Summarise all rows in one pass; one state is collected."""
        if self.others and self.columns is None:
            raise ColumnError(
                f"the frame has columns besides those of arrays: {listed(self.others)}",
                place={"columns": list(self.others)},
                hint=f"fit(df.select({listed(self.used)})); transform takes all and keeps them",
            )
        columns = [self.packed().alias("rows"), *self.weights_column()]
        task = reduce_batches(self.form, kind, drop, precise)
        states = self.frame.select(*columns).mapInArrow(task, COLUMNS)
        batches = merge_states(states, 8 * self.p**2).toArrow().to_batches()
        found = [result for _, result in unpack_states(batches)]
        return _name_row(found[0]) if found else PartialResult(kind.empty(self.p), 0, 0)

    def weights_column(self) -> list[Column]:
        """Return a list with the column of weights that workers get; empty without weights."""
        if self.weight is None:
            return []
        return [column(self.weight).cast("double").alias("weights")]

    def tiles(self, *, complete: bool) -> Tiles:
        """Return the scatter (p, p) in tiles, for one that is too large for a task.

        ``complete`` leaves out rows with NaN.
        """
        return Tiles(self, complete=complete)

    def packed(self, names: tuple[str, ...] | None = None) -> Column:
        """Return the column of arrays or vectors; if there is none, numeric columns as arrays."""
        if self.columns is None:
            return column(self.used[0])
        number = "float" if self.form.dtype == "float32" else "double"
        # As text: a call for each column takes longer than some sums.
        cast = ", ".join(f"cast(`{_quoted(name)}` as {number})" for name in names or self.used)
        return functions.expr(f"array({cast})")

    def weighted(self, weights: Any) -> Self:
        """Return the same rows with the frequencies of a column, which is then not analysed."""
        place = {"parameter": "sample_weight"}
        if not isinstance(weights, str):
            raise ParameterError(
                f"sample_weight must be the name of a column, got {type(weights).__name__}: rows "
                "on Spark have no order",
                place=place,
                hint="give the name of a column of the frame",
            )
        kinds = _kinds(self.frame)
        if not isinstance(kinds.get(weights), types.NumericType):
            raise ColumnError(
                f"sample_weight={weights!r} is not a numeric column of the frame",
                place={**place, "column": weights},
                hint=f"its columns: {listed(kinds)}",
            )
        rows: Any
        if self.columns is None:
            rows = replace(self, others=tuple(n for n in self.others if n != weights))
        else:
            used = tuple(name for name in self.used if name != weights)
            rows = self.numeric(self.frame, used, self.others)
        return replace(rows, weight=weights, form=rows.form._replace(weighted=True))

    @property
    def has_weights(self) -> bool:
        """Whether a column has frequencies."""
        return self.weight is not None

    def fingerprint(self) -> tuple[str, ...]:
        """Return the columns, and a checksum of the files that Spark knows of."""
        files = "\n".join(sorted(self.frame.inputFiles()))
        return (*self.used, f"weights: {self.weight}", f"files: {zlib.crc32(files.encode()):08x}")

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
        new = (f"{names[0].rstrip('0123456789')}_features",) if as_array else names
        taken = [name for name in new if name in self.frame.columns]
        if taken:
            raise ColumnError(
                f"the frame already has a column {taken[0]!r}, the name of a new column",
                place={"column": taken[0]},
                hint="rename or drop it before",
            )
        fields = ", ".join(f"`{_quoted(name)}`:{number}" for name in names)
        kind = f"array<{number}>" if as_array else f"struct<{fields}>"
        scores = map_batches(function, self.form, names, as_array, kind)(self.packed())
        if as_array:
            return self.frame.withColumn(new[0], scores)
        struct = f"princomp_{names[0]}"
        wide = self.frame.withColumn(struct, scores)
        return wide.select(*map(column, self.frame.columns), f"`{_quoted(struct)}`.*")


def _kinds(frame: DataFrame) -> dict[str, types.DataType]:
    return {field.name: field.dataType for field in frame.schema.fields}


def _kind_name(kind: types.DataType) -> str:
    """Return the word for a type without numbers in notes."""
    if isinstance(kind, types.BooleanType):
        return "true/false"
    if isinstance(kind, types.DateType | types.TimestampType | types.TimestampNTZType):
        return "date"
    return "text" if isinstance(kind, types.StringType) else str(kind.typeName())


def _name_row(result: PartialResult) -> PartialResult:
    """Put the row of a fault, counted over the table, into its message."""
    fault = result.fault
    if fault is None or "row" not in fault.place or getattr(fault, "value", None) is not None:
        return result
    message = f"{row_words(fault.place['row'])}: {fault.message}"
    return result._replace(fault=type(fault)(message, place=fault.place, hint=fault.hint))


def column(name: str) -> Column:
    """Return the column with exactly this name, which may contain dots."""
    return functions.col(f"`{_quoted(name)}`")


def _quoted(name: str) -> str:
    return name.replace("`", "``")


def listed(names: Iterable[str]) -> str:
    """Return names as text, quoted and separated by commas."""
    return ", ".join(map(repr, names))
