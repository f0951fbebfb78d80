"""The parts of estimators whose rows lie on several ranks: one model of all, on each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from princomp._version import __version__
from princomp.attributes import FittedAttributes
from princomp.engines.distributed import Distributed
from princomp.errors import NotAvailableError, ParameterError
from princomp.fitted import Fitted
from princomp.inputs import TableInput, checked_weights, opened
from princomp.online import Stream
from princomp.parameters import Request
from princomp.pending import Pending
from princomp.progress import Tell
from princomp.sources.any import Rows
from princomp.sources.source import Source

if TYPE_CHECKING:
    # An engine is imported where it is used.
    from princomp.engines.agreement import Here, Terms
    from princomp.engines.ranks import Ranks

__all__ = ["FitsOverRanks", "OverRanks"]

# What a fit leaves in a model.
_FOUND = ("_fitted", "n_features_in_", "feature_names_in_")


class FitsOverRanks(TableInput):
    """One fit of the rows of all ranks of a communicator."""

    # Of the estimator.
    memory_limit: Any
    get_params: Callable[..., dict[str, Any]]
    _fit: Callable[..., Rows]
    _scores: Callable[[Any], Any]
    _scores_of: Callable[..., Any]

    @property
    def _state(self) -> Any:
        """The record of the fit."""
        raise NotImplementedError

    def _check_parameters(self) -> int | None:
        """Check them before anything is asked of other ranks; the memory that one allows."""
        raise NotImplementedError

    def _fit_on_ranks(
        self,
        X: Any,
        sample_weight: Any,
        comm: Any,
        progress: Tell | None = None,
        checkpoint: Any = None,
        *,
        again: bool = False,
    ) -> Here:
        """One fit of the rows of all ranks, and the rows of this one."""
        from princomp.engines.ranks import fit_together

        def read() -> Here:
            memory = self._check_parameters()
            _refuse(X, checkpoint, again)
            return _opened_here(X, sample_weight)._replace(memory=memory)

        def lead(rows: Ranks) -> dict[str, Any]:
            # A copy, because the rank with least memory decides how much there is.
            leader = copy(self)
            leader.memory_limit = rows.memory
            leader._fit(rows, None, progress, None)
            return {name: leader.__dict__[name] for name in _FOUND if name in leader.__dict__}

        here, found = fit_together(comm, self._settings("fit"), read, lead)
        self._found(found)
        return here

    def _scores_here(self, X: Any, here: Here) -> Any:
        """Scores of the rows that this rank brought to a fit."""
        if here.data is None:
            return np.empty((0, self._state.k), self._state.dtype)
        again = isinstance(here.data, Source) and not isinstance(here.data, Distributed)
        return self._scores(X) if again else self._scores_of(here.data, here.columns, here.file)

    def _settings(self, call: str) -> dict[str, Any]:
        """What must be the same on all ranks."""
        parameters = self.get_params(deep=False)
        parameters.pop("memory_limit", None)
        told = {"call": call, "estimator": type(self).__name__, "version": __version__}
        return {**told, **parameters}

    def _found(self, found: dict[str, Any]) -> Self:
        for name in (*_FOUND, "_checkpoint"):
            self.__dict__.pop(name, None)
        self.__dict__.update(found)
        return self


class OverRanks(FittedAttributes, FitsOverRanks):
    """The same, and rows that were added on ranks, merged."""

    # Of the estimator.
    _stream: Callable[[Request], Stream]
    _common: Callable[[Request], Fitted | None]

    # A fit that all ranks have: its rows are counted once, not once a rank.
    _shared: Fitted | None = None

    def finalize(self, *, comm: Any = None) -> Self:
        """Solve what ``partial_fit`` has added: here, or on all ranks together.

        Without ``comm`` this only does now what reading an attribute would do. With it,
        every rank gets the model of the rows of all ranks, the same to the bit. It may be
        called again and again: each row counts once. Rows added on a rank afterwards are
        on that rank only until the next call.

        Parameters
        ----------
        comm : communicator, optional
            As for ``fit``. All its ranks call this, also those that have no rows.

        Returns
        -------
        self

        Raises
        ------
        NotAvailableError
            While there are fewer than two rows, after fits that kept no summary that can be
            merged, and where ranks have loaded the same earlier fit.
        ParameterError
            With ``decay``: rows of different ranks have no order in time.
        """
        if comm is None:
            self._state  # noqa: B018  (solves)
            return self
        from princomp.engines.ranks import merge_together

        shared = self._common(Request())
        settings = self._settings("finalize")
        settings["earlier_fit"] = None if shared is None else repr(Stream.mark_of(shared))
        found = merge_together(comm, settings, self._brought, _both, self._finished)
        return self._found(found)

    def _brought(self) -> Here:
        """The rows that only this rank has, summed."""
        from princomp.engines.agreement import Here

        request = Request.of(self)
        if request.decay != 1.0:
            raise ParameterError(
                f"decay={request.decay:g} does not go with comm: rows of different ranks have no "
                "order in time",
                place={"parameter": "decay"},
                hint="leave decay out, or weigh rows with sample_weight",
            )
        if "_fitted" not in self.__dict__:
            return Here(None)
        own = self._stream(request)
        summed = own.cleared()
        summed.merge(own)
        return Here(summed, own.p, columns=self._text_names())

    def _finished(self, total: Stream, terms: Terms) -> dict[str, Any]:
        request, known = Request.of(self), "_fitted" in self.__dict__
        shared = self._common(request) if known else None
        fitted = Pending(total, request, terms.columns, shared).fitted
        found: dict[str, Any] = {"_fitted": fitted, "n_features_in_": terms.p}
        if terms.columns is not None:
            found["feature_names_in_"] = np.asarray(terms.columns, dtype=object)
        return found

    def _check_parameters(self) -> int | None:
        return Request.of(self).memory

    def _found(self, found: dict[str, Any]) -> Self:
        super()._found(found)
        self._shared = found["_fitted"]
        return self

    def _text_names(self) -> tuple[str, ...] | None:
        names = self._names()
        return None if names is None else tuple(map(str, names))


def _refuse(X: Any, checkpoint: Any, again: bool) -> None:
    """Refuse what goes with a fit on one machine only."""
    if checkpoint is not None:
        raise NotAvailableError(
            "a fit over ranks writes no checkpoint: it cannot know whether the rows of other "
            "ranks are the same when it goes on",
            place={"parameter": "checkpoint"},
            hint="leave it out; or partial_fit on each rank, save, and finalize(comm=…)",
        )
    if again and isinstance(X, Iterator):
        raise ParameterError(
            "fit_transform reads the rows twice, and an iterator gives them once",
            place={"parameter": "X"},
            hint="give a function that makes a new iterator: fit_transform(lambda: batches())",
        )


def _opened_here(X: Any, sample_weight: Any) -> Here:
    """The rows of this rank, which may have none."""
    from princomp.engines.agreement import Here
    from princomp.engines.ranks import no_rows

    empty = no_rows(X)
    if empty is not None:
        checked_weights(sample_weight, 0)
        return empty
    data, columns, file = opened(X)
    if isinstance(data, Distributed):
        data = data if sample_weight is None else data.weighted(sample_weight)
        return Here(data, data.p, None, data.columns, file)
    names = None if columns is None else tuple(map(str, columns))
    return Here(data, data.shape[1], checked_weights(sample_weight, data.shape[0]), names, file)


def _both(one: Stream, other: Stream) -> Stream:
    """The rows of two ranks.

    Raises
    ------
    NotAvailableError
        When both go on from one and the same fit, which would count twice.
    """
    if one.began & other.began:
        rows = next(iter(one.began & other.began))[0]
        raise NotAvailableError(
            f"two ranks go on from the same earlier fit of {rows:,} rows, which would count twice",
            hint="load an earlier fit on one rank only; the others begin with partial_fit",
        )
    one.merge(other)
    return one
