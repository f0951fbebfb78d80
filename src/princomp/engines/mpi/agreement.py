"""How ranks agree on one table before the first pass.

Rank 0 gets a record from each rank. It sends back the properties of the whole table, or an error
that names the first rank that does not match. Errors are sent like other values, so all ranks raise
the same one.
"""

from __future__ import annotations

import hashlib
import pickle
import platform
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar, cast

import numpy as np

from princomp.engines.mpi.communicators import Communicator
from princomp.errors import ColumnError, ParameterError, PrincompError, ShapeError
from princomp.io import FileState, Origin, Source
from princomp.linalg import memory_limit, processors
from princomp.summaries import Weights, stored_bytes

T = TypeVar("T")
R = TypeVar("R")


class Outcome(NamedTuple, Generic[T]):
    """The value that a rank computed, or the error that ended its work."""

    value: T
    error: BaseException | None = None
    rank: int = 0

    @classmethod
    def of(cls, work: Callable[[], T], group: Communicator) -> Outcome[T]:
        """Do some work on this rank; an error becomes part of the outcome."""
        try:
            with group.interrupts(allowed=True):
                return cls(work())
        except BaseException as error:
            return cls(cast("T", None), _picklable(error), group.rank)

    def then(self, work: Callable[[T], R], group: Communicator) -> Outcome[R]:
        """Go on to work with the value; an error stays the outcome."""
        if self.error is None:
            return Outcome.of(partial(work, self.value), group)
        return cast("Outcome[R]", self)

    def result(self, group: Communicator) -> T:
        """Return the value.

        Raises
        ------
        BaseException
            The error; on ranks other than its own, with a note that names its rank.
        """
        if self.error is None:
            return self.value
        note = f"raised on rank {self.rank} of {group.size} {group.name}"
        if self.rank != group.rank and note not in getattr(self.error, "__notes__", ()):
            self.error.add_note(note)
        raise self.error


def _picklable(error: BaseException) -> BaseException:
    """Return an error that can be pickled: this one, or a PrincompError with its message."""
    with suppress(Exception):
        copy = pickle.loads(pickle.dumps(error))
        if type(copy) is type(error) and str(copy) == str(error):
            return error
    replacement = PrincompError(f"{type(error).__name__}: {error}")
    replacement.__cause__ = error
    return replacement


class RankInput(NamedTuple):
    """The rows of this rank and their properties; ``data`` is None where it has no rows.

    ``files`` has the files that they are read from, and the part in each.
    """

    data: Any
    p: int | None = None
    weights: Weights = None
    columns: tuple[str, ...] | None = None
    origin: Origin | None = None
    memory: int | None = None
    files: tuple[tuple[FileState, str], ...] = ()


class RankRecord(NamedTuple):
    """The properties of a rank's rows and machine that other ranks need."""

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
    memory_was_set: bool
    host: str
    processors: frozenset[int]
    files: tuple[tuple[FileState, str], ...]

    @classmethod
    def of(cls, own: RankInput, settings: dict[str, Any]) -> RankRecord:
        """Return the record of this rank, with the parameters that must be the same on all."""
        # A rank without rows, or with a summary of them, has no table.
        table: Any = own.data if hasattr(own.data, "shape") else np.empty((0, 0))
        is_source = isinstance(table, Source)
        return cls(
            settings={name: _comparable(value) for name, value in settings.items()},
            has_rows=own.data is not None,
            p=own.p,
            columns=own.columns,
            rows=table.shape[0],
            dtype=table.dtype.name,
            stored=table.stored if is_source else getattr(table, "nnz", None),
            nbytes=table.nbytes if is_source else stored_bytes(table),
            repeatable=table.repeatable if is_source else True,
            memory=memory_limit(own.memory),
            memory_was_set=own.memory is not None,
            host=platform.node(),
            processors=processors(),
            files=own.files,
        )


class Agreement(NamedTuple):
    """Properties of the whole table, the same on all ranks, and the resources of each rank."""

    p: int
    columns: tuple[str, ...] | None
    rows: int | None
    dtype: np.dtype[Any]
    stored: int | None
    nbytes: int | None
    repeatable: bool
    memory: int
    threads: tuple[int, ...]


def agree(
    group: Communicator, settings: dict[str, Any], read: Callable[[], RankInput]
) -> tuple[RankInput, Agreement]:
    """Read the rows of this rank, and agree with the others on the properties of the whole table.

    Parameters
    ----------
    group : Communicator
    settings : dict
        Parameters that must be the same on all ranks.
    read : callable
        Opens the rows of this rank.

    Raises
    ------
    ParameterError, ShapeError, ColumnError
        On every rank, naming the first one that does not match those before it.
    BaseException
        The error of the first rank whose rows could not be read.
    """
    own = Outcome.of(read, group)
    record = own.then(lambda rows: RankRecord.of(rows, settings), group)
    records = group.gather(record)
    outcome: Any = None
    if group.rank == 0:
        failed = [one for one in records if one.error is not None]
        values = [one.value for one in records]
        outcome = failed[0] if failed else Outcome.of(partial(_combine, values), group)
    return own.value, group.broadcast(outcome).result(group)


