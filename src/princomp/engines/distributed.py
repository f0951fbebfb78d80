"""Rows that another engine holds: what Dask, Spark and ranks have in common.

An engine does the adding and nothing else. It maps :func:`princomp.engines.local.share_of`
over its partitions, joins the shares with :func:`princomp.engines.shares.joined` in the
order of the rows, level by level, and hands over one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from princomp.checkpoint import State
from princomp.engines.shares import Folded, Share
from princomp.errors import ParameterError
from princomp.passes import Passes
from princomp.sources.source import Source

__all__ = ["Distributed"]


@dataclass(kw_only=True, eq=False)
class Distributed(Source):
    """Rows in the partitions of an engine, summed where they lie.

    A subclass gives ``share`` and, where its engine has lazy tables, ``mapped``; ``chunks``
    brings partitions here one by one, for what no fold can answer.

    Parameters
    ----------
    engine : str
        What plans and messages call it.
    repeatable : bool
        Whether the rows can be read more than once.
    """

    engine: str
    # A field, unlike that of other sources: copies made by ``dataclasses.replace`` keep it.
    repeatable: bool = True

    reader = 0
    # Whether its rows are added to a fit and multiplied as a whole, where they lie, by methods
    # ``scores`` and ``reconstructed`` of its own (see engines/device.py).
    together = False

    def share(self, kind: Any, *, drop: bool, precise: bool) -> Share:
        """All rows folded into ``kind``: one pass over them.

        ``kind`` travels to the partitions (it may hold vectors), and shares come back.
        """
        raise NotImplementedError

    def weighted(self, weights: Any) -> Self:
        """The same rows with frequencies.

        Raises
        ------
        ParameterError
            Where the engine has no way to line them up with the rows.
        """
        raise ParameterError(
            f"sample_weight does not line up with rows on {self.engine}",
            place={"parameter": "sample_weight"},
            hint="leave it out",
        )

    @property
    def has_weights(self) -> bool:
        """Whether these rows have frequencies (see :meth:`weighted`).

        ``chunks`` gives rows without them; ``fold`` uses them.
        """
        return False

    def names(self) -> tuple[str, ...]:
        """What the engine calls these rows and their weights, so that a checkpoint is theirs.

        Another name is another run; an engine that has none tells tables by their shape alone.
        """
        return ()

    def framed(self, wanted: str) -> Self:
        """The same rows, ``mapped`` to what ``set_output(transform=wanted)`` asks for.

        An engine with one kind of table has no choice.
        """
        return self

    def scores(self, fitted: Any, *, whiten: bool, drop: bool) -> Any:
        """Scores of a fit, where the rows are multiplied as a whole (``together``)."""
        raise NotImplementedError

    def reconstructed(self, fitted: Any, *, whiten: bool) -> Any:
        """Rows of these scores, likewise."""
        raise NotImplementedError

    def mapped(
        self, function: Callable[[Any], Any], names: tuple[str, ...], dtype: np.dtype[Any]
    ) -> Any:
        """``function`` of the rows of each partition, lazily, in the engine's own kind of table.

        Parameters
        ----------
        function : callable
            Maps rows (m, p), an array or CSR array, to an array (m, len(names)); picklable.
        names : tuple of str
            What the columns of the answer are called, where the table has names.
        dtype : numpy dtype
            Of the answer.
        """
        raise NotImplementedError

    def fold(
        self, kind: Any, *, drop: bool, precise: bool, passes: Passes | None, step_name: str
    ) -> Folded:
        """One pass; with a checkpoint, passes that are done are not repeated."""
        passes = passes or Passes()
        known = passes.begin(step_name, self.rows, float(self.p * self.dtype.itemsize))
        if known is not None and known.done:
            return Folded(known.summary, known.dropped, known.row)
        passes.waiting()
        try:
            folded = self.share(kind, drop=drop, precise=precise).folded()
        except BaseException:
            passes.interrupted()
            raise
        passes.finish(State(folded.seen, folded.summary, folded.dropped))
        return folded
