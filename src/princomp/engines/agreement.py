"""What ranks find out about each other before the first row is summed, and how it ends.

Rank 0 gets a record of each rank, says what holds for all, or which rank does not fit. An
error is told like anything else, so all ranks raise the same one.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import platform
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from princomp.engines.communicators import Communicator
from princomp.errors import ColumnError, ParameterError, PrincompError, ShapeError
from princomp.memory import memory_limit
from princomp.sources.source import Source
from princomp.summaries.blocks import Weights, is_sparse, stored_bytes

__all__ = ["Here", "Outcome", "Record", "Terms", "agreed", "threads_of"]


class Outcome(NamedTuple):
    """What a rank came to: a value, or the error that came instead and the rank it came on."""

    value: Any
    error: BaseException | None = None
    rank: int = 0

    @classmethod
    def of(cls, work: Callable[[], Any], line: Communicator) -> Outcome:
        """Of some work on this rank; whatever ends it is told to the others."""
        try:
            with line.working():
                return cls(work())
        except BaseException as error:
            return cls(None, _portable(error), line.rank)

    def result(self, line: Communicator) -> Any:
        """The value.

        Raises
        ------
        BaseException
            The error; on other ranks than its own, a note says where it comes from.
        """
        if self.error is None:
            return self.value
        note = f"raised on rank {self.rank} of {line.size} {line.name}"
        if self.rank != line.rank and note not in getattr(self.error, "__notes__", ()):
            self.error.add_note(note)
        raise self.error


def _portable(error: BaseException) -> BaseException:
    """An error that survives the way to other ranks: itself, or one that says as much."""
    try:
        copy = pickle.loads(pickle.dumps(error))
    except Exception:
        copy = None
    if type(copy) is type(error) and str(copy) == str(error):
        return error
    told = PrincompError(f"{type(error).__name__}: {error}")
    told.__cause__ = error
    return told


class Here(NamedTuple):
    """What this rank brings: its rows with all that is known of them, or no rows (None)."""

    data: Any
    p: int | None = None
    weights: Weights = None
    columns: tuple[str, ...] | None = None
    file: str | None = None
    memory: int | None = None


class Record(NamedTuple):
    """What the others need to know of it."""

    settings: dict[str, Any]
    has_rows: bool
    p: int | None
    columns: tuple[str, ...] | None
    rows: int | None
    dtype: str
    stored: int | None
    nbytes: int | None
    repeatable: bool
    memory: int
    asked: bool
    host: str
    processors: frozenset[int]

    @classmethod
    def of(cls, here: Here, settings: dict[str, Any]) -> Record:
        """Of what is here, and of the parameters that must be the same everywhere."""
        data = here.data
        rows: int | None = 0
        nbytes: int | None = 0
        dtype, stored, repeatable = "float64", None, True
        if isinstance(data, Source):
            rows, dtype, stored = data.rows, data.dtype.name, data.stored
            nbytes, repeatable = data.nbytes, data.repeatable
        elif hasattr(data, "shape"):
            rows, dtype, nbytes = data.shape[0], data.dtype.name, stored_bytes(data)
            stored = data.nnz if is_sparse(data) else None
        return cls(
            {name: _comparable(value) for name, value in settings.items()},
            data is not None,
            here.p,
            here.columns,
            rows,
            dtype,
            stored,
            nbytes,
            repeatable,
            memory_limit(here.memory),
            here.memory is not None,
            platform.node(),
            _processors(),
        )


class Terms(NamedTuple):
    """What holds for all ranks."""

    p: int
    columns: tuple[str, ...] | None
    rows: int | None
    dtype: str
    stored: int | None
    nbytes: int | None
    repeatable: bool
    memory: int
    threads: tuple[int, ...]


def agreed(line: Communicator, work: Callable[[], Record]) -> Terms:
    """The terms, once every rank has come with its record.

    Raises
    ------
    ParameterError, ShapeError, ColumnError
        On every rank, naming the first one that does not go with those before it.
    BaseException
        What reading raised on the first rank where it did.
    """
    outcomes = line.gathered(Outcome.of(work, line))

    def decided() -> Terms:
        return _terms([outcome.result(line) for outcome in outcomes])

    outcome = Outcome.of(decided, line) if line.rank == 0 else None
    failed = [one for one in outcomes if one.error is not None]
    if outcome is not None and failed:
        outcome = outcome._replace(rank=failed[0].rank)
    terms: Terms = line.broadcast(outcome).result(line)
    return terms


def _terms(records: list[Record]) -> Terms:
    for rank, record in enumerate(records):
        _check_settings(records[0].settings, record.settings, rank)
    _check_columns(records)
    known = [record for record in records if record.p is not None]
    if not known:
        raise ShapeError(
            "no rank has rows",
            hint="give at least two rows on any of the ranks",
        )
    # Ranks without rows have no say in what the rows are like.
    full = [record for record in records if record.has_rows]
    sparse = bool(full) and all(record.stored is not None for record in full)
    single = bool(full) and all(record.dtype == "float32" for record in full)
    return Terms(
        p=known[0].p or 0,
        columns=next((record.columns for record in full), known[0].columns),
        rows=_sum([record.rows for record in records]),
        dtype="float32" if single else "float64",
        stored=_sum([record.stored for record in full]) if sparse else None,
        nbytes=_sum([record.nbytes for record in records]),
        repeatable=all(record.repeatable for record in records),
        memory=min(_memory(record, records) for record in records),
        threads=tuple(_threads(record, records) for record in records),
    )


def _sum(numbers: list[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(numbers) else None


def _check_settings(first: dict[str, Any], other: dict[str, Any], rank: int) -> None:
    """Refuse parameters that differ: the ranks would not be fitting the same model."""
    for name in first | other:
        one, two = first.get(name), other.get(name)
        if one != two:
            raise ParameterError(
                f"{name}={two!r} on rank {rank}, and {name}={one!r} on rank 0",
                place={"parameter": name, "rank": rank},
                hint="all ranks make the same call with the same parameters; only rows differ",
            )


def _check_columns(records: list[Record]) -> None:
    """Refuse tables that are not parts of one."""
    known = [(rank, one) for rank, one in enumerate(records) if one.p is not None]
    named = [(rank, one) for rank, one in known if one.has_rows or one.columns is not None]
    for rank, record in known[1:]:
        first, p = known[0][0], known[0][1].p
        if record.p != p:
            raise ShapeError(
                f"the rows of rank {rank} have {record.p} columns, and those of rank {first} {p}",
                place={"rank": rank},
                hint="each rank gives some rows of one table, with all its columns",
            )
    for rank, record in named[1:]:
        first, columns = named[0][0], named[0][1].columns
        if record.columns == columns:
            continue
        mine, theirs = record.columns or (), columns or ()
        missing = [name for name in theirs if name not in mine]
        new = [name for name in mine if name not in theirs]
        told = f"missing: {missing}; new: {new}" if missing or new else "their order"
        raise ColumnError(
            f"the columns of rank {rank} are not those of rank {first}: {told}",
            place={"rank": rank, "missing": missing, "new": new},
            hint="give the same columns in the same order on every rank, with names or without",
        )


def _comparable(value: Any) -> Any:
    """A parameter as something that is equal where the parameter is, and small."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str | int | float | None):
        return value
    try:
        array = np.asarray(value, dtype=np.float64)
        content = np.ascontiguousarray(array).tobytes()
    except (TypeError, ValueError):
        content = pickle.dumps(value)
    return f"{type(value).__name__} of digest {hashlib.sha256(content).hexdigest()[:8]}"


def _processors() -> frozenset[int]:
    if hasattr(os, "sched_getaffinity"):
        return frozenset(os.sched_getaffinity(0))
    return frozenset(range(os.cpu_count() or 1))


def _threads(record: Record, records: list[Record]) -> int:
    """Threads of a rank: the processors that it may use, shared with the ranks beside it."""
    beside = [
        one for one in records if one.host == record.host and one.processors & record.processors
    ]
    return max(1, len(record.processors) // len(beside))


def _memory(record: Record, records: list[Record]) -> int:
    """Bytes that a rank may take: what was asked for, or its part of what the machine has."""
    beside = sum(one.host == record.host for one in records)
    return record.memory if record.asked else max(1, record.memory // beside)


def threads_of(terms: Terms, rank: int) -> int:
    """Threads that sum this rank's rows; ``OMP_NUM_THREADS`` sets a lower number."""
    asked = os.environ.get("OMP_NUM_THREADS", "")
    threads = terms.threads[rank]
    return min(threads, int(asked)) if asked.isdigit() and int(asked) else threads
