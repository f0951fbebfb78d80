"""Reading a fitted PCA: tables of its variables and rows, limits, tests, other data against it.

``variables``, ``rows``            axes, loadings, correlations; scores, cos², contributions
``limits``, ``distances``          T² and Q, and how far they lawfully go
``contributions``, ``outliers``    which variables make them large, and in which rows
``reconstruction_error``           what each further component would explain
``supplementary_columns``, ``categories``, ``metadata``   data that did not take part
``bartlett``, ``kmo``              whether the columns have much in common at all

Tables are frames of the kind that came in; see ``tables``.
"""

from princomp.diagnostics.adequacy import Bartlett, Kmo, bartlett, kmo
from princomp.diagnostics.associations import metadata
from princomp.diagnostics.barycentres import categories
from princomp.diagnostics.beyond_limits import outliers
from princomp.diagnostics.control_limits import Limits, limits
from princomp.diagnostics.reconstruction import reconstruction_error
from princomp.diagnostics.row_table import rows
from princomp.diagnostics.supplementary import supplementary_columns
from princomp.diagnostics.t2_and_q import contributions, distances
from princomp.diagnostics.tables import Listing
from princomp.diagnostics.variable_table import variables

__all__ = [
    "Bartlett",
    "Kmo",
    "Limits",
    "Listing",
    "bartlett",
    "categories",
    "contributions",
    "distances",
    "kmo",
    "limits",
    "metadata",
    "outliers",
    "reconstruction_error",
    "rows",
    "supplementary_columns",
    "variables",
]
