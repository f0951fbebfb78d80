"""Tables as users pass them: rows and weights, and columns compared with those of a fit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from princomp.engines import as_distributed
from princomp.errors import ColumnError, ParameterError, ShapeError, printable, warn
from princomp.io import (
    FRAME_HINT,
    RowData,
    Rows,
    Source,
    TableSource,
    as_frame,
    as_rows,
    code_notes,
    counting_notes,
    drop_call,
    file_rows,
    frame_origin,
    from_frame,
    has_index_name,
    identifier_notes,
    is_file,
    is_frame,
    is_numeric_array,
    labels_of_float_frame,
    listed,
    notes_on_rows,
    rows_of,
    select_usable_columns,
    warn_of_named,
    warning_text,
)
from princomp.linalg import FloatArray, unmasked
from princomp.summaries import Names, check_order_of_labels

# Names of components in frames of scores. Sorting them as text puts PC10 before PC2.
_COMPONENT = re.compile(r"\w*(?:PC|pca)(\d+)")
# Names of columns that a message lists.
_MAX_LISTED = 5


@dataclass(frozen=True)
class TableSchema:
    """Columns of the table that a model was fitted to.

    Parameters
    ----------
    p : int
        Number of columns.
    names : tuple of str, optional
        None if the table had no names.
    id_column : str, optional
        The column with the names of the rows; it is not one of the ``p``.
    owner : str
        Class of the estimator, for messages.
    na : tuple of str
        Further words for missing cells in the files of the fit.
    """

    p: int
    names: Names = None
    id_column: str | None = None
    owner: str = "PCA"
    na: tuple[str, ...] = ()

    @classmethod
    def read(cls, X: Any, owner: str = "PCA", scale: object = None) -> tuple[Rows, TableSchema]:
        """Open the table of a fit: its rows, and the schema that other tables must have.

        Raises
        ------
        ColumnError
            Also if ``scale`` is a series whose labels are those of the columns in another order.
        """
        warning: str | None = None
        na: tuple[str, ...] = ()
        if is_numeric_array(X):
            rows: Rows = as_rows(X), None, None
            if X.dtype.kind == "i":
                names = [f"x{j}" for j in range(X.shape[1])]
                warning = next(iter(code_notes(names, rows[0], in_frame=True, low_only=True)), None)
        elif (labels := labels_of_float_frame(X)) is not None and not _begins_with_index(labels):
            rows = as_rows(X.to_numpy()), labels or None, frame_origin(X)
            if labels:
                table = TableSource(rows[0], columns=labels, origin=frame_origin(X))
                notes = [*notes_on_rows(table)]
                if len(labels) > 1:
                    leave_out = partial(drop_call, pandas=hasattr(X, "iloc"))
                    first, without = rows[0][:, 0], leave_out([labels[0]])
                    counting = counting_notes(labels[0], first, may_count=False, leave_out=without)
                    notes = [*counting, *notes, *identifier_notes(table, labels[0], leave_out)]
                warning = warning_text(notes)
        elif (distributed := as_distributed(X)) is not None:
            rows = distributed, distributed.columns, None
            if not distributed.p:  # such as the scores of no components
                as_rows(np.empty((1, 0)))  # raises
            hint = f"To keep columns, cast them to floats on {distributed.engine}"
            if distributed.resident:
                hint = "on_device(read_table(…, columns=[...])) chooses columns"
            warning = warning_text(distributed.notes, hint)
        elif type(X) is not list and is_frame(X := as_frame(X)):
            table = from_frame(X, find_ids=True, text="leave out")
            if table.columns is not None:
                _labels(X)  # raises an error if only some labels are text
            warning = warning_text(table.notes)
            rows = rows_of(table)
        elif is_file(X):
            source = file_rows(X)
            warning = warning_text(source.notes, "read_table(file, columns=[...]) chooses columns")
            rows, na = rows_of(source), source.na
        else:
            rows, na = rows_of(X), X.na if isinstance(X, Source) else ()
            if isinstance(rows[0], Source) and not isinstance(X, Source):  # batches
                warning = warning_text(
                    rows[0].notes, "select the columns of each batch to choose others"
                )
        if warning is not None:
            warn(printable(warning))
        _check_order_of_scale(X, scale, rows)
        return rows, cls(rows[0].shape[1], rows[1], None, owner, na)

    @classmethod
    def of_empty(cls, X: Any, owner: str = "PCA") -> TableSchema | None:
        """The schema of a table without rows; None if X has rows."""
        if not _is_empty(X):
            return None
        labels = _labels(X) if is_frame(X := as_frame(X)) else None
        if labels is None:
            return cls(X.shape[1], None, None, owner)
        # Without rows, pandas may not know the type of any column: all are used then.
        used = dict.fromkeys(_labels(select_usable_columns(X, ())) or labels)
        if left_out := [label for label in labels if label not in used]:
            warning = f"left out columns that a fit does not use: {listed(left_out)}"
            warn(printable(f"{warning}. {FRAME_HINT}"))
        return cls(len(used), tuple(used), None, owner)

    def open(self, X: Any) -> Rows:
        """Open a table whose columns are those of the fit.

        Raises
        ------
        ColumnError, ShapeError
            If the columns differ or are in another order.
        """
        if is_numeric_array(X):
            rows: Rows = as_rows(X), None, None
        elif (labels := labels_of_float_frame(X)) is not None and (
            labels == self.names or not _begins_with_index(labels)
        ):
            if labels and labels != self.names:
                self._check_labels(X, labels, labels)
            rows = as_rows(X.to_numpy()), labels or None, frame_origin(X)
        elif (distributed := as_distributed(X, self.names)) is not None:
            if distributed.columns is not None and self.names not in (None, distributed.columns):
                raise self._other_columns(
                    X, "The feature names are not those of the fit", distributed.columns
                )
            rows = distributed, distributed.columns, None
            self._warn_if_by_position(rows[1])
        elif type(X) is not list and is_frame(X := as_frame(X, self.names or ())):
            X = self._checked_frame(X)
            # Columns without names are used in their order.
            named = None if self.names is None or _labels(X) is None else self.text_names()
            if not named:
                return rows_of(X)
            table = from_frame(X, columns=named, of_model=True)
            warn_of_named(table)
            return rows_of(table)
        else:
            by_name = is_file(X) or callable(X) or isinstance(X, Iterator)
            known = list(map(str, self.names)) if by_name and self.names is not None else None
            rows = rows_of(X, columns=known, na=self.na)
            self._warn_if_by_position(rows[1])
        self.check_width(rows[0].shape[1], rows[0].shape[0])
        if rows[1] is None and self.names is not None:
            self._warn("X does not have valid feature names", "with")
        return rows

    def has_no_rows(self, X: Any) -> bool:
        """Whether X is a table without rows; its columns must be those of the fit."""
        if not _is_empty(X):
            return False
        if is_frame(X := as_frame(X, self.names or ())):
            self._checked_frame(X)
        else:
            self.check_width(X.shape[1])
        return True

    def check_width(self, p: int, n: int | None = None) -> None:
        """Refuse a table (n, p) with another number of columns.

        Raises
        ------
        ShapeError
        """
        if p != self.p:
            hint = "give the columns that the model was fitted to, in their order"
            if n is not None and n * p == self.p:
                hint += "; if X is one row, such as an image, give X.reshape(1, -1)"
            raise ShapeError(
                f"X has {p} features, but {self.owner} is expecting {self.p} features as input",
                hint=hint,
            )

    def merged(self, other: TableSchema) -> TableSchema:
        """Return the schema of the rows of two fits, which must have the same columns in one order.

        Columns without names are taken by position, with a warning. They get the names of the other
        fit, so that later tables are compared with these. Words for missing cells of either fit
        count in later files.

        Raises
        ------
        ColumnError, ShapeError
        """
        known, given = self.text_names(), other.text_names()
        named = None not in (self.names, other.names)
        if self.p == other.p and (not named or known == given):
            if known != given:
                warn(
                    "only one of the two fits has names of columns, so columns are matched by "
                    "position"
                )
            names = other.names if self.ignores_names(other.names) else self.names
            return replace(self, names=names, na=tuple(dict.fromkeys((*self.na, *other.na))))
        place = _differences(known, given) if named else {}
        what = [f"{which}: {', '.join(names)}" for which, names in place.items() if names]
        hint = "fit the same columns in the same order (columns=)"
        if self.p != other.p:
            message = "; ".join([f"the two fits have {self.p} and {other.p} columns", *what])
            raise ShapeError(message, place=place, hint=hint)
        message = f"the columns of the two fits differ: {'; '.join(what) or 'their order'}"
        raise ColumnError(message, place=place, hint=hint)

    def order_in(self, other: TableSchema) -> NDArray[np.intp] | None:
        """Positions in ``other`` of these columns, if it has them in another order; else None."""
        known, given = self.text_names(), other.text_names()
        if None in (self.names, other.names) or known == given or {*known} != {*given}:
            return None
        position = {name: j for j, name in enumerate(given)}
        return np.array([position[name] for name in known])

    def ignores_names(self, columns: Names) -> bool:
        """Whether a table's columns have names but are taken by position: the fit had no names."""
        # Columns of a text file without a header are called x0, x1, …
        return columns is not None and self.names is None and columns != self.text_names()

    def text_names(self) -> tuple[str, ...]:
        """Names of the columns; x0, x1, … if they have none."""
        if self.names is None:
            return tuple(f"x{i}" for i in range(self.p))
        return tuple(map(str, self.names))

    def _checked_frame(self, frame: Any) -> Any:
        """Return the columns of a frame that a fit uses, if they are those of this fit."""
        if self.id_column is not None and self.id_column not in (self.names or ()):
            with suppress(ValueError):  # a duplicate name, which is refused below
                frame = nw.from_native(frame).drop(self.id_column, strict=False).to_native()
        # Leave out what the fit has left out; lazy frames have no shape.
        if hasattr(frame, "shape") and frame.shape[1] != self.p:
            frame = select_usable_columns(frame, self.names or ())
        try:
            labels = _labels(frame)
            given = nw.from_native(frame).columns
        except ValueError:  # a duplicate name
            return rows_of(frame)  # raises an error with the name
        self._check_labels(frame, labels, list(map(str, given)))
        return frame

    def _check_labels(self, X: object, labels: Names, given: Iterable[str]) -> None:
        """Compare labels (None unless they are text) with the fit's, as scikit-learn does."""
        given = list(given)
        if labels is None and self.names is not None:
            self._warn("X does not have valid feature names", "with")
        elif labels is not None and self.names is None:
            self._warn("X has feature names", "without")
        elif labels is not None and self.names is not None and labels != tuple(self.names):
            raise self._other_columns(X, _mismatch(self.names, labels), given)
        self.check_width(len(given))

    def _warn_if_by_position(self, columns: Names) -> None:
        if self.ignores_names(columns):
            self._warn("X has feature names", "without")

    def _warn(self, what: str, how: str) -> None:
        warn(f"{what}, but {self.owner} was fitted {how} feature names")

    def _other_columns(self, X: object, message: str, given: Iterable[str]) -> ColumnError:
        """The error for columns that are not those of the fit, in their order."""
        place = _differences(self.names or (), given)
        differences = [
            f"{which}: {', '.join(map(repr, names))}" for which, names in place.items() if names
        ]
        advice = "give the columns of the fit, in their order"
        if not place["missing"]:
            names = "model.feature_names_in_"  # an array, which is no index of a table of pyarrow
            by_select = hasattr(X, "select") and not hasattr(X, "iloc")
            advice += f": X.select(list({names}))" if by_select else f": X[{names}]"
        return ColumnError(message, place=place, hint="; ".join([*differences, advice]))


