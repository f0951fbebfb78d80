"""Rows of any origin, copied to a device block by block and summed there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from princomp.engines.device_rows import OnDevice
from princomp.engines.device_spaces import space_named
from princomp.engines.device_staging import copied
from princomp.engines.pieces import pieces
from princomp.engines.shares import Share
from princomp.errors import MemoryLimitError, ParameterError
from princomp.memory import DEFAULT_SHARE, byte_count, in_words
from princomp.solvers.krylov import ImagesOf
from princomp.sources.any import rows_of
from princomp.sources.source import Identity, Source, Spot
from princomp.summaries import Columns, PairOf, SketchOf, Triangle
from princomp.summaries.blocks import is_sparse, stored_bytes
from princomp.summaries.space import DeviceBlock
from princomp.threads import in_order

__all__ = ["on_device"]

# Bytes on the device for each number of a block: two buffers that are copied into, the centred
# rows, and their squares in float64.
_BYTES = 48
# Blocks of fewer rows are not worth their p × p sums.
_FEWEST_ROWS = 32
# p × p matrices of float64 that sums and their solution hold at once.
_SCATTERS, _TRIANGLES = 4, 14


@dataclass(kw_only=True, eq=False)
class DeviceStream(OnDevice):
    """Rows that are read on the host and summed on a device.

    Parameters
    ----------
    data : ndarray, CSR array or Source
        What is read; sparse blocks are made dense on their way.
    limit : int, optional
        Bytes that may be taken on the device.
    """

    data: Any
    limit: int | None = None
    seen: int = 0

    def spot(self, row: int) -> Spot:
        """Where a row stands."""
        return self.data.spot(row) if isinstance(self.data, Source) else Spot(self.file, row)

    def identities(self) -> tuple[Identity, ...]:
        """The files behind it."""
        return self.data.identities() if isinstance(self.data, Source) else ()

    def weighted(self, weights: Any) -> Self:
        """The same rows with frequencies, where their number is known.

        Raises
        ------
        ShapeError, ParameterError
        """
        if self.rows is None:
            raise ParameterError(
                "sample_weight needs the number of rows, which is not known before they are read",
                place={"parameter": "sample_weight"},
                hint="leave it out, or give the rows in an array or a file that says how many",
            )
        return super().weighted(weights)

    def blocks(self, step: int) -> Iterator[DeviceBlock]:
        """Blocks of at most ``step`` rows: one is read and copied while another is summed."""
        step = min(step, self._most_rows(0))
        self.seen = start = 0
        # A thread loads one block ahead, while this one copies the block before to the device.
        cut = pieces(self.data, step)
        loaded = in_order(lambda piece: _dense(piece.load()), cut, 1, ahead=True)
        with closing(loaded):
            for rows in copied(loaded, self.space, step, self.p, self.dtype):
                stop = start + rows.shape[0]
                weights = None if self.weights is None else self.weights[start:stop]
                self.seen = stop
                yield DeviceBlock(start, rows, weights)
                start = stop

    def share(self, kind: Any, *, drop: bool, precise: bool) -> Share:
        """All rows folded into ``kind``; refused first where that would not fit on the device."""
        self._most_rows(_needed(kind, self.p))
        share = super().share(kind, drop=drop, precise=precise)
        return share._replace(rows=self.seen if self.rows is None else self.rows)

    def _most_rows(self, fixed: int) -> int:
        """Rows of a block beside ``fixed`` bytes.

        Raises
        ------
        MemoryLimitError
            Where these are too few.
        """
        if self.limit is None:
            return 2**40
        rows = (self.limit - fixed) // (_BYTES * self.p)
        if rows < _FEWEST_ROWS:
            needed = fixed + _FEWEST_ROWS * _BYTES * self.p
            raise MemoryLimitError(
                f"sums of {self.p:,} columns take {in_words(needed)} on {self.space.name}, and "
                f"{in_words(self.limit)} may be taken there",
                place={"parameter": "memory_limit", "limit": self.limit, "needed": needed},
                hint=f"allow {in_words(1.05 * needed)}, or use svd_solver='krylov' with a whole "
                "number of components, which forms no p × p",
            )
        return int(rows)


def on_device(X: Any, device: Any = "cuda", *, memory_limit: int | str | None = None) -> Any:
    """Rows of any origin, to be fitted or transformed on a device: hand them to a ``PCA``.

    Parameters
    ----------
    X : as for :meth:`princomp.PCA.fit`
        Arrays, frames, files, iterators. They are read block by block, and blocks are copied
        to the device while the ones before are summed there.
    device : str or device, default="cuda"
        A device of torch: ``"cuda:0"``, ``"cpu"``.
    memory_limit : str or int, optional
        Bytes that may be taken on the device for blocks and sums; 60% of what is free there
        by default.

    Returns
    -------
    rows
        For ``fit``, ``fit_transform``, ``partial_fit``, ``forget`` and ``transform``. Scores
        are arrays on the device.

    Raises
    ------
    MissingLibraryError
        Without torch and array-api-compat.
    ParameterError
        Where there is no such device.

    Examples
    --------
    >>> import princomp
    >>> rows = princomp.on_device("rows.npy", "cuda:0", memory_limit="4GB")  # doctest: +SKIP
    >>> model = princomp.PCA(n_components=10).fit(rows)  # doctest: +SKIP
    """
    space = space_named(device)
    limit = None if memory_limit is None else byte_count(memory_limit)
    if limit is None and (free := space.free()) is not None:
        limit = int(free * DEFAULT_SHARE)
    data, columns, file = rows_of(X)
    known = isinstance(data, Source)
    return DeviceStream(
        engine=space.name,
        rows=data.shape[0],
        p=data.shape[1],
        dtype=np.dtype(data.dtype),
        columns=columns,
        file=file,
        nbytes=data.nbytes if known else stored_bytes(data),
        space=space,
        data=data,
        limit=limit,
        repeatable=data.repeatable if known else True,
    )


def _needed(kind: Any, p: int) -> int:
    """Bytes of the sums on the device, whatever the blocks."""
    if isinstance(kind, PairOf):
        return _needed(kind.first, p)
    if isinstance(kind, SketchOf):
        return 3 * 8 * p * kind.width
    if isinstance(kind, ImagesOf):
        return int(3 * 8 * kind.vectors.size)
    if issubclass(kind, Columns):
        return 8 * 8 * p
    return (_TRIANGLES if issubclass(kind, Triangle) else _SCATTERS) * 8 * p * p


def _dense(rows: Any) -> Any:
    return rows.toarray() if is_sparse(rows) else rows
