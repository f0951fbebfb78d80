"""Rows that are added and removed over time, and their summary so far.

The rows of all batches are cut into the same logical blocks as those of one table. So the result
does not depend on the sizes of the batches, not even in the last bit, as long as rows are only
added: ``merge`` and ``remove`` end a block early. Rows that do not fill a block yet are buffered.
With decay d, a row that r rows have followed, incomplete ones included, has dʳ times its weight.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from princomp.core.applied_rule import check_rows_for_rule
from princomp.core.fitted import Fitted
from princomp.core.mergeable_summary import (
    check_memory_to_add,
    kind_for,
    kind_of,
    main_summary,
    reordered,
    rows_key,
)
from princomp.core.request import Request
from princomp.core.routes.sketch import warn_of_sketch
from princomp.core.row_buffer import RowBuffer
from princomp.core.weights import WEIGHT_TOLERANCE
from princomp.engines import DistributedRows, drop_incomplete, first_counted_fault, fold
from princomp.errors import NotAvailableError, ParameterError, ShapeError, counted, warn
from princomp.linalg import EPS, default_threads, one_blas_thread, slices
from princomp.summaries import (
    Block,
    Extremes,
    Moments,
    Pair,
    PairOf,
    Sketch,
    SketchOf,
    Triangle,
    Weights,
    column_overflow,
    is_sparse,
    slice_weights,
    stored_bytes,
    stored_values,
)

# Rows are buffered until BLOCKS_AT_ONCE blocks can be summed at once, or one block if a block has
# more than _LARGE_BLOCK numbers.
BLOCKS_AT_ONCE, _LARGE_BLOCK = default_threads(), 2**21
# A block is shifted by an estimate of its mean, so sums on the way may be 2**20 times its scatter.
# With this limit they are still finite in float64.
_MAX_SCATTER = 1.714e302
# The squares of any number of values below this size can be summed in float64.
_SAFE_VALUE = 1e140

# Each merge rounds the scatter. If equal rows are added again and again, the errors may all have
# one sign, and be 3/8 EPS of the scatter at that time on average. The error bound of a spectrum
# covers _FEW_MERGES of them; those of later merges are added to ``lost``, which the bound contains
# 64 times or more.
_FEW_MERGES, _LOST_PER_MERGE = 256, 3 / 8 / 64 * EPS

# Notes in the plan about summaries whose kind has changed; _MERGE_NOTES by the kind after a merge.
_FROM_COMPONENTS = (
    "a fit kept no scatter: its rows are represented by its components, all of which it kept"
)
_TRIANGLE_SQUARED = (
    "the triangle was squared to a scatter, so that rows can be removed: variances below the "
    "resolution of a scatter are lost"
)
_MERGE_NOTES = {
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

    # Identities of the earlier fits that this stream continues, so that two MPI processes do not
    # both count the same fit.
    continued_fits: frozenset[tuple[Any, ...]] = frozenset()
    # Notes for the plan about summaries whose kind has changed.
    notes: tuple[str, ...] = ()
    # Whether any row has faded, here or in a stream that was merged with this one.
    faded = False
    # Whether weights other than 1 were given.
    weighted = False
    # Whether all rows were sparse.
    sparse = False
    # Number of summaries of more than a block that were merged, since the stream was made.
    _merges = 0

    def __init__(
        self, request: Request, p: int, summary: Moments | Triangle | Sketch | Pair | None = None
    ) -> None:
        check_components(request, p)
        _check_decay(request)
        if summary is None:
            kind = kind_for(request, p)
            # The range needs a summary of its own, next to the other one.
            self._kind = PairOf(kind, Extremes) if request.by_range else kind
            self._summary = self._kind.empty(p)
            if isinstance(kind, SketchOf):
                warn_of_sketch(request, p)
        else:
            self._kind, self._summary = kind_of(summary), summary
        self._buffer = RowBuffer()
        self._request = request
        self.decay, self.drop = request.decay, request.drop
        self.dtype: np.dtype[Any] | None = None
        self.rows_seen = self.dropped = self.bytes_read = 0

    @classmethod
    def from_fit(cls, fitted: Fitted, request: Request, name: str = "this fit") -> Stream:
        """Make a stream that continues a fit, which messages call by ``name``.

        Raises
        ------
        NotAvailableError
            If the fit kept no summary to which rows can be added, or if its number of rows or
            its mean is not known.
        """
        _check_decay(request)
        summary = fitted.mergeable_summary(name)
        if fitted.n_samples is None or not fitted.mean_known:
            raise NotAvailableError(
                f"{name} was made from a covariance without a mean or a number of rows, so "
                "rows cannot be added to it",
                hint="PCA.from_covariance(C, mean=…, n_samples=…)",
            )
        # Ranges cannot fade: with decay, those that the fit kept are left out.
        if fitted.extremes is not None and request.decay == 1.0:
            stream = cls(request, fitted.p, Pair(summary, fitted.extremes))
        elif not request.by_range:
            stream = cls(request, fitted.p, summary)
        else:
            raise NotAvailableError(
                f"the range of the columns was not kept by {name}, so it cannot go on with "
                "scale='range'",
                hint="begin with partial_fit and scale='range'",
            )
        if fitted.filled is not None:
            stream.notes = (f"{fitted.filled}; in the rows of an earlier fit",)
            if fitted.filled.cells:
                cells = counted(fitted.filled.cells, "filled cell")
                warn(
                    f"{name} has {cells}, which will count as observed from now on: tests and "
                    "intervals ignore that they were missing. To avoid this, fit all rows together"
                )
        if summary is not fitted.summary:
            stream.notes = (*stream.notes, _FROM_COMPONENTS)
        if fitted.faded_by is not None:
            stream.decay, stream.faded = fitted.faded_by, True
        stream.weighted = fitted.weighted
        stream.sparse = fitted.problem.stored is not None
        stream.dtype = fitted.dtype
        stream.rows_seen = fitted.n_samples + fitted.dropped
        stream.dropped = fitted.dropped
        stream.bytes_read = fitted.bytes_read
        stream.continued_fits = frozenset((cls.fit_identity(fitted),))
        return stream

    @staticmethod
    def fit_identity(fitted: Fitted) -> tuple[Any, ...]:
        """Numbers that identify a fit: its rows, total variance and sum of means."""
        return fitted.n_samples, fitted.spectrum.total, float(fitted.summary.mean.sum())

    def empty_copy(self) -> Stream:
        """A stream of the same kind that has seen no rows."""
        stream = Stream(self._request, self.p, self._kind.empty(self.p))
        stream.decay, stream.drop, stream.notes = self.decay, self.drop, self.notes
        return stream

    def with_request(self, request: Request) -> Stream:
        """Return a copy with other parameters; changes of the copy leave this stream as it is."""
        stream = copy(self)
        stream._request = request
        return stream

    def with_columns(self, order: NDArray[np.intp]) -> Stream:
        """Return a copy whose columns are in another order.

        Raises
        ------
        ColumnError
            For a sketch.
        """
        stream = copy(self)
        total, stream.dropped = self.summary_and_dropped()
        stream._summary, stream._buffer = reordered(total, order), RowBuffer()
        stream._kind = kind_of(stream._summary)
        return stream

    def has_rows_of(self, other: Stream) -> bool:
        """Whether both have the same rows, as far as their numbers, means and scatters tell."""
        if self.rows_seen != other.rows_seen:
            return False
        one, two = (rows_key(stream.summary_and_dropped()[0]) for stream in (self, other))
        return one is not None and one == two

    # ---- rows in and out -------------------------------------------------------------------

    def add(self, rows: Block | DistributedRows, weights: Weights) -> None:
        """Add rows; those that are buffered are copied.

        Raises
        ------
        NotFiniteError
            For infinity, for NaN unless such rows are dropped, and if squares overflow. No row
            is added then.
        NotAvailableError
            With decay, for rows that an engine holds.
        """
        if isinstance(rows, DistributedRows):
            self._add_distributed(rows)
            return
        self._check_squares(rows, weights)
        n, buffer = rows.shape[0], self._buffer
        step = self._block_rows(sparse=is_sparse(rows) or buffer.is_sparse)
        max_buffered = step if step * self.p > _LARGE_BLOCK else BLOCKS_AT_ONCE * step
        whole_rows, stop = (buffer.count + n) // step * step, 0
        if buffer.count + n >= max_buffered:
            # Fill the buffer up to a whole block, and add the other whole blocks without copying.
            first, stop = -buffer.count % step, whole_rows - buffer.count
            summary, dropped = self._summary, 0
            if buffer.count:
                part = _slice_rows(rows, weights, 0, first)
                buffer = buffer.appended(*part, buffer.count + first)
                summary, dropped = self._add_to(summary, *buffer.table())
            summary, more = self._add_to(summary, *_slice_rows(rows, weights, first, stop))
            self._summary, buffer = summary, RowBuffer()
            self.dropped += dropped + more
        self._buffer = buffer.appended(*_slice_rows(rows, weights, stop, n), max_buffered)
        self.dtype = _wider(self.dtype, rows.dtype)
        self.sparse = is_sparse(rows) and (self.sparse or not self.rows_seen)
        self.faded |= self.decay != 1.0
        self.weighted |= weights is not None and bool((weights != 1.0).any())
        self.rows_seen += n
        self.bytes_read += stored_bytes(rows)

    def _add_distributed(self, rows: DistributedRows) -> None:
        """Add rows that an engine holds, all at once; the engine sums them."""
        if self.decay != 1.0:
            raise NotAvailableError(
                f"decay gives each row a weight of its own, and rows on {rows.engine} are summed "
                "together",
                hint="leave decay out, or give the rows in arrays of NumPy",
            )
        folded = fold(self._kind, rows, drop=self.drop, precise=True)
        self._merges += 1
        self._summary = self._with_merge_error(self._summary.merge(folded.summary))
        self.dtype = _wider(self.dtype, rows.dtype)
        self.weighted |= rows.has_weights
        self.sparse = rows.stored is not None and (self.sparse or not self.rows_seen)
        self.rows_seen += folded.rows
        self.dropped += folded.dropped
        self.bytes_read += rows.nbytes or folded.rows * rows.p * rows.dtype.itemsize

    def remove(self, rows: Block | DistributedRows, weights: Weights) -> None:
        """Remove rows that were added before.

        The rows are subtracted from the summary, which does not know whether they are in it.
        Ranges are dropped, and a triangle becomes a scatter.

        Raises
        ------
        NotAvailableError
            If the summary does not allow it: with ``"full"``, ranges or decay.
        ShapeError
            If more rows, or more incomplete ones, are removed than were added, or all rows by
            other ones.
        MemoryLimitError
            If the scatter of a triangle does not fit in memory.
        """
        total, dropped = self.summary_and_dropped()
        total, notes = self._removable(total)
        kind = kind_of(total)
        folded = fold(kind, rows, weights, drop=self.drop, precise=True)
        if folded.dropped > dropped:
            raise ShapeError(
                f"{folded.dropped} of the rows to remove have missing values, and {dropped} such "
                "rows were left out before",
                hint="remove only rows that were added before",
            )
        removed, complete = folded.rows - folded.dropped, self.rows_seen - dropped
        # With weights, rows can be removed in part, more than once.
        if removed > complete and total.rows == total.count:
            raise ShapeError(
                f"cannot remove {removed:,} rows from {complete:,}",
                hint="remove only rows that were added before",
            )
        remaining, added = max(complete - removed, 0), total.rows
        if not remaining and abs(added - folded.summary.rows) <= WEIGHT_TOLERANCE * added:
            total.check_same_rows(folded.summary)
            self._summary = kind.empty(self.p)  # a difference would leave rounding errors
            self.weighted = False
        else:
            self._summary = total.remove(folded.summary)
            remaining = remaining or total.count  # rows that have lost a part of their weight
        self._kind, self.notes, self._buffer = kind, notes, RowBuffer()
        self.dropped = dropped - folded.dropped
        self.rows_seen = remaining + self.dropped

    def _removable(self, total: Any) -> tuple[Any, tuple[str, ...]]:
        """Return a summary from which rows can be removed, and the notes for the plan."""
        if self.faded or self.decay != 1.0:
            raise _cannot_remove(
                "with decay the weight of an old row is not known", "fit without decay"
            )
        if isinstance(total, Pair):
            if self._request.by_range:
                raise _cannot_remove(
                    "the smallest and largest values of the other rows are not known",
                    "use another scale than 'range', such as 'unit'",
                )
            total = total.first  # the ranges are no longer needed
        if not isinstance(total, Triangle):
            return total, self.notes
        if self._request.solver == "full":
            raise _cannot_remove(
                "a triangle (svd_solver='full') cannot give rows back",
                "fit with svd_solver='auto' or 'covariance_eigh'",
            )
        check_memory_to_add(self._request, self.p)
        return Moments.empty(self.p).merge(total), (*self.notes, _TRIANGLE_SQUARED)

    def merge(self, other: Stream) -> None:
        """Add all rows of another stream, as rows that follow these: with decay, these fade.

        Summaries of different kinds are merged to the kind with less detail, with a note in
        :attr:`notes`.

        Raises
        ------
        ShapeError
            For different columns, or sketches of different directions.
        NotAvailableError
            If ranges are needed that the other stream did not keep.
        """
        mine, dropped = self.summary_and_dropped()
        theirs, their_dropped = other.summary_and_dropped()
        if isinstance(mine, Pair) != isinstance(theirs, Pair):
            if self._request.by_range and isinstance(mine, Pair):
                raise NotAvailableError(
                    "the other fit kept no ranges of its columns, which scale='range' needs",
                    hint="fit the other one with scale='range', too",
                )
            mine, theirs = main_summary(mine), main_summary(theirs)
        kinds = {main_summary(total).kind for total in (mine, theirs)}
        if self.decay != 1.0:  # the other rows follow these
            mine = mine.faded(self.decay**other.rows_seen)
        self.faded |= other.faded or self.decay != 1.0
        self.weighted |= other.weighted
        self.sparse = other.sparse and (self.sparse or not self.rows_seen)
        self._merges += 1 + other._merges
        total = self._with_merge_error(mine.merge(theirs))
        self._summary, self._kind, self._buffer = total, kind_of(total), RowBuffer()
        notes = (*self.notes, *other.notes)
        if len(kinds) > 1:
            kept = main_summary(total).kind
            notes = (*notes, f"merged {' and '.join(sorted(kinds))}: {_MERGE_NOTES[kept]}")
        self.notes = tuple(dict.fromkeys(notes))
        self.dtype = _wider(self.dtype, other.dtype)
        self.continued_fits |= other.continued_fits
        self.rows_seen += other.rows_seen
        self.dropped = dropped + their_dropped
        self.bytes_read += other.bytes_read

    def _with_merge_error(self, total: Moments | Triangle | Sketch | Pair) -> Any:
        """Return a merged summary; after many merges, ``lost`` contains the error of this one."""
        if isinstance(total, Pair):
            return Pair(self._with_merge_error(total.first), total.second)
        if self._merges <= _FEW_MERGES or isinstance(total, Triangle):
            return total
        lost = 0.0 if total.lost is None else total.lost
        return replace(total, lost=lost + _LOST_PER_MERGE * total.column_scatter)

    # ---- the summary so far ----------------------------------------------------------------

    def summary_and_dropped(self) -> tuple[Any, int]:
        """Return the summary of all rows, including buffered ones, and how many were left out."""
        if not self._buffer.count:
            return self._summary, self.dropped
        summary, dropped = self._add_to(self._summary, *self._buffer.table())
        return summary, self.dropped + dropped

    def _block_rows(self, *, sparse: bool) -> int:
        return int(self._kind.block_rows(self.p, sparse=sparse))

    @property
    def p(self) -> int:
        """Number of columns."""
        return int(main_summary(self._summary).p)

    def _check_squares(self, rows: Block, weights: Weights) -> None:
        """Refuse rows that are not finite, or whose squares would overflow in the summary."""
        if _squares_fit(rows):
            return
        # As in a fit, rows of weight zero and rows that are dropped may have any values.
        fault = first_counted_fault(rows, weights, drop=self.drop)
        if fault is not None:
            raise fault
        if weights is not None:
            rows, weights = rows[weights > 0], weights[weights > 0]
        if self.drop:
            rows, weights, _ = drop_incomplete(rows, weights)
        if _squares_fit(rows):
            return
        with np.errstate(all="ignore"):
            part = self._kind.of(rows, weights)  # in float64: float32 has no values this large
            total = self.summary_and_dropped()[0].merge(part)
            fits = main_summary(total).column_scatter < _MAX_SCATTER
        if not fits.all():
            raise column_overflow(int(np.argmin(fits)))

    def _add_to(self, summary: Any, rows: Block, weights: Weights) -> tuple[Any, int]:
        """Add rows to a summary block by block; return it and how many rows were left out."""
        kind, decay, drop = self._kind, self.decay, self.drop
        if decay == 1.0:
            folded = fold(kind, rows, weights, drop=drop, precise=True, initial=summary)
            return folded.summary, folded.dropped
        dropped, step = 0, self._block_rows(sparse=is_sparse(rows))
        for part in slices(rows.shape[0], step):
            block = rows[part]
            ages = np.arange(block.shape[0] - 1, -1, -1, dtype=np.float64)
            fading = decay**ages
            block_weights: Weights = fading
            if weights is not None:
                block_weights = fading * weights[part]
            if drop:
                block, block_weights, n_missing = drop_incomplete(block, block_weights)
                dropped += n_missing
            with one_blas_thread():
                added = kind.of(block, block_weights, precise=True)
            summary = summary.faded(decay ** len(ages)).merge(added)
        return summary, dropped


def _check_decay(request: Request) -> None:
    if request.by_range and request.decay != 1.0:
        raise ParameterError(
            "scale='range' cannot be combined with decay: the largest value seen never fades",
            place={"parameter": "decay"},
            hint="use scale='unit' or 'pareto'",
        )


def _squares_fit(rows: Block) -> bool:
    """Whether the rows are finite and small enough to be squared, found in one pass."""
    values = stored_values(rows)
    # With a NaN, both max and min are NaN, and the comparison is false.
    return not values.size or bool(float(max(values.max(), -values.min())) < _SAFE_VALUE)


def _cannot_remove(why: str, hint: str) -> NotAvailableError:
    return NotAvailableError(f"rows cannot be removed from this model: {why}", hint=hint)


def _wider(one: np.dtype[Any] | None, other: np.dtype[Any] | None) -> np.dtype[Any] | None:
    """The dtype that holds both; None is that of no rows."""
    if one is None or other is None:
        return other if one is None else one
    return np.result_type(one, other)


def _slice_rows(rows: Block, weights: Weights, start: int, stop: int) -> tuple[Any, Weights]:
    return rows[start:stop], slice_weights(weights, start, stop)


def check_components(request: Request, p: int) -> None:
    """Refuse an ``n_components`` that is impossible for rows in batches.

    Raises
    ------
    ShapeError, NotAvailableError
    """
    if request.rule is not None:
        check_rows_for_rule(request.rule, None)
    if isinstance(request.n_components, int) and request.n_components > p:
        raise ShapeError(
            f"n_components={request.n_components} and the rows have {counted(p, 'column')}",
            place={"parameter": "n_components"},
            hint=f"ask for at most {counted(p, 'component')}",
        )
