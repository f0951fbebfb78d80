"""Rows in figures: scores, names, groups."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from princomp import diagnostics
from princomp.core import check_parameter, fitted_model, one_of
from princomp.errors import (
    ColumnError,
    NotNumericError,
    ParameterError,
    ShapeError,
    counted,
)
from princomp.estimators import PCA
from princomp.kernel_pca import KernelPCA
from princomp.linalg import FloatArray

# Up to this many rows all get labels; of more rows only the most distant ones do.
_MAX_FOR_ALL_LABELS, _DEFAULT_LABELS = 60, 10
# More would not fit a legend; all of them differ in colour or shape.
_MAX_GROUPS = 40

Ids: TypeAlias = Iterable[object] | None
Labels: TypeAlias = int | Iterable[object] | None


class DrawnRows(NamedTuple):
    """Rows with scores (m, c), and their names (m,).

    ``kept`` (n,) marks them among all rows given; ``named`` is false if the names are only numbers
    from 0.
    """

    scores: FloatArray
    names: diagnostics.Names
    kept: NDArray[np.bool_]
    named: bool = True

    @property
    def missing_note(self) -> str:
        """Note about rows that cannot be drawn."""
        missing = int((~self.kept).sum())
        verb = "is" if missing == 1 else "are"
        return f"{counted(missing, 'row')} with missing values {verb} not drawn" if missing else ""


class Groups(NamedTuple):
    """The group of each row (n,), −1 for none, and the names of the groups.

    ``ellipses`` and ``level`` are the kind and level of the ellipses around groups in figures.
    """

    codes: NDArray[np.intp]
    labels: tuple[str, ...]
    title: str
    ellipses: str = "none"
    level: float = 0.95


def rows_and_groups(
    model: PCA | KernelPCA,
    X: object,
    selected: diagnostics.Selection,
    groups: object,
    ellipses: str,
    level: float,
    ids: Ids = None,
) -> tuple[DrawnRows, Groups | None]:
    """Read rows and their groups, and check how ellipses around the groups are to be drawn.

    Raises
    ------
    ParameterError, ShapeError, ColumnError, NotFiniteError, NotNumericError
    """
    check_parameter("ellipses", ellipses, one_of("rows", "mean", "none"))
    level = diagnostics.checked_level(level)
    if isinstance(groups, str):
        groups, X = diagnostics.take_named_columns(model, X, groups)
    rows = _drawn_rows(model, X, selected, ids)
    row_groups = read_groups(groups, X, rows.kept)
    return rows, row_groups and row_groups._replace(ellipses=ellipses, level=level)


def _drawn_rows(
    model: PCA | KernelPCA, X: object, selected: diagnostics.Selection, ids: Ids
) -> DrawnRows:
    """Compute scores of rows on the selected components."""
    reader = diagnostics.RowReader.open(model, X, ids=ids, frame="listing")
    if isinstance(model, KernelPCA):
        fitted = fitted_model(model)
        names, scores = reader.collect_chunks(
            lambda chunk, start: (fitted.chunk_scores(chunk, reader.data, start, reader.origin),)
        )
        scores = np.ascontiguousarray(scores.astype(np.float64)[:, selected.indices])
    else:
        names, scores = reader.scores(selected.indices)
    kept = rows_with_scores(scores)
    return DrawnRows(scores[kept], names[kept], kept, has_row_names(names))


def rows_with_scores(scores: FloatArray) -> NDArray[np.bool_]:
    """Mark the rows (n,) whose scores (n, c) are finite.

    Raises
    ------
    ShapeError
        Where there are none.
    """
    kept = np.asarray(np.isfinite(scores).all(axis=1))
    if not kept.any():
        raise ShapeError(
            f"none of the {len(kept):,} rows has scores",
            place={"parameter": "X"},
            hint="give rows without missing values, or fit with missing='em'",
        )
    return kept


def has_row_names(names: diagnostics.Names) -> bool:
    """Whether rows have names other than numbers from 0."""
    return names.dtype.kind not in "iu" or not np.array_equal(names, np.arange(len(names)))


def pandas_index(X: object) -> object:
    """Index of a pandas frame."""
    return getattr(X, "index", None) if hasattr(X, "columns") else None


def read_groups(groups: object, X: object, kept: NDArray[np.bool_]) -> Groups | None:
    """Read the groups of the rows of X that are kept.

    Raises
    ------
    ParameterError, ShapeError, NotNumericError
    """
    if groups is None:
        return None
    place = {"parameter": "groups"}
    n, index = len(kept), pandas_index(X)
    columns = diagnostics.extra_columns(groups, n, index, what="groups")
    if len(columns) != 1:
        raise ShapeError(
            f"groups has {len(columns)} columns", place=place, hint="give one value for each row"
        )
    column = columns[0]
    if column.numbers is not None:  # codes of categories
        column = diagnostics.extra_columns(groups, n, index, [column.name], what="groups")[0]
    if column.codes is None:
        raise NotNumericError(
            f"groups are {column.kind}, not categories",
            place=place,
            hint="give text, booleans or whole numbers; convert times to text",
        )
    codes = column.codes[kept]
    present = np.unique(codes[codes >= 0])
    if not len(present):
        raise ShapeError("no row has a group", place=place, hint="leave out groups")
    if len(present) > _MAX_GROUPS:
        raise ParameterError(
            f"{len(present)} groups are more than the {_MAX_GROUPS} that a figure can show",
            place=place,
            hint="combine some of them; metadata() correlates numbers with components",
        )
    n_grouped = np.count_nonzero(codes >= 0)
    if 2 * len(present) > n_grouped and _are_fractions([column.labels[i] for i in present]):
        raise ParameterError(
            f"groups has {len(present)} different numbers in {n_grouped} rows, not categories",
            place=place,
            hint="divide them into ranges, as pandas.cut does; metadata() correlates numbers with "
            "components",
        )
    new_codes = np.where(codes < 0, -1, np.searchsorted(present, codes))
    title = "" if column.name == "groups" else column.name
    # matplotlib leaves empty labels out of legends.
    return Groups(new_codes, tuple(str(column.labels[i]) or '""' for i in present), title)


def _are_fractions(labels: Sequence[object]) -> bool:
    """Whether all labels are numbers, and some of them are not whole."""
    try:
        numbers = np.array(labels, dtype=np.float64)
    except ValueError:
        return False
    return bool((numbers != np.floor(numbers)).any())


def choose_labelled(
    label: Labels, rows: DrawnRows, distances: FloatArray, *, crowded: bool = False
) -> NDArray[np.intp]:
    """Choose the drawn rows that get labels.

    Parameters
    ----------
    label : int, sequence of names or None
        An integer labels this many of the most distant rows; a sequence, the rows with these
        names. None labels all rows if there are at most 60 (30 if ``crowded``), otherwise the 10
        most distant ones, and no row if the rows have no names.
    rows : DrawnRows
    distances : ndarray of shape (m,)

    Raises
    ------
    ColumnError
        For a name that no row has.
    """
    n = len(distances)
    if label is None:
        count = n if n <= _MAX_FOR_ALL_LABELS // (1 + crowded) else _DEFAULT_LABELS
        label = count if rows.named else 0
    elif np.iterable(label):
        return _rows_named([label] if isinstance(label, str) else list(label), rows.names)
    count = min(diagnostics.check_count("label", label, 0), n)
    return np.argsort(-distances, kind="stable")[:count]


def _rows_named(labels: list[object], names: diagnostics.Names) -> NDArray[np.intp]:
    index_of_name = {str(name): i for i, name in reversed(list(enumerate(names)))}
    for name in labels:
        if str(name) not in index_of_name:
            examples = ", ".join(repr(str(example)) for example in names[:3])
            raise ColumnError(
                f"no drawn row is called {str(name)!r}",
                place={"parameter": "label", "row": name},
                hint=f"rows are called {examples}, …; a number labels the most distant rows, and "
                "ids='column' takes the names of rows from a column",
            )
    return np.array([index_of_name[str(name)] for name in labels], dtype=np.intp)
