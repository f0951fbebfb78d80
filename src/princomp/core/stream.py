"""Rows that are added and removed over time, and their summary so far.

The rows of all batches are cut into the same logical blocks as those of one table. So the result
does not depend on the sizes of the batches, not even in the last bit. Rows that do not fill a
block yet are buffered. With decay d, a row seen r rows ago has the weight dʳ.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from princomp.core.fitted import Fitted
from princomp.core.request import Request
from princomp.core.row_buffer import RowBuffer
from princomp.core.stream_blocks import added_by_blocks, check_squares
from princomp.core.stream_kind import (
    check_components,
    check_memory_to_add,
    first_of,
    kind_for,
    kind_of,
)
from princomp.engines import Distributed, fold
from princomp.errors import NotAvailableError, ParameterError, ShapeError
from princomp.linalg import default_threads
from princomp.summaries import (
    Extremes,
    Moments,
    Pair,
    PairOf,
    Triangle,
    Weights,
    part_of,
    stored_bytes,
)

# Rows are buffered until _TOGETHER blocks can be summed at once, or one block if a block has more
# than _LARGE_BLOCK numbers.
_TOGETHER, _LARGE_BLOCK = default_threads(), 2**21

# Notes in the plan about summaries whose kind has changed. _LESS: after a merge, by the resulting
# kind.
_OF_COMPONENTS = (
    "a fit kept no scatter: its rows are represented by its components, all of which it kept"
)
_SQUARED_TO_FORGET = (
    "the triangle was squared to a scatter, so that rows can be removed: variances below the "
    "resolution of a scatter are lost"
)
_LESS = {
    "Moments": "the result is a scatter, so variances below its resolution are lost",
    "Sketch": "the result is a sketch, so its error is estimated",
}


class Stream:
    """The rows seen so far, to which a model adds rows.

    Parameters
    ----------
    request : Request
        Determines the kind of summary: Moments, a Triangle for ``"full"``, a Sketch if
        p × p is too large.
    p : int
        Number of columns.
    summary : optional
        Summary to continue; new rows are summarised by the same kind.
    """

    # Marks of the fits that the stream continues, so that ranks do not count a fit twice.
    began: frozenset[tuple[Any, ...]] = frozenset()
    # Notes for the plan about summaries whose kind has changed.
    notes: tuple[str, ...] = ()

    def __init__(self, request: Request, p: int, summary: Any = None) -> None:
        check_components(request, p)
        if request.by_range and request.decay != 1.0:
            raise ParameterError(
                "scale='range' cannot be combined with decay: the largest value seen never fades",
                place={"parameter": "decay"},
                hint="use scale='unit' or 'pareto'",
            )
        if summary is None:
            kind = kind_for(request, p)
            # The range needs a summary of its own, next to the other one.
            self._kind = PairOf(kind, Extremes) if request.by_range else kind
            self._blocks = self._kind.empty(p)
        else:
            self._kind, self._blocks = kind_of(summary), summary
        self._buffer = RowBuffer()
        self._request = request
        self.decay, self.drop = request.decay, request.drop
        self.dtype: np.dtype[Any] | None = None
        self.seen = self.dropped = self.bytes_read = 0

    @classmethod
    def after(cls, fitted: Fitted, request: Request) -> Stream:
        """Make a stream that continues a fit.

        Raises
        ------
        NotAvailableError
            If the fit kept no summary to which rows can be added, or if its number of rows or
            its mean is not known.
        """
        summary = fitted.kept_rows()
        if fitted.n_samples is None or not fitted.mean_known:
            raise NotAvailableError(
                "this model was made from a covariance without a mean or a number of rows, so "
                "rows cannot be added to it",
                hint="PCA.from_covariance(C, mean=…, n_samples=…)",
            )
        # Ranges cannot fade. The fit may have kept them without need: with decay they are left out.
        if fitted.extremes is not None and request.decay == 1.0:
            stream = cls(request, fitted.p, Pair(summary, fitted.extremes))
        elif not request.by_range:
            stream = cls(request, fitted.p, summary)
        else:
            raise NotAvailableError(
                "the range of the columns was not kept by this fit, so it cannot go on with "
                "scale='range'",
                hint="begin with partial_fit and scale='range'",
            )
        if summary is not fitted.summary:
            stream.notes = (_OF_COMPONENTS,)
        stream.dtype = fitted.dtype
        stream.seen = fitted.n_samples + fitted.dropped
        stream.dropped = fitted.dropped
        stream.bytes_read = fitted.bytes_read
        stream.began = frozenset((cls.mark_of(fitted),))
        return stream

    @staticmethod
    def mark_of(fitted: Fitted) -> tuple[Any, ...]:
        """Numbers that identify a fit: its rows, total variance and sum of means."""
        return fitted.n_samples, fitted.spectrum.total, float(fitted.summary.mean.sum())

    def cleared(self) -> Stream:
        """A stream of the same kind that has seen no rows."""
        stream = copy(self)
        stream._blocks, stream._buffer = self._kind.empty(self.p), RowBuffer()
        stream.dtype, stream.began = None, frozenset()
        stream.seen = stream.dropped = stream.bytes_read = 0
        return stream

    # ---- rows in and out -------------------------------------------------------------------

    def add(self, rows: Any, weights: Weights) -> None:
        """Add rows; those that are buffered are copied.

        Raises
        ------
        NotFiniteError
            For infinity, for NaN unless such rows are dropped, and if squares overflow;
            no row is added then.
        """
        if isinstance(rows, Distributed):
            self._add_share(rows)
            return
        check_squares(rows, weights, self._kind, self.drop, lambda: self.so_far()[0])
        n, step, held = rows.shape[0], self._step, self._buffer.count
        whole = (held + n) // step * step
        waiting, stop = self._buffer, 0
        if held + n >= self._enough and whole:
            # Buffered rows are completed to whole blocks; the other whole blocks need no copy.
            blocks, dropped, at, stop = self._blocks, 0, -held % step, whole - held
            if held:
                waiting = waiting.plus(*_part(rows, weights, 0, at), held + at)
                blocks, dropped = self._folded(blocks, *waiting.table())
            blocks, more = self._folded(blocks, *_part(rows, weights, at, stop))
            self._blocks, waiting = blocks, RowBuffer()
            self.dropped += dropped + more
        self._buffer = waiting.plus(*_part(rows, weights, stop, n), self._enough)
        self.dtype = rows.dtype if self.dtype is None else np.result_type(self.dtype, rows.dtype)
        self.seen += n
        self.bytes_read += stored_bytes(rows)

    def _add_share(self, rows: Distributed) -> None:
        """Add rows that an engine holds, all at once; the engine sums them."""
        if self.decay != 1.0:
            raise NotAvailableError(
                f"decay gives each row a weight of its own, and rows on {rows.engine} are summed "
                "together",
                hint="leave decay out, or give the rows in arrays of NumPy",
            )
        folded = fold(self._kind, rows, drop=self.drop, precise=True)
        self._blocks = self._blocks.merge(folded.summary)
        self.dtype = rows.dtype if self.dtype is None else np.result_type(self.dtype, rows.dtype)
        self.seen += folded.rows
        self.dropped += folded.dropped
        self.bytes_read += rows.nbytes or folded.rows * rows.p * rows.dtype.itemsize

    def remove(self, rows: Any, weights: Weights) -> None:
        """Remove rows that were added before.

        Raises
        ------
        NotAvailableError
            If the summary does not allow it: with ``"full"``, ranges or decay.
        ShapeError
            If more rows are removed than were added.
        """
        total, dropped = self.so_far()
        notes = self.notes
        if self.decay != 1.0:
            raise _not_forgotten(
                "with decay the weight of an old row is not known", "fit without decay"
            )
        if isinstance(total, Pair):
            if self._request.by_range:
                raise _not_forgotten(
                    "the smallest and largest values of the other rows are not known",
                    "use another scale than 'range', such as 'unit'",
                )
            total = total.first  # the ranges are no longer needed
        if isinstance(total, Triangle):
            if self._request.solver == "full":
                raise _not_forgotten(
                    "a triangle (svd_solver='full') cannot give rows back",
                    "fit with svd_solver='auto' or 'covariance_eigh'",
                )
            check_memory_to_add(self._request, self.p)
            total, notes = Moments.empty(self.p).merge(total), (*notes, _SQUARED_TO_FORGET)
        kind = kind_of(total)
        folded = fold(kind, rows, weights, drop=self.drop, precise=True)
        if folded.dropped > dropped:
            raise ShapeError(
                f"{folded.dropped} of the rows to remove have missing values, and {dropped} such "
                "rows were left out before",
                hint="remove only rows that were added before",
            )
        self._blocks = total.remove(folded.summary)
        self._kind, self.notes, self._buffer = kind, notes, RowBuffer()
        self.seen -= folded.rows
        self.dropped = dropped - folded.dropped

    def merge(self, other: Stream) -> None:
        """Add all rows of another stream.

        Summaries of different kinds are merged to the kind with less detail, with a note in
        :attr:`notes`.

        Raises
        ------
        ShapeError
            For different columns, or sketches of different directions.
        NotAvailableError
            If ranges are needed that the other stream did not keep.
        """
        (mine, dropped), (theirs, more) = self.so_far(), other.so_far()
        if isinstance(mine, Pair) != isinstance(theirs, Pair):
            if self._request.by_range:
                raise NotAvailableError(
                    "the other fit kept no ranges of its columns, which scale='range' needs",
                    hint="fit the other one with scale='range', too",
                )
            mine, theirs = first_of(mine), first_of(theirs)
        kinds = {first_of(total).kind for total in (mine, theirs)}
        total = mine.merge(theirs)
        self._blocks, self._kind, self._buffer = total, kind_of(total), RowBuffer()
        notes = (*self.notes, *other.notes)
        if len(kinds) > 1:
            kept = first_of(total).kind
            notes = (*notes, f"merged {' and '.join(sorted(kinds))}: {_LESS[kept]}")
        self.notes = tuple(dict.fromkeys(notes))
        if self.dtype is None or other.dtype is None:
            self.dtype = self.dtype or other.dtype
        else:
            self.dtype = np.result_type(self.dtype, other.dtype)
        self.began |= other.began
        self.seen += other.seen
        self.dropped = dropped + more
        self.bytes_read += other.bytes_read

    # ---- the summary so far ----------------------------------------------------------------

    def so_far(self) -> tuple[Any, int]:
        """Return the summary of all rows, including buffered ones, and how many were left out."""
        if not self._buffer.count:
            return self._blocks, self.dropped
        blocks, dropped = self._folded(self._blocks, *self._buffer.table())
        return blocks, self.dropped + dropped

    @property
    def _step(self) -> int:
        return int(self._kind.block_rows(self.p))

    @property
    def p(self) -> int:
        """Number of columns."""
        return int(first_of(self._blocks).p)

    @property
    def _enough(self) -> int:
        step = self._step
        return step if step * self.p > _LARGE_BLOCK else _TOGETHER * step

    def _folded(self, before: Any, rows: Any, weights: Weights) -> tuple[Any, int]:
        """Add rows to a summary; return it and how many rows were left out."""
        return added_by_blocks(self._kind, before, rows, weights, decay=self.decay, drop=self.drop)


def _not_forgotten(why: str, hint: str) -> NotAvailableError:
    return NotAvailableError(f"rows cannot be forgotten here: {why}", hint=hint)


def _part(rows: Any, weights: Weights, start: int, stop: int) -> tuple[Any, Weights]:
    return rows[start:stop], part_of(weights, start, stop)
