"""Marks: rows as points, samples or densities; ellipses of groups; arrows of variables."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, LogNorm, to_rgba
from matplotlib.image import AxesImage
from matplotlib.patches import Ellipse
from numpy.typing import NDArray
from scipy import special

from princomp.errors import counted
from princomp.linalg import FloatArray
from princomp.plots import style
from princomp.plots.drawn_rows import Groups
from princomp.plots.labels import display_name

# A single hue from faint to opaque suits light and dark backgrounds.
_FAINT_TO_OPAQUE = LinearSegmentedColormap.from_list(
    "princomp", [to_rgba(style.BLUE, 0.2), to_rgba(style.BLUE, 1.0)]
)
# More points would hide each other: a density is drawn, or a sample of each group.
MAX_POINTS = 20_000
# Smallest sample of a group.
_MIN_GROUP_SAMPLE = 100
# Largest number of points that are shapes in SVG and PDF files; more become a bitmap.
_MAX_VECTOR_POINTS = 3000
_CELLS = 80
_LAYERS = 8
# In a small Axes, points have at most the size for this many.
_SMALL_AXES_POINTS = 300
# What a note says about the ellipses of each kind.
ELLIPSE_LABELS = {"rows": "prediction of further rows", "mean": "confidence of the mean"}
# Fewer rows do not determine the shape of a group.
MIN_POINTS = 4
_VERTICES = 49  # on the line of an ellipse
_MIN_AXIS_RATIO = 1e-9  # shorter over longer axis: below it there is no area
# Width of a shaft in points.
_SHAFT_WIDTH = 1.3


# ---- rows -----------------------------------------------------------------------------


def point_style(n: int) -> tuple[float, float]:
    """Size in squared points, and opacity, for n points."""
    for limit, size, alpha in ((80, 22, 0.9), (500, 14, 0.8), (3000, 8, 0.6)):
        if n <= limit:
            return size, alpha
    return 4.0, 0.45


def draw_points(
    ax: Axes, xy: FloatArray, colour: str, marker: str = "o", *, among: int, label: str = ""
) -> None:
    """Draw points (n, 2); ``among`` is the number of all points, which decides their size."""
    size, alpha = point_style(among)
    ax.scatter(
        xy[:, 0],
        xy[:, 1],
        s=size,
        marker=marker,
        facecolor=colour,
        edgecolor=style.mix_colours(colour, style.text_colour(ax), 0.45),
        linewidth=0.4 if size > 4 else 0.0,
        alpha=alpha,
        rasterized=among > _MAX_VECTOR_POINTS,
        zorder=2,
        label=label,
    )


def draw_cloud(ax: Axes, xy: FloatArray, *, colour_bar: bool = True) -> str:
    """Draw points, or the density of many points; return a note."""
    if len(xy) <= MAX_POINTS:
        among = len(xy) if colour_bar else max(len(xy), _SMALL_AXES_POINTS)
        draw_points(ax, xy, style.BLUE, among=among)
        return ""
    image = draw_density(ax, xy, equal_scales=colour_bar)
    if colour_bar:
        bar = ax.figure.colorbar(image, ax=ax, shrink=0.5, aspect=18, pad=0.02)
        bar.outline.set_visible(False)
        bar.ax.set_facecolor("none")
        if bar.solids is not None:
            bar.solids.set_rasterized(True)
        bar.ax.tick_params(labelsize=7, width=0.6, length=2, colors=style.text_colour(ax))
        bar.ax.minorticks_off()
        bar.set_label("rows in a cell", fontsize=7.5, color=style.text_colour(ax))
    return f"{len(xy):,} rows as a density, on a logarithmic scale"


def draw_density(ax: Axes, xy: FloatArray, *, equal_scales: bool = True) -> AxesImage:
    """Draw counts in cells on a logarithmic scale; ``equal_scales`` for axes with equal scales."""
    low, high = xy.min(axis=0), xy.max(axis=0)
    span = np.where(high > low, high - low, 1.0)
    shares = span / span.max() if equal_scales else np.array([1.0, 0.75])
    cells = np.clip(_CELLS * shares, 4, None).astype(int)
    # Not low + span, which rounding may put below the largest value: its row would be lost.
    top = np.where(high > low, high, low + span)
    ranges = np.stack([low, top], axis=1)
    counts, *edges = np.histogram2d(xy[:, 0], xy[:, 1], bins=cells, range=ranges)
    image = ax.imshow(
        np.where(counts > 0, counts, np.nan).T,
        origin="lower",
        extent=(edges[0][0], edges[0][-1], edges[1][0], edges[1][-1]),
        norm=LogNorm(1.0, max(float(counts.max()), 2.0)),
        cmap=_FAINT_TO_OPAQUE,
        aspect="auto",
        interpolation="none",
        zorder=1,
    )
    image.sticky_edges.x.clear()  # they would leave no margins
    image.sticky_edges.y.clear()
    return image


def draw_groups(
    ax: Axes, xy: FloatArray, groups: Groups, *, legend: bool = True
) -> tuple[list[str], dict[int, FloatArray]]:
    """Draw rows and ellipses by group.

    Return notes, and places (m, 2) on the ellipse of each group that has one, by its code.
    If there are very many rows, a sample is drawn; ellipses are computed from all rows.
    """
    rng, drawn = np.random.default_rng(0), 0
    ungrouped, grey = np.flatnonzero(groups.codes < 0), row_style(ax, -1)[0]
    if len(ungrouped):
        sample = _sample(ungrouped, len(xy), rng)
        draw_points(ax, xy[sample], grey, among=len(xy))
        drawn += len(sample)
    samples, size, ellipses = [], point_style(len(xy))[0], {}
    for code, name in enumerate(groups.labels):
        members = np.flatnonzero(groups.codes == code)
        colour, marker = group_style(code)
        ellipse = ellipse_of(xy[members], groups.ellipses, groups.level)
        if ellipse is not None:
            ellipses[code] = draw_ellipse(ax, ellipse, colour)
        sample = rng.permutation(_sample(members, len(xy), rng))
        label = display_name(name)
        if label.startswith("_"):
            label = "\u200b" + label  # legends hide names with a leading underscore
        if ellipse is None and groups.ellipses != "none":
            why = counted(len(members), "row") if len(members) < MIN_POINTS else "on a line"
            label += f" ({why}: no ellipse)"
        if legend:
            ax.scatter([], [], marker=marker, facecolor=colour, s=max(size, 14), label=label)
        samples.append((sample, colour, marker))
        drawn += len(sample)
    if legend and len(ungrouped):
        ax.scatter([], [], facecolor=grey, s=max(size, 14), label="no group")
    # Draw the largest groups first, so that they do not hide small ones. If there are many points,
    # the groups are drawn in layers, in turn.
    samples.sort(key=lambda drawn_group: -len(drawn_group[0]))
    layers = _LAYERS if len(xy) > _MAX_VECTOR_POINTS else 1
    for layer in range(layers):
        for sample, colour, marker in samples:
            part = np.array_split(sample, layers)[layer]
            if len(part):
                draw_points(ax, xy[part], colour, marker, among=len(xy))
    notes = []
    if len(xy) > MAX_POINTS:
        of_all = "; ellipses are of all" if ellipses else ""
        notes.append(f"{drawn:,} of {len(xy):,} rows drawn{of_all}")
    if ellipses:
        label = ELLIPSE_LABELS[groups.ellipses]
        notes.append(f"ellipses: {100 * groups.level:.10g}% {label}")
    return notes, ellipses


def group_style(code: int) -> tuple[str, str]:
    """Colour and marker of a group."""
    colours, markers = style.GROUP_COLOURS, style.MARKERS
    return colours[code % len(colours)], markers[code % len(markers)]


def row_style(ax: Axes, code: int) -> tuple[str, str]:
    """Colour and marker of the rows of a group, or of the rows without one (−1)."""
    return group_style(code) if code >= 0 else (style.muted_colour(ax, 0.5), "o")


def _sample(rows: NDArray[np.intp], n: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Draw a sample of some of n rows, if n is very large."""
    count = max(round(MAX_POINTS * len(rows) / n), _MIN_GROUP_SAMPLE)
    if count >= len(rows):
        return rows
    return np.sort(rng.choice(rows, count, replace=False))