def _check_order_of_scale(X: Any, scale: object, rows: Rows) -> None:
    """Compare the labels of a series of divisors with those of the columns that a fit uses."""
    if not hasattr(scale, "keys"):
        return
    data, labels, _ = rows
    if labels is None and hasattr(X, "loc"):
        labels = X.columns  # of a frame: they are not text, so the schema has no names
    all_used = getattr(X, "shape", (0, 0))[1] == data.shape[1]
    check_order_of_labels("scale", scale, labels, "X" if all_used else None)


def _is_empty(X: object) -> bool:
    """Whether X is a table with columns but without rows."""
    match getattr(X, "shape", None):
        # An engine may not know its number of rows, and counting them would take too long here.
        case (int(rows), columns) if columns:
            return rows == 0
    return False


def _begins_with_index(labels: tuple[str, ...]) -> bool:
    return bool(labels) and has_index_name(labels[0])


def _labels(frame: Any) -> Names:
    """Labels of the columns of a frame if they are text, else None, as in scikit-learn.

    Raises
    ------
    TypeError
        If some are text and others are not.
    """
    labels: list[Any] = nw.from_native(frame).columns
    kinds = sorted({type(label).__qualname__ for label in labels})
    if len(kinds) > 1 and "str" in kinds:
        raise TypeError(
            "Feature names are only supported if all input features have string names, but your "
            f"input has {kinds} as feature name / column name types. Convert them all to strings, "
            "for example by X.columns = X.columns.astype(str)."
        )
    return tuple(labels) if kinds == ["str"] else None


