"""Coloured grids: cos² of variables, associations of components with metadata."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection

from princomp.core import Fitted, renamed_parameters
from princomp.diagnostics import (
    Bootstrap,
    Components,
    Listing,
    Selection,
    check_count,
    fitted_of,
    metadata as metadata_table,
    select_components,
    variables,
)
from princomp.errors import NotAvailableError
from princomp.estimators import PCA
from princomp.plots.axes_style import (
    SMALL,
    add_note,
    axis_names,
    background_colour,
    styled_axes,
    text_colour,
)
from princomp.plots.colours import BLUE, GREEN, MAX_CELL_SHARE, VERMILLION, mix_colours
from princomp.plots.drawn_model import accept_any_model, verdicts_of
from princomp.plots.labels import display_name
from princomp.summaries import SampleWeight

_DEFAULT_COMPONENTS = 8  # components by default


@accept_any_model
def cos2(
    model: PCA,
    components: Components = None,
    *,
    top: int = 30,
    bootstrap: Bootstrap | None = None,
    ax: Axes | None = None,
    dark: bool | None = None,
) -> Axes:
    """Draw a grid of cos²: the shares of each variable's variance in the components.

    Parameters
    ----------
    model : PCA
        Fitted.
    components : int, str or sequence of them, optional
        Numbers from 1, or "PC1", …; by default the first eight.
    top : int, default=30
        Maximum number of variables: those with the largest sums.
    bootstrap : Bootstrap, optional
        Decides which components are marked as unstable. Without it, an approximation is used.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default a new one.
    dark : bool, optional
        Colours of a new Axes: light on dark if true, dark on light if false. By default those of
        matplotlib's settings.

    Returns
    -------
    matplotlib.axes.Axes
        Variables with the largest sums come first. The last column has the sums over all
        components that the model keeps, or over ``components`` if given; over all p components
        they are 1.

    Raises
    ------
    ParameterError
    """
    fitted = fitted_of(model)
    selected = select_components(fitted.k, components, _DEFAULT_COMPONENTS)
    top = check_count("top", top)
    if np.isnan(fitted.column_variances).all():
        raise NotAvailableError(
            "cos² needs the variances of the columns, which scikit-learn's PCA does not keep",
            place={"parameter": "model"},
            hint="fit princomp.PCA to the same rows",
        )
    summed = select_components(fitted.k, components)
    table = variables(model, components=summed.names, form="wide", frame="listing")
    values, summed_values = (
        np.stack([table[f"cos2_{name}"] for name in chosen.names], axis=1)
        for chosen in (selected, summed)
    )
    total = summed_values.sum(axis=1)
    order = np.argsort(-np.where(np.isnan(total), -1.0, total), kind="stable")[:top]
    cells = np.column_stack([values, total])[order]

    names = [display_name(name) for name in table["variable"][order]]
    ax = styled_axes(ax, dark, _names_width(names) + 0.75 * cells.shape[1], 1.2 + 0.27 * len(order))
    shares = MAX_CELL_SHARE * np.nan_to_num(np.clip(cells, 0.0, 1.0))
    colours = [
        [mix_colours(background_colour(ax), BLUE, share) for share in line] for line in shares
    ]
    texts = [["–" if np.isnan(v) else f"{v:.2f}" for v in line] for line in cells]
    kept_or_shown = "kept" if components is None else "shown"
    labels = [
        *_headings(fitted, selected, bootstrap),
        f"sum of\n{len(summed.names)} {kept_or_shown}",
    ]
    _draw_grid(ax, colours, texts, names, labels)
    ax.axvline(len(selected.indices) - 0.5, color=background_colour(ax), lw=5)
    add_note(
        ax,
        "cos²: share of the variable's variance that a component shows",
        f"{len(order)} of {fitted.p:,} variables, those with the largest sums"
        if len(order) < fitted.p
        else "",
        "–: constant column" if np.isnan(cells).any() else "",
        below=8.0,
    )
    return ax


@renamed_parameters(weights="sample_weight")
@accept_any_model
def metadata(
    model: PCA,
    X: object,
    data: object,
    sample_weight: SampleWeight = None,
    *,
    categorical: Iterable[str] = (),
    components: Components = None,
    bootstrap: Bootstrap | None = None,
    ax: Axes | None = None,
    dark: bool | None = None,
) -> Axes:
    """Draw associations of components with columns of metadata: r or η², with stars.

    Parameters
    ----------
    model, X, data, sample_weight, categorical
        As for :func:`princomp.diagnostics.metadata`.
    components : int, str or sequence of them, optional
        Numbers from 1, or "PC1", …; by default the first eight.
    bootstrap : Bootstrap, optional
        Decides which components are marked as unstable. Without it, an approximation is used.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default a new one.
    dark : bool, optional
        Colours of a new Axes: light on dark if true, dark on light if false. By default those of
        matplotlib's settings.

    Returns
    -------
    matplotlib.axes.Axes
        Stars mark p-values adjusted over the whole grid (Benjamini & Hochberg 1995): one
        below 0.05, two below 0.01, three below 0.001. Notes under the grid explain cells
        without a number.

    Raises
    ------
    ParameterError, ShapeError, ColumnError, NotFiniteError
    """
    fitted = fitted_of(model)
    selected = select_components(fitted.k, components, _DEFAULT_COMPONENTS)
    table = metadata_table(
        model,
        X,
        data,
        sample_weight,
        categorical=categorical,
        components=selected.names,
        frame="listing",
    )
    shape = (-1, len(selected.indices))
    r, eta2, p = (table[name].reshape(shape) for name in ("r", "eta2", "p_adjusted"))
    names = table["column"].reshape(shape)[:, 0]
    ax = styled_axes(ax, dark, 0.5 + _names_width(names) + 0.85 * r.shape[1], 1.5 + 0.32 * len(r))
    background = background_colour(ax)
    colours = [
        [_cell_colour(background, *cell) for cell in zip(*line, strict=True)]
        for line in zip(r, eta2, strict=True)
    ]
    texts = [
        [_cell_text(*cell) for cell in zip(*line, strict=True)]
        for line in zip(r, eta2, p, strict=True)
    ]
    labels = _headings(fitted, selected, bootstrap)
    kinds = np.where(~np.isnan(eta2).all(axis=1), " (η²)", "")
    kinds = np.where(~np.isnan(r).all(axis=1), " (r)", kinds)
    rows = [f"{display_name(name)}{kind}" for name, kind in zip(names, kinds, strict=True)]
    _draw_grid(ax, colours, texts, rows, labels)
    add_note(
        ax,
        "adjusted p: * < 0.05, ** < 0.01, *** < 0.001",
        *_reasons_for_empty_cells(table),
        below=8.0,
    )
    return ax


def _names_width(names: Iterable[object]) -> float:
    """Width in inches of the row names of a grid, and its margins."""
    return max(1.9, 0.6 + 0.09 * max(len(display_name(name)) for name in names))


def _headings(fitted: Fitted, selected: Selection, bootstrap: Bootstrap | None) -> list[str]:
    """Names of components above the columns, in two or three lines."""
    names = axis_names(fitted.rates, selected, verdicts_of(fitted, bootstrap))
    return [name.replace(" (", "\n(", 1).replace(", ", ",\n", 1) for name in names]


def _cell_colour(background: str, r: float, eta2: float) -> str:
    value = eta2 if np.isnan(r) else r
    hue = GREEN if np.isnan(r) else BLUE if r > 0 else VERMILLION
    return mix_colours(background, hue, MAX_CELL_SHARE * abs(float(np.nan_to_num(value))))


def _cell_text(r: float, eta2: float, p: float) -> str:
    value = eta2 if np.isnan(r) else r
    if np.isnan(value):
        return "–"
    stars = "" if np.isnan(p) else "*" * sum(p < limit for limit in (0.05, 0.01, 0.001))
    return f"{value:.2f}{stars}".replace("-", "−")


def _reasons_for_empty_cells(table: Listing) -> list[str]:
    """Reasons for cells without a number, each once."""
    reasons = {
        f"–  {name}: {reason}": None
        for name, reason in zip(table["column"], table["note"], strict=True)
        if reason
    }
    lines = list(reasons)
    return lines if len(lines) <= 6 else [*lines[:5], f"–  and {len(lines) - 5} more"]


def _draw_grid(
    ax: Axes, colours: list[list[str]], texts: list[list[str]], rows: list[str], columns: list[str]
) -> None:
    """Draw cells with colours and texts, separated by lines of the background."""
    cells = [
        [(j + x, i + y) for x, y in ((-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5))]
        for i, line in enumerate(texts)
        for j in range(len(line))
    ]
    ax.add_collection(
        PolyCollection(
            cells,
            facecolors=[colour for line in colours for colour in line],
            edgecolors=background_colour(ax),
            linewidths=1.5,
        )
    )
    for i, line in enumerate(texts):
        for j, text in enumerate(line):
            # Cells lie inside the Axes, so they do not change the layout.
            ax.text(
                *(j, i, text), ha="center", va="center", fontsize=SMALL, color=text_colour(ax)
            ).set_in_layout(False)
    ax.set_xticks(range(len(columns)), columns)
    ax.set_yticks(range(len(texts)), rows)
    ax.set(xlim=(-0.5, len(columns) - 0.5), ylim=(len(texts) - 0.5, -0.5))
    ax.xaxis.tick_top()
    ax.tick_params(length=0, colors=text_colour(ax))
    ax.spines[:].set_visible(False)
