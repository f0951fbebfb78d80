"""Figures of a fitted PCA: each function draws one and returns its Axes. Needs ``princomp[plots]``.

``scree``                          variances, their cumulative sum, the number of components
``scores``, ``pairs``              rows on components, groups with ellipses
``circle``, ``loadings``           variables on components
``biplot``                         rows and variables
``contributions``, ``cos2``        of variables
``outliers``                       T² against Q, with control limits
``metadata``                       associations with extra columns
``new_axes``                       an empty Axes, light or dark

Neither pyplot nor global settings of matplotlib are used.
"""

from princomp.errors import MissingLibraryError

try:
    import matplotlib as _matplotlib  # noqa: F401 (only to find out whether it is installed)
except ImportError as error:
    raise MissingLibraryError(
        f"figures need {error.name}, which is not installed",
        hint="pip install 'princomp[plots]'",
    ) from error

from princomp.plots.accessor import Plots
from princomp.plots.drawn_rows import (
    Groups,
    Ids,
    has_row_names,
    pandas_index,
    read_groups,
    rows_with_scores,
)
from princomp.plots.grids import cos2, metadata
from princomp.plots.outlier_map import outliers
from princomp.plots.score_plots import biplot, pairs, scores
from princomp.plots.scree_plot import scree
from princomp.plots.style import (
    ACCENTS,
    DARK,
    GROUP_COLOURS,
    LIGHT,
    contrast,
    mix_colours,
    new_axes,
    readable_colour,
)
from princomp.plots.variable_plots import circle, contributions, loadings

__all__ = [
    "ACCENTS",
    "DARK",
    "GROUP_COLOURS",
    "LIGHT",
    "Groups",
    "Ids",
    "Plots",
    "biplot",
    "circle",
    "contrast",
    "contributions",
    "cos2",
    "has_row_names",
    "loadings",
    "metadata",
    "mix_colours",
    "new_axes",
    "outliers",
    "pairs",
    "pandas_index",
    "read_groups",
    "readable_colour",
    "rows_with_scores",
    "scores",
    "scree",
]
