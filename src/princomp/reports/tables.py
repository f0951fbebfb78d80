"""The tables of a report: few digits to be read, all of them behind each number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from princomp.arrays import FloatArray
from princomp.diagnostics import variables
from princomp.documents import component_names, rates_table
from princomp.fitted import Fitted
from princomp.reports.rows import ReportedRows
from princomp.resampling import Bootstrap

__all__ = [
    "MOST_LINES",
    "Cell",
    "Column",
    "Table",
    "eigenvalue_table",
    "numbers",
    "row_listing",
    "variable_listing",
]

# Lines of a table: a page of a million rows stays a page.
MOST_LINES = 200
# Components with columns of their own in the tables of rows and variables.
_SOME = 3
_DIGITS = 4
# 97.5% of normal numbers are below it.
_NORMAL = 1.959963984540054


class Cell(NamedTuple):
    """What stands there, and the number in full where it is one."""

    text: str
    full: str = ""


class Column(NamedTuple):
    """A heading; ``whole`` is what a screen reader says of it, ``group`` what stands above."""

    heading: str
    whole: str
    number: bool = True
    group: str = ""


class Table(NamedTuple):
    """A table as the page shows it."""

    key: str
    caption: str
    columns: tuple[Column, ...]
    lines: list[tuple[Cell, ...]]
    note: str = ""

    @property
    def groups(self) -> list[tuple[str, int]]:
        """Words over neighbouring columns, and over how many; empty where there are none."""
        found: list[tuple[str, int]] = []
        for column in self.columns:
            if found and found[-1][0] == column.group and column.group:
                found[-1] = (column.group, found[-1][1] + 1)
            else:
                found.append((column.group, 1))
        return found if any(name for name, _ in found) else []


def numbers(values: Any, digits: int = _DIGITS) -> list[Cell]:
    """Cells of a column of numbers: as many decimals as the largest needs, in all alike."""
    array = np.asarray(values, dtype=np.float64)
    sizes = np.abs(array[np.isfinite(array)])
    top = float(sizes.max(initial=0.0))
    places = digits - 1 - int(np.floor(np.log10(top))) if top > 0 else digits - 1
    if 0 <= places <= 2 * digits - 1:
        form = f",.{min(places, 6)}f"
    else:
        form = f".{digits - 1}e" if places > 0 or top >= 1e9 else ",.0f"
    return [_number(value, form) for value in array.tolist()]


def _number(value: float, form: str) -> Cell:
    if value != value:
        return Cell("–")
    text = format(value, form)
    if not float(text.replace(",", "")):
        text = text.removeprefix("-")
    return Cell(text.replace("-", "−").replace("inf", "∞"), repr(value))


def _significant(values: Any) -> list[Cell]:
    """Cells of numbers of many sizes: of each so many digits."""
    return [numbers([value])[0] for value in np.asarray(values, dtype=np.float64).tolist()]


def _share(values: Any) -> list[Cell]:
    """Cells of numbers from -1 to 1."""
    return [_number(value, ".3f") for value in np.asarray(values, dtype=np.float64).tolist()]


def _percent(values: Any) -> list[Cell]:
    found = np.asarray(values, dtype=np.float64).tolist()
    return [
        Cell("<0.1", repr(value)) if 0.0 < value < 0.05 else _number(value, ".1f")
        for value in found
    ]


def _words(values: Any) -> list[Cell]:
    return [Cell(str(value)) for value in values]


def _lines(columns: Sequence[list[Cell]]) -> list[tuple[Cell, ...]]:
    return list(zip(*columns, strict=True))


def eigenvalue_table(model: Any, bootstrap: Bootstrap | None) -> Table:
    """Variances with their rates, running sum and interval."""
    fitted: Fitted = model._state
    names, values = rates_table(model)
    shown = min(len(names), max(fitted.k, 1) + 20, MOST_LINES)
    kept = np.where(np.arange(shown) < fitted.k, "kept", "left out").astype(object)
    kept[values[:shown, 0] <= fitted.spectrum.resolution] = "rounding"
    low, high, words = _intervals(fitted, values[:shown, 0], bootstrap)
    columns = [
        *(Column("component", "component", False), Column("eigenvalue", "eigenvalue: variance")),
        *(Column("%", "percent of the total variance"), Column("accumulated %", "accumulated %")),
    ]
    cells = [
        *(_words(names[:shown]), _significant(values[:shown, 0])),
        *(_percent(100.0 * values[:shown, 1]), _percent(100.0 * values[:shown, 2])),
    ]
    if low is not None:
        columns += [Column("from", "interval from", True, words), Column("to", "to", True, words)]
        cells += [_significant(low), _significant(high)]
    columns.append(Column("", "kept or left out", False))
    cells.append(_words(kept))
    left = len(names) - shown
    note = f"The first {shown:,} of {len(names):,} components. " if left else ""
    if low is None:
        note += (
            "No intervals of the variances: they take a bootstrap (which needs the rows of the "
            "fit), or an unscaled, centred fit of a known number of rows."
        )
    return Table("eigenvalues", "Eigenvalues", tuple(columns), _lines(cells), note.strip())


def _intervals(
    fitted: Fitted, values: FloatArray, bootstrap: Bootstrap | None
) -> tuple[Any, Any, str]:
    """Ends of an interval for each variance, NaN for those left out, and whose it is."""
    ends = np.full((2, len(values)), np.nan)
    if bootstrap is not None:
        count = min(len(bootstrap.variances), len(values))
        ends[:, :count] = bootstrap.variance_interval[:, :count]
        return ends[0], ends[1], f"{100 * bootstrap.level:.4g}% interval, bootstrap"
    if fitted.scale is None and fitted.centred and fitted.n_samples is not None:
        # Anderson (1963): the logarithm of λ has the standard error √(2/(n − 1)).
        factor = np.exp(_NORMAL * np.sqrt(2.0 / (fitted.summary.rows - 1.0)))
        sound = values > fitted.spectrum.resolution
        ends[0], ends[1] = (np.where(sound, v, np.nan) for v in (values / factor, values * factor))
        return ends[0], ends[1], "95% interval for normal rows"
    return None, None, ""


def variable_listing(model: Any) -> Table:
    """Loadings, correlations, cos² and contributions of the variables."""
    fitted: Fitted = model._state
    names = component_names(min(fitted.k, _SOME))
    found = variables(model, components=names, form="wide", frame="listing")
    weight = np.sum(fitted.loadings[:, : len(names)] ** 2, axis=1)
    chosen = np.sort(np.argsort(-weight, kind="stable")[:MOST_LINES])
    columns, cells = [Column("variable", "variable", False)], [_words(found["variable"][chosen])]
    for name in names:
        for measure, heading in _MEASURES.items():
            columns.append(Column(heading, f"{heading} on {name}", True, name))
            values = found[f"{measure}_{name}"][chosen]
            cells.append(_FORMS[measure](values))
    note = _components_said(fitted, names)
    if len(chosen) < fitted.p:
        note = f"The {len(chosen):,} of {fitted.p:,} variables of the largest loadings. {note}"
    return Table("variables", "Variables", tuple(columns), _lines(cells), note.strip())


_FORMS = {"contribution": _percent, "loading": numbers, "correlation": _share, "cos2": _share}
_MEASURES = {
    "loading": "loading",
    "correlation": "correlation",
    "cos2": "cos²",
    "contribution": "contribution %",
}


def row_listing(fitted: Fitted, rows: ReportedRows) -> Table:
    """Scores, cos², contributions, T² and Q of the rows that are farthest out."""
    chosen = rows.order[:MOST_LINES]
    names = component_names(min(rows.t.shape[1], _SOME))
    columns, cells = [Column("row", "row", False)], [_words(rows.names[chosen])]
    if rows.groups is not None:
        labels = [*rows.groups.labels, "–"]
        columns.append(Column(rows.groups.title or "group", "group", False))
        cells.append(_words(labels[code] for code in rows.groups.codes[chosen]))
    for a, name in enumerate(names):
        columns += [Column("score", f"score on {name}", True, name)]
        columns += [Column("cos²", f"cos² on {name}", True, name)]
        cells += [numbers(rows.t[chosen, a]), _share(rows.cos2[chosen, a])]
        if rows.training:
            whole = f"contribution to {name} in percent"
            columns.append(Column("contribution %", whole, True, name))
            cells.append(_percent(rows.contribution[chosen, a]))
    columns += [Column("T²", "T squared"), Column("Q", "Q"), Column("beyond", "beyond", False)]
    cells += [numbers(rows.t2[chosen]), numbers(rows.q[chosen]), _words(rows.beyond[chosen])]
    if len(chosen) < len(rows.t):
        which = f"The {len(chosen):,} of {len(rows.t):,} rows that are farthest out"
    else:
        which = f"All {len(rows.t):,} rows"
    note = f"{which}, the farthest first. {_components_said(fitted, names)}"
    return Table("rows", "Rows", tuple(columns), _lines(cells), note.strip())


def _components_said(fitted: Fitted, names: list[str]) -> str:
    if len(names) == fitted.k:
        return ""
    return f"On the first {len(names)} of {fitted.k:,} components."
