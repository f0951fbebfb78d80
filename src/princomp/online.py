"""Rows that keep coming: what they came to so far, solved when somebody asks.

Batches are cut into the same logical blocks as a table, by the number of each row since
the first. So the cut into batches does not matter, not to a bit; rows that do not fill a
block yet wait for it. Decay gives a row seen r rows ago the weight dʳ.
"""

from __future__ import annotations

from copy import copy
from functools import cached_property
from typing import Any

import numpy as np

from princomp.arrays import one_blas_thread
from princomp.choosing import most_components
from princomp.engines.local import complete, fold
from princomp.errors import (
    MemoryLimitError,
    NotAvailableError,
    NotFiniteError,
    ParameterError,
    ShapeError,
)
from princomp.fitted import Fitted
from princomp.fitting import fit_summary
from princomp.fitting.blocks import whole_number_needed
from princomp.memory import in_words, memory_limit
from princomp.parameters import Request
from princomp.planning import SCATTER_COLUMNS, Facts
from princomp.scaling import Names
from princomp.solvers.nystrom import width_for
from princomp.summaries import Columns, Extremes, Moments, Pair, PairOf, Sketch, SketchOf, Triangle
from princomp.summaries.blocks import Weights, first_not_finite, is_sparse, part_of, stored_bytes
from princomp.threads import default_threads
from princomp.waiting import Waiting

__all__ = ["Pending", "Stream"]

# Rows wait until so many blocks can be summed at once, unless these are large.
_TOGETHER, _LARGE_BLOCK = default_threads(), 2**21

# A block is shifted before its mean is known: its sums may be so much larger than its scatter.
_LARGEST_SCATTER = float(np.finfo(np.float64).max) / 2**20

# The squares of so many rows of this size as one likes still fit.
_SQUARES = 1e140

# Scatters that adding a block and solving hold at once, and the columns from which it is
# worth asking how much memory is free.
_SCATTERS, _FEW_COLUMNS = 8, 1000

_BATCHES = "rows that came in batches, summed as one table"


class Stream:
    """The rows seen so far; the model adds to it.

    Parameters
    ----------
    request : Request
        Decides the kind of summary: Moments, a Triangle for ``"full"``, a Sketch where
        p × p is too much.
    p : int
        Columns.
    """

    def __init__(self, request: Request, p: int) -> None:
        _check_components(request, p)
        if request.by_range and request.decay != 1.0:
            raise ParameterError(
                "scale='range' does not go with decay: the largest value seen never fades",
                place={"parameter": "decay"},
                hint="use scale='unit' or 'pareto'",
            )
        kind = _kind(request, p)
        # The range needs its own summary; it goes along with the other.
        self._kind = PairOf(kind, Extremes) if request.by_range else kind
        self._blocks = self._kind.empty(p)
        self._waiting = Waiting()
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
        if isinstance(fitted.summary, Columns):
            raise NotAvailableError(
                "this fit kept no scatter of its columns, so rows cannot be added to it",
                hint="fit with svd_solver='covariance_eigh' or 'full', or begin with partial_fit",
            )
        if fitted.n_samples is None or not fitted.mean_known:
            raise NotAvailableError(
                "this model was made from a covariance without a mean or a number of rows, so "
                "rows cannot be added to it",
                hint="PCA.from_covariance(C, mean=…, n_samples=…)",
            )
        stream = cls(request, fitted.p)
        if isinstance(fitted.summary, Sketch):
            stream._kind = SketchOf(fitted.summary.width, fitted.summary.seed)
        else:
            stream._kind = type(fitted.summary)
        stream._blocks = fitted.summary
        # Ranges never fade; they are kept without being asked for, so decay just leaves them.
        if fitted.extremes is not None and request.decay == 1.0:
            stream._kind = PairOf(stream._kind, Extremes)
            stream._blocks = Pair(fitted.summary, fitted.extremes)
        elif request.by_range:
            raise NotAvailableError(
                "the range of the columns was not kept by this fit, so it cannot go on with "
                "scale='range'",
                hint="begin with partial_fit and scale='range'",
            )
        stream.dtype = fitted.dtype
        stream.seen = fitted.n_samples + fitted.dropped
        stream.dropped = fitted.dropped
        stream.bytes_read = fitted.bytes_read
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
        if isinstance(total, Pair | Triangle) or self.decay != 1.0:
            why = (
                "with decay the weight of an old row is not known"
                if self.decay != 1.0
                else "the smallest and largest values do not say what they were without a row"
                if isinstance(total, Pair)
                else "a triangle (svd_solver='full') cannot give rows back"
            )
            raise NotAvailableError(
                f"rows cannot be forgotten here: {why}",
                hint="use svd_solver='auto' or 'covariance_eigh', another scale and no decay",
            )
        folded = fold(self._kind, rows, weights, drop=self.drop, precise=True)
        if folded.dropped > dropped:
            raise ShapeError(
                f"{folded.dropped} of the rows to remove have missing values, and {dropped} such "
                "rows were left out before",
                hint="remove only rows that were added before",
            )
        self._blocks = total.remove(folded.summary)
        self._waiting = Waiting()
        self.seen -= rows.shape[0]
        self.dropped = dropped - folded.dropped

    def merge(self, other: Stream) -> None:
        """Add all rows of another stream.

        Raises
        ------
        ShapeError
            Of other columns, or of another kind of summary.
        """
        (mine, dropped), (theirs, more) = self.so_far(), other.so_far()
        kinds = [type(first_of(total)).__name__ for total in (mine, theirs)]
        if kinds[0] != kinds[1]:
            raise ShapeError(
                f"a fit that keeps {kinds[0]} cannot be merged with one that keeps {kinds[1]}",
                hint="fit both with the same svd_solver",
            )
        if isinstance(mine, Pair) and not isinstance(theirs, Pair):
            raise NotAvailableError(
                "the other fit kept no ranges of its columns, which scale='range' needs",
                hint="fit both with scale='range'",
            )
        if not isinstance(mine, Pair):
            theirs = first_of(theirs)
        self._blocks = mine.merge(theirs)
        self._waiting = Waiting()
        if self.dtype is None or other.dtype is None:
            self.dtype = self.dtype or other.dtype
        else:
            self.dtype = np.result_type(self.dtype, other.dtype)
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


