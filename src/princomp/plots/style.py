"""Style of figures: colours, axes, notes, legends.

Colours suit all kinds of colour vision, and have sufficient contrast.
"""

from __future__ import annotations

import sys
from textwrap import fill
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex, to_rgb, to_rgba
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.typing import ColorType

from princomp.errors import ParameterError, invalid_value, printable

# Okabe & Ito (2008), without yellow, which is not visible on white. The first four have a
# contrast of 3 to black and to white; markers of the others have dark edges on white.
BLUE, GREEN, PURPLE, ORANGE, SKY = "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"
# For arrows and limits only, so that no group has the same colour.
VERMILLION = "#D55E00"
GROUP_COLOURS = (BLUE, GREEN, PURPLE, "#9A6324", ORANGE, SKY, "#7B5EC6", "#8DB600")
ACCENTS = (*GROUP_COLOURS, VERMILLION)
# Eight colours and seven markers in turn: 56 different groups.
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
# Cells of grids have at most this share of a colour, so that texts on them are readable.
MAX_CELL_SHARE = 0.7
SMALL = 8.0  # points, of labels and notes
_LEGEND_PADDING = 0.3  # between a legend and its Axes, in units of the font size
_LETTER_WIDTH = 0.6  # of notes, rather too much, in units of the font size
_NOTE_ID = "princomp-note"
# Background and texts.
DARK, LIGHT = ("#15181d", "#e8e8e8"), ("#ffffff", "#1a1a1a")


# ---- axes, notes, legends -------------------------------------------------------------


def new_axes(
    width: float = 6.4, height: float = 4.8, *, dark: bool | None = None, dpi: float | None = None
) -> Axes:
    """Create an empty Axes on a new Figure, which notebooks show at the end of the cell.

    Parameters
    ----------
    width, height : float
        Size in inches.
    dark : bool, optional
        Colours: light on dark if true, dark on light if false. By default those of matplotlib's
        settings.
    dpi : float, optional
        Resolution of bitmap files: 150 by default, in notebooks that of matplotlib's settings.

    Returns
    -------
    matplotlib.axes.Axes
        ``ax.figure.savefig(path)`` writes it.
    """
    ax: Axes = new_figure(width, height, dark, dpi).subplots()
    if dark is not None:
        set_colours(ax, dark)
    return ax


def new_figure(width: float, height: float, dark: bool | None, dpi: float | None = None) -> Figure:
    """Create an empty Figure with a constrained layout, in IPython as a figure of pyplot."""
    background = None if dark is None else (DARK if dark else LIGHT)[0]
    options: Any = {"figsize": (width, height), "layout": "constrained", "facecolor": background}
    if _is_ipython():
        from matplotlib import pyplot  # notebooks show the figures that it knows

        return pyplot.figure(dpi=dpi, **options)
    figure = Figure(dpi=dpi or 150.0, **options)
    FigureCanvasAgg(figure)  # texts are measured faster than without a canvas
    return figure


def close(figure: Figure) -> None:
    """Close a figure that notebooks must not show, such as one of a report."""
    if _is_ipython():
        from matplotlib import pyplot

        pyplot.close(figure)


