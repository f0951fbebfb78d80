"""Rows of any origin through a map: here as a source, elsewhere where they lie."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np

from princomp.engines.distributed import Distributed
from princomp.engines.recognised import distributed
from princomp.engines.shares import Folded, Share
from princomp.errors import NotAvailableError, NotFiniteError, ShapeError
from princomp.feature_maps.feature_map import FeatureMap
from princomp.passes import Passes
from princomp.sources.mapped import Mapped, images_of
from princomp.sources.memory import not_finite_in, refuse_not_finite
from princomp.sources.source import Chunk, Identity, Source, Spot
from princomp.summaries.blocks import Weights, added_in_place

__all__ = ["mapped"]


def mapped(rows: Any, map: FeatureMap, *, holes: bool = False) -> Source:
    """The images of rows, wherever these lie, as rows that a PCA takes.

    On Dask, Spark and ranks the map travels to the rows, each block of which is mapped where
    it is summed; an array on a device is mapped there.

    Parameters
    ----------
    rows : as for :meth:`princomp.PCA.fit`
    map : FeatureMap
    holes : bool
        As for :class:`~princomp.sources.mapped.Mapped`.

    Raises
    ------
    ShapeError
        Where the rows have another number of columns than the map takes.
    NotAvailableError
        For an array on a device, and a map that is not made there.
    """
    there = distributed(rows)
    if there is None:
        return Mapped(rows, map, holes=holes)
    if there.p != map.p:
        raise ShapeError(
            f"rows have {there.p} columns, and the map was made of {map.p}",
            hint="give the columns that the map was made of, in their order",
        )
    if there.together:
        from princomp.feature_maps.device import mapped_there

        return mapped_there(there, map, holes=holes)
    return MappedRows(
        engine=there.engine,
        rows=there.rows,
        p=map.width,
        dtype=np.dtype(map.dtype),
        nbytes=there.nbytes,
        origin=there,
        map=map,
        holes=holes,
        repeatable=there.repeatable,
    )


class _Summed:
    """A kind of summary of the images of rows: what folds over the rows make."""

    # Rows with missing cells are left out before they are mapped.
    complete_only = True

    def __init__(self, kind: Any, map: FeatureMap) -> None:
        self.kind, self.map = kind, map

    def adds(self, p: int, *, sparse: bool = False) -> bool:
        """Whether blocks are better added in place: as those of images are."""
        return added_in_place(self.kind, self.map.width)

    def block_rows(self, columns: int, *, sparse: bool = False) -> int:
        """Rows of a logical block: that of as many columns as images have."""
        return int(self.kind.block_rows(self.map.width))

    def empty(self, p: int) -> Any:
        """Of no rows."""
        return self.kind.empty(self.map.width)

    def of(self, block: Any, weights: Weights = None, *, precise: bool = False) -> Any:
        """Of a block of rows."""
        return self.kind.of(images_of(self.map, block), weights, precise=precise)

    def add(
        self, summary: Any, block: Any, weights: Weights = None, *, precise: bool = False
    ) -> Any:
        images = images_of(self.map, block)
        return self.kind.add(summary, images, weights, precise=precise)


@dataclass(kw_only=True, eq=False)
class MappedRows(Distributed):
    """Images of rows in the partitions of an engine.

    Parameters
    ----------
    origin : Distributed
    map : FeatureMap
    holes : bool
        In what is ``mapped`` on, a row with missing cells has an image of NaN.
    """

    origin: Distributed
    map: FeatureMap
    holes: bool = False

    def share(self, kind: Any, *, drop: bool, precise: bool) -> Share:
        """The images of all rows folded into ``kind``."""
        return self.origin.share(_Summed(kind, self.map), drop=drop, precise=precise)

    def fold(
        self, kind: Any, *, drop: bool, precise: bool, passes: Passes | None, step_name: str
    ) -> Folded:
        """One pass; a fault names the column of the rows."""
        try:
            return super().fold(
                kind, drop=drop, precise=precise, passes=passes, step_name=step_name
            )
        except NotFiniteError as error:
            raise not_finite_in(self.origin, error, columns=self.origin.columns) from None

    def weighted(self, weights: Any) -> Self:
        """The same rows with frequencies, which may be a column of theirs.

        Raises
        ------
        ShapeError, ParameterError
        """
        origin = self.origin.weighted(weights)
        if origin.p != self.map.p:
            raise ShapeError(
                f"without the weights the rows have {origin.p} columns, and the map was made of "
                f"{self.map.p}",
                place={"parameter": "sample_weight"},
                hint="make the map of the rows without the weights, and weigh them before: "
                "mapped(rows.weighted(…), map)",
            )
        return replace(self, origin=origin)

    @property
    def has_weights(self) -> bool:
        """Whether the rows have frequencies."""
        return self.origin.has_weights

    def names(self) -> tuple[str, ...]:
        """What the engine calls the rows, and the map."""
        return (*self.origin.names(), self.map.mark())

    def framed(self, wanted: str) -> Self:
        """The same rows, ``mapped`` to another kind of table."""
        return replace(self, origin=self.origin.framed(wanted))

    def mapped(
        self, function: Callable[[Any], Any], names: tuple[str, ...], dtype: np.dtype[Any]
    ) -> Any:
        """``function`` of the images of each partition, lazily."""
        columns = self.origin.columns
        one = partial(_of_images, function=function, map=self.map, holes=self.holes)
        return self.origin.mapped(partial(one, columns=columns), names, dtype)

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """Images of the rows that the engine brings here."""
        for chunk in self.origin.chunks(start):
            try:
                images = images_of(self.map, chunk.data, holes=self.holes)
            except NotFiniteError as error:
                error.place["row"] += start
                raise not_finite_in(self.origin, error, columns=self.origin.columns) from None
            yield Chunk(images, chunk.ids)
            start += chunk.data.shape[0]

    def tiles(self, *, complete: bool) -> Any:
        """Refuse: a scatter in tiles is summed of columns that the engine's table has.

        Raises
        ------
        NotAvailableError
        """
        raise NotAvailableError(
            f"the scatter of {self.p:,} coordinates is not summed in tiles on {self.engine}",
            place={"parameter": "svd_solver"},
            hint="use svd_solver='krylov' with a whole number of components, or fewer landmarks "
            "or features",
        )

    def spot(self, row: int) -> Spot:
        """Where a row stands."""
        return self.origin.spot(row)

    def identities(self) -> tuple[Identity, ...]:
        """The files behind the rows."""
        return self.origin.identities()


def _of_images(
    rows: Any,
    *,
    function: Callable[[Any], Any],
    map: FeatureMap,
    holes: bool,
    columns: tuple[str, ...] | None,
) -> Any:
    """A function of the images of a partition's rows."""
    try:
        images = images_of(map, rows, holes=holes)
    except NotFiniteError as error:
        raise refuse_not_finite(rows, error, columns=columns) from None
    return function(images)
