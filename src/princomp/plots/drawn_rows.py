"""Rows as figures take them: scores, names, groups."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from princomp.arrays import FloatArray
from princomp.diagnostics import rows as row_table
from princomp.diagnostics.beside import columns_beside
from princomp.diagnostics.given import Names, Picked
from princomp.errors import ColumnError, NotNumericError, ParameterError, ShapeError
from princomp.kernel_pca import KernelPCA
from princomp.plots.colours import GROUP_COLOURS, MARKERS
from princomp.plots.drawn_model import kernel_scores
from princomp.plots.surface import whole_number

__all__ = ["DrawnRows", "Groups", "drawn_rows", "grouped_by", "labelled"]

# So many rows all get their names; of more the farthest do.
_ALL_NAMED, _SOME_NAMED = 30, 10
_MOST_GROUPS = len(GROUP_COLOURS) * len(MARKERS)


class DrawnRows(NamedTuple):
    """Scores (n, c) of rows, their names, and how many could not be drawn.

    ``named`` says whether the names are more than numbers from 0; ``kept`` (all rows,) which
    rows have scores, where not all have.
    """

    t: FloatArray
    names: Names
    named: bool
    missing: int
    kept: NDArray[np.bool_]
    index: Any


class Groups(NamedTuple):
    """Which group each row (n,) is in, −1 for none, and what the groups are called."""

    codes: NDArray[np.intp]
    labels: tuple[str, ...]
    title: str


def drawn_rows(model: Any, X: Any, chosen: Picked, ids: Any = None) -> DrawnRows:
    """Scores of rows on some components; rows with missing values are counted.

    Raises
    ------
    ShapeError
        Where no row is left.
    """
    row: Any
    if isinstance(model, KernelPCA):
        scores, row = kernel_scores(model, X, ids)
        t = np.ascontiguousarray(scores[:, chosen.at])
    else:
        found = row_table(
            model, X, supplementary=True, components=chosen.names, ids=ids, frame="listing"
        )
        t, row = np.stack([found[f"score_{name}"] for name in chosen.names], axis=1), found["row"]
    kept = np.isfinite(t).all(axis=1)
    missing = int(len(t) - kept.sum())
    if missing == len(t):
        raise ShapeError(
            f"none of the {len(t):,} rows has scores: there is nothing to draw",
            place={"parameter": "X"},
            hint="give rows without missing values, or fit with missing='em'",
        )
    names = np.asarray(row)
    named = names.dtype.kind not in "iu" or not np.array_equal(names, np.arange(len(names)))
    index = getattr(X, "index", None) if hasattr(X, "columns") else None
    return DrawnRows(t[kept], names[kept], named, missing, kept, index)


def grouped_by(groups: Any, rows: DrawnRows) -> Groups | None:
    """The groups of the rows that are drawn.

    Raises
    ------
    ParameterError, ShapeError, NotNumericError
    """
    if groups is None:
        return None
    if isinstance(groups, str):
        raise ParameterError(
            f"groups={groups!r} is a name, and figures take one value a row",
            place={"parameter": "groups"},
            hint=f"give the column itself: groups=table[{groups!r}]",
        )
    total = len(rows.kept)
    found = columns_beside(groups, total, rows.index, what="groups")
    if len(found) != 1:
        raise ShapeError(
            f"groups has {len(found)} columns",
            place={"parameter": "groups"},
            hint="give one value a row",
        )
    column = found[0]
    if column.numbers is not None:
        if len(np.unique(column.numbers[~np.isnan(column.numbers)])) > _MOST_GROUPS:
            raise ParameterError(
                "groups are numbers of too many values to be categories",
                place={"parameter": "groups"},
                hint="cut them into ranges, or see metadata() for their correlations",
            )
        column = columns_beside(groups, total, rows.index, [column.name], what="groups")[0]
    if column.codes is None:
        raise NotNumericError(
            f"groups are {column.kind}, which are no categories",
            place={"parameter": "groups"},
            hint="give text, booleans or whole numbers",
        )
    codes = column.codes[rows.kept]
    present = np.unique(codes[codes >= 0])
    if not len(present):
        raise ShapeError(
            "no row has a group", place={"parameter": "groups"}, hint="leave groups out"
        )
    if len(present) > _MOST_GROUPS:
        raise ParameterError(
            f"{len(present)} groups are more than {_MOST_GROUPS}, which a picture tells apart",
            place={"parameter": "groups"},
            hint="put some of them together",
        )
    number = np.full(len(column.labels) + 1, -1, dtype=np.intp)
    number[present] = np.arange(len(present))
    title = "" if column.name == "groups" else column.name
    return Groups(number[codes], tuple(str(column.labels[i]) for i in present), title)


def labelled(label: Any, rows: DrawnRows, far: FloatArray) -> NDArray[np.intp]:
    """Which of the drawn rows get their names.

    Parameters
    ----------
    label : int, sequence of names or None
        So many of the farthest; those named; None: all of up to 30 named rows, the 10
        farthest of more, and none where rows have no names.
    rows : DrawnRows
    far : ndarray of shape (n,)
        How far off each row is.

    Raises
    ------
    ColumnError
        For a name that no row has.
    """
    n = len(far)
    if label is None:
        label = 0 if not rows.named else _ALL_NAMED if n <= _ALL_NAMED else _SOME_NAMED
    elif isinstance(label, str) or (np.iterable(label)):
        return _of_names([label] if isinstance(label, str) else list(label), rows)
    count = min(whole_number(label, "label", 0), n)
    order: NDArray[np.intp] = np.argsort(-far, kind="stable")[:count]
    return order


def _of_names(wanted: list[Any], rows: DrawnRows) -> NDArray[np.intp]:
    places = {str(name): i for i, name in reversed(list(enumerate(rows.names)))}
    for name in wanted:
        if str(name) not in places:
            some = ", ".join(repr(str(one)) for one in rows.names[:3])
            raise ColumnError(
                f"no row that is drawn is called {str(name)!r}",
                place={"parameter": "label", "row": name},
                hint=f"rows are called {some}, …; a number labels the farthest",
            )
    return np.array([places[str(name)] for name in wanted], dtype=np.intp)