# ---- ellipses -------------------------------------------------------------------------


def ellipse_of(
    points: FloatArray, kind: str, level: float
) -> tuple[FloatArray, FloatArray, float] | None:
    """Return centre (2,), half axes (2,) and angle in degrees for a group of points (n, 2).

    For normal rows, an ellipse of "rows" contains a further row with probability ``level``:
    2(n² − 1)/(n(n − 2)) F(2, n − 2); one of the "mean" covers the population mean:
    2(n − 1)/(n(n − 2)) F(2, n − 2) (Hotelling 1931).

    Returns
    -------
    tuple or None
        None for the kind "none", for fewer than 4 points, and for points on a line.
    """
    n = len(points)
    if kind == "none" or n < MIN_POINTS:
        return None
    centre = points.mean(axis=0)
    values, vectors = np.linalg.eigh(np.cov(points - centre, rowvar=False))
    if not values[0] > _MIN_AXIS_RATIO**2 * values[1]:
        return None
    factor = 2.0 * (n - 1) / (n * (n - 2)) * float(special.fdtri(2, n - 2, level))
    if kind == "rows":
        factor *= n + 1
    angle = float(np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1])))
    return centre, np.sqrt(factor * values[::-1]), angle


def draw_ellipse(
    ax: Axes, ellipse: tuple[FloatArray, FloatArray, float], colour: str
) -> FloatArray:
    """Draw an ellipse, a thin line and a faint fill; return places (m, 2) on the line."""
    centre, half, angle = ellipse
    for options in (
        {"facecolor": colour, "alpha": 0.10, "edgecolor": "none", "zorder": 0.5},
        {"facecolor": "none", "edgecolor": colour, "linewidth": 1.0, "zorder": 1.8},
    ):
        patch = Ellipse(tuple(centre), *(2.0 * half), angle=angle, **options)  # type: ignore[arg-type]
        ax.add_patch(patch)
    t = np.linspace(0.0, 2.0 * np.pi, _VERTICES)
    circle = np.column_stack([np.cos(t), np.sin(t)])
    line: FloatArray = patch.get_patch_transform().transform(circle)
    ax.update_datalim(line)  # patches do not always update the limits of an Axes
    return line


# ---- arrows ---------------------------------------------------------------------------


def draw_arrows(ax: Axes, ends: FloatArray, colour: str) -> None:
    """Draw arrows from the origin to ends (m, 2), with a thin edge of the background."""
    origin = np.zeros(len(ends))
    ax.quiver(
        *(origin, origin, ends[:, 0], ends[:, 1]),
        angles="xy",
        scale_units="xy",
        scale=1.0,
        # Not in dots: the resolution of files differs from that of the figure.
        units="inches",
        width=_SHAFT_WIDTH / 72.0,
        headwidth=4.6,
        headlength=5.6,
        headaxislength=5.2,
        minlength=0.5,
        color=colour,
        edgecolor=style.background_colour(ax),
        linewidth=0.5,
        zorder=3,
    )
