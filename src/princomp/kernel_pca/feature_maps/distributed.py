"""Feature maps of rows of any origin: rows on an engine are mapped there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from princomp.engines import DistributedRows, PartialResult, RunContext, SummaryKind, as_distributed
from princomp.errors import NotFiniteError
from princomp.io import Chunk, FileState, Mapped, Source, images_of, not_finite_error_in_source
from princomp.kernel_pca.feature_maps.feature_map import FeatureMap
from princomp.summaries import Weights, is_added_in_place


def mapped(rows: object, map: FeatureMap, *, allow_missing: bool = False) -> Source:
    """Return the images of rows of any origin, as rows that a PCA takes.

    On Dask, Spark and ranks the map is sent to the rows, and each block is mapped where it is
    summed; an array on a device is mapped there.

    Parameters
    ----------
    rows : as for :meth:`princomp.PCA.fit`
    map : FeatureMap
    allow_missing : bool
        As for :class:`~princomp.io.readers.mapped.Mapped`.

    Raises
    ------
    NotAvailableError
        For an array on a device, and a map that is not implemented there.
    """
    distributed = as_distributed(rows)
    if distributed is None:
        return Mapped(rows, map, allow_missing=allow_missing)
    fields: dict[str, Any] = {
        "engine": distributed.engine,
        "rows": distributed.rows,
        "p": map.width,
        "dtype": np.dtype(map.dtype),
        "nbytes": distributed.nbytes,
        "origin": distributed,
        "map": map,
        "allow_missing": allow_missing,
        "repeatable": distributed.repeatable,
    }
    if distributed.resident:
        from princomp.kernel_pca.feature_maps.device import mapped_on_device

        return mapped_on_device(fields)
    return MappedRows(**fields)


class _ImageSummary:
    """A kind of summary that maps blocks of rows and summarises their images."""

    # Rows with missing cells are left out before they are mapped.
    complete_only = True

    def __init__(self, kind: Any, map: FeatureMap) -> None:
        self.kind, self.map = kind, map

    def adds_in_place(self, p: int, *, sparse: bool = False) -> bool:
        """Whether blocks of images are better added in place."""
        return is_added_in_place(self.kind, self.map.width, sparse=False)

    def block_rows(self, columns: int, *, sparse: bool = False) -> int:
        """Rows of a logical block of images."""
        return int(self.kind.block_rows(self.map.width))

    def empty(self, p: int) -> Any:
        """The summary of no rows."""
        return self.kind.empty(self.map.width)

    def of(self, block: Any, weights: Weights = None, *, precise: bool = False) -> Any:
        """The summary of the images of a block of rows."""
        return self.kind.of(images_of(self.map, block), weights, precise=precise)

    def add(
        self, summary: Any, block: Any, weights: Weights = None, *, precise: bool = False
    ) -> Any:
        images = images_of(self.map, block)
        return self.kind.add(summary, images, weights, precise=precise)


@dataclass(kw_only=True, eq=False)
class MappedRows(DistributedRows):
    """Images of rows in the partitions of an engine.

    Parameters
    ----------
    origin : DistributedRows
    map : FeatureMap
    allow_missing : bool
        Whether rows with missing cells get images of NaN in ``chunks``.
    """

    origin: DistributedRows
    map: FeatureMap
    allow_missing: bool = False

    def reduce(self, kind: SummaryKind, *, drop: bool, precise: bool) -> PartialResult:
        """Fold the images of all rows into ``kind``."""
        return self.origin.reduce(_ImageSummary(kind, self.map), drop=drop, precise=precise)

    def fold(
        self, kind: Any, *, drop: bool, precise: bool, run: RunContext | None, step_name: str
    ) -> PartialResult:
        """Fold in one pass; errors name the column of the original rows."""
        try:
            return super().fold(kind, drop=drop, precise=precise, run=run, step_name=step_name)
        except NotFiniteError as error:
            origin = self.origin
            raise not_finite_error_in_source(origin, error, columns=origin.columns) from None

    def weighted(self, weights: Any) -> Self:
        """Return the rows with frequencies.

        Raises
        ------
        ShapeError, ParameterError
        """
        return replace(self, origin=self.origin.weighted(weights))

    @property
    def has_chunks(self) -> bool:
        """Whether the engine brings rows to this process."""
        return self.origin.has_chunks

    @property
    def has_weights(self) -> bool:
        """Whether the rows have frequencies."""
        return self.origin.has_weights

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """Yield images of the rows, which the engine brings to this process."""
        origin = self.origin
        for chunk in origin.chunks(start):
            try:
                images = images_of(self.map, chunk.data, allow_missing=self.allow_missing)
            except NotFiniteError as error:
                error.place["row"] += start
                raise not_finite_error_in_source(origin, error, columns=origin.columns) from None
            yield Chunk(images, chunk.ids)
            start += chunk.data.shape[0]

    def file_states(self) -> tuple[FileState, ...]:
        """Return the files that the rows are read from."""
        return self.origin.file_states()
