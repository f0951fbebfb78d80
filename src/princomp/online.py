"""Rows that keep coming, and what they came to so far.

Batches are cut into the same logical blocks as a table, by the number of each row since
the first. So the cut into batches does not matter, not to a bit; rows that do not fill a
block yet wait for it. Decay gives a row seen r rows ago the weight dʳ.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from princomp.arrays import one_blas_thread
from princomp.engines.distributed import Distributed
from princomp.engines.local import complete, fold
from princomp.errors import (
    MemoryLimitError,
    NotAvailableError,
    NotFiniteError,
    ParameterError,
    ShapeError,
)
from princomp.fitted import Fitted
from princomp.fitting.blocks import whole_number_needed
from princomp.fitting.components import check_rows_for_rule
from princomp.memory import in_words, memory_limit
from princomp.parameters import Request
from princomp.planning import SCATTER_COLUMNS, memory_to_add
from princomp.solvers.nystrom import width_for
from princomp.summaries import Extremes, Moments, Pair, PairOf, Sketch, SketchOf, Triangle
from princomp.summaries.blocks import Weights, first_not_finite, is_sparse, part_of, stored_bytes
from princomp.threads import default_threads
from princomp.waiting import Waiting

__all__ = ["Stream", "check_components", "first_of"]

# Rows wait until so many blocks can be summed at once, unless these are large.
_TOGETHER, _LARGE_BLOCK = default_threads(), 2**21

# A block is shifted before its mean is known: its sums may be so much larger than its scatter.
_LARGEST_SCATTER = float(np.finfo(np.float64).max) / 2**20

# The squares of so many rows of this size as one likes still fit.
_SQUARES = 1e140

# From so many columns on it is worth asking how much memory is free.
_FEW_COLUMNS = 1000

# What plans say of summaries that were changed on the way: the note of a merge by the kind that
# is left.
_OF_COMPONENTS = (
    "the rows of a fit that kept no scatter are known by its components, all of which it kept"
)
_SQUARED_TO_FORGET = (
    "the triangle was squared to a scatter, from which rows can be taken: variances below the "
    "resolution of a scatter are lost"
)
_LESS = {
    "Moments": "a scatter is kept, and variances below its resolution are lost",
    "Sketch": "a sketch is kept, whose error is estimated",
}


class Stream:
    """The rows seen so far; the model adds to it.

    Parameters
    ----------
    request : Request
        Decides the kind of summary: Moments, a Triangle for ``"full"``, a Sketch where
        p × p is too much.
    p : int
        Columns.
    summary : optional
        To go on from; rows are summed in its kind.
    """

    # Marks of the fits that it goes on from: ranks must not count one twice.
    began: frozenset[tuple[Any, ...]] = frozenset()
    # What the plan says of kinds of summary that were changed on the way.
    notes: tuple[str, ...] = ()

    def __init__(self, request: Request, p: int, summary: Any = None) -> None:
        check_components(request, p)
        if request.by_range and request.decay != 1.0:
            raise ParameterError(
                "scale='range' does not go with decay: the largest value seen never fades",
                place={"parameter": "decay"},
                hint="use scale='unit' or 'pareto'",
            )
        if summary is None:
            kind = _kind(request, p)
            # The range needs its own summary; it goes along with the other.
            self._kind = PairOf(kind, Extremes) if request.by_range else kind
            self._blocks = self._kind.empty(p)
        else:
            self._kind, self._blocks = _kind_of(summary), summary
        self._waiting = Waiting()
        self._request = request
        self.decay, self.drop = request.decay, request.drop
        self.dtype: np.dtype[Any] | None = None
        self.seen = self.dropped = self.bytes_read = 0

    @classmethod
    def after(cls, fitted: Fitted, request: Request) -> Stream:
        """A stream that goes on where a fit ended.

        Raises
        ------
        NotAvailableError
            When the fit kept no summary that rows can be added to, or does not say how many
            rows it stands for and where their mean is.
        """
        summary = fitted.kept_rows()
        if fitted.n_samples is None or not fitted.mean_known:
            raise NotAvailableError(
                "this model was made from a covariance without a mean or a number of rows, so "
                "rows cannot be added to it",
                hint="PCA.from_covariance(C, mean=…, n_samples=…)",
            )
        # Ranges never fade; they are kept without being asked for, so decay just leaves them.
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
        """Numbers that another fit does not have: rows, total variance and a mean."""
        return fitted.n_samples, fitted.spectrum.total, float(fitted.summary.mean.sum())

    def cleared(self) -> Stream:
        """A stream of the same kind that has seen no rows."""
        stream = copy(self)
        stream._blocks, stream._waiting = self._kind.empty(self.p), Waiting()
        stream.dtype, stream.began = None, frozenset()
        stream.seen = stream.dropped = stream.bytes_read = 0
        return stream

    # ---- rows in and out -------------------------------------------------------------------

    def add(self, rows: Any, weights: Weights) -> None:
        """Add rows; those that wait are copied.

        Raises
        ------
        NotFiniteError
            At infinity, at NaN where rows may not be dropped, and where squares overflow;
            nothing was added then.
        """
        if isinstance(rows, Distributed):
            self._add_share(rows)
            return
        self._check(rows, weights)
        n, step, held = rows.shape[0], self._step, self._waiting.count
        whole = (held + n) // step * step
        waiting, stop = self._waiting, 0
        if held + n >= self._enough and whole:
            # What waits is filled up to whole blocks; the rest of the rows need no copy.
            blocks, dropped, at, stop = self._blocks, 0, -held % step, whole - held
            if held:
                waiting = waiting.plus(*_part(rows, weights, 0, at), held + at)
                blocks, dropped = self._folded(blocks, *waiting.table())
            blocks, more = self._folded(blocks, *_part(rows, weights, at, stop))
            self._blocks, waiting = blocks, Waiting()
            self.dropped += dropped + more
        self._waiting = waiting.plus(*_part(rows, weights, stop, n), self._enough)
        self.dtype = rows.dtype if self.dtype is None else np.result_type(self.dtype, rows.dtype)
        self.seen += n
        self.bytes_read += stored_bytes(rows)

    def _add_share(self, rows: Distributed) -> None:
        """Add rows that are summed where they lie, at once and as a whole."""
        if self.decay != 1.0:
            raise NotAvailableError(
                f"decay gives each row a weight of its own, and rows on {rows.engine} are summed "
                "together",
                hint="leave decay out, or give the rows in arrays of NumPy",
            )
        folded = fold(self._kind, rows, drop=self.drop, precise=True)
        self._blocks = self._blocks.merge(folded.summary)
        self.dtype = rows.dtype if self.dtype is None else np.result_type(self.dtype, rows.dtype)
        self.seen += folded.seen
        self.dropped += folded.dropped
        self.bytes_read += rows.nbytes or folded.seen * rows.p * rows.dtype.itemsize

    def remove(self, rows: Any, weights: Weights) -> None:
        """Take rows out that were added before.

        Raises
        ------
        NotAvailableError
            Where the summary cannot: a triangle, ranges, decayed weights.
        ShapeError
            When more is removed than was there.
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
                    "the smallest and largest values do not say what they were without a row",
                    "use another scale than 'range', such as 'unit'",
                )
            total = total.first  # ranges that nobody asks for any more
        if isinstance(total, Triangle):
            if self._request.solver == "full":
                raise _not_forgotten(
                    "a triangle (svd_solver='full') cannot give rows back",
                    "fit with svd_solver='auto' or 'covariance_eigh'",
                )
            _check_room(self._request, self.p)
            total, notes = Moments.empty(self.p).merge(total), (*notes, _SQUARED_TO_FORGET)
        kind = _kind_of(total)
        folded = fold(kind, rows, weights, drop=self.drop, precise=True)
        if folded.dropped > dropped:
            raise ShapeError(
                f"{folded.dropped} of the rows to remove have missing values, and {dropped} such "
                "rows were left out before",
                hint="remove only rows that were added before",
            )
        self._blocks = total.remove(folded.summary)
        self._kind, self.notes, self._waiting = kind, notes, Waiting()
        self.seen -= folded.seen
        self.dropped = dropped - folded.dropped

    def merge(self, other: Stream) -> None:
        """Add all rows of another stream.

        Summaries of two kinds become the kind that has less detail, and :attr:`notes` say so.

        Raises
        ------
        ShapeError
            Of other columns, or sketches in other directions.
        NotAvailableError
            When ranges are needed that the other did not keep.
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
        self._blocks, self._kind, self._waiting = total, _kind_of(total), Waiting()
        notes = (*self.notes, *other.notes)
        if len(kinds) > 1:
            kept = first_of(total).kind
            notes = (*notes, f"merged fits kept {' and '.join(sorted(kinds))}: {_LESS[kept]}")
        self.notes = tuple(dict.fromkeys(notes))
        if self.dtype is None or other.dtype is None:
            self.dtype = self.dtype or other.dtype
        else:
            self.dtype = np.result_type(self.dtype, other.dtype)
        self.began |= other.began
        self.seen += other.seen
        self.dropped = dropped + more
        self.bytes_read += other.bytes_read

    # ---- what they came to -----------------------------------------------------------------

    def so_far(self) -> tuple[Any, int]:
        """Summary of all rows, those that wait included, and how many were left out."""
        if not self._waiting.count:
            return self._blocks, self.dropped
        blocks, dropped = self._folded(self._blocks, *self._waiting.table())
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

    def _check(self, rows: Any, weights: Weights) -> None:
        """Refuse what could not be summed later, when other rows have come to it."""
        if _squares_fit(rows):
            return
        # As in a fit: rows of no weight, and those that are dropped, may hold anything.
        if weights is not None:
            rows, weights = rows[weights > 0], weights[weights > 0]
        if self.drop:
            rows, weights, _ = complete(rows, weights)
        if not np.isfinite(rows.data if is_sparse(rows) else rows).all():
            raise first_not_finite(rows)
        if _squares_fit(rows):
            return
        with np.errstate(all="ignore"):
            part = self._kind.of(rows, weights, precise=True)
            scatter = first_of(self.so_far()[0].merge(part)).column_scatter
        if not (scatter < _LARGEST_SCATTER).all():
            column = int(np.argmin(scatter < _LARGEST_SCATTER))
            raise NotFiniteError(
                f"the squares of column {column} overflow float64",
                place={"column": column},
                hint="divide the column by a power of ten",
            )

    def _folded(self, before: Any, rows: Any, weights: Weights) -> tuple[Any, int]:
        """A summary with more rows, block after block."""
        if not rows.shape[0]:
            return before, 0
        if self.decay == 1.0:
            folded = fold(self._kind, rows, weights, drop=self.drop, precise=True, before=before)
            return folded.summary, folded.dropped
        dropped, step = 0, self._step
        for start in range(0, rows.shape[0], step):
            block = rows[start : start + step]
            ages = np.arange(block.shape[0] - 1, -1, -1, dtype=np.float64)
            each = self.decay**ages
            if weights is not None:
                each *= weights[start : start + step]
            if self.drop:
                block, kept, missing = complete(block, each)
                each = each if kept is None else kept
                dropped += missing
            with one_blas_thread():
                part = self._kind.of(block, each, precise=True)
            before = before.faded(self.decay ** len(ages)).merge(part)
        return before, dropped


def _not_forgotten(why: str, hint: str) -> NotAvailableError:
    return NotAvailableError(f"rows cannot be forgotten here: {why}", hint=hint)


def _part(rows: Any, weights: Weights, start: int, stop: int) -> tuple[Any, Weights]:
    return rows[start:stop], part_of(weights, start, stop)


def _squares_fit(rows: Any) -> bool:
    """Whether the rows are finite and small enough to be squared, at the price of one look."""
    values = rows.data if is_sparse(rows) else rows
    if not values.size:
        return True
    # NaN passes through both and fails the comparison.
    return bool(float(max(values.max(), -values.min())) < _SQUARES)


def check_components(request: Request, p: int) -> None:
    """Refuse a number or a rule of components that rows in batches cannot have.

    Raises
    ------
    ShapeError, NotAvailableError
    """
    if not isinstance(request.n_components, int | float | None):
        check_rows_for_rule(request, None)
    if isinstance(request.n_components, int) and request.n_components > p:
        raise ShapeError(
            f"n_components={request.n_components} and the rows have {p} columns",
            place={"parameter": "n_components"},
            hint=f"ask for at most {p} components",
        )


def first_of(summary: Any) -> Any:
    """The summary that is solved."""
    return summary.first if isinstance(summary, Pair) else summary


def _check_room(request: Request, p: int) -> None:
    """Refuse a scatter that the memory limit has no room for.

    Raises
    ------
    MemoryLimitError
    """
    needed = memory_to_add(p)
    if p > _FEW_COLUMNS and needed > memory_limit(request.memory):
        raise MemoryLimitError(
            f"a scatter of {p:,} columns takes about {in_words(needed)} to add to, and the fit "
            f"may take {in_words(memory_limit(request.memory))}",
            place={"parameter": "memory_limit"},
            hint="allow more, or use svd_solver='sketch' with a whole number of components",
        )


def _kind_of(summary: Any) -> Any:
    """What makes summaries of the same kind."""
    if isinstance(summary, Pair):
        return PairOf(_kind_of(summary.first), Extremes)
    if isinstance(summary, Sketch):
        return SketchOf(summary.width, summary.seed)
    return type(summary)


def _kind(request: Request, p: int) -> Any:
    solver = request.solver
    if solver == "full":
        return Triangle
    if solver == "covariance_eigh" or (solver == "auto" and p <= SCATTER_COLUMNS):
        try:
            _check_room(request, p)
        except MemoryLimitError:
            if solver == "auto" and isinstance(request.n_components, int):
                return SketchOf(width_for(request.n_components, p))
            raise
        return Moments
    if solver not in ("auto", "sketch"):
        raise ParameterError(
            f"svd_solver={solver!r} needs all rows at once",
            place={"parameter": "svd_solver"},
            hint="partial_fit works with 'auto', 'covariance_eigh', 'full' and 'sketch'",
        )
    if not isinstance(request.n_components, int):
        raise whole_number_needed(request.n_components)
    return SketchOf(width_for(request.n_components, p))
