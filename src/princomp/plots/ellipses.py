"""Ellipses of groups: where rows of a group lie, or where its mean does."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Ellipse
from scipy import stats

from princomp.arrays import FloatArray
from princomp.errors import ParameterError

__all__ = ["FEWEST", "KINDS", "checked_kind", "ellipse_of", "ellipse_words", "put_ellipse"]

KINDS = ("rows", "mean", "none")
# Fewer rows do not say what shape their group has.
FEWEST = 4
_NARROWEST = 1e-9  # shorter over longer axis: below it there is no area


def checked_kind(kind: Any) -> str:
    """A kind of ellipse.

    Raises
    ------
    ParameterError
    """
    if kind not in KINDS:
        raise ParameterError(
            f"ellipses={kind!r} is no kind of ellipse",
            place={"parameter": "ellipses"},
            hint="'rows' (where a further row of the group would lie), 'mean' (where the mean "
            "of the group lies) or 'none'",
        )
    return str(kind)


def ellipse_words(kind: str, level: float) -> str:
    """What a legend calls them."""
    words = {"rows": "prediction ellipses of rows", "mean": "confidence ellipses of means"}
    return f"{100 * level:.4g}% {words[kind]}"


def ellipse_of(
    points: FloatArray, kind: str, level: float
) -> tuple[FloatArray, FloatArray, float] | None:
    """Centre (2,), half axes (2,) and angle in degrees of a group of points (n, 2).

    Of normal rows. "rows": a further row lies in it with probability ``level``,
    2(n² − 1)/(n(n − 2)) F(2, n − 2). "mean": it covers the mean of the population so often,
    2(n − 1)/(n(n − 2)) F(2, n − 2) (Hotelling 1931).

    Returns
    -------
    tuple or None
        None for fewer than 4 points, and for points on a line.
    """
    n = len(points)
    if n < FEWEST:
        return None
    centre = points.mean(axis=0)
    values, vectors = np.linalg.eigh(np.cov(points - centre, rowvar=False))
    if not values[0] > _NARROWEST**2 * values[1]:
        return None
    factor = 2.0 * (n - 1) / (n * (n - 2)) * float(stats.f.ppf(level, 2, n - 2))
    if kind == "rows":
        factor *= n + 1
    angle = float(np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1])))
    return centre, np.sqrt(factor * values[::-1]), angle


def put_ellipse(ax: Axes, found: tuple[FloatArray, FloatArray, float], colour: str) -> None:
    """Draw it: a thin line and a breath of colour."""
    centre, half, angle = found
    for options in (
        {"facecolor": colour, "alpha": 0.10, "edgecolor": "none", "zorder": 0.5},
        {"facecolor": "none", "edgecolor": colour, "linewidth": 1.0, "zorder": 1.8},
    ):
        ax.add_patch(Ellipse(tuple(centre), *(2.0 * half), angle=angle, **options))  # type: ignore[arg-type]
    # Patches do not always move the limits of an Axes that points have set.
    turn = np.radians(angle)
    along = np.sqrt((half[0] * np.cos(turn)) ** 2 + (half[1] * np.sin(turn)) ** 2)
    across = np.sqrt((half[0] * np.sin(turn)) ** 2 + (half[1] * np.cos(turn)) ** 2)
    reach = np.array([along, across])
    ax.update_datalim([centre - reach, centre + reach])
