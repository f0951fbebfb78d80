from .accessor import Plots as Plots
from .drawn_rows import (
    Groups as Groups,
    Ids as Ids,
    has_row_names as has_row_names,
    pandas_index as pandas_index,
    read_groups as read_groups,
    rows_with_scores as rows_with_scores,
)
from .grids import cos2 as cos2, metadata as metadata
from .outlier_map import outliers as outliers
from .score_plots import biplot as biplot, pairs as pairs, scores as scores
from .scree_plot import scree as scree
from .style import (
    ACCENTS as ACCENTS,
    DARK as DARK,
    GROUP_COLOURS as GROUP_COLOURS,
    LIGHT as LIGHT,
    close as close,
    contrast as contrast,
    mix_colours as mix_colours,
    new_axes as new_axes,
    readable_colour as readable_colour,
)
from .variable_plots import circle as circle, contributions as contributions, loadings as loadings