def _part(rows: Any, weights: Weights, start: int, stop: int) -> tuple[Any, Weights]:
    return rows[start:stop], part_of(weights, start, stop)


def _squares_fit(rows: Any) -> bool:
    """Whether the rows are finite and small enough to be squared, at the price of one look."""
    values = rows.data if is_sparse(rows) else rows
    if not values.size:
        return True
    # NaN passes through both and fails the comparison.
    return bool(float(max(values.max(), -values.min())) < _SQUARES)


def _check_components(request: Request, p: int) -> None:
    if isinstance(request.n_components, int) and request.n_components > p:
        raise ShapeError(
            f"n_components={request.n_components} and the rows have {p} columns",
            place={"parameter": "n_components"},
            hint=f"ask for at most {p} components",
        )


def first_of(summary: Any) -> Any:
    """The summary that is solved."""
    return summary.first if isinstance(summary, Pair) else summary


def _kind(request: Request, p: int) -> Any:
    solver = request.solver
    if solver == "full":
        return Triangle
    if solver == "covariance_eigh" or (solver == "auto" and p <= SCATTER_COLUMNS):
        needed = _SCATTERS * 8 * p * p
        if p > _FEW_COLUMNS and needed > memory_limit(request.memory):
            if solver == "auto" and isinstance(request.n_components, int):
                return SketchOf(width_for(request.n_components, p))
            raise MemoryLimitError(
                f"a scatter of {p:,} columns takes about {in_words(needed)} to add to, and the fit "
                f"may take {in_words(memory_limit(request.memory))}",
                place={"parameter": "memory_limit"},
                hint="allow more, or use svd_solver='sketch' with a whole number of components",
            )
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


class Pending:
    """A fit that has not been solved yet: it is when somebody reads it.

    Raises
    ------
    ParameterError
        When ``decay`` or ``missing`` is not what the rows so far were added with.
    ShapeError
        When more components are asked for than there are columns.
    """

    def __init__(self, stream: Stream, request: Request, names: Names) -> None:
        _check_components(request, stream.p)
        for name, was, now in (
            ("decay", stream.decay, request.decay),
            ("missing", stream.drop, request.drop),
        ):
            if was != now:
                raise ParameterError(
                    f"{name} was changed between batches, and the rows so far were added without "
                    "that change",
                    place={"parameter": name},
                    hint=f"set {name} back, or begin with a new model",
                )
        self._stream, self._request, self._names = stream, request, names

    @property
    def stream(self) -> Stream:
        """The rows so far, to go on with: a copy, so that this fit stays what it is."""
        return copy(self._stream)

    @property
    def summary(self) -> Any:
        """What the rows came to so far, to be solved."""
        return first_of(self._stream.so_far()[0])

    @property
    def n_samples(self) -> int:
        """Rows so far, without those left out; nothing is solved for it."""
        return self._stream.seen - self._stream.so_far()[1]

    @cached_property
    def fitted(self) -> Fitted:
        """The rows so far, solved.

        Raises
        ------
        NotAvailableError
            While there are fewer than two rows.
        """
        stream, request = self._stream, self._request
        total, dropped = stream.so_far()
        summary = first_of(total)
        if not summary.rows > 1.0:
            raise NotAvailableError(
                f"a variance needs at least 2 rows, and so far there are {summary.rows:g}",
                hint="give more rows to partial_fit first",
            )
        wanted = request.n_components
        if isinstance(wanted, int):
            wanted = min(wanted, most_components(summary))
        n = stream.seen - dropped
        dtype = np.dtype(np.float64) if stream.dtype is None else stream.dtype
        solver = request.solver
        facts = Facts(n, summary.p, wanted, dtype.name, None, solver, request.by_range)
        return fit_summary(
            summary,
            request._replace(n_components=wanted),
            facts=facts._replace(held=False, repeatable=False),
            n_samples=n,
            extremes=total.second if isinstance(total, Pair) else None,
            columns=self._names,
            dtype=dtype,
            dropped=dropped,
            passes=1,
            bytes_read=stream.bytes_read,
            reason=_BATCHES,
        )
