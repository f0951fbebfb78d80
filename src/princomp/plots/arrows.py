"""Variables as arrows from the origin."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from princomp.linalg import FloatArray
from princomp.plots.axes_style import background_colour

# Width of a shaft in points.
_SHAFT_WIDTH = 1.3


def spokes(ends: FloatArray) -> list[FloatArray]:
    """Lines from the origin to ends (m, 2), which labels must not cross."""
    return [np.stack([np.zeros(2), end]) for end in ends]


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
        edgecolor=background_colour(ax),
        linewidth=0.5,
        zorder=3,
    )
