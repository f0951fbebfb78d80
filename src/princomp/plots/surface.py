"""What is drawn on: an Axes, its ink and its background, and the words under it."""

from __future__ import annotations

from textwrap import fill
from typing import Any

from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgba
from matplotlib.figure import Figure

from princomp.diagnostics.given import Picked, picked
from princomp.errors import ParameterError, ShapeError
from princomp.fitted import Fitted
from princomp.plots.colours import contrast, mixed, readable_on

__all__ = [
    "SMALL",
    "axes_on",
    "axis_names",
    "background",
    "dress",
    "figure_of",
    "ink",
    "inked",
    "legend_above",
    "legend_beside",
    "muted",
    "new_axes",
    "no_room",
    "note",
    "one_component",
    "paint",
    "plane_of",
    "whole_number",
]

SMALL = 8.0  # points, of labels and notes
_NOTE = "princomp-note"
_DARK, _LIGHT = ("#15181d", "#e8e8e8"), ("#ffffff", "#1a1a1a")


def new_axes(
    width: float = 6.4, height: float = 4.8, *, dark: bool | None = None, dpi: float = 150.0
) -> Axes:
    """An empty Axes on a Figure of its own, which no pyplot knows.

    Parameters
    ----------
    width, height : float
        In inches.
    dark : bool, optional
        Light ink on a dark ground, or the reverse; by default what matplotlib is set to.
    dpi : float, default=150
        Of pictures made of points.

    Returns
    -------
    matplotlib.axes.Axes
        ``ax.figure.savefig(path)`` writes it.
    """
    ax: Axes = figure_of(width, height, dark, dpi).subplots()
    if dark is not None:
        paint(ax, dark)
    return ax


def figure_of(width: float, height: float, dark: bool | None, dpi: float = 150.0) -> Figure:
    """An empty Figure whose parts make room for each other."""
    ground = None if dark is None else (_DARK if dark else _LIGHT)[0]
    return Figure(figsize=(width, height), layout="constrained", dpi=dpi, facecolor=ground)


def paint(ax: Axes, dark: bool) -> None:
    """Give an Axes its ground and ink, without a word to global settings."""
    ground, colour = _DARK if dark else _LIGHT
    ax.set_facecolor(ground)
    ax.tick_params(colors=colour)
    for part in (ax.xaxis.label, ax.yaxis.label, ax.title):
        part.set_color(colour)
    for spine in ax.spines.values():
        spine.set_color(colour)


def axes_on(ax: Any, dark: bool | None, width: float = 6.4, height: float = 4.8) -> Axes:
    """The Axes that was given, or a new one, dark or light.

    Raises
    ------
    ParameterError
    """
    if ax is None:
        ax = new_axes(width, height, dark=dark)
    elif not isinstance(ax, Axes):
        raise ParameterError(
            f"ax is {type(ax).__name__}, no Axes of matplotlib",
            place={"parameter": "ax"},
            hint="give figure.subplots(), or leave ax out",
        )
    elif dark is not None:
        raise ParameterError(
            "an Axes that is given has its ground already",
            place={"parameter": "dark"},
            hint="leave dark or ax out; new_axes(dark=True) makes a dark one",
        )
    dress(ax)
    return ax


def dress(ax: Axes) -> None:
    """Thin lines at the left and below, none elsewhere."""
    ax.spines[["top", "right"]].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set(linewidth=0.6, color=muted(ax))
    ax.tick_params(width=0.6, length=3, labelsize=SMALL + 0.5)


def ink(ax: Axes) -> str:
    """What words are written with: the colour of the axis labels."""
    return to_hex(ax.xaxis.label.get_color())


def background(ax: Axes) -> str:
    """What is behind; where nothing is painted, what the ink is meant to be seen on."""
    for patch in (ax.patch, getattr(ax.figure, "patch", None)):
        if patch is not None and to_rgba(patch.get_facecolor())[3] > 0.5:
            return to_hex(patch.get_facecolor())
    return readable_on(ink(ax))


