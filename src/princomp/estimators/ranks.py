"""Fits to rows on several ranks: each rank gets the model of all rows."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import TYPE_CHECKING, Any

from princomp import __version__
from princomp.core import attach_weights, checked_weights, open_rows
from princomp.engines import DistributedRows, ProgressCallback
from princomp.errors import NotAvailableError
from princomp.estimators.base import TableEstimator, refuse_reading_twice
from princomp.io import PathLike, Rows
from princomp.summaries import SampleWeight

if TYPE_CHECKING:
    # An engine is imported where it is used.
    from princomp.core import TableSchema
    from princomp.engines import RankInput, RankRows


def fit_on_ranks(
    estimator: TableEstimator[Any],
    X: Any,
    sample_weight: SampleWeight,
    comm: object,
    check: Callable[[], int | None],
    progress: ProgressCallback | None = None,
    checkpoint: PathLike | None = None,
    *,
    rereads: bool = False,
) -> Rows:
    """Fit an estimator to the rows of all ranks, and return those of this one.

    Parameters
    ----------
    estimator : PCA or KernelPCA
    X, sample_weight, comm, progress, checkpoint
        As for ``fit``.
    check : callable
        Checks the arguments on each rank; returns the memory limit in bytes, or None.
    rereads : bool
        Whether the rows are read again afterwards, for their scores.
    """
    from princomp.engines import spmd_fit

    def read() -> RankInput:
        memory = check()
        if rereads:
            refuse_reading_twice(X)
        refuse_checkpoint(checkpoint)
        return rows_of_rank(X, sample_weight)._replace(memory=memory)

    def lead(rows: RankRows) -> tuple[TableSchema, Any]:
        # A copy, because the rank with the least memory determines the limit.
        leader: Any = copy(estimator)
        leader.memory_limit = rows.memory
        leader.fit(rows, progress=progress)
        return leader._schema, leader._fitted

    own, result = spmd_fit(comm, settings_of(estimator, "fit"), read, lead)
    estimator._schema, estimator._fitted = result
    return own.data, own.columns, own.origin


def settings_of(estimator: Any, call: str) -> dict[str, Any]:
    """Settings that must be the same on all ranks."""
    parameters = estimator.get_params(deep=False)
    parameters.pop("memory_limit", None)
    names = {"call": call, "estimator": type(estimator).__name__, "version": __version__}
    return {**names, **parameters}


def refuse_checkpoint(checkpoint: PathLike | None) -> None:
    """Refuse a checkpoint, which only a fit on one machine can write.

    Raises
    ------
    NotAvailableError
    """
    if checkpoint is not None:
        raise NotAvailableError(
            "a fit over ranks writes no checkpoint: it cannot know whether the rows of other "
            "ranks are the same when it goes on",
            place={"parameter": "checkpoint"},
            hint="leave it out; or partial_fit on each rank, save, and finalize(comm=…)",
        )


def rows_of_rank(X: Any, sample_weight: SampleWeight) -> RankInput:
    """Open the rows of this rank, which may have none."""
    from princomp.engines import RankInput, empty_input

    empty = empty_input(X)
    if empty is not None:
        checked_weights(sample_weight, 0)
        return empty
    X, sample_weight = attach_weights(X, sample_weight)
    data, columns, origin = open_rows(X)
    if isinstance(data, DistributedRows):
        return RankInput(data, data.p, None, data.columns, origin)
    names = None if columns is None else tuple(map(str, columns))
    weights = checked_weights(sample_weight, data.shape[0])
    return RankInput(data, data.shape[1], weights, names, origin)
