"""The tables of a report: rounded numbers, with all digits in the title of each cell."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from princomp.core import Fitted, component_ranges
from princomp.diagnostics import Bootstrap, fitted_of, variables
from princomp.errors import counted
from princomp.estimators import PCA
from princomp.linalg import FloatArray
from princomp.reports.documents import component_names, rates_table
from princomp.reports.narrative import variables_by_direction
from princomp.reports.request import ReportedRows, Request

# Rows of a table, so that pages stay small.
MAX_LINES = 200
# Components with all measures in the tables of rows and variables, and those with loadings.
_MAX_COMPONENTS, _MAX_LOADINGS = 3, 10
_DIGITS = 4
# The 97.5% quantile of the normal distribution.
_NORMAL_QUANTILE = 1.959963984540054


class Cell(NamedTuple):
    """The text of a cell, all digits of a number, and a verdict."""

    text: str
    full: str = ""
    mark: str = ""


class Column(NamedTuple):
    """A column of a table.

    ``description`` is what screen readers say instead of ``heading``, which is the same by
    default; columns with the same ``group`` share a heading above theirs.
    """

    description: str
    cells: list[Cell]
    heading: str = ""
    group: str = ""
    number: bool = True


class Table(NamedTuple):
    """A table of the page, with a note in its caption and one below it."""

    key: str
    caption: str
    columns: tuple[Column, ...]
    note: str = ""
    below: str = ""


# ---- columns of numbers and texts -----------------------------------------------------


def number_cells(values: ArrayLike) -> list[Cell]:
    """Format numbers with the same number of decimals, chosen for the largest one."""
    array = np.asarray(values, dtype=np.float64)
    magnitudes = np.abs(array[np.isfinite(array)])
    largest = float(magnitudes.max(initial=0.0))
    decimals = _DIGITS - 1 - (int(np.floor(np.log10(largest))) if largest > 0 else 0)
    if 0 <= decimals <= 2 * _DIGITS - 1:
        spec = f",.{min(decimals, 6)}f"
    else:
        spec = f".{_DIGITS - 1}e" if decimals > 0 or largest >= 1e9 else ",.0f"
    return [_number_cell(value, spec) for value in array.tolist()]


def _number_cell(value: float, spec: str) -> Cell:
    if value != value:
        return Cell("–")
    text = format(value, spec)
    if not float(text.replace(",", "")):
        text = text.removeprefix("-")
    return Cell(text.replace("-", "−").replace("inf", "∞"), repr(value))


def _significant_cells(values: FloatArray) -> list[Cell]:
    """Format each number with its own number of decimals."""
    return [number_cells([value])[0] for value in values.tolist()]


def _share_cells(values: FloatArray) -> list[Cell]:
    """Format numbers between -1 and 1."""
    return [_number_cell(value, ".3f") for value in values.tolist()]


def _percent_cells(values: FloatArray) -> list[Cell]:
    return [
        Cell("<0.1", repr(value)) if 0.0 < value < 0.05 else _number_cell(value, ".1f")
        for value in values.tolist()
    ]


def _text_column(description: str, values: Iterable[object], heading: str = "") -> Column:
    # A Markup stays one: its names are escaped already.
    cells = [Cell(value if isinstance(value, str) else str(value)) for value in values]
    return Column(description, cells, heading, number=False)


# ---- tables ---------------------------------------------------------------------------


def verdict_table(request: Request) -> Table:
    """List the components with their shares, verdicts, angles and strongest variables."""
    texts, words, shown = request.texts, request.texts.words, request.verdicts[:MAX_LINES]
    shares = 100.0 * request.fitted.rates[: len(shown)]
    verdicts = [
        Cell(": ".join(filter(None, [texts.kinds[one.kind], texts("reason", one)])), mark=one.kind)
        for one in shown
    ]
    angles = [
        Cell("–") if np.isnan(angle) else Cell(f"{angle:.0f}°", repr(angle))
        for angle in (float(verdict.angle) for verdict in shown)
    ]
    named = [variables_by_direction(request.model, verdict.component) for verdict in shown]
    columns = (
        _text_column(words["component"], [verdict.component for verdict in shown]),
        Column(words["share"], _percent_cells(shares), words["share"] + " %"),
        Column(words["verdict"], verdicts, number=False),
        Column(words["turns"], angles),
        _text_column(words["high"], [texts("with_r", high, n) or "–" for high, _, n, _ in named]),
        _text_column(words["low"], [texts("with_r", low, n) or "–" for _, low, _, n in named]),
    )
    note = words["verdicts_note"]
    if len(shown) < len(request.verdicts):
        note = f"{texts('first_components', len(shown), len(request.verdicts))} {note}"
    return Table("verdicts", words["verdicts_caption"], columns, note)


def eigenvalue_table(request: Request) -> Table:
    """List the variances with their rates, cumulative rates, intervals and verdicts."""
    fitted = request.fitted
    names, values = rates_table(request.model)
    # The spectrum may contain a variance that is zero because there are too few rows.
    possible = request.max_components
    shown = min(len(names), possible, max(fitted.k, 1) + 20, MAX_LINES)
    note = f"The first {shown:,} of {possible:,} components." if shown < possible else ""
    below = ""
    variances, rates, accumulated = values[:shown].T
    columns = [
        _text_column("component", names[:shown]),
        Column("eigenvalue: variance", _significant_cells(variances), "eigenvalue"),
        Column("percent of the total variance", _percent_cells(100.0 * rates), "%"),
        Column("accumulated %", _percent_cells(100.0 * accumulated)),
    ]
    if interval := _interval(fitted, variances, request.bootstrap):
        low, high, group = interval
        columns.append(Column("interval from", _significant_cells(low), "from", group))
        columns.append(Column("to", _significant_cells(high), "to", group))
        is_outside = (variances < low) | (variances > high)
        is_outside &= variances > fitted.spectrum.resolution
        outside = [names[i] for i in np.flatnonzero(is_outside)]
        if outside:
            below = request.texts("outside", component_ranges(outside), len(outside))
    kept = [verdict.kind for verdict in request.verdicts[:shown]]
    columns.append(_text_column("verdict", [*kept, *["left out"] * (shown - len(kept))]))
    return Table("eigenvalues", "Eigenvalues", tuple(columns), note, below)


def _interval(
    fitted: Fitted, variances: FloatArray, bootstrap: Bootstrap | None
) -> tuple[FloatArray, FloatArray, str] | None:
    """Return limits of an interval for each variance (NaN if unknown), and a description."""
    if bootstrap is not None:
        limits = np.full((2, len(variances)), np.nan)
        count = min(len(bootstrap.variances), len(variances))
        limits[:, :count] = bootstrap.variance_interval[:, :count]
        return limits[0], limits[1], f"{100 * bootstrap.level:.10g}% interval, bootstrap"
    # Filled cells agree with the components, so intervals would be too narrow.
    observed = fitted.filled is None or not fitted.filled.cells
    if observed and fitted.scale is None and fitted.centred and fitted.n_samples is not None:
        # Anderson (1963): the logarithm of λ has the standard error √(2/(n − 1)).
        factor = np.exp(_NORMAL_QUANTILE * np.sqrt(2.0 / (fitted.summary.rows - 1.0)))
        known = np.where(variances > fitted.spectrum.resolution, variances, np.nan)
        return known / factor, known * factor, "95% interval for normally distributed rows"
    return None


def variable_table(model: PCA) -> Table:
    """Loadings of the variables; correlations, cos² and contributions on the first components."""
    fitted = fitted_of(model)
    names = component_names(min(fitted.k, _MAX_LOADINGS))
    table = variables(model, components=names, form="wide", frame="listing")
    weight = np.sum(fitted.loadings[:, : len(names)] ** 2, axis=1)
    shown = np.sort(np.argsort(-weight, kind="stable")[:MAX_LINES])
    columns = [_text_column("variable", table["variable"][shown])]
    for i, name in enumerate(names):
        for measure, heading, format_cells in _MEASURES[: None if i < _MAX_COMPONENTS else 1]:
            cells = format_cells(table[f"{measure}_{name}"][shown])
            columns.append(Column(f"{heading} on {name}", cells, heading, name))
    note = _components_note(fitted, names)
    if note:
        note += " princomp.diagnostics.variables(model) has all of them."
    if len(shown) < fitted.p:
        note = f"The {len(shown):,} of {fitted.p:,} variables with the largest loadings. {note}"
    return Table("variables", "Variables", tuple(columns), note.strip())


_MEASURES = (
    ("loading", "loading", number_cells),
    ("correlation", "correlation", _share_cells),
    ("cos2", "cos²", _share_cells),
    ("contribution", "contribution %", _percent_cells),
)


def row_table(fitted: Fitted, rows: ReportedRows) -> Table:
    """Scores, cos², contributions, T² and Q of the most extreme rows."""
    n = int(np.count_nonzero(~np.isnan(rows.t2)))  # rows without scores are the last in order
    shown = rows.order[: min(n, MAX_LINES)]
    names = component_names(min(rows.scores.shape[1], _MAX_COMPONENTS))
    columns = [_text_column("row", rows.names[shown])]
    if rows.groups is not None:
        labels = [*rows.groups.labels, "–"]
        groups = (labels[code] for code in rows.groups.codes[shown])
        columns.append(_text_column("group", groups, rows.groups.title))
    for j, name in enumerate(names):
        columns += [
            Column(f"score on {name}", number_cells(rows.scores[shown, j]), "score", name),
            Column(f"cos² on {name}", _share_cells(rows.cos2[shown, j]), "cos²", name),
        ]
        if rows.training and not rows.weights_missing:
            cells = _percent_cells(rows.contribution[shown, j])
            description = f"contribution to {name} in percent"
            columns.append(Column(description, cells, "contribution %", name))
    columns += [
        Column("T squared", number_cells(rows.t2[shown]), "T²"),
        Column("Q", number_cells(rows.q[shown])),
        _text_column("beyond", rows.exceeded[shown]),
    ]
    without = len(rows.scores) - n
    which = f"{'All ' * (n > 1)}{counted(n, 'row')}{' with scores' * (without > 0)}"
    if len(shown) < n:
        which = f"The {len(shown):,} most extreme of {n:,} rows{' with scores' * (without > 0)}"
    note = f"{which}, the most extreme first. "
    if without:
        verb = "has" if without == 1 else "have"
        note += f"{counted(without, 'row')} with missing cells {verb} no scores. "
    note += _components_note(fitted, names)
    return Table("rows", "Rows", tuple(columns), note.strip())


def _components_note(fitted: Fitted, names: list[str]) -> str:
    if len(names) == fitted.k:
        return ""
    return f"On the first {len(names)} of {fitted.k:,} components."
