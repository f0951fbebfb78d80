"""The part of an estimator whose rows come and go: partial_fit, forget, merge."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from princomp.attributes import FittedAttributes
from princomp.engines.distributed import Distributed
from princomp.errors import NotAvailableError, NotFiniteError, ParameterError
from princomp.fitted import Fitted
from princomp.inputs import TableInput, blocks_of, checked_weights, with_weights
from princomp.online import Stream
from princomp.parameters import Request
from princomp.pending import Pending
from princomp.sources.memory import refuse_not_finite
from princomp.summaries.blocks import check_weights, part_of

__all__ = ["RowsOverTime"]


_AT_ONCE = (
    "cells are filled where all rows are given to fit at once; missing='drop' leaves such rows out "
    "as they come"
)


class RowsOverTime(FittedAttributes, TableInput):
    """Rows added, taken out and merged; nothing is solved before somebody reads."""

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Add rows. The result is that of one ``fit`` on all rows, however they were cut.

        Nothing is solved here; reading an attribute does that. After ``fit`` or ``load``
        the rows are added to those of that fit.

        Parameters
        ----------
        X : as for ``fit``
            Any number of rows, dense or sparse; a table of columns without rows adds nothing.
        y : ignored
        sample_weight : array of shape (n,), optional

        Returns
        -------
        self

        Raises
        ------
        NotAvailableError
            After a fit that kept no summary rows can be added to.
        NotFiniteError, ShapeError, ParameterError
            Nothing was added then.
        """
        return self._online(X, sample_weight, Stream.add)

    def forget(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Take rows out that were added before: a sliding window, data withdrawn.

        The rounding errors of removed rows stay. If these rows were much larger than the rest,
        digits are lost, and the certificate says which variances and axes are noise.

        Parameters
        ----------
        X, y, sample_weight
            As they were given to ``fit`` or ``partial_fit``.

        Returns
        -------
        self

        Raises
        ------
        NotAvailableError
            Where the fit cannot give rows back: ``svd_solver="full"``, ``scale="range"``,
            ``decay``, fits that kept some components and no scatter, and fits of the rows of
            several ranks.
        MemoryLimitError
            Where a triangle has to become a scatter, which does not fit.
        ShapeError
            When more is removed than was there.
        """
        check_is_fitted(self)
        if self._common(Request.of(self)) is not None:
            raise NotAvailableError(
                "the rows of all ranks are one sum here, and whose they were is not kept",
                hint="forget them on their rank before finalize(comm=…), and finalize a copy of "
                "the model to go on: copy.copy(model).finalize(comm=…)",
            )
        return self._online(X, sample_weight, Stream.remove)

    def merge(self, other: RowsOverTime) -> Self:
        """Add all rows of another fit, as if they had been given to this one.

        Fits that kept different kinds of summary merge as well: a triangle and a scatter give a
        scatter, and either with a sketch gives a sketch. The plan says so.

        Parameters
        ----------
        other : PCA
            Of the same columns; it is not changed.

        Returns
        -------
        self

        Raises
        ------
        ShapeError, ColumnError
            Of other columns, or sketches of different numbers of components.
        NotAvailableError
            When one of the two kept only some of its components, and no scatter.
        """
        if not isinstance(other, RowsOverTime):
            raise ParameterError(
                f"merge takes a fitted PCA, got {type(other).__name__}",
                place={"parameter": "other"},
                hint="model.merge(other), or model.partial_fit(rows)",
            )
        check_is_fitted(self)
        check_is_fitted(other)
        self._check_same_columns(other)
        request = Request.of(self)
        stream = self._whole(request)
        stream.merge(other._whole(Request.of(other)))
        self._fitted = Pending(stream, request, self._names())
        return self

    def _online(self, X: Any, sample_weight: Any, change: Callable[..., None]) -> Self:
        request = Request.of(self)
        first = "_fitted" not in self.__dict__
        before = self.__dict__.copy()
        try:
            if self._has_no_rows(X, reset=first):
                checked_weights(sample_weight, 0)
                if first:
                    self._fitted = Pending(self._stream(request), request, self._names())
                return self
            X, sample_weight = with_weights(X, sample_weight, by_chunks=True)
            data, columns, file = self._rows(X, reset=first)
            weights = checked_weights(sample_weight, data.shape[0])
            stream = self._stream(request)
            at, rows = 0, data
            try:
                if isinstance(data, Distributed) and (data.together or data.has_weights):
                    change(stream, data, None)
                else:
                    for rows in blocks_of(data):
                        stop = at + rows.shape[0]
                        change(stream, rows, part_of(weights, at, stop))
                        at = stop
                    check_weights(weights, at)
            except NotFiniteError as error:
                hint = {} if request.fill is None else {"hint": _AT_ONCE}
                raise refuse_not_finite(rows, error, columns=columns, file=file, **hint) from None
            self._fitted = Pending(stream, request, self._names(), self._common(request))
        except BaseException:
            self.__dict__ = before
            raise
        return self

    def _stream(self, request: Request) -> Stream:
        """What rows are added to: a copy, so that the fit until now stays what it is."""
        fitted = self.__dict__.get("_fitted")
        if isinstance(fitted, Pending):
            return fitted.stream
        if isinstance(fitted, Fitted):
            stream = Stream.after(fitted, request)
            return stream if self._common(request) is None else stream.cleared()
        return Stream(request, self.n_features_in_)

    def _common(self, request: Request) -> Fitted | None:
        """The fit that all ranks go on from, if there is one: its rows are not this rank's."""
        fitted = self.__dict__.get("_fitted")
        if isinstance(fitted, Pending):
            return fitted.shared
        shared = self.__dict__.get("_shared")
        # With decay its rows fade with each one that comes, here and nowhere else.
        return shared if shared is fitted and request.decay == 1.0 else None

    def _whole(self, request: Request) -> Stream:
        """All rows as one stream, whoever else has them."""
        fitted = self.__dict__.get("_fitted")
        if isinstance(fitted, Pending):
            return copy(fitted.whole)
        return (
            Stream.after(fitted, request) if isinstance(fitted, Fitted) else self._stream(request)
        )
