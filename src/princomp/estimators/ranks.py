"""Fits over MPI ranks: each rank has its own rows, and gets the model of all rows."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

from princomp import __version__, engines  # its modules are loaded when a name is used
from princomp.core import TableSchema, attach_weights, checked_weights
from princomp.engines import DistributedRows, ProgressCallback
from princomp.errors import NotAvailableError
from princomp.estimators.base import TableEstimator, refuse_reading_twice
from princomp.io import PathLike, Rows, files_of
from princomp.summaries import SampleWeight


def fit_on_ranks(
    estimator: TableEstimator[Any],
    X: object,
    sample_weight: SampleWeight,
    comm: object,
    check: Callable[[], int | None],
    progress: ProgressCallback | None,
    checkpoint: PathLike | None = None,
    *,
    rereads: bool,
) -> Rows:
    """Fit an estimator to the rows of all ranks, and return those of this one.

    Parameters
    ----------
    estimator : PCA or KernelPCA
    X, sample_weight, comm, progress, checkpoint
        As for ``fit``. A checkpoint is refused, because only a fit on one machine can write it.
    check : callable
        Checks the arguments on each rank; returns the memory limit in bytes, or None.
    rereads : bool
        Whether the rows are read again afterwards, for their scores.
    """

    def read() -> engines.RankInput:
        memory = check()
        if rereads:
            refuse_reading_twice(X)
        if checkpoint is not None:
            raise NotAvailableError(
                "a fit over ranks writes no checkpoint: it cannot know whether the rows of other "
                "ranks are the same when it goes on",
                place={"parameter": "checkpoint"},
                hint="leave it out; or partial_fit on each rank, save, and finalize(comm=…)",
            )
        return rows_of_rank(X, sample_weight, estimator)._replace(memory=memory)

    def lead(rows: engines.RankRows) -> tuple[TableSchema, Any]:
        # A copy, because the rank with the least memory determines the limit.
        leader: Any = copy(estimator)
        leader.memory_limit = rows.memory
        leader.fit(rows, progress=progress)
        return leader._schema, leader._fitted

    own, result = engines.spmd_fit(comm, settings_of(estimator, "fit"), read, lead)
    estimator._schema, estimator._fitted = result
    return own.data, own.columns, own.origin


def settings_of(estimator: Any, call: str) -> dict[str, Any]:
    """Settings that must be the same on all ranks."""
    parameters = estimator.get_params(deep=False)
    parameters.pop("memory_limit", None)
    names = {"call": call, "estimator": type(estimator).__name__, "version": __version__}
    return {**names, **parameters}


def rows_of_rank(X: object, sample_weight: SampleWeight, estimator: Any) -> engines.RankInput:
    """Open the rows of this rank, which may have none."""
    empty = engines.empty_input(X)
    if empty is not None:
        checked_weights(sample_weight, 0)
        return empty
    X, sample_weight = attach_weights(X, sample_weight)
    # As in a fit without ``comm``, columns without numbers are left out.
    (data, columns, origin), _ = TableSchema.read(X, scale=estimator.scale)
    if isinstance(data, DistributedRows):
        return engines.RankInput(data, data.p, None, data.columns, origin)
    names = None if columns is None else tuple(map(str, columns))
    weights = checked_weights(sample_weight, data.shape[0])
    files = files_of(X)
    return engines.RankInput(data, data.shape[1], weights, names, origin, files=files)
