"""Ellipses around groups of rows, or around their means."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Ellipse
from scipy import special

from princomp.linalg import FloatArray

# What a note says about the ellipses of each kind.
ELLIPSE_LABELS = {"rows": "prediction of further rows", "mean": "confidence of the mean"}
# Fewer rows do not determine the shape of a group.
MIN_POINTS = 4
_VERTICES = 49  # on the line of an ellipse
_MIN_AXIS_RATIO = 1e-9  # shorter over longer axis: below it there is no area


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
        ax.add_patch(Ellipse(tuple(centre), *(2.0 * half), angle=angle, **options))  # type: ignore[arg-type]
    radians, t = np.radians(angle), np.linspace(0.0, 2.0 * np.pi, _VERTICES)
    unrotated = np.column_stack([half[0] * np.cos(t), half[1] * np.sin(t)])
    rotation = np.array([[np.cos(radians), np.sin(radians)], [-np.sin(radians), np.cos(radians)]])
    line: FloatArray = centre + unrotated @ rotation
    ax.update_datalim(line)  # patches do not always update the limits of an Axes
    return line
