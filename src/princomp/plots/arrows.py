"""Variables as arrows from the origin."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patheffects import Normal, withStroke

from princomp.arrays import FloatArray
from princomp.plots.surface import background

__all__ = ["arrows", "spokes"]


def spokes(ends: FloatArray) -> FloatArray:
    """Lines from the origin to ends (m, 2), as labels are to keep off them (m, 2, 2)."""
    return np.stack([np.zeros_like(ends), ends], axis=1)


def arrows(ax: Axes, ends: FloatArray, colour: str) -> None:
    """Arrows from the origin to ends (m, 2)."""
    ground = background(ax)
    for end in ends:
        drawn = ax.annotate(
            "",
            tuple(end),
            (0.0, 0.0),
            arrowprops={
                "arrowstyle": "-|>,head_width=0.16,head_length=0.32",
                "color": colour,
                "linewidth": 1.0,
                "shrinkA": 0.0,
                "shrinkB": 0.0,
            },
            zorder=3,
        )
        assert drawn.arrow_patch is not None
        drawn.arrow_patch.set_path_effects([withStroke(linewidth=2.4, foreground=ground), Normal()])
