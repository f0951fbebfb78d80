"""The engine protocol: what Dask, Spark, MPI ranks and devices have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from princomp.engines.partial_result import PartialResult, SummaryKind
from princomp.engines.run_context import RunContext
from princomp.errors import ParameterError
from princomp.io import RowArray, Source, State

# Maps rows (m, p) to an array (m, k).
RowFunction: TypeAlias = Callable[[RowArray], NDArray[Any]]


@dataclass(kw_only=True, eq=False)
class DistributedRows(Source):
    """Rows in the partitions of an engine, summed where they are.

    A subclass implements ``reduce``, ``chunks``, which brings partitions to this process for work
    that summaries cannot do, and, if its engine has lazy tables, ``map_rows``. All implementations
    keep three laws:

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
    # A field, unlike that of other sources: copies made by ``dataclasses.replace`` keep it.
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

    def fingerprint(self) -> tuple[str, ...]:
        """Return the engine's names of these rows and their weights.

        A checkpoint is refused for rows with other names. An engine without names recognises
        tables by their shape alone.
        """
        return ()

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
            return PartialResult(saved.summary, saved.dropped, saved.row)
        # Rows are summed elsewhere: a long time without reports follows.
        run.reporter.report_start()
        result = self.reduce(kind, drop=drop, precise=precise).checked()
        run.finish(State(result.rows, result.summary, result.dropped))
        return result
