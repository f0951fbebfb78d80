"""Rows that came so far, to be solved when somebody reads."""

from __future__ import annotations

from copy import copy
from functools import cached_property
from typing import Any

import numpy as np

from princomp.core.fit_summary import fit_summary
from princomp.core.fitted import Fitted
from princomp.core.problem import Problem
from princomp.core.request import Request, most_components
from princomp.core.stream import Stream
from princomp.core.stream_kind import check_components, first_of
from princomp.errors import NotAvailableError, ParameterError
from princomp.rules import name_of
from princomp.summaries import Names, Pair

_BATCHES = "rows that came in batches, summed as one table"


class LazyFit:
    """A fit that has not been solved yet: it is when somebody reads it.

    Parameters
    ----------
    stream : Stream
    request : Request
    names : tuple of str or None
    shared : Fitted, optional
        Of rows that go before those of the stream, and that other ranks have as well.

    Raises
    ------
    ParameterError
        When ``decay`` or ``missing`` is not what the rows so far were added with.
    ShapeError
        When more components are asked for than there are columns.
    """

    def __init__(
        self, stream: Stream, request: Request, names: Names, shared: Fitted | None = None
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
        self._stream, self._request, self._names = stream, request, names
        self.shared = shared

    @property
    def stream(self) -> Stream:
        """The rows so far, to go on with: a copy, so that this fit stays what it is."""
        return copy(self._stream)

    @cached_property
    def all_rows(self) -> Stream:
        """The rows so far and those that are shared."""
        if self.shared is None:
            return self._stream
        whole = Stream.after(self.shared, self._request)
        whole.merge(self._stream)
        return whole

    @property
    def summary(self) -> Any:
        """The summary of the rows so far, to be solved."""
        return first_of(self.all_rows.so_far()[0])

    @property
    def n_samples(self) -> int:
        """Rows so far, without those left out; nothing is solved for it."""
        return self.all_rows.seen - self.all_rows.so_far()[1]

    @cached_property
    def fitted(self) -> Fitted:
        """The rows so far, solved.

        Raises
        ------
        NotAvailableError
            While there are fewer than two rows.
        """
        stream, request = self.all_rows, self._request
        total, dropped = stream.so_far()
        summary = first_of(total)
        if not summary.rows > 1.0:
            raise NotAvailableError(
                f"a variance needs at least 2 rows, and so far there are {summary.rows:g}",
                hint="give more rows to partial_fit first",
            )
        wanted = request.n_components
        if isinstance(wanted, int):
            wanted = min(wanted, most_components(summary, len(request.dropped_columns(summary))))
        n = stream.seen - dropped
        dtype = np.dtype(np.float64) if stream.dtype is None else stream.dtype
        solver = request.solver
        problem = Problem(n, summary.p, name_of(wanted), dtype.name, None, solver, request.by_range)
        return fit_summary(
            summary,
            request._replace(n_components=wanted),
            problem=problem._replace(held=False, repeatable=False),
            n_samples=n,
            extremes=total.second if isinstance(total, Pair) else None,
            columns=self._names,
            dtype=dtype,
            dropped=dropped,
            passes=1,
            bytes_read=stream.bytes_read,
            reason=_BATCHES,
            notes=stream.notes,
        )
