"""Grids of numbers in colour: cos² of variables, components against metadata."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from princomp.diagnostics.associations import metadata as metadata_table
from princomp.diagnostics.given import Picked, picked, state_of
from princomp.diagnostics.variable_table import variables
from princomp.fitted import Fitted
from princomp.plots.colours import GREEN, diverging, readable_on, sequential
from princomp.plots.labels import plain
from princomp.plots.surface import (
    SMALL,
    axes_on,
    axis_names,
    background,
    ink,
    note,
    whole_number,
)

__all__ = ["cos2", "metadata"]

_SOME = 8  # components that are drawn unasked


def cos2(
    model: Any,
    components: Any = None,
    *,
    top: int = 30,
    ax: Axes | None = None,
    dark: bool | None = None,
) -> Axes:
    """What share of each variable's variance the components show, as a grid.

    Parameters
    ----------
    model : PCA
        Fitted.
    components : int, str or sequence of them, optional
        Numbers from 1, or "PC1", …; by default the first eight.
    top : int, default=30
        Variables that are shown at most: those of the largest sums.
    ax : matplotlib.axes.Axes, optional
        To draw on; by default one of its own.
    dark : bool, optional
        Of its own Axes: light ink on a dark ground, or the reverse; by default what matplotlib
        is set to.

    Returns
    -------
    matplotlib.axes.Axes
        Over all p components the cos² of a variable sum to 1; the last column sums those shown.

    Raises
    ------
    ParameterError
    """
    fitted = state_of(model)
    chosen = _some(fitted, components)
    top = whole_number(top, "top")
    table = variables(model, components=chosen.names, form="wide", frame="listing")
    values = np.stack([table[f"cos2_{name}"] for name in chosen.names], axis=1)
    total = values.sum(axis=1)
    order = np.argsort(-np.where(np.isnan(total), -1.0, total), kind="stable")[:top]
    order = np.sort(order)  # as they stand in the table
    whole = np.column_stack([values, total])[order]

    ax = axes_on(ax, dark, 1.9 + 0.75 * whole.shape[1], 1.2 + 0.27 * len(order))
    colours = sequential(background(ax))(np.nan_to_num(np.clip(whole, 0.0, 1.0)))
    texts = [["–" if np.isnan(v) else f"{v:.2f}" for v in line] for line in whole]
    labels = [name.replace(" ", "\n", 1) for name in axis_names(fitted, chosen)]
    names = [plain(name) for name in table["variable"][order]]
    _grid(ax, colours, texts, names, [*labels, "sum"])
    ax.axvline(len(chosen.at) - 0.5, color=background(ax), lw=5)
    note(
        ax,
        "cos²: share of the variable's variance that a component shows",
        f"{len(order)} of {fitted.p:,} variables, those of the largest sums"
        if len(order) < fitted.p
        else "",
        "–: a constant column has none" if np.isnan(whole).any() else "",
        below=8.0,
    )
    return ax


def metadata(
    model: Any,
    X: Any,
    data: Any,
    weights: Any = None,
    *,
    categorical: Iterable[str] = (),
    components: Any = None,
    ax: Axes | None = None,
    dark: bool | None = None,
) -> Axes:
    """Components against columns of metadata: r of numbers, η² of categories, with stars.

    Parameters
    ----------
    model, X, data, weights, categorical
        As for :func:`princomp.diagnostics.metadata`.
    components : int, str or sequence of them, optional
        Numbers from 1, or "PC1", …; by default the first eight.
    ax : matplotlib.axes.Axes, optional
        To draw on; by default one of its own.
    dark : bool, optional
        Of its own Axes: light ink on a dark ground, or the reverse; by default what matplotlib
        is set to.

    Returns
    -------
    matplotlib.axes.Axes
        Stars are of p-values adjusted over the whole grid (Benjamini & Hochberg 1995): *
        below 0.05, ** 0.01, *** 0.001. What has no number says why under the grid.

    Raises
    ------
    ParameterError, ShapeError, ColumnError, NotFiniteError
    """
    fitted = state_of(model)
    chosen = _some(fitted, components)
    table = metadata_table(
        model,
        X,
        data,
        weights,
        categorical=categorical,
        components=chosen.names,
        frame="listing",
    )
    shape = (-1, len(chosen.at))
    r, eta2, p = (table[name].reshape(shape) for name in ("r", "eta2", "p_adjusted"))
    names = table["column"].reshape(shape)[:, 0]
    ax = axes_on(ax, dark, 2.2 + 0.85 * r.shape[1], 1.5 + 0.32 * len(r))
    ground = background(ax)
    colours = np.where(
        np.isnan(r)[:, :, None],
        sequential(ground, GREEN)(np.nan_to_num(eta2)),
        diverging(ground)((np.nan_to_num(r) + 1.0) / 2.0),
    )
    texts = [
        [_cell(*cell) for cell in zip(*line, strict=True)] for line in zip(r, eta2, p, strict=True)
    ]
    labels = [name.replace(" ", "\n", 1) for name in axis_names(fitted, chosen)]
    kinds = np.where(~np.isnan(eta2).all(axis=1), " (η²)", "")
    kinds = np.where(~np.isnan(r).all(axis=1), " (r)", kinds)
    rows = [f"{plain(name)}{kind}" for name, kind in zip(names, kinds, strict=True)]
    _grid(ax, colours, texts, rows, labels)
    note(
        ax,
        "adjusted p: * < 0.05, ** < 0.01, *** < 0.001",
        *_reasons(table),
        below=8.0,
    )
    return ax


def _some(fitted: Fitted, components: Any) -> Picked:
    if components is None:
        components = list(range(1, min(fitted.k, _SOME) + 1))
    return picked(fitted, components)


def _cell(r: float, eta2: float, p: float) -> str:
    value = eta2 if np.isnan(r) else r
    if np.isnan(value):
        return "–"
    stars = "" if np.isnan(p) else "*" * sum(p < limit for limit in (0.05, 0.01, 0.001))
    return f"{value:.2f}{stars}".replace("-", "−")


def _reasons(table: Any) -> list[str]:
    """Why some columns have no number, each reason once."""
    found = {
        f"–  {name}: {why}": None
        for name, why in zip(table["column"], table["note"], strict=True)
        if why
    }
    lines = list(found)
    return lines if len(lines) <= 6 else [*lines[:5], f"–  and {len(lines) - 5} more"]


def _grid(
    ax: Axes,
    colours: NDArray[Any],
    texts: list[list[str]],
    rows: Any,
    columns: list[str],
) -> None:
    """Cells in their colours (m, c, 4) with their texts."""
    ax.imshow(colours, aspect="auto", interpolation="nearest")
    for i, line in enumerate(texts):
        for j, text in enumerate(line):
            colour = readable_on(colours[i, j])
            ax.text(j, i, text, ha="center", va="center", fontsize=SMALL, color=colour)
    ax.set_xticks(range(len(columns)), columns)
    ax.set_yticks(range(len(texts)), rows)
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    for spine in ax.spines.values():
        spine.set_visible(False)
    # Lines of the ground between the cells.
    ground = background(ax)
    for at in np.arange(len(texts) + 1) - 0.5:
        ax.axhline(at, color=ground, lw=1.5)
    for at in np.arange(len(columns) + 1) - 0.5:
        ax.axvline(at, color=ground, lw=1.5)
    ax.tick_params(colors=ink(ax))
