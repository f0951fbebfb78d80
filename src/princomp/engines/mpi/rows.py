"""SPMD: every rank runs the same program on its own rows, and all get the same model.

Rank 0 leads: it fits as if all rows were its own, and asks every rank for its partial result
in each pass. The others follow: they sum what rank 0 asks for until it sends the outcome.
An error on any rank is sent as a value, like a sum, so it is raised on all of them, and no rank
waits for one that has stopped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from princomp.engines.distributed import DistributedRows, PartialResult, SummaryKind
from princomp.engines.local import reduce_partition
from princomp.engines.mpi.agreement import Agreement, Outcome, RankInput, agree
from princomp.engines.mpi.communicators import Communicator, communicator
from princomp.errors import NotFiniteError, PrincompError
from princomp.io import Source, not_finite_error
from princomp.linalg import OPENMP_THREADS
from princomp.summaries import check_weights

T = TypeVar("T")


@dataclass(kw_only=True, eq=False)
class RankRows(DistributedRows):
    """The rows of all ranks: rank 0 asks for passes over them, and the others take part.

    Parameters
    ----------
    group : Communicator
    own : RankInput
        The rows of this rank.
    threads : int
        Threads that sum them.
    memory : int
        Bytes that a fit may take on the rank with the least memory.
    """

    group: Communicator
    own: RankInput
    threads: int
    memory: int
    # The rank where the last pass failed.
    failed_rank: int | None = None

    def reduce(self, kind: SummaryKind, *, drop: bool, precise: bool) -> PartialResult:
        """Summarise the rows of all ranks in one pass; called on rank 0."""
        self.group.broadcast((kind, drop, precise))
        outcome = self._run(kind, drop, precise)
        self.group.raise_interrupt()
        if outcome.error is not None:
            self.failed_rank = outcome.rank
        result = outcome.result(self.group)
        if result.fault is not None:
            self.failed_rank = result.fault.place["rank"]
        return result

    def follow(self) -> Outcome[Any]:
        """Take part in the passes that rank 0 asks for, and return the outcome of the fit."""
        while True:
            message = self.group.broadcast()
            if isinstance(message, Outcome):
                return message
            self._run(*message)

    def _run(self, kind: SummaryKind, drop: bool, precise: bool) -> Outcome[PartialResult]:
        own = Outcome.of(partial(self._reduce_own, kind, drop, precise), self.group)
        return self.group.reduce(own, self._merge)

    def _merge(
        self, one: Outcome[PartialResult], other: Outcome[PartialResult]
    ) -> Outcome[PartialResult]:
        """Return the first fault in the order of the rows, or the merged results."""
        if one.error is not None or one.value.fault is not None:
            return one
        if other.error is not None:
            return other
        return Outcome.of(partial(one.value.merge, other.value), self.group)

    def _reduce_own(self, kind: SummaryKind, drop: bool, precise: bool) -> PartialResult:
        """Summarise the rows of this rank."""
        data, weights = self.own.data, self.own.weights
        if data is None:
            return PartialResult(kind.empty(self.p), 0, 0)
        # float32 rows are multiplied exactly where other ranks have float64.
        options = {"drop": drop, "precise": precise or data.dtype != self.dtype}
        if isinstance(data, DistributedRows):
            result = data.reduce(kind, **options)
        else:
            result = reduce_partition(kind, data, weights, **options, threads=self.threads)
        if isinstance(data, Source):
            data.file_states()  # raises an error if a file has changed since it was opened
        if result.fault is not None:
            return result._replace(fault=self._locate(result.fault))
        check_weights(weights, result.rows)
        return result

    def _locate(self, fault: PrincompError) -> PrincompError:
        """Add the rank to a fault; raise it unless its row must be counted over all ranks."""
        own = self.own
        if isinstance(fault, NotFiniteError) and fault.value is not None:
            if own.origin is None or own.origin.file is None:
                fault.place["rank"] = self.group.rank
                return fault
            fault = not_finite_error(own.data, fault, columns=own.columns, origin=own.origin)
        fault.place = {**fault.place, "rank": self.group.rank}
        raise fault


def spmd_fit(
    comm: object,
    settings: dict[str, Any],
    read: Callable[[], RankInput],
    lead: Callable[[RankRows], T],
) -> tuple[RankInput, T]:
    """Call ``lead`` with the rows of all ranks, and return its result on every rank.

    Parameters
    ----------
    comm : communicator
    settings, read
        As for :func:`~princomp.engines.mpi.agreement.agree`.
    lead : callable
        Called on rank 0 with the rows of all ranks, which a fit accepts like any rows.

    Returns
    -------
    own : RankInput
        The rows of this rank.
    result
        The result of ``lead``.

    Raises
    ------
    BaseException
        The error of any rank, on all ranks.
    """
    with communicator(comm) as group:
        own, agreement = agree(group, settings, read)
        table = agreement._asdict()
        # OMP_NUM_THREADS may lower them.
        table["threads"] = min(agreement.threads[group.rank], OPENMP_THREADS)
        rows = RankRows(engine=group.name, group=group, own=own, **table)
        outcome = rows.follow() if group.rank else group.broadcast(_run_lead(rows, lead))
        return own, outcome.result(group)


def _run_lead(rows: RankRows, lead: Callable[[RankRows], T]) -> Outcome[T]:
    outcome = Outcome.of(partial(lead, rows), rows.group)
    if outcome.error is None or rows.failed_rank is None:
        return outcome
    if isinstance(outcome.error, PrincompError):
        outcome.error.place.setdefault("rank", rows.failed_rank)
    return outcome._replace(rank=rows.failed_rank)


def spmd_merge(
    comm: object,
    settings: dict[str, Any],
    read: Callable[[], RankInput],
    join: Callable[[Any, Any], Any],
    lead: Callable[[Any, Agreement], T],
) -> T:
    """Join the values of all ranks in their order; return the result of ``lead`` on every rank.

    Parameters
    ----------
    comm, settings, read
        As for :func:`spmd_fit`; ``data`` of the result of ``read`` is the value of this rank.
    join : callable
        Joins two values, neither of them None.
    lead : callable
        Called on rank 0 with the joined value and the agreement of all ranks.
    """
    with communicator(comm) as group:
        own, agreement = agree(group, settings, read)

        def join_outcomes(one: Outcome[Any], other: Outcome[Any]) -> Outcome[Any]:
            if one.error is not None or other.error is not None:
                return one if one.error is not None else other
            if one.value is None or other.value is None:
                return other if one.value is None else one
            return Outcome.of(partial(join, one.value, other.value), group)

        outcome = group.reduce(Outcome(own.data), join_outcomes)
        if not group.rank:
            outcome = outcome.then(lambda joined: lead(joined, agreement), group)
        return group.broadcast(outcome).result(group)


def empty_input(X: object) -> RankInput | None:
    """Return the input of a rank without rows, for None or an array of shape (0, p)."""
    if X is None:
        return RankInput(None)
    shape = getattr(X, "shape", None)
    if not isinstance(shape, tuple) or len(shape) != 2 or shape[0] != 0:
        return None
    # A frame without rows does not say which of its columns are numeric.
    is_array = isinstance(X, np.ndarray) or sp.issparse(X)
    return RankInput(None, shape[1] or None if is_array else None)
