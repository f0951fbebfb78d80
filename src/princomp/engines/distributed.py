"""The engine protocol: what Dask, Spark, MPI ranks and devices have in common.

A partition of a table becomes a :class:`PartialResult`. The whole table is a
:class:`DistributedRows`, which :func:`as_distributed` finds without importing engines.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from princomp.engines.run_context import RunContext
from princomp.errors import ParameterError, PrincompError, row_words
from princomp.io import RowArray, Source, State
from princomp.summaries import Weights

# Maps rows (m, p) to an array (m, k).
RowFunction: TypeAlias = Callable[[RowArray], NDArray[Any]]

# The package of a type, and the module whose ``rows_of`` understands the type.
ENGINES = {
    "cupy": "princomp.engines.device.tables",
    "dask": "princomp.engines.dask.rows",
    "pyspark": "princomp.engines.spark.rows",
    "torch": "princomp.engines.device.tables",
}


class SummaryKind(Protocol):
    """Makes summaries of rows: a class such as Moments, or an object such as ``SketchOf(…)``."""

    @property
    def complete_only(self) -> bool:
        """Whether rows with missing values must be left out before."""

    def block_rows(self, columns: int, /, *, sparse: bool = False) -> int:
        """Number of rows of a block, which depends on the columns only."""

    def empty(self, p: int, /) -> Any:
        """Return the summary of no rows."""

    def of(self, block: Any, /, weights: Weights = None, *, precise: bool = False) -> Any:
        """Return the summary of one block of rows."""


def reworded(error: PrincompError, message: str) -> PrincompError:
    """Return an error with another message."""
    return type(error)(message, place=error.place, hint=error.hint)


class PartialResult(NamedTuple):
    """The summary of the rows of a partition, or of several that follow each other.

    A fault in the rows is stored here instead of raised: the process that has all partial results
    raises the first fault, with its row counted over the whole table. So the message is the same
    on every engine.

    Parameters
    ----------
    summary : summary or None
        None where there is a fault.
    dropped : int
        Rows left out for missing values.
    rows : int
        Number of all rows, including those left out.
    fault : PrincompError, optional
        The first fault; ``place["row"]`` counts from the first row of this result.
    """

    summary: Any
    dropped: int
    rows: int
    fault: PrincompError | None = None

    def checked(self) -> PartialResult:
        """Return this result, or raise its fault."""
        if self.fault is not None:
            raise self.fault
        return self

    def with_row_in_message(self, words: str = "") -> PartialResult:
        """Put the row of a fault, counted over the table, and ``words`` before its message.

        A message about a value that is not finite gets its place later, from the table.
        """
        fault = self.fault
        if fault is None or "row" not in fault.place or getattr(fault, "value", None) is not None:
            return self
        row = row_words(fault.place["row"])
        return self._replace(fault=reworded(fault, f"{row}{words}: {fault.message}"))

    def merge(self, other: PartialResult) -> PartialResult:
        """Return the result of these rows followed by those of ``other``."""
        rows = self.rows + other.rows
        if self.fault is not None:
            return self._replace(rows=rows)
        if other.fault is not None:
            # A copy: an engine may merge the same result again.
            fault = copy(other.fault)
            fault.place = dict(fault.place)
            if "row" in fault.place:
                fault.place["row"] += self.rows
            return PartialResult(None, 0, rows, fault)
        summary = self.summary.merge(other.summary)
        return PartialResult(summary, self.dropped + other.dropped, rows)


@dataclass(kw_only=True, eq=False)
class DistributedRows(Source):
    """Rows in the partitions of an engine, summed where they are.

    A subclass implements ``reduce``, ``chunks``, which brings partitions to this process for work
    that summaries cannot do, and, if its engine has lazy tables, ``map_rows``. All implementations
    follow three rules:

    1. ``reduce`` summarises each partition with
       :func:`~princomp.engines.local.reduce_partition` and merges the partial results in the
       order of the rows. The same partitions give the same bits.
    2. A fault in the rows is returned as a value, and raised once, in this process, with its row
       counted over the whole table.
    3. Rows stay where they are. They are not changed, and not kept beyond the call.

    Parameters
    ----------
    engine : str
        Name of the engine in plans and messages.
    repeatable : bool
        Whether the rows can be read more than once.
    weights : optional
        Frequencies, as the engine keeps them.
    """

    engine: str
    # A dataclass field, unlike in other sources: ``dataclasses.replace`` keeps it.
    repeatable: bool = True
    weights: Any = None

    reader_bytes = 0
    # Whether the rows are on a device and stay there; such rows implement ``scores`` and
    # ``reconstructed``.
    resident = False

    def reduce(self, kind: SummaryKind, *, drop: bool, precise: bool) -> PartialResult:
        """Summarise all rows in one pass.

        ``kind`` is pickled and sent to the partitions; it may contain vectors.
        """
        raise NotImplementedError

    def weighted(self, weights: Any) -> Self:
        """Return the same rows with frequencies.

        Raises
        ------
        ParameterError
            If the engine cannot match them with the rows.
        """
        raise ParameterError(
            f"sample_weight does not line up with rows on {self.engine}",
            place={"parameter": "sample_weight"},
            hint="leave it out",
        )

    @property
    def has_weights(self) -> bool:
        """Whether these rows have frequencies. ``fold`` uses them, ``chunks`` leaves them out."""
        return self.weights is not None

    @property
    def has_chunks(self) -> bool:
        """Whether ``chunks`` brings rows to this process."""
        return True

    def fingerprint(self) -> tuple[str, ...]:
        """Return the engine's names of these rows and their weights.

        A checkpoint is refused for rows with other names. An engine without names recognises
        tables by their shape alone.
        """
        return ()

    def restored(self, summary: object) -> Any:
        """Return the summary of these rows from a checkpoint as ``reduce`` returned it.

        A checkpoint has only arrays of the host. Rows on a device move them back, so that the
        same solver runs, with the same bits.
        """
        return summary

    def with_output(self, frame: str) -> Self:
        """Return the same rows, mapped to the kind of table of ``set_output(transform=frame)``.

        An engine with one kind of table ignores it.
        """
        return self

    def scores(self, fitted: Any, *, whiten: bool, drop: bool) -> Any:
        """Return the scores of resident rows, on their device."""
        raise NotImplementedError

    def reconstructed(self, fitted: Any, *, whiten: bool) -> Any:
        """Reconstruct rows from these rows, which are resident scores, on their device."""
        raise NotImplementedError

    def map_rows(self, function: RowFunction, names: tuple[str, ...], dtype: np.dtype[Any]) -> Any:
        """Apply a function to the rows of each partition, lazily.

        Parameters
        ----------
        function : callable
            Maps rows (m, p), an array or CSR array, to an array (m, len(names)); picklable.
        names : tuple of str
            Names of the new columns, where the table has names.
        dtype : numpy dtype
            Of the new columns.

        Returns
        -------
        table
            A table of the engine's own kind.
        """
        raise NotImplementedError

    def fold(
        self,
        kind: SummaryKind,
        *,
        drop: bool,
        precise: bool,
        run: RunContext | None,
        step_name: str,
    ) -> PartialResult:
        """Summarise all rows in one pass, or take the summary from the checkpoint."""
        run = run or RunContext()
        saved = run.begin(step_name, self.rows, float(self.p * self.dtype.itemsize))
        if saved is not None and saved.done:
            return PartialResult(self.restored(saved.summary), saved.dropped, saved.row)
        # Rows are summed elsewhere: a long time without reports follows.
        run.reporter.report_start()
        result = self.reduce(kind, drop=drop, precise=precise).checked()
        run.finish(State(result.rows, result.summary, result.dropped))
        return result


def as_distributed(X: object, columns: Sequence[str] | None = None) -> DistributedRows | None:
    """Return X as rows on an engine (X itself if it already is that); None for other tables.

    ``columns`` are those of a fit, which are kept even if the first one looks like a row index.
    Spark leaves out other columns if it has all of these.
    """
    if isinstance(X, DistributedRows):
        return X
    module = ENGINES.get(type(X).__module__.partition(".")[0])
    return None if module is None else import_module(module).rows_of(X, columns or ())
