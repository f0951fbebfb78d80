"""The scatter of wide rows in tiles that stay with Spark: no task and no driver holds p × p.

Columns are cut into groups. Moments of each pair of groups are summed as those of any rows:
one tile beside the diagonal and two on it. They lie on the executors' disks, a task holds one
pair at a time, and only products with vectors are collected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from pyspark import StorageLevel
from pyspark.sql import functions

from princomp.arrays import FloatArray
from princomp.engines.shares import Share
from princomp.engines.spark_batches import Form
from princomp.engines.spark_states import COLUMNS, joined_levels, packed, unpacked
from princomp.summaries import Moments

__all__ = ["Tiles"]

# Columns of a group: moments of a pair of them are 72 MB. Rows are read once for each pair,
# a part of the columns each time: at p = 6,000, four groups are as three readings of all.
_SIDE = 1_500


class Tiles:
    """A scatter (p, p) to multiply with; use it as a context, which lets go of it.

    Parameters
    ----------
    rows : SparkRows
    summed : callable
        What sums the rows of a partition, for a form.
    complete : bool
        Leave out rows with a missing number.
    """

    def __init__(self, rows: Any, summed: Callable[[Form], Any], *, complete: bool) -> None:
        self.rows = rows
        p, groups = rows.p, -(-rows.p // _SIDE)
        edges = np.linspace(0, p, max(groups, 2) + 1).astype(int)
        self._groups = [slice(int(a), int(b)) for a, b in pairwise(edges)]
        self._pairs = list(combinations(range(len(self._groups)), 2))
        parts = []
        for number, (i, j) in enumerate(self._pairs):
            frame, form = self._of(self._groups[i], self._groups[j], complete)
            states = frame.mapInArrow(summed(form), COLUMNS)
            named = functions.lit(number).cast("int").alias("number")
            parts.append(joined_levels(states, 8 * form.p**2).select(named, "piece", "state"))
        all_parts = parts[0]
        for part in parts[1:]:
            all_parts = all_parts.union(part)
        # Each product would sum the rows again; on disk, since that is what they do not fit beside.
        self._states = all_parts.persist(StorageLevel.DISK_ONLY)

    def __enter__(self) -> Tiles:
        return self

    def __exit__(self, *reason: object) -> None:
        self._states.unpersist()

    @property
    def readings(self) -> int:
        """How often the rows are read, counted in whole rows."""
        return len(self._groups) - 1

    def product(self, vectors: FloatArray) -> FloatArray:
        """The scatter times ``vectors`` (p, m): one job over the tiles."""
        run = _multiplied(vectors, self._groups, self._pairs)
        image = np.zeros(vectors.shape)
        for number, share in unpacked(self._states.mapInArrow(run, COLUMNS).toArrow().to_batches()):
            i, j = (self._groups[group] for group in self._pairs[number])
            image[i] += share.summary[: i.stop - i.start]
            image[j] += share.summary[i.stop - i.start :]
        return image

    def _of(self, first: slice, second: slice, complete: bool) -> tuple[Any, Form]:
        """The rows of two groups of columns, as workers get them, and their form."""
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
            form = form._replace(whole=())  # the pass before has looked
        columns = [chosen.alias("rows")]
        if rows.weight is not None:
            columns.append(functions.col(f"`{rows.weight}`").cast("double").alias("weights"))
        return frame.select(*columns), form


def _multiplied(
    vectors: FloatArray, groups: list[slice], pairs: list[tuple[int, int]]
) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """Products of the tiles of a partition with ``vectors``, those on the diagonal once."""

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        for number, share in unpacked(batches):
            moments: Moments = share.folded().summary
            i, j = pairs[number]
            mine, other = vectors[groups[i]], vectors[groups[j]]
            cut, scatter = len(mine), moments.scatter
            top = scatter[:cut, cut:] @ other
            bottom = scatter[cut:, :cut] @ mine
            if j == i + 1:
                top += scatter[:cut, :cut] @ mine
                if j == len(groups) - 1:
                    bottom += scatter[cut:, cut:] @ other
            yield from packed(number, Share(np.concatenate([top, bottom]), 0, 0))

    return run