def _mismatch(known: Iterable[str], given: Iterable[str]) -> str:
    """Describe how names of columns differ, in the words of scikit-learn."""
    place = _differences(known, given)
    lines = ["The feature names should match those that were passed during fit."]
    for heading, names in (
        ("Feature names unseen at fit time:", sorted(place["new"])),
        ("Feature names seen at fit time, yet now missing:", sorted(place["missing"])),
    ):
        if names:
            more = ["- ..."] if len(names) > _MAX_LISTED else []
            lines += [heading, *(f"- {name}" for name in names[:_MAX_LISTED]), *more]
    if not any(place.values()):
        lines.append("Feature names must be in the same order as they were in fit.")
    return "\n".join(lines)


def _differences(known: Iterable[str], given: Iterable[str]) -> dict[str, list[str]]:
    """Known names that were not given, and given names that are not known."""
    # Dicts keep the order of the names.
    old, new = dict.fromkeys(map(str, known)), dict.fromkeys(map(str, given))
    return {
        "missing": [name for name in old if name not in new],
        "new": [name for name in new if name not in old],
    }


def open_rows(X: object, columns: Sequence[str] | None = None) -> Rows:
    """Open any table, also one of an engine: return its rows, column names and origin.

    ``columns`` are names that are sought in tables of engines.
    """
    rows = as_distributed(X, columns)
    return rows_of(X) if rows is None else (rows, rows.columns, None)


