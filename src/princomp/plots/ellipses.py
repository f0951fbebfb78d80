"""Ellipses around groups of rows, or around their means."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Ellipse
from scipy import special

from princomp.errors import invalid_value
from princomp.linalg import FloatArray

KINDS = ("rows", "mean", "none")
# Fewer rows do not determine the shape of a group.
MIN_POINTS = 4
_VERTICES = 49  # on the line of an ellipse
_MIN_AXIS_RATIO = 1e-9  # shorter over longer axis: below it there is no area


def check_kind(kind: str) -> None:
    """Raise for an unknown kind of ellipse.

    Raises
    ------
    ParameterError
    """
    if kind not in KINDS:
        hint = "'rows' predicts further rows of a group, 'mean' covers its mean"
        raise invalid_value("ellipses", kind, f"one of {', '.join(map(repr, KINDS))}", hint)


def ellipse_label(kind: str, level: float) -> str:
    """Describe ellipses in a note."""
    labels = {"rows": "prediction of further rows", "mean": "confidence of the mean"}
    return f"{100 * level:.4g}% {labels[kind]}"


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
        None for fewer than 4 points, and for points on a line.
    """
    n = len(points)
    if n < MIN_POINTS:
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
