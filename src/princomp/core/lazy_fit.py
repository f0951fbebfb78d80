"""A fit of the rows added so far, solved when its result is first read."""

from __future__ import annotations

from typing import Any

import numpy as np

from princomp.core.fit import fit_summary
from princomp.core.fitted import Fitted
from princomp.core.mergeable_summary import main_summary
from princomp.core.problem import Problem
from princomp.core.request import Request
from princomp.core.stream import Stream, check_components
from princomp.core.weights import row_total, warn_of_small_weights
from princomp.errors import (
    DataError,
    NotAvailableError,
    NotFiniteError,
    ParameterError,
    ShapeError,
)
from princomp.linalg import cached_property
from princomp.summaries import Names, Pair, gives_variance

_REASON = "rows that came in batches, summed as one table"
# Relative difference of a sum of weights from its limit, 1 / (1 − decay), that counts as none.
_AT_LIMIT = 1e-3


class LazyFit:
    """A fit that is solved when its result is first read.

    Parameters
    ----------
    stream : Stream
        The rows so far. It is never changed: rows are added to copies.
    request : Request
    names : tuple of str or None
    shared_fit : Fitted, optional
        Fit of the rows before those of the stream, which other ranks have as well.

    Raises
    ------
    ParameterError
        If ``decay`` or ``missing`` has changed since rows were added.
    ShapeError
        If more components are requested than there are columns.
    """

    def __init__(
        self, stream: Stream, request: Request, names: Names, shared_fit: Fitted | None = None
    ) -> None:
        check_components(request, stream.p)
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
        self.stream, self._request, self._names = stream, request, names
        self.shared_fit = shared_fit

    @cached_property
    def all_rows(self) -> Stream:
        """The rows so far, including those that other ranks share."""
        if self.shared_fit is None:
            return self.stream
        stream = Stream.from_fit(self.shared_fit, self._request)
        stream.merge(self.stream)
        return stream

    @property
    def summary(self) -> Any:
        """The summary of the rows so far."""
        return main_summary(self.all_rows.summary_and_dropped()[0])

    @property
    def n_samples(self) -> int:
        """Number of rows so far, without those left out. Reading it does not solve the fit."""
        return self.all_rows.rows_seen - self.all_rows.summary_and_dropped()[1]

    @cached_property
    def fitted(self) -> Fitted:
        """The result for the rows so far.

        Raises
        ------
        NotAvailableError
            As long as there are fewer than two rows, too few for the request, or a constant column
            that cannot be divided. It is an AttributeError, so ``hasattr`` is false until then.
        """
        stream, request = self.all_rows, self._request
        total, dropped = stream.summary_and_dropped()
        summary = main_summary(total)
        if not gives_variance(summary.rows):
            needed = "at least 2 rows" if summary.count < 2 else "a sum of weights above 1"
            raise NotAvailableError(
                f"a variance needs {needed}, got {summary.rows:g} so far",
                hint=self._advice(summary),
            )
        if not stream.faded and summary.lost is None:  # else the number of rows is not known
            warn_of_small_weights(summary.rows, summary.count)
        n = stream.rows_seen - dropped
        dtype = np.dtype(np.float64) if stream.dtype is None else stream.dtype
        stored = 0 if stream.sparse else None
        problem = Problem(n, summary.p, None, dtype.name, stored, request.solver, request.by_range)
        try:
            return fit_summary(
                summary,
                request.clipped(summary),
                problem=problem._replace(in_memory=False, repeatable=False),
                n_samples=n,
                extremes=total.second if isinstance(total, Pair) else None,
                columns=self._names,
                dtype=dtype,
                dropped=dropped,
                passes=1,
                bytes_read=stream.bytes_read,
                reason=_REASON,
                notes=stream.notes,
                faded_by=stream.decay if stream.faded else None,
                weighted=stream.weighted,
            )
        except NotFiniteError:  # more rows do not help
            raise
        except DataError as error:
            weight = row_total(summary.rows, n)
            sum_to = f" (their weights sum to {weight})" if weight else ""
            raise NotAvailableError(
                f"the {n:,} rows so far{sum_to} cannot be solved: {error.message}",
                place=error.place,
                hint=f"{self._advice(summary, error)}, or {error.hint}",
            ) from error

    def _advice(self, summary: Any, error: DataError | None = None) -> str:
        """What to do if the rows so far cannot be solved, because of ``error``."""
        decay = self.stream.decay
        too_few = error is None or isinstance(error, ShapeError)
        if too_few and abs(summary.rows * (1.0 - decay) - 1.0) < _AT_LIMIT:
            return (
                f"use a larger decay in a new model (with decay={decay:g}, more rows do not "
                "increase the sum of the weights)"
            )
        return "give more rows to partial_fit first"