def refuse_iterator(X: object, why: str, call: str) -> None:
    """Refuse an iterator if its rows are needed twice.

    Raises
    ------
    ParameterError
        With the message ``why``, and the hint to pass a function to ``call`` instead.
    """
    if isinstance(X, Iterator):
        raise ParameterError(
            why,
            place={"parameter": "X"},
            hint=f"give a function that makes a new iterator: {call}(lambda: batches())",
        )


def open_scores(X: object, open_table: Callable[[Any], Rows] = open_rows) -> Any:
    """Open scores: an array of numbers of any shape unchanged, other tables by ``open_table``.

    Warns if the columns have names that do not number them.

    Raises
    ------
    ColumnError
        If the columns have names of components that are not in order.
    """
    if isinstance(X, np.ndarray) and X.dtype.kind in "fiub":
        return unmasked(X)
    rows, columns, _ = open_table(X)
    names = list(map(str, columns or ()))
    found = [_COMPONENT.fullmatch(name) for name in names]
    numbers = [int(match[1]) for match in found if match]
    if len(numbers) == len(found) and numbers != sorted(numbers):
        raise ColumnError(
            f"the components are not in order: {listed(names)}",
            hint="give the columns in the order of model.get_feature_names_out()",
        )
    if names and not _are_numbered(names):
        warn(
            f"the names of the scores, {printable(listed(names))}, are not those of the "
            "components: the columns are taken in the order of model.get_feature_names_out(). "
            "Without names (X.to_numpy()) there is no warning"
        )
    return rows


def _are_numbered(names: list[str]) -> bool:
    """Whether names end in 0, 1, … or 1, 2, …, after the same text: PC1, pca0, column_0."""
    text = names[0].rstrip("0123456789")
    ends = [name.removeprefix(text) if name.startswith(text) else "" for name in names]
    numbers = [int(end) if end.isdecimal() else None for end in ends]
    return numbers in ([*range(len(names))], [*range(1, len(names) + 1)])


def blocks_of(data: RowData) -> Iterator[Any]:
    """Iterate over rows: those in memory as one block, those of a source chunk by chunk.

    There is at least one block; that of a source without rows is empty.

    Raises
    ------
    InputChangedError
        After the last block, if a file has changed.
    """
    if not isinstance(data, Source):
        yield data
        return
    chunk = None
    for chunk in data.checked_chunks():
        yield chunk.data
    if chunk is None:
        yield np.empty((0, data.p), data.dtype)


def map_blocks(data: RowData, function: Callable[[Any, int], FloatArray]) -> FloatArray:
    """Join what ``function`` returns for blocks of rows, each with the number of its first row."""
    first, parts = 0, []
    for rows in blocks_of(data):
        parts.append(function(rows, first))
        first += rows.shape[0]
    return np.concatenate(parts) if len(parts) > 1 else parts[0]