def _is_ipython() -> bool:
    """Whether the code runs in a notebook or in another shell of IPython."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and ipython.get_ipython() is not None


def lay_out(ax: Axes) -> None:
    """Compute the layout of a figure, and the limits of an Axes, without drawing."""
    figure: Any = ax.get_figure(root=True)
    engine, locator = figure.get_layout_engine(), ax.get_axes_locator()
    if engine is not None:
        engine.execute(figure)
    ax.apply_aspect(locator and locator(ax, None))  # type: ignore[arg-type, truthy-function]


def figure_size(ax: Axes) -> tuple[float, float]:
    """Width and height in inches of the figure, or subfigure, of an Axes."""
    figure: Any = ax.figure
    return figure.bbox.width / figure.dpi, figure.bbox.height / figure.dpi


def set_colours(ax: Axes, dark: bool) -> None:
    """Set the colours of an Axes, without changing global settings."""
    background, colour = DARK if dark else LIGHT
    ax.set_facecolor(background)
    ax.tick_params(colors=colour)
    for text in (ax.xaxis.label, ax.yaxis.label, ax.title):
        text.set_color(colour)
    for spine in ax.spines.values():
        spine.set_color(colour)


def styled_axes(
    ax: Axes | None, dark: bool | None, width: float = 6.4, height: float = 4.8
) -> Axes:
    """Return the given Axes, or a new one, with the style of figures.

    Raises
    ------
    ParameterError
    """
    if ax is None:
        ax = new_axes(width, height, dark=dark)
    else:
        check_given("ax", ax, Axes, dark)
    apply_style(ax)
    return ax


def check_given(name: str, given: object, kind: type, dark: bool | None) -> None:
    """Check what a figure is to be drawn on, which has colours already.

    Raises
    ------
    ParameterError
    """
    if not isinstance(given, kind):
        expected = f"matplotlib's {kind.__name__}"
        raise invalid_value(name, given, expected, f"leave out {name} to draw on a new one")
    if dark is not None:
        raise ParameterError(
            f"dark applies to a new {kind.__name__} only",
            place={"parameter": "dark"},
            hint=f"leave out dark or {name}; new_axes(dark=True) creates a dark Axes",
        )


def apply_style(ax: Axes) -> None:
    """Draw thin lines at the left and bottom only."""
    ax.spines[["top", "right"]].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set(linewidth=0.6, color=muted_colour(ax))
    ax.tick_params(width=0.6, length=3, labelsize=SMALL + 0.5)


def draw_zero_lines(ax: Axes) -> None:
    """Draw faint lines through the origin."""
    for draw_line in (ax.axhline, ax.axvline):
        draw_line(0.0, color=muted_colour(ax, 0.75), linewidth=0.6, zorder=0.3)


def text_colour(ax: Axes) -> str:
    """Colour of texts: that of the axis labels."""
    return to_hex(ax.xaxis.label.get_color())


def background_colour(ax: Axes) -> str:
    """Colour of the background; where it is transparent, the one with contrast to the texts."""
    for patch in (ax.patch, getattr(ax.figure, "patch", None)):
        if patch is not None and to_rgba(patch.get_facecolor())[3] > 0.5:
            return to_hex(patch.get_facecolor())
    return black_or_white(text_colour(ax))


def muted_colour(ax: Axes, share: float = 0.4) -> str:
    """Colour of texts mixed with that of the background."""
    return mix_colours(text_colour(ax), background_colour(ax), share)


def readable_on_axes(ax: Axes, colour: str) -> str:
    """Mix a colour with that of texts until it is readable on the background."""
    return readable_colour(colour, text_colour(ax), background_colour(ax))


def add_note(ax: Axes, *lines: str, below: float = 36.0, replace: str = "") -> None:
    """Write a note under an Axes, after earlier notes.

    Notes reduce the size of the Axes, so write as many as possible before placing labels.
    ``replace`` is the beginning of the earlier lines that the new ones replace.
    """
    width = ax.get_position().width * figure_size(ax)[0] * 72.0
    line_length = max(30, int(width / (_LETTER_WIDTH * (SMALL - 0.5))))
    existing = next((artist for artist in ax.texts if artist.get_gid() == _NOTE_ID), None)
    earlier = "" if existing is None else existing.get_text()
    if replace and replace in earlier:
        earlier = earlier[: earlier.index(replace)].rstrip("\n")
    text = "\n".join(fill(line, line_length) for line in lines if line)
    text = printable(text).replace("$", r"\$")
    text = "\n".join(filter(None, [earlier, text]))
    if existing is not None:
        existing.set_text(text)
    elif text:
        ax.annotate(
            text,
            (0.0, 0.0),
            (0.0, -below),
            xycoords="axes fraction",
            textcoords="offset points",
            va="top",
            fontsize=SMALL - 0.5,
            color=muted_colour(ax, 0.3),
            annotation_clip=False,
            gid=_NOTE_ID,
        )


def write_at(
    ax: Axes,
    text: str,
    position: tuple[float, float],
    shift: tuple[float, float],
    *,
    above: bool = False,
    **options: Any,
) -> None:
    """Write a small text, shifted by points from a position.

    ``above`` measures the height of the position as a share of the Axes.
    """
    ax.annotate(
        text,
        position,
        shift,
        xycoords=("data", "axes fraction") if above else "data",
        textcoords="offset points",
        fontsize=SMALL,
        color=text_colour(ax),
        **options,
    )


def legend_above(ax: Axes, columns: int = 4) -> None:
    """Draw a legend above the Axes, in as many columns as are not wider than the Axes."""
    place = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "borderaxespad": _LEGEND_PADDING}
    lay_out(ax)  # long names of variables make the Axes narrow
    room = ax.bbox.width - _LEGEND_PADDING * SMALL * ax.figure.dpi / 72.0
    for ncols in range(columns, 0, -1):
        legend = draw_legend(ax, ax, ncols=ncols, alignment="left", **place)
        if legend.get_window_extent().width <= room:
            break


def draw_legend(owner: Axes | Figure, ax: Axes, **options: Any) -> Legend:
    """Draw a legend on an Axes or a figure, in the colours of an Axes."""
    colour = text_colour(ax)
    legend = owner.legend(
        frameon=False, fontsize=SMALL, labelcolor=colour, title_fontsize=SMALL, **options
    )
    legend.get_title().set(color=colour, multialignment="left")
    return legend


# ---- colours --------------------------------------------------------------------------


def mix_colours(one: ColorType, other: ColorType, share: float) -> str:
    """Mix two colours: ``share`` of the second."""
    (r, g, b), (s, h, c) = to_rgb(one), to_rgb(other)
    rest = 1.0 - share
    return to_hex((rest * r + share * s, rest * g + share * h, rest * b + share * c))


def _luminance(colour: ColorType) -> float:
    parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(one: ColorType, other: ColorType) -> float:
    """Contrast of two colours by WCAG 2, from 1 to 21; shapes should have 3, text 4.5."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def black_or_white(colour: ColorType) -> str:
    """Black or white, the one with more contrast to a colour."""
    return max("#000000", "#ffffff", key=lambda ink: contrast(ink, colour))


def readable_colour(colour: ColorType, ink: ColorType, background: ColorType) -> str:
    """Mix a colour with that of texts until it is readable on the background."""
    for share in (0.0, 0.15, 0.3, 0.45, 0.6):
        colour_mix = mix_colours(colour, ink, share)
        if contrast(colour_mix, background) >= 4.5:
            return colour_mix
    return to_hex(ink)
