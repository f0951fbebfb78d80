"""Which columns of a table are used, and how messages name the place of a cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

from princomp.errors import (
    ColumnError,
    NotNumericError,
    ParameterError,
    PrincompError,
    ShapeError,
    nearest,
    row_words,
)
from princomp.io.readers.read_options import DETECT, ReadOptions

Error = TypeVar("Error", bound=PrincompError)


class Selection(NamedTuple):
    """The columns that the user asks for.

    Parameters
    ----------
    columns : sequence of str, optional
        Columns to use, in this order; all numeric columns by default. Columns without names are
        numbered from 0 ("0", "3").
    exclude : sequence of str
        Columns to leave out.
    id_column : str, optional
        A column that names the rows; its text is kept unchanged ("007").
    find_ids : bool
        Find such a column if ``id_column`` is None.
    options : ReadOptions
        How a file is written.
    of_model : bool
        The columns are those of a model, so that none can be left out.
    na_of_model : bool
        The words for missing cells in ``options`` are those of a model: cells need not have them.
    """

    columns: Sequence[str] | None = None
    exclude: Sequence[str] = ()
    id_column: str | None = None
    find_ids: bool = False
    options: ReadOptions = DETECT
    of_model: bool = False
    na_of_model: bool = False

    def describe(self, part: str | None = None) -> str:
        """Describe the chosen columns and read options, for the fingerprint of a checkpoint."""
        asked = {
            "part": part,
            "columns": None if self.columns is None else list(self.columns),
            "exclude": list(self.exclude) or None,
            **asdict(self.options),
            "na": list(self.options.na) or None,
            "untrusted": None,  # it changes no cell
        }
        given = [f"{name}={value}" for name, value in asked.items() if value is not None]
        return f"read with {', '.join(given) or 'no options'}"


ALL_COLUMNS = Selection()


class RowPlace(NamedTuple):
    """Place of a row, for messages: its file, its number in it from 0, its label and its line."""

    file: str | None
    row: int
    label: object = None
    line: int | None = None

    @property
    def description(self) -> str:
        """Words for the row in messages, without the file."""
        return row_words(self.row, self.label, self.line)

    def as_dict(self, **more: object) -> dict[str, object]:
        """Return the known entries as a dict, for the ``place`` of an exception."""
        place = {**self._asdict(), **more}
        return {key: value for key, value in place.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Origin:
    """Where rows come from, for messages.

    Parameters
    ----------
    file : str or None
        Name of the file, if there is one.
    line_of : callable or None
        Returns the line of the file on which data row ``row`` (from 0) starts.
        Called only to build an error message, so it may read the file again.
    label_of : callable or None
        Returns the label of row ``row``, if rows have labels.
    offset : int
        Number, in the file, of the row that is row 0 here: rows may be a part of a file.
    skip_end_from : callable, optional
        Returns the ``skip_end`` that leaves out the rows from number ``row`` on; None if the last
        rows cannot be left out.
    of_model : bool
        As in :class:`Selection`.
    """

    file: str | None = None
    line_of: Callable[[int], int | None] | None = None
    label_of: Callable[[int], object] | None = None
    offset: int = 0
    skip_end_from: Callable[[int], int] | None = None
    of_model: bool = False

    def place(self, **known: object) -> dict[str, object]:
        """Return the known entries and the file, for the ``place`` of an exception."""
        known = {key: value for key, value in known.items() if value is not None}
        return known if self.file is None else {"file": self.file, **known}

    def error(self, kind: type[Error], problem: str, hint: str | None, **place: object) -> Error:
        """Make an error about the file: its message and its place begin with the file."""
        if self.file is not None:
            problem = f"{self.file}: {problem}"
        return kind(problem, place=self.place(**place), hint=hint)

    def place_of(self, row: int) -> RowPlace:
        """Place of row number ``row``, from 0."""
        row += self.offset
        label = None if self.label_of is None else self.label_of(row)
        line = None if self.line_of is None else self.line_of(row)
        return RowPlace(self.file, row, plain_label(label), line)

    def or_exclude(self, column: str, *actions: str) -> str:
        """Make a hint of actions and, unless a model needs the column, that to exclude it."""
        if not self.of_model:
            actions = (*actions, f"exclude {column!r}")
        *first, last = actions
        return f"{', '.join(first)}, or {last}." if first else f"{last}."

    def cell_error(self, column: str | int, row: int, problem: str, hint: str) -> NotNumericError:
        """Make an error about one cell, with its place; ``row`` is counted from 0."""
        place = self.place_of(row)
        problem = f"column {column!r} {place.description}: {problem}"
        return self.error(NotNumericError, problem, hint, **place.as_dict(column=column))


@dataclass(frozen=True, slots=True)
class Choice:
    """Candidate columns to analyse, in order; ``requested`` if the user named them."""

    names: tuple[str, ...]
    requested: bool
    id_column: str | None
    unused: tuple[str, ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        """The id column, if there is one."""
        return () if self.id_column is None else (self.id_column,)


def text_of(cells: Iterable[object]) -> list[str | None]:
    """Convert cells to text, None where missing; bytes to hex digits if some are not UTF-8."""
    cells = list(cells)
    to_text = bytes.hex if any(is_not_utf8(cell) for cell in cells) else bytes.decode
    return [
        None if cell is None else to_text(cell) if isinstance(cell, bytes) else str(cell)
        for cell in cells
    ]


def is_not_utf8(cell: object) -> bool:
    """Whether a cell is bytes that are not UTF-8, such as those of most UUIDs."""
    if isinstance(cell, bytes):
        try:
            cell.decode()
        except UnicodeDecodeError:
            return True
    return False


def plain_label(label: object) -> object:
    """Return a label as a plain Python value; None if it is missing."""
    if hasattr(label, "item"):
        label = label.item()
    try:
        if label is None or label == "" or label != label:
            return None
    except TypeError:  # pandas.NA is neither true nor false
        return None
    if isinstance(label, bytes):
        return text_of([label])[0]
    return label if isinstance(label, str | int | tuple) else str(label)


def listed(names: Iterable[str], limit: int = 12) -> str:
    """Join names by commas; if there are many, list the first ``limit`` and count the rest."""
    names = list(names)
    if len(names) <= limit:
        return ", ".join(names)
    return f"{', '.join(names[:limit])} and {len(names) - limit} more"


def refuse_duplicates(names: Sequence[str], origin: Origin) -> None:
    """Raise ColumnError if a column name is repeated, because it would be ambiguous."""
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        problem = f"the column names are not unique; twice or more: {listed(repeated)}"
        hint = "Rename the columns so that each has a name of its own."
        raise origin.error(ColumnError, problem, hint, column=repeated[0])


def choose_columns(available: Sequence[str], selection: Selection, origin: Origin) -> Choice:
    """Choose which of the ``available`` columns are candidates, and in which order.

    Requested names are converted to text first, so 3 stands for "3".

    Raises
    ------
    ColumnError
        A name does not exist, is repeated, or has two roles.
    ParameterError
        ``columns`` is empty.
    ShapeError
        No column remains.
    """
    columns, exclude, id_column = selection[:3]
    if columns is not None and not columns:
        problem = "columns is an empty list, so there is nothing to analyse"
        hint = "Name at least one column, or leave columns out to use every numeric one."
        raise ParameterError(problem, place={"parameter": "columns"}, hint=hint)
    columns = None if columns is None else [str(name) for name in columns]
    exclude = [str(name) for name in exclude]
    selection = selection._replace(columns=columns, exclude=exclude)
    refuse_duplicates(available, origin)
    ids = () if id_column is None else (id_column,)
    named = dict.fromkeys((*(columns or ()), *exclude, *ids))
    _refuse_unknown(available, named, origin, of_model=selection.of_model)
    _refuse_two_roles(selection, origin)
    others = tuple(name for name in available if name not in named)
    if columns is not None:
        return Choice(tuple(columns), True, id_column, unused=others)
    if not others:
        problem, hint = "no column remains to analyse", "Exclude fewer columns."
        if ids and not exclude:
            problem += f": the only one, {id_column!r}, names the rows"
            hint = "Leave id_column= out."
        raise origin.error(ShapeError, problem, hint if named else None)
    return Choice(others, False, id_column)


def _refuse_unknown(
    available: Sequence[str], named: Collection[str], origin: Origin, *, of_model: bool
) -> None:
    known = set(available)
    unknown = [name for name in named if name not in known]
    if not unknown:
        return
    # If many columns of a model are unknown, they are probably absent, not misspelt.
    absent = of_model and len(unknown) > 5
    free = [] if absent else [name for name in available if name not in named]
    guesses = [guess for name in unknown[:12] if (guess := nearest(name, free)) is not None]
    did_you_mean = f"Did you mean {listed(map(repr, guesses))}? " if guesses else ""
    problem = f"no column{'s' * (len(unknown) > 1)} {listed(map(repr, unknown))}"
    # Without quotes, a name with a comma would look like two.
    quoted = [f'"{name}"' if "," in name else name for name in available]
    hint = f"{did_you_mean}There are: {listed(quoted, limit=30)}."
    folders = Path(origin.file or "").parent.parts
    if values := [part for part in folders if "=" in part and part.partition("=")[0] in unknown]:
        hint = f"Values in the names of folders are not read ({listed(values)}). {hint}"
    if of_model:
        hint += " Without these columns, fit a model to those that both tables have: "
        hint += "read_table(path, columns=[…])."
    place = {"column": unknown[0], "missing": unknown, "available": list(available)}
    raise origin.error(ColumnError, problem, hint, **place)


def _refuse_two_roles(selection: Selection, origin: Origin) -> None:
    excluded = set(selection.exclude)
    for name, times in Counter(selection.columns or ()).items():
        if times > 1:
            why, hint = f"is named {times} times in columns", "Name it once."
        elif name in excluded:
            why, hint = "is both asked for and excluded", "Name it in one of the two."
        elif name == selection.id_column:
            why = "cannot be the id column and one of the columns to analyse"
            hint = "Take it out of columns, or choose another id column."
        else:
            continue
        raise origin.error(ColumnError, f"column {name!r} {why}", hint, column=name)