def _combine(records: list[RankRecord]) -> Agreement:
    for rank, record in enumerate(records):
        _check_settings(records[0].settings, record.settings, rank)
    with_columns = [(rank, one) for rank, one in enumerate(records) if one.p is not None]
    if not with_columns:
        raise ShapeError("no rank has rows", hint="give at least two rows on any of the ranks")
    _check_columns(with_columns)
    _check_files(records)
    first = with_columns[0][1]
    on_host = defaultdict[str, list[RankRecord]](list)
    for record in records:
        on_host[record.host].append(record)
    # Ranks without rows do not decide the precision.
    with_rows = [record for record in records if record.has_rows]
    sparse = bool(with_rows) and all(record.stored is not None for record in with_rows)
    single = bool(with_rows) and all(record.dtype == "float32" for record in with_rows)
    return Agreement(
        p=first.p or 0,
        columns=next((record.columns for record in with_rows), first.columns),
        rows=_sum([record.rows for record in records]),
        dtype=np.dtype(np.float32 if single else np.float64),
        stored=_sum([record.stored for record in with_rows]) if sparse else None,
        nbytes=_sum([record.nbytes for record in records]),
        repeatable=all(record.repeatable for record in records),
        memory=min(_memory(record, on_host[record.host]) for record in records),
        threads=tuple(_threads(record, on_host[record.host]) for record in records),
    )


def _sum(numbers: list[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(numbers) else None


def _check_settings(first: dict[str, Any], other: dict[str, Any], rank: int) -> None:
    """Refuse parameters that differ."""
    for name in first | other:
        expected, value = first.get(name), other.get(name)
        if expected != value:
            raise ParameterError(
                f"{name}={value!r} on rank {rank}, but {name}={expected!r} on rank 0",
                place={"parameter": name, "rank": rank},
                hint="make the same call with the same parameters on all ranks",
            )


def _check_columns(known: list[tuple[int, RankRecord]]) -> None:
    """Refuse rows that are not parts of one table.

    ``known`` has the records of the ranks that know their columns, with the ranks.
    """
    first, expected = known[0]
    for rank, record in known:
        if record.p != expected.p:
            raise ShapeError(
                f"rank {rank} has rows of {record.p} columns, but rank {first} has rows of "
                f"{expected.p}",
                place={"rank": rank},
                hint="give each rank some rows of one table, with all its columns",
            )
    named = [(rank, one) for rank, one in known if one.has_rows or one.columns is not None]
    for rank, record in named:
        first, expected = named[0]
        if record.columns == expected.columns:
            continue
        mine, theirs = record.columns or (), expected.columns or ()
        missing = [name for name in theirs if name not in mine]
        new = [name for name in mine if name not in theirs]
        which = f"missing: {missing}; new: {new}" if missing or new else "their order"
        raise ColumnError(
            f"the columns of rank {rank} differ from those of rank {first}: {which}",
            place={"rank": rank, "missing": missing, "new": new},
            hint="give the same columns in the same order on every rank, with names or without",
        )


def _check_files(records: list[RankRecord]) -> None:
    """Refuse a file that several ranks read."""
    seen: dict[tuple[FileState, str], int] = {}
    for rank, record in enumerate(records):
        for part in record.files:
            if (first := seen.setdefault(part, rank)) != rank:
                file = part[0].file
                raise ParameterError(
                    f"rank {rank} reads the same file as rank {first} ({file}), so its rows would "
                    "count twice",
                    place={"rank": rank, "file": file},
                    hint="give each rank files of its own, or its part of the rows as an array",
                )


def _comparable(value: object) -> Any:
    """Return a small value that is equal for equal parameters."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str | int | float | None):
        return value
    try:
        content = np.asarray(value, dtype=np.float64).tobytes()
    except (TypeError, ValueError):
        content = pickle.dumps(value)
    return f"{type(value).__name__} of digest {hashlib.sha256(content).hexdigest()[:8]}"


def _threads(record: RankRecord, neighbours: list[RankRecord]) -> int:
    """Return the threads of a rank: its processors, shared with other ranks of the machine."""
    sharing = sum(bool(one.processors & record.processors) for one in neighbours)
    return max(1, len(record.processors) // sharing)


def _memory(record: RankRecord, neighbours: list[RankRecord]) -> int:
    """Return the bytes that a rank may take: as set, or its share of the machine's memory."""
    return record.memory if record.memory_was_set else max(1, record.memory // len(neighbours))