def muted(ax: Axes, share: float = 0.4) -> str:
    """The ink, less loud."""
    return mixed(ink(ax), background(ax), share)


def inked(ax: Axes, colour: str) -> str:
    """A colour that words can be read in here: nearer to the ink as far as it takes."""
    ground = background(ax)
    for share in (0.0, 0.15, 0.3, 0.45, 0.6):
        found = mixed(colour, ink(ax), share)
        if contrast(found, ground) >= 4.5:
            return found
    return ink(ax)


def no_room(labels: int) -> str:
    """What a note says of labels that were left out."""
    return f"{labels} label{'s' * (labels != 1)} found no room" if labels else ""


def note(ax: Axes, *lines: str, below: float = 36.0) -> None:
    """Small words under an Axes: what is drawn, and what is not.

    Words of a second call follow those of the first. What is known goes there before labels are
    placed, since it takes its room from the Axes.
    """
    width = ax.get_position().width * ax.figure.get_figwidth() * 72.0  # type: ignore[union-attr]
    letters = max(30, int(width / (0.55 * (SMALL - 0.5))))
    told = "\n".join(fill(line, letters) for line in lines if line).replace("$", r"\$")
    before = next((one for one in ax.texts if one.get_gid() == _NOTE), None)
    if told and before is not None:
        before.set_text(f"{before.get_text()}\n{told}")
    elif told:
        ax.annotate(
            told,
            (0.0, 0.0),
            (0.0, -below),
            xycoords="axes fraction",
            textcoords="offset points",
            va="top",
            fontsize=SMALL - 0.5,
            color=muted(ax, 0.3),
            annotation_clip=False,
            gid=_NOTE,
        )


def legend_above(ax: Axes, columns: int = 4) -> None:
    """A legend over the Axes, where it covers nothing."""
    _legend(ax, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=columns, borderaxespad=0.3)


def legend_beside(ax: Axes, **options: Any) -> None:
    """A legend at the right of the Axes, where it covers nothing."""
    _legend(ax, loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, **options)


def _legend(ax: Axes, **options: Any) -> None:
    made = ax.legend(
        frameon=False, fontsize=SMALL, labelcolor=ink(ax), title_fontsize=SMALL, **options
    )
    made.get_title().set(color=ink(ax), multialignment="left")
    made._legend_box.align = "left"  # type: ignore[attr-defined]


# ---- components -----------------------------------------------------------------------


def axis_names(fitted: Fitted, chosen: Picked) -> list[str]:
    """``PC1 (62.0%)``: of the *total* variance."""
    rates = fitted.rates[chosen.at]
    return [f"{name} ({rate:.1%})" for name, rate in zip(chosen.names, rates, strict=True)]


def plane_of(fitted: Fitted, x: Any, y: Any) -> Picked:
    """The two components of a plane.

    Raises
    ------
    ShapeError
        Where there is one component only.
    ParameterError
        For one that the model does not have, or the same twice.
    """
    if fitted.k == 1:
        more = "" if fitted.p == 1 else "keep two or more (n_components=2, -k 2), or "
        raise ShapeError(
            "a plane takes two components, and the model keeps 1"
            + (" of the one column" if fitted.p == 1 else ""),
            place={"parameter": "y"},
            hint=f"{more}draw pairs(), which shows one component as a histogram",
        )
    return picked(fitted, [x, y])


def one_component(fitted: Fitted, component: Any) -> Picked:
    """A single component.

    Raises
    ------
    ParameterError
    """
    chosen = picked(fitted, component)
    if len(chosen.at) != 1:
        raise ParameterError(
            f"component={component!r} is not one component",
            place={"parameter": "component"},
            hint="draw each on an Axes of its own",
        )
    return chosen


def whole_number(value: Any, name: str, least: int = 1) -> int:
    """A whole number of at least so much.

    Raises
    ------
    ParameterError
    """
    if isinstance(value, bool) or not hasattr(value, "__index__") or int(value) < least:
        raise ParameterError(
            f"{name}={value!r} is not lawful",
            place={"parameter": name},
            hint=f"give a whole number of at least {least}",
        )
    return int(value)
