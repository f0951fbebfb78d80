"""The part of an estimator whose rows come and go: partial_fit, forget, merge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from princomp.attributes import FittedAttributes
from princomp.errors import NotFiniteError, ParameterError
from princomp.fitted import Fitted
from princomp.inputs import TableInput, blocks_of, checked_weights
from princomp.online import Pending, Stream
from princomp.parameters import Request
from princomp.sources.memory import refuse_not_finite
from princomp.summaries.blocks import check_weights, part_of

__all__ = ["RowsOverTime"]


class RowsOverTime(FittedAttributes, TableInput):
    """Rows added, taken out and merged; nothing is solved before somebody reads."""

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Add rows. The result is that of one ``fit`` on all rows, however they were cut.

        Nothing is solved here; reading an attribute does that. After ``fit`` or ``load``
        the rows are added to those of that fit.

        Parameters
        ----------
        X : as for ``fit``
            Any number of rows from one on, dense or sparse.
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
            ``decay``, and routes that kept no scatter.
        ShapeError
            When more is removed than was there.
        """
        check_is_fitted(self)
        return self._online(X, sample_weight, Stream.remove)

    def merge(self, other: RowsOverTime) -> Self:
        """Add all rows of another fit, as if they had been given to this one.

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
            Of other columns, or of another kind of summary.
        NotAvailableError
            When one of the two kept no summary rows can be added to.
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
        stream = self._stream(request)
        stream.merge(other._stream(Request.of(other)))
        self._fitted = Pending(stream, request, self._names())
        return self

    def _online(self, X: Any, sample_weight: Any, change: Callable[..., None]) -> Self:
        request = Request.of(self)
        first = "_fitted" not in self.__dict__
        before = self.__dict__.copy()
        try:
            data, columns, file = self._rows(X, reset=first)
            weights = checked_weights(sample_weight, data.shape[0])
            stream = self._stream(request)
            at = 0
            try:
                for rows in blocks_of(data):
                    stop = at + rows.shape[0]
                    change(stream, rows, part_of(weights, at, stop))
                    at = stop
                check_weights(weights, at)
            except NotFiniteError as error:
                raise refuse_not_finite(rows, error, columns=columns, file=file) from None
            self._fitted = Pending(stream, request, self._names())
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
            return Stream.after(fitted, request)
        return Stream(request, self.n_features_in_)
