"""The scatter of wide rows in tiles that stay with Spark: no task and no driver holds p × p.

Columns are divided into groups. For each pair of groups, moments are summed as for any rows: they
contain one tile off the diagonal and two on it. The moments are stored on the executors' disks, a
task holds those of one pair at a time, and only products with vectors are collected.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, functions

from princomp.engines.distributed import PartialResult
from princomp.engines.spark import tasks
from princomp.engines.spark.tasks import STATE_COLUMNS, RowLayout
from princomp.linalg import FloatArray
from princomp.summaries import Moments

if TYPE_CHECKING:
    from princomp.engines.spark.rows import SparkRows

# Columns of a group: the moments of a pair of groups take 72 MB. Rows are read once for each pair,
# but only the columns of the pair: four groups (p = 6,000) cost as much as three complete passes.
GROUP_COLUMNS = 1_500


class Tiles:
    """A scatter (p, p) to multiply with; a context manager that releases it.

    Parameters
    ----------
    rows : SparkRows
    complete : bool
        Leave out rows with a missing number.
    """

    def __init__(self, rows: SparkRows, *, complete: bool) -> None:
        self.rows = rows
        p, groups = rows.p, -(-rows.p // GROUP_COLUMNS)
        edges = np.linspace(0, p, max(groups, 2) + 1).astype(int)
        self._groups = [slice(int(a), int(b)) for a, b in pairwise(edges)]
        self._pairs = list(combinations(range(len(self._groups)), 2))
        parts = []
        for number, (i, j) in enumerate(self._pairs):
            frame, layout = self._select(self._groups[i], self._groups[j], complete)
            task = tasks.reduce_batches(layout, Moments, False, False)
            states = tasks.merge_states(frame.mapInArrow(task, STATE_COLUMNS), 8 * layout.p**2)
            number_column = functions.lit(number).cast("int").alias("number")
            parts.append(states.select(number_column, "piece", "state"))
        # Otherwise each product would sum the rows again. On disk: p × p does not fit in memory.
        self._states = reduce(DataFrame.union, parts).persist(StorageLevel.DISK_ONLY)

    def __enter__(self) -> Tiles:
        return self

    def __exit__(self, *reason: object) -> None:
        self._states.unpersist()

    @property
    def passes(self) -> int:
        """Number of passes over the rows, with all columns, that reading them amounts to."""
        return len(self._groups) - 1

    def product(self, vectors: FloatArray) -> FloatArray:
        """Return the scatter times ``vectors`` (p, m), in one job over the tiles."""
        task = _multiply(vectors, self._groups, self._pairs)
        image = np.zeros(vectors.shape)
        batches = self._states.mapInArrow(task, STATE_COLUMNS).toArrow().to_batches()
        for number, result in tasks.unpack_states(batches):
            i, j = (self._groups[group] for group in self._pairs[number])
            image[i] += result.summary[: i.stop - i.start]
            image[j] += result.summary[i.stop - i.start :]
        return image

    def _select(self, first: slice, second: slice, complete: bool) -> tuple[DataFrame, RowLayout]:
        """Return the rows with the columns of two groups, as workers get them, and their layout."""
        rows = self.rows
        p = first.stop - first.start + second.stop - second.start
        # The pass before has checked the integers.
        layout = RowLayout(p, rows.layout.dtype, weighted=rows.has_weights)
        frame, arrays = rows.frame, rows.array_column()
        if rows.layout.vectors:
            from pyspark.ml.functions import vector_to_array

            # It refuses a vector that is missing.
            arrays = functions.when(arrays.isNotNull(), vector_to_array(arrays))
        if complete:
            is_complete = functions.forall(arrays, lambda x: x.isNotNull() & ~functions.isnan(x))
            frame = frame.where(arrays.isNotNull() & is_complete)
        if rows.columns is None:
            groups = [
                functions.slice(arrays, part.start + 1, part.stop - part.start)
                for part in (first, second)
            ]
            chosen = functions.concat(*groups)
        else:
            chosen = rows.array_column((*rows.value_columns[first], *rows.value_columns[second]))
        return frame.select(chosen.alias("rows"), *rows.weights_column()), layout


def _multiply(
    vectors: FloatArray, groups: list[slice], pairs: list[tuple[int, int]]
) -> tasks.BatchFunction:
    """Return a function that multiplies tiles by ``vectors``, each one on the diagonal once."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number, result in tasks.unpack_states(batches):
            moments: Moments = result.checked().summary
            i, j = pairs[number]
            first_vectors, second_vectors = vectors[groups[i]], vectors[groups[j]]
            split, scatter = len(first_vectors), moments.scatter
            top = scatter[:split, split:] @ second_vectors
            bottom = scatter[split:, :split] @ first_vectors
            if j == i + 1:
                top += scatter[:split, :split] @ first_vectors
                if j == len(groups) - 1:
                    bottom += scatter[split:, split:] @ second_vectors
            yield from tasks.pack_state(number, PartialResult(np.concatenate([top, bottom]), 0, 0))

    return run
