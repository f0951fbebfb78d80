"""Contributions of variables to a component."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from princomp.diagnostics import (
    Bootstrap,
    check_count,
    fitted_of,
    select_components,
    variable_measures,
    variable_names,
)
from princomp.errors import ParameterError
from princomp.estimators import PCA
from princomp.linalg import FloatArray
from princomp.plots.axes_style import (
    SMALL,
    add_note,
    axis_names,
    background_colour,
    styled_axes,
    text_colour,
)
from princomp.plots.colours import BLUE, mix_colours
from princomp.plots.drawn_model import accept_any_model, verdicts_of
from princomp.plots.labels import display_name
from princomp.plots.shared_docs import shared_docs

# Width of a number and its margin, as a share of the axis.
_NUMBER_WIDTH = 0.09


@accept_any_model
@shared_docs
def contributions(
    model: PCA,
    component: int | str = 1,
    *,
    top: int = 20,
    bootstrap: Bootstrap | None = None,
    ax: Axes | None = None,
    dark: bool | None = None,
) -> Axes:
    """Draw contributions of the variables to a component in percent, the largest first.

    Parameters
    ----------
    %(model)s
    component : int or str, default=1
        A number from 1, or "PC1", ….
    top : int, default=20
        Maximum number of variables.
    bootstrap : Bootstrap, optional
        Decides whether the component is marked as unstable. Without it, an approximation is used.
    %(axes)s

    Returns
    -------
    matplotlib.axes.Axes
        All contributions to a component sum to 100%. The line at 100/p marks equal
        contributions.

    Raises
    ------
    ParameterError
    """
    fitted = fitted_of(model)
    selected = select_components(fitted.k, component)
    if len(selected.indices) != 1:
        raise ParameterError(
            f"component={component!r} is not one component",
            place={"parameter": "component"},
            hint="draw each on its own Axes",
        )
    top = check_count("top", top)
    shares, names = variable_measures(fitted, selected)["contribution"][:, 0], variable_names(model)
    order = np.argsort(-shares, kind="stable")[:top]
    shares, equal_share = shares[order], 100.0 / fitted.p

    ax = styled_axes(ax, dark, 6.4, 1.3 + 0.26 * len(order))
    positions = np.arange(len(order))
    pale = mix_colours(BLUE, background_colour(ax), 0.55)
    colours = [BLUE if share > equal_share else pale for share in shares]
    ax.barh(positions, shares, 0.7, color=colours, edgecolor=BLUE, linewidth=0.7)
    right = 1.1 * max(float(shares.max()), equal_share)
    _write_numbers(ax, shares, equal_share, right)
    ax.axvline(equal_share, color=text_colour(ax), lw=1.0, ls=(0, (4, 3)))
    ax.annotate(
        f"100/p = {equal_share:.3g}%",
        (equal_share, 1.0),
        (0, 2),
        xycoords=("data", "axes fraction"),
        textcoords="offset points",
        ha="center",
        va="bottom",
        fontsize=SMALL,
        color=text_colour(ax),
    )
    ax.set_yticks(positions, [display_name(name) for name in names[order]])
    ax.tick_params(axis="y", length=0)
    name = axis_names(fitted.rates, selected, verdicts_of(fitted, bootstrap))[0]
    ax.set(xlabel=f"contribution to {name}, %")
    ax.set_ylim(len(order) - 0.4, -0.6)
    ax.set_xlim(0, right)
    if len(order) < fitted.p:
        add_note(ax, f"{len(order)} of {fitted.p:,} variables, {shares.sum():.1f}% together")
    return ax


def _write_numbers(ax: Axes, shares: FloatArray, line: float, right: float) -> None:
    """Write the length of each bar next to its end; there is a line at ``line``."""
    for y, share in enumerate(shares):
        # A number that the line would cross is written to the right of the line.
        crossed = share <= line < share + _NUMBER_WIDTH * right
        ax.annotate(
            f"{share:.1f}",
            (line if crossed else share, y),
            (3, 0),
            textcoords="offset points",
            va="center",
            fontsize=SMALL,
            color=text_colour(ax),
            in_layout=False,  # numbers lie inside the Axes
        )
