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

from princomp.engines.partial_result import PartialResult
from princomp.engines.spark.states import COLUMNS, merge_states, pack_state, unpack_states
from princomp.engines.spark.tasks import BatchFunction, Form, reduce_batches
from princomp.linalg import FloatArray
from princomp.summaries import Moments

if TYPE_CHECKING:
    from princomp.engines.spark.rows import SparkRows

# Columns of a group: the moments of a pair of groups take 72 MB. Rows are read once for each pair,
# but only the columns of the pair: four groups (p = 6,000) cost as much as three complete passes.
_SIDE = 1_500


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
        p, groups = rows.p, -(-rows.p // _SIDE)
        edges = np.linspace(0, p, max(groups, 2) + 1).astype(int)
        self._groups = [slice(int(a), int(b)) for a, b in pairwise(edges)]
        self._pairs = list(combinations(range(len(self._groups)), 2))
        parts = []
        for number, (i, j) in enumerate(self._pairs):
            frame, form = self._select(self._groups[i], self._groups[j], complete)
            task = reduce_batches(form, Moments, False, False)
            states = merge_states(frame.mapInArrow(task, COLUMNS), 8 * form.p**2)
            named = functions.lit(number).cast("int").alias("number")
            parts.append(states.select(named, "piece", "state"))
        # Otherwise each product would sum the rows again. On disk: p × p does not fit in memory.
        self._states = reduce(DataFrame.union, parts).persist(StorageLevel.DISK_ONLY)

    def __enter__(self) -> Tiles:
        return self

    def __exit__(self, *reason: object) -> None:
        self._states.unpersist()

    @property
    def readings(self) -> int:
        """Number of passes over the rows, with all columns, that reading them amounts to."""
        return len(self._groups) - 1

    def product(self, vectors: FloatArray) -> FloatArray:
        """Return the scatter times ``vectors`` (p, m), in one job over the tiles."""
        task = _multiply(vectors, self._groups, self._pairs)
        image = np.zeros(vectors.shape)
        batches = self._states.mapInArrow(task, COLUMNS).toArrow().to_batches()
        for number, result in unpack_states(batches):
            i, j = (self._groups[group] for group in self._pairs[number])
            image[i] += result.summary[: i.stop - i.start]
            image[j] += result.summary[i.stop - i.start :]
        return image

    def _select(self, first: slice, second: slice, complete: bool) -> tuple[DataFrame, Form]:
        """Return the rows with the columns of two groups, as workers get them, and their form."""
        rows = self.rows
        form = rows.form._replace(
            p=first.stop - first.start + second.stop - second.start, vectors=False, sparse=False
        )
        frame = rows.frame
        whole = rows.packed()
        if rows.form.vectors:
            from pyspark.ml.functions import vector_to_array

            whole = vector_to_array(whole)
        if complete:
            number = functions.forall(whole, lambda x: x.isNotNull() & ~functions.isnan(x))
            frame = frame.where(whole.isNotNull() & number)
        if rows.columns is None:
            cut = [
                functions.slice(whole, part.start + 1, part.stop - part.start)
                for part in (first, second)
            ]
            chosen = functions.concat(*cut)
        else:
            chosen = rows.packed((*rows.used[first], *rows.used[second]))
            form = form._replace(whole=())  # the pass before has checked them
        return frame.select(chosen.alias("rows"), *rows.weights_column()), form


def _multiply(
    vectors: FloatArray, groups: list[slice], pairs: list[tuple[int, int]]
) -> BatchFunction:
    """Return a function that multiplies tiles by ``vectors``, each one on the diagonal once."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number, result in unpack_states(batches):
            moments: Moments = result.checked().summary
            i, j = pairs[number]
            own, other = vectors[groups[i]], vectors[groups[j]]
            cut, scatter = len(own), moments.scatter
            top = scatter[:cut, cut:] @ other
            bottom = scatter[cut:, :cut] @ own
            if j == i + 1:
                top += scatter[:cut, :cut] @ own
                if j == len(groups) - 1:
                    bottom += scatter[cut:, cut:] @ other
            yield from pack_state(number, PartialResult(np.concatenate([top, bottom]), 0, 0))

    return run
