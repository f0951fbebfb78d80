"""Rows of a Spark DataFrame, classic or Connect, summed where they lie.

A frame is numeric columns, or has one column of arrays or of MLlib's vectors. Either way
Spark hands its Python workers one array a row (:mod:`~princomp.engines.spark_batches`).
Each partition becomes a share, shares are joined level by level on executors
(:mod:`~princomp.engines.spark_states`), and one is collected. No row is cached.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self
from weakref import WeakKeyDictionary

import numpy as np
from pyspark import TaskContext
from pyspark.sql import functions, types

from princomp.engines.distributed import Distributed
from princomp.engines.local import share_of
from princomp.engines.shares import Share
from princomp.engines.spark_batches import Batches, Form
from princomp.engines.spark_states import COLUMNS, joined_levels, packed, unpacked
from princomp.engines.spark_tiles import Tiles
from princomp.errors import ColumnError, NotNumericError, ParameterError, ShapeError
from princomp.summaries import Moments

__all__ = ["SparkRows", "rows_of"]

# Rows that are looked at for the length of arrays, and for whether vectors are all sparse.
_LOOK = 20
# Frames that were looked at: a look is a job, and a fit, a transform and what wraps it each
# ask. A frame never changes.
_known: WeakKeyDictionary[Any, Form] = WeakKeyDictionary()


@dataclass(kw_only=True, eq=False)
class SparkRows(Distributed):
    """Rows of a frame.

    Parameters
    ----------
    frame : DataFrame
        As it was given.
    used : tuple of str
        Its columns that are analysed.
    form : Form
        How the workers get them.
    beside : tuple of str
        Its other columns, which a transform keeps and a fit refuses.
    weight : str, optional
        Its column of frequencies.
    """

    frame: Any
    used: tuple[str, ...]
    form: Form
    beside: tuple[str, ...] = ()
    weight: str | None = None

    def share(self, kind: Any, *, drop: bool, precise: bool) -> Share:
        """All rows folded into ``kind``: one pass, one state collected."""
        if self.beside:
            raise ColumnError(
                f"the frame has columns that are no numbers to analyse: {_listed(self.beside)}",
                place={"columns": list(self.beside)},
                hint=f"fit(df.select({_listed(self.used)})); transform takes all and keeps them",
            )
        summed = _summed(self.form, kind, drop, precise)
        states = self.selected().mapInArrow(summed, COLUMNS)
        found = list(unpacked(joined_levels(states, 8 * self.p**2).toArrow().to_batches()))
        return _told(found[0][1]) if found else Share(kind.empty(self.p), 0, 0)

    def selected(self) -> Any:
        """The frame that workers get: an array a row, and its weight."""
        columns = [self.packed().alias("rows")]
        if self.weight is not None:
            columns.append(_column(self.weight).cast("double").alias("weights"))
        return self.frame.select(*columns)

    def tiles(self, *, complete: bool) -> Tiles:
        """The scatter where p × p is too much for a task; ``complete``: without rows with NaN."""
        summed = partial(_summed, kind=Moments, drop=False, precise=False)
        return Tiles(self, summed, complete=complete)

    def packed(self, names: tuple[str, ...] | None = None) -> Any:
        """The column of arrays or vectors; of some of the numeric columns, where named."""
        if self.columns is None:
            return _column(self.used[0])
        number = "float" if self.form.dtype == "float32" else "double"
        # As text: a call a column takes longer than some sums.
        cast = ", ".join(f"cast(`{_quoted(name)}` as {number})" for name in names or self.used)
        return functions.expr(f"array({cast})")

    def weighted(self, weights: Any) -> Self:
        """The same rows with the frequencies of a column, which is then not analysed."""
        place = {"parameter": "sample_weight"}
        if not isinstance(weights, str):
            raise ParameterError(
                f"sample_weight is a {type(weights).__name__}, and rows on Spark have no order "
                "to line it up with",
                place=place,
                hint="give the name of a column of the frame",
            )
        kinds = {field.name: field.dataType for field in self.frame.schema.fields}
        if not isinstance(kinds.get(weights), types.NumericType):
            raise ColumnError(
                f"sample_weight={weights!r} is no column of numbers of the frame",
                place={**place, "column": weights},
                hint=f"its columns: {_listed(kinds)}",
            )
        rows: Any
        if self.columns is None:
            rows = replace(self, beside=tuple(n for n in self.beside if n != weights))
        else:
            used = tuple(name for name in self.used if name != weights)
            rows = _numeric(self.frame, used, kinds, self.beside)
        return replace(rows, weight=weights, form=rows.form._replace(weighted=True))

    @property
    def has_weights(self) -> bool:
        """Whether a column has frequencies."""
        return self.weight is not None

    def names(self) -> tuple[str, ...]:
        """Its files, as far as Spark knows them, and the columns."""
        files = "\n".join(sorted(self.frame.inputFiles()))
        return (*self.used, f"weights: {self.weight}", f"files: {zlib.crc32(files.encode()):08x}")

    def mapped(
        self, function: Callable[[Any], Any], names: tuple[str, ...], dtype: np.dtype[Any]
    ) -> Any:
        """The frame with more columns: ``names``, or one of arrays where the rows are arrays.

        That one is called after the names: ``pca_features`` for pca0, pca1, ….
        """
        if not names:
            return self.frame
        number = "float" if dtype == np.float32 else "double"
        one = self.columns is None
        made = (f"{names[0].rstrip('0123456789')}_features",) if one else names
        taken = [name for name in made if name in self.frame.columns]
        if taken:
            raise ColumnError(
                f"the frame has a column {taken[0]!r} already, where the answer would stand",
                place={"column": taken[0]},
                hint="rename or drop it before",
            )
        kind = f"array<{number}>" if one else ", ".join(f"`{_quoted(n)}` {number}" for n in names)
        kind = kind if one else f"struct<{kind.replace('` ', '`:')}>"
        scores = _mapping(function, self.form, names, one, kind)(self.packed())
        if one:
            return self.frame.withColumn(made[0], scores)
        held = "_".join(("princomp", *names[:1]))
        wide = self.frame.withColumn(held, scores)
        return wide.select(*map(_column, self.frame.columns), f"`{_quoted(held)}`.*")


def rows_of(frame: Any) -> SparkRows:
    """Rows of a DataFrame; its schema decides, and a few rows where that says too little.

    Raises
    ------
    ColumnError, NotNumericError, ShapeError
        Where there are no numbers, or several columns of arrays.
    """
    kinds = {field.name: field.dataType for field in frame.schema.fields}
    if len(kinds) < len(frame.schema.fields):
        raise ColumnError("a column name stands twice in the frame", hint="rename one of them")
    many = tuple(name for name, kind in kinds.items() if _is_array(kind) or _is_vector(kind))
    if len(many) > 1:
        raise ColumnError(
            f"the frame has several columns of arrays or vectors: {_listed(many)}",
            place={"columns": list(many)},
            hint="select one: df.select('features')",
        )
    if many:
        return _arrays(frame, many[0], kinds)
    used = tuple(name for name, kind in kinds.items() if _is_number(kind))
    if not used:
        raise NotNumericError(
            f"the frame has no column of numbers, arrays or vectors, only {_listed(kinds)}",
            place={"columns": list(kinds)},
            hint="select or cast the columns to analyse",
        )
    return _numeric(frame, used, kinds, tuple(name for name in kinds if name not in used))


def _numeric(
    frame: Any, used: tuple[str, ...], kinds: dict[str, Any], beside: tuple[str, ...]
) -> SparkRows:
    single = all(isinstance(kinds[name], types.FloatType) for name in used)
    dtype = "float32" if single else "float64"
    whole = tuple(i for i, name in enumerate(used) if isinstance(kinds[name], types.LongType))
    return SparkRows(
        engine="Spark",
        rows=None,
        p=len(used),
        dtype=np.dtype(dtype),
        columns=used,
        frame=frame,
        used=used,
        form=Form(len(used), dtype, whole=whole),
        beside=beside,
    )


def _arrays(frame: Any, name: str, kinds: dict[str, Any]) -> SparkRows:
    form = _known.get(frame)
    if form is None:
        form = _known[frame] = _looked(frame, name, kinds[name])
    return SparkRows(
        engine="Spark",
        rows=None,
        p=form.p,
        dtype=np.dtype(form.dtype),
        stored=0 if form.sparse else None,
        frame=frame,
        used=(name,),
        form=form,
        beside=tuple(other for other in kinds if other != name),
    )


def _looked(frame: Any, name: str, kind: Any) -> Form:
    """What the first rows of a column of arrays or vectors are like."""
    column, vectors = _column(name), _is_vector(kind)
    first = [row[0] for row in frame.select(column).where(column.isNotNull()).head(_LOOK)]
    if not first:
        raise ShapeError(f"the frame has no rows in column {name!r}", hint="give at least two rows")
    sparse = vectors and all(hasattr(vector, "indices") for vector in first)
    single = not vectors and isinstance(kind.elementType, types.FloatType)
    return Form(len(first[0]), "float32" if single else "float64", vectors=vectors, sparse=sparse)


# ---- what the workers do -------------------------------------------------------------------


def _summed(
    form: Form, kind: Any, drop: bool, precise: bool
) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """One state of a partition, in bounded memory whatever its size."""

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        rows: Any = Batches(form, batches)
        share = share_of(kind, rows, rows.weights, drop=drop, precise=precise)
        if share.fault is not None:
            rows.drain()
            share = share._replace(rows=0)  # nobody counts rows beyond a fault
        context = TaskContext.get()
        assert context is not None  # Spark called this
        yield from packed(context.partitionId(), share)

    return run


def _mapping(
    function: Callable[[Any], Any], form: Form, names: tuple[str, ...], one: bool, kind: str
) -> Any:
    """A function of Spark columns: batches of rows to arrays, or to structs of numbers."""
    import pyarrow as pa
    from pyspark.sql.functions import arrow_udf

    from princomp.engines.spark_batches import numbers_of

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        row = 0
        for batch in batches:
            made = np.ascontiguousarray(function(numbers_of(batch, form, row)))
            row += len(batch)
            if one:
                values = pa.array(made.ravel())
                yield pa.FixedSizeListArray.from_arrays(values, made.shape[1]).cast(
                    pa.list_(values.type)
                )
            else:
                columns = [pa.array(made[:, i]) for i in range(made.shape[1])]
                yield pa.StructArray.from_arrays(columns, names=list(names))

    # By these Spark knows that it may hand over batch after batch.
    run.__annotations__ = {"batches": Iterator[pa.Array], "return": Iterator[pa.Array]}
    return arrow_udf(run, kind)


# ---- names and kinds -----------------------------------------------------------------------


def _told(share: Share) -> Share:
    """The share, with a fault's row counted over the table in its words too."""
    fault = share.fault
    if fault is None or "row" not in fault.place or getattr(fault, "value", None) is not None:
        return share
    row = fault.place["row"] + 1
    told = type(fault)(
        f"row {row:,}: {fault.message}", place={**fault.place, "row": row}, hint=fault.hint
    )
    return share._replace(fault=told)


def _is_vector(kind: Any) -> bool:
    return isinstance(kind, types.UserDefinedType) and type(kind).__name__ == "VectorUDT"


def _is_array(kind: Any) -> bool:
    return isinstance(kind, types.ArrayType) and isinstance(kind.elementType, types.FractionalType)


def _is_number(kind: Any) -> bool:
    return isinstance(kind, types.NumericType | types.BooleanType)


def _quoted(name: str) -> str:
    return name.replace("`", "``")


def _column(name: str) -> Any:
    return functions.col(f"`{_quoted(name)}`")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))
