"""SPMD: every rank runs the same program on its own rows, and all get the same model.

Rank 0 leads: it fits as if all rows were its own, and asks every rank for its share in each
pass. The others follow: they sum what they are asked for until they are told how it ended.
An error on any rank is a value that travels like a sum, so it is raised on all of them, and
nobody waits for a rank that has gone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from princomp.engines.agreement import Here, Outcome, Record, Terms, agreed, threads_of
from princomp.engines.communicators import Communicator, communicator
from princomp.engines.distributed import Distributed
from princomp.engines.local import share_of
from princomp.engines.shares import Share, joined
from princomp.errors import NotFiniteError, PrincompError
from princomp.sources.holding import refuse_changed
from princomp.sources.memory import refuse_not_finite
from princomp.sources.source import Identity, Source
from princomp.summaries.blocks import check_weights

__all__ = ["Ranks", "fit_together", "merge_together", "no_rows"]


class _Order(NamedTuple):
    """A pass that rank 0 asks for."""

    kind: Any
    drop: bool
    precise: bool


@dataclass(kw_only=True, eq=False)
class Ranks(Distributed):
    """The rows of all ranks, as rank 0 sees them and the others answer for them.

    Parameters
    ----------
    line : Communicator
    here : Here
        The rows of this rank.
    threads : int
        That sum them.
    memory : int
        Bytes that a fit may take on the rank that has least.
    """

    line: Communicator
    here: Here
    threads: int
    memory: int
    # The rank whose rows ended the last pass.
    failed: int | None = None
    before: tuple[Identity, ...] = ()

    @classmethod
    def of(cls, line: Communicator, here: Here, terms: Terms) -> Ranks:
        """The rows that the ranks have agreed on."""
        ranks = cls(
            engine=line.name,
            rows=terms.rows,
            p=terms.p,
            dtype=np.dtype(terms.dtype),
            columns=terms.columns,
            stored=terms.stored,
            nbytes=terms.nbytes,
            line=line,
            here=here,
            threads=threads_of(terms, line.rank),
            memory=terms.memory,
            repeatable=terms.repeatable,
        )
        if isinstance(here.data, Source):
            ranks.before = here.data.identities()
        return ranks

    def share(self, kind: Any, *, drop: bool, precise: bool) -> Share:
        """One pass over the rows of all ranks; rank 0 asks for it."""
        order = _Order(kind, drop, precise)
        self.line.broadcast(order)
        outcome = self._summed(order)
        self.line.heard()
        if outcome.error is not None:
            self.failed = outcome.rank
        share: Share = outcome.result(self.line)
        if share.fault is not None:
            self.failed = share.fault.place["rank"]
        return share

    def followed(self) -> Outcome:
        """Sum what rank 0 asks for, until it says how the fit ended."""
        while True:
            told = self.line.broadcast()
            if isinstance(told, Outcome):
                return told
            self._summed(told)

    def _summed(self, order: _Order) -> Outcome:
        mine = Outcome.of(partial(self._share, order), self.line)
        return self.line.reduced(mine, self._joined)

    def _joined(self, one: Outcome, other: Outcome) -> Outcome:
        """The first that ended a pass, in the order of the rows, or the share of both."""
        if one.error is not None or one.value.fault is not None:
            return one
        if other.error is not None:
            return other
        return Outcome.of(partial(joined, one.value, other.value), self.line)

    def _share(self, order: _Order) -> Share:
        """What the rows of this rank come to."""
        data, weights = self.here.data, self.here.weights
        if data is None:
            return Share(order.kind.empty(self.p), 0, 0)
        # Where some ranks have float64, float32 rows count for what they are.
        precise = order.precise or data.dtype != self.dtype
        if isinstance(data, Distributed):
            share = data.share(order.kind, drop=order.drop, precise=precise)
        else:
            share = share_of(
                order.kind, data, weights, drop=order.drop, precise=precise, threads=self.threads
            )
        if self.before:
            refuse_changed(self.before, data.identities())
        if share.fault is not None:
            return share._replace(fault=self._placed(share.fault))
        check_weights(weights, share.rows)
        return share

    def _placed(self, fault: PrincompError) -> PrincompError:
        """A fault whose row is counted over all ranks, where no file says where it stands."""
        file = self.here.file
        if not isinstance(fault, NotFiniteError) or fault.value is None:
            raise self._here(fault)
        if file is not None:
            columns = self.here.columns
            raise self._here(refuse_not_finite(self.here.data, fault, columns=columns, file=file))
        fault.place["rank"] = self.line.rank
        return fault

    def _here(self, error: PrincompError) -> PrincompError:
        error.place = {**error.place, "rank": self.line.rank}
        return error


def fit_together(
    comm: Any,
    settings: dict[str, Any],
    read: Callable[[], Here],
    lead: Callable[[Ranks], Any],
) -> tuple[Here, Any]:
    """What ``lead`` makes of the rows of all ranks, on every rank; and the rows of this one.

    Parameters
    ----------
    comm : communicator
    settings : dict
        What must be the same on all ranks.
    read : callable
        Opens the rows of this rank.
    lead : callable
        Called on rank 0, with rows that a fit takes like any other.

    Raises
    ------
    BaseException
        What any rank raised, on all of them.
    """
    with communicator(comm) as line:
        here, terms = _met(line, settings, read)
        rows = Ranks.of(line, here, terms)
        outcome = rows.followed() if line.rank else line.broadcast(_led(rows, lead))
        return here, outcome.result(line)


def _led(rows: Ranks, lead: Callable[[Ranks], Any]) -> Outcome:
    outcome = Outcome.of(partial(lead, rows), rows.line)
    if outcome.error is None or rows.failed is None:
        return outcome
    if isinstance(outcome.error, PrincompError):
        outcome.error.place.setdefault("rank", rows.failed)
    return outcome._replace(rank=rows.failed)


def merge_together(
    comm: Any,
    settings: dict[str, Any],
    read: Callable[[], Here],
    join: Callable[[Any, Any], Any],
    lead: Callable[[Any, Terms], Any],
) -> Any:
    """What ``lead`` makes of the values of all ranks, joined in their order; on every rank.

    Parameters
    ----------
    comm, settings, read
        As for :func:`fit_together`; ``read`` gives the value as ``data``.
    join : callable
        Of two values, neither of them None.
    lead : callable
        Called on rank 0 with the joined value and what holds for all ranks.
    """
    with communicator(comm) as line:
        here, terms = _met(line, settings, read)

        def both(one: Outcome, other: Outcome) -> Outcome:
            if one.error is not None or other.error is not None:
                return one if one.error is not None else other
            if one.value is None or other.value is None:
                return other if one.value is None else one
            return Outcome.of(partial(join, one.value, other.value), line)

        outcome = line.reduced(Outcome(here.data), both)
        if not line.rank and outcome.error is None:
            outcome = Outcome.of(partial(lead, outcome.value, terms), line)
        return line.broadcast(outcome).result(line)


def _met(
    line: Communicator, settings: dict[str, Any], read: Callable[[], Here]
) -> tuple[Here, Terms]:
    """What this rank brings, and what holds for all."""
    brought: list[Here] = []

    def work() -> Record:
        brought.append(read())
        return Record.of(brought[0], settings)

    terms = agreed(line, work)
    return brought[0], terms


def no_rows(X: Any) -> Here | None:
    """What a rank brings that has no rows: None, or an array of shape (0, p)."""
    if X is None:
        return Here(None)
    shape = getattr(X, "shape", None)
    if not isinstance(shape, tuple) or len(shape) != 2 or shape[0] != 0:
        return None
    # A frame without rows does not say which of its columns are numbers.
    return Here(None, shape[1] or None if isinstance(X, np.ndarray) or sp.issparse(X) else None)
