"""Coloured grids: cos² of variables, associations of components with metadata."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from numpy.typing import NDArray

from princomp import diagnostics
from princomp.core import renamed_parameters
from princomp.errors import NotAvailableError
from princomp.estimators import PCA
from princomp.linalg import FloatArray
from princomp.plots import style
from princomp.plots.drawn_model import DrawnModel, accept_any_model
from princomp.plots.labels import display_name
from princomp.summaries import SampleWeight

_DEFAULT_COMPONENTS = 8  # components by default


@accept_any_model
@diagnostics.shared_docs
def cos2(
    model: PCA,
    components: diagnostics.Components = None,
    *,
    top: int = 30,
    bootstrap: diagnostics.Bootstrap | None = None,
    ax: Axes | None = None,
    dark: bool | None = None,
) -> Axes:
    """Draw a grid of cos²: the shares of each variable's variance in the components.

    Parameters
    ----------
    %(model)s
    components : int, str or sequence of them, optional
        Numbers from 1, or "PC1", …; by default the first eight.
    top : int, default=30
        Maximum number of variables: those with the largest sums.
    %(bootstrap)s
    %(axes)s

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
    fitted = diagnostics.fitted_of(model)
    selected = diagnostics.select_components(fitted.k, components, _DEFAULT_COMPONENTS)
    top = diagnostics.check_count("top", top)
    if np.isnan(fitted.column_variances).all():
        raise NotAvailableError(
            "cos² needs the variances of the columns, which scikit-learn's PCA does not keep",
            place={"parameter": "model"},
            hint="fit princomp.PCA to the same rows",
        )
    summed = diagnostics.select_components(fitted.k, components)
    values = diagnostics.variable_measures(fitted, summed)["cos2"]
    total = values.sum(axis=1)
    order = np.argsort(-np.where(np.isnan(total), -1.0, total), kind="stable")[:top]
    cells = np.column_stack([values[:, : len(selected.indices)], total])[order]

    names = [display_name(name) for name in diagnostics.variable_names(model)[order]]
    width = _names_width(names) + 0.75 * cells.shape[1]
    ax = style.styled_axes(ax, dark, width, 1.2 + 0.27 * len(order))
    kept_or_shown = "kept" if components is None else "shown"
    sum_heading = f"sum of\n{len(summed.names)} {kept_or_shown}"
    _draw_grid(ax, cells, names, [*_headings(model, selected, bootstrap), sum_heading])
    ax.axvline(len(selected.indices) - 0.5, color=style.background_colour(ax), lw=5)
    notes = ["cos²: share of the variable's variance that a component shows"]
    if len(order) < fitted.p:
        notes.append(f"{len(order)} of {fitted.p:,} variables, those with the largest sums")
    if np.isnan(cells).any():
        notes.append("–: constant column")
    style.add_note(ax, *notes, below=8.0)
    return ax


@renamed_parameters(weights="sample_weight")
@accept_any_model
@diagnostics.shared_docs
def metadata(
    model: PCA,
    X: object,
    data: object,
    sample_weight: SampleWeight = None,
    *,
    categorical: Iterable[str] = (),
    components: diagnostics.Components = None,
    bootstrap: diagnostics.Bootstrap | None = None,
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
    %(bootstrap)s
    %(axes)s

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
    selected = diagnostics.select_components(
        diagnostics.fitted_of(model).k, components, _DEFAULT_COMPONENTS
    )
    table = diagnostics.metadata(
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
    width = 0.5 + _names_width(names) + 0.85 * r.shape[1]
    ax = style.styled_axes(ax, dark, width, 1.5 + 0.32 * len(r))
    kinds = np.where(~np.isnan(eta2).all(axis=1), " (η²)", "")
    kinds = np.where(~np.isnan(r).all(axis=1), " (r)", kinds)
    _draw_grid(
        ax,
        np.where(np.isnan(r), eta2, r),
        [f"{display_name(name)}{kind}" for name, kind in zip(names, kinds, strict=True)],
        _headings(model, selected, bootstrap),
        np.where(np.isnan(r), style.GREEN, np.where(r > 0, style.BLUE, style.VERMILLION)),
        sum((p < limit).astype(int) for limit in (0.05, 0.01, 0.001)),
    )
    style.add_note(
        ax,
        "adjusted p: * < 0.05, ** < 0.01, *** < 0.001",
        *_reasons_for_empty_cells(table),
        below=8.0,
    )
    return ax


def _names_width(names: Iterable[object]) -> float:
    """Width in inches of the row names of a grid, and its margins."""
    return max(1.9, 0.6 + 0.09 * max(len(display_name(name)) for name in names))


def _headings(
    model: PCA, selected: diagnostics.Selection, bootstrap: diagnostics.Bootstrap | None
) -> list[str]:
    """Names of components above the columns, in two or three lines."""
    names = DrawnModel.of(model, bootstrap).axis_names(selected)
    return [name.replace(" (", "\n(", 1).replace(", ", ",\n", 1) for name in names]


def _reasons_for_empty_cells(table: diagnostics.Listing) -> list[str]:
    """Reasons for cells without a number, each once."""
    notes = zip(table["column"], table["note"], strict=True)
    lines = list(dict.fromkeys(f"–  {name}: {reason}" for name, reason in notes if reason))
    return lines if len(lines) <= 6 else [*lines[:5], f"–  and {len(lines) - 5} more"]


def _draw_grid(
    ax: Axes,
    values: FloatArray,
    rows: list[str],
    columns: list[str],
    hues: NDArray[np.str_] | str = style.BLUE,
    stars: NDArray[np.intp] | int = 0,
) -> None:
    """Draw values with stars on cells of shaded hues, separated by lines of the background."""
    background, colour = style.background_colour(ax), style.text_colour(ax)
    hues, stars = np.broadcast_to(hues, values.shape), np.broadcast_to(stars, values.shape)
    shares = style.MAX_CELL_SHARE * np.nan_to_num(np.clip(np.abs(values), 0.0, 1.0))
    corners = np.array([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)])
    cells = PolyCollection(
        [np.add(corners, (j, i)) for i, j in np.ndindex(values.shape)],
        facecolors=[
            style.mix_colours(background, hue, share)
            for hue, share in zip(hues.flat, shares.flat, strict=True)
        ],
        edgecolors=background,
        linewidths=1.5,
    )
    ax.add_collection(cells)
    # Cells lie inside the Axes, so they do not change the layout.
    options: dict[str, Any] = {"fontsize": style.SMALL, "color": colour, "in_layout": False}
    for (i, j), value in np.ndenumerate(values):
        text = "–" if np.isnan(value) else f"{value:.2f}{'*' * stars[i, j]}".replace("-", "−")
        ax.text(j, i, text, ha="center", va="center", **options)
    ax.set_xticks(range(len(columns)), columns)
    ax.set_yticks(range(len(rows)), rows)
    ax.set(xlim=(-0.5, len(columns) - 0.5), ylim=(len(rows) - 0.5, -0.5))
    ax.xaxis.tick_top()
    ax.tick_params(length=0, colors=colour)
    ax.spines[:].set_visible(False)
