"""Rows that come in parts: methods of PCA that add and remove rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from sklearn.utils.validation import check_is_fitted

from princomp import core, engines  # modules of engines are loaded when a name is used
from princomp.core import Fitted, LazyFit, Request, Stream, TableSchema, blocks_of
from princomp.engines import DistributedRows
from princomp.errors import NotAvailableError, NotFiniteError, ParameterError, PrincompError, warn
from princomp.estimators.base import check_other_model
from princomp.estimators.ranks import settings_of
from princomp.io import not_finite_error
from princomp.summaries import SampleWeight, check_weights, slice_weights

if TYPE_CHECKING:
    from princomp.estimators.estimator import PCA

P = TypeVar("P", bound="PCA")

_FILL_HINT = (
    "cells are filled where all rows are given to fit at once; missing='drop' leaves such rows out "
    "as they come"
)
_NO_OPTION_HINT = "leave such rows out, as PCA(missing='drop') does, or fill the cells before"


def partial_fit(self: P, X: Any, y: object = None, sample_weight: SampleWeight = None) -> P:
    """Add rows. The result is that of one ``fit`` to all rows, for batches of any size.

    With more than 10,000 columns, or too little memory for a scatter, ``svd_solver="auto"`` adds
    the rows to a sketch, which is approximate, and warns. ``"full"`` is exact.

    The model is solved later, when an attribute is read. After ``fit`` or ``load``,
    the rows are added to those of that fit. A pickle of the model contains the rows that wait for
    a full block; the file that ``save`` writes contains none.

    Parameters
    ----------
    X : as for ``fit``
        Any number of rows, dense or sparse; a table with columns but no rows adds nothing. The
        first table sets the columns, also if it has no rows.
    y : ignored
    sample_weight : array of shape (n,), optional

    Returns
    -------
    self

    Raises
    ------
    NotAvailableError
        After a fit that kept no summary to which rows can be added.
    NotFiniteError, ShapeError, ParameterError
        No rows are added then.
    """
    _update_rows(self, X, sample_weight, Stream.add)
    return self


def forget(self: P, X: Any, y: object = None, sample_weight: SampleWeight = None) -> P:
    """Remove rows that were added before, for a sliding window or withdrawn data.

    The rounding errors of removed rows remain. If these rows were much larger than the others,
    digits are lost, and the certificate says which variances and axes are noise.

    Parameters
    ----------
    X, y, sample_weight
        As they were given to ``fit`` or ``partial_fit``. Smaller weights remove a part of the
        weight of the rows; ``n_samples_`` never becomes 0 as long as weight remains.

    Returns
    -------
    self

    Raises
    ------
    NotAvailableError
        If rows cannot be removed: with ``svd_solver="full"``, ``scale="range"`` or ``decay``,
        after a fit that kept only some components and no scatter, and after a fit to the rows
        of several ranks.
    MemoryLimitError
        If a triangle must be converted to a scatter, which does not fit in the memory limit.
    ShapeError
        If more rows are removed than were added.
    """
    check_is_fitted(self)
    if _shared_fit(self, Request.of(self)) is not None:
        raise NotAvailableError(
            "rows cannot be forgotten after finalize(comm=…), which combined the sums of all ranks",
            hint="call forget before finalize, on the rank that added the rows; finalize a copy to "
            "keep a model that can forget: copy.copy(model).finalize(comm=…)",
        )
    _update_rows(self, X, sample_weight, Stream.remove)
    return self


def merge(self: P, other: PCA) -> P:
    """Add all rows of another fit, as if they had been given to this one.

    With ``decay``, the rows of the other fit count as later ones: they keep the weights that they
    have there, and the rows so far lose weight.

    Fits that kept different kinds of summary can be merged as well: a triangle and a scatter give
    a scatter, and either of them with a sketch gives a sketch. The plan notes this.

    Parameters
    ----------
    other : PCA
        A fit to the same columns; it is not changed. Columns are matched by name. If only one of
        the two fits had names of columns, they are matched by position, with a warning, and the
        model keeps these names.

    Returns
    -------
    self

    Raises
    ------
    ShapeError, ColumnError
        For different columns, sketches for different numbers of components, or a sketch of the
        columns in another order.
    NotAvailableError
        If one of the two kept only some of its components, and no scatter.
    """
    from princomp.estimators.estimator import PCA

    check_other_model(other, PCA)
    check_is_fitted(self)
    check_is_fitted(other)
    order, other_schema = self._schema.order_in(other._schema), other._schema
    if order is not None:
        other_schema = replace(other_schema, names=self._schema.names)
    schema = self._schema.merged(other_schema)
    request = Request.of(self)
    stream, added = _all_rows(self, request), _all_rows(other, Request.of(other), "the other fit")
    if order is not None:
        added = added.with_columns(order)
    same_rows = stream.has_rows_of(added)
    stream.merge(added)
    if same_rows:
        warn(
            "both fits have the same number of rows, means and variances: if they are of the same "
            "rows, these count twice now"
        )
    self._schema, self._fitted = schema, LazyFit(stream, request, schema.names)
    return self


def finalize(self: P, *, comm: object = None) -> P:
    """Solve the fit of the rows added by ``partial_fit``: of this process, or of all ranks.

    Without ``comm``, the model is solved now instead of when an attribute is read. With
    ``comm``, every rank gets the model of the rows of all ranks, the same to the bit. It
    can be called repeatedly: each row counts once. Rows that are added to a rank
    afterwards belong only to that rank until the next call.

    Parameters
    ----------
    comm : communicator, optional
        As for ``fit``. All ranks must make this call, also those without rows.

    Returns
    -------
    self

    Raises
    ------
    NotAvailableError
        If there are fewer than two rows, after a fit that kept no summary that can be merged,
        and if several ranks have loaded the same earlier fit.
    ParameterError
        With ``decay``: rows of different ranks have no order in time.
    """
    if comm is None:
        self._result  # noqa: B018  (solves)
        return self
    shared = _shared_fit(self, Request())
    settings = settings_of(self, "finalize")
    settings["earlier_fit"] = None if shared is None else repr(Stream.fit_identity(shared))

    def lead(total: Stream, agreement: engines.Agreement) -> tuple[TableSchema, Fitted]:
        request = Request.of(self)
        shared = _shared_fit(self, request)
        schema = TableSchema(agreement.p, agreement.columns, None, type(self).__name__)
        lazy_fit = LazyFit(total, request, agreement.columns, shared)
        return schema, lazy_fit.fitted

    schema, fitted = engines.spmd_merge(
        comm, settings, lambda: _own_sums(self), _merge_streams, lead
    )
    self._schema, self._fitted, self._shared, self._checkpoint = schema, fitted, fitted, None
    return self


def _update_rows(
    model: PCA, X: object, sample_weight: SampleWeight, update: Callable[..., None]
) -> None:
    """Add rows to the stream of a model, or remove them."""
    request = Request.of(model)
    first = "_fitted" not in model.__dict__
    if first:
        empty = TableSchema.of_empty(X, type(model).__name__)
        if empty is not None:
            core.checked_weights(sample_weight, 0)
            fitted = LazyFit(Stream(request, empty.p), request, empty.names)
            model._schema, model._fitted = empty, fitted
            return
    elif model._has_no_rows(X, sample_weight):
        return
    X, sample_weight = core.attach_weights(X, sample_weight, by_chunks=True)
    (data, columns, origin), schema = model._open_table(X, first=first)
    weights = core.checked_weights(sample_weight, data.shape[0])
    before = model.__dict__.get("_fitted")
    stream = Stream(request, schema.p) if first else _own_rows(model, request)
    start = 0
    try:
        if isinstance(data, DistributedRows) and (data.has_weights or not data.has_chunks):
            update(stream, data, None)
        else:
            for rows in blocks_of(data):
                stop = start + rows.shape[0]
                try:
                    update(stream, rows, slice_weights(weights, start, stop))
                except NotFiniteError as error:
                    if "row" in error.place:
                        error.place["row"] += start  # counted in its block
                    raise
                start = stop
            check_weights(weights, start)
    except NotFiniteError as error:
        has_option = "missing" in model._get_param_names()
        hint = _FILL_HINT if has_option else _NO_OPTION_HINT
        raise not_finite_error(data, error, columns=columns, origin=origin, hint=hint) from None
    if model.__dict__.get("_fitted") is not before:
        raise PrincompError(
            "the model changed while rows were added to it or removed",
            hint="change a model in one thread at a time, or merge a model of each thread",
        )
    fitted = LazyFit(stream, request, schema.names, _shared_fit(model, request))
    model._schema, model._fitted = schema, fitted


def _own_rows(model: PCA, request: Request) -> Stream:
    """The rows of this rank as a stream to continue; the current fit is not changed."""
    fitted = model._fitted
    if isinstance(fitted, LazyFit):
        return fitted.stream.with_request(request)
    stream = Stream.from_fit(fitted, request)
    return stream if _shared_fit(model, request) is None else stream.empty_copy()


def _all_rows(model: PCA, request: Request, name: str = "this fit") -> Stream:
    """All rows of a fit as a stream, including those of other ranks."""
    fitted = model._fitted
    if isinstance(fitted, LazyFit):
        return fitted.all_rows.with_request(request)
    return Stream.from_fit(fitted, request, name)


def _shared_fit(model: PCA, request: Request) -> Fitted | None:
    """The fit of all ranks that this model continues, if there is one."""
    fitted = model.__dict__.get("_fitted")
    if isinstance(fitted, LazyFit):
        return fitted.shared_fit
    # With decay, its rows would fade with each new row of this rank, but not on other ranks.
    return model._shared if model._shared is fitted and request.decay == 1.0 else None


def _own_sums(model: PCA) -> engines.RankInput:
    """The summary of the rows that only this rank has."""
    request = Request.of(model)
    if request.decay != 1.0:
        raise ParameterError(
            f"decay={request.decay:g} cannot be combined with comm: rows of different ranks "
            "have no order in time",
            place={"parameter": "decay"},
            hint="leave decay out, or weigh rows with sample_weight",
        )
    if "_fitted" not in model.__dict__:
        return engines.RankInput(None)
    own = _own_rows(model, request)
    summed = own.empty_copy()
    summed.merge(own)
    names = model._schema.names
    return engines.RankInput(
        summed, own.p, columns=None if names is None else tuple(map(str, names))
    )


def _merge_streams(one: Stream, other: Stream) -> Stream:
    """Merge the rows of two ranks.

    Raises
    ------
    NotAvailableError
        If both continue the same earlier fit, which would count twice.
    """
    if continued := one.continued_fits & other.continued_fits:
        rows = next(iter(continued))[0]
        raise NotAvailableError(
            f"two ranks go on from the same earlier fit of {rows:,} rows, which would count twice",
            hint="load an earlier fit on one rank only; the others begin with partial_fit",
        )
    one.merge(other)
    return one
