"""Figures of a fitted PCA: each function draws one and gives its Axes. Needs ``princomp[plots]``.

``scree``                          variances, their sum, the number that was chosen
``scores``, ``pairs``              rows on components, groups with ellipses
``circle``, ``loadings``           variables on components
``biplot``                         both, with one factor for all arrows
``contributions``, ``cos2``        what makes a component, what it shows
``outliers``                       T² against Q, with their limits
``metadata``                       components against what took no part
``new_axes``                       an empty Axes, light or dark

Figures are objects of their own: pyplot and its state are never touched, nor global settings.
"""

from princomp.errors import MissingLibraryError

try:
    import matplotlib as _matplotlib  # noqa: F401 - whether it is there is the question
    import textalloc as _textalloc  # noqa: F401
except ImportError as error:
    raise MissingLibraryError(
        f"figures need {error.name}, which is not installed",
        hint="pip install 'princomp[plots]'",
    ) from error

from princomp.plots.accessor import Plots
from princomp.plots.circle_plot import circle
from princomp.plots.contribution_plot import contributions
from princomp.plots.grids import cos2, metadata
from princomp.plots.loading_plot import loadings
from princomp.plots.outlier_map import outliers
from princomp.plots.pair_plot import pairs
from princomp.plots.score_plot import biplot, scores
from princomp.plots.scree_plot import scree
from princomp.plots.surface import new_axes

__all__ = [
    "Plots",
    "biplot",
    "circle",
    "contributions",
    "cos2",
    "loadings",
    "metadata",
    "new_axes",
    "outliers",
    "pairs",
    "scores",
    "scree",
]
