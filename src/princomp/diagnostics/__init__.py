"""Diagnostics of a fitted PCA: tables of variables and rows, limits, tests, extra data.

``variables``, ``rows``            axes, loadings, correlations; scores, cos², contributions
``limits``, ``distances``          T² and Q, and their control limits
``contributions``, ``outliers``    which variables make them large, and in which rows
``reconstruction_error``           error by number of components
``supplementary_columns``, ``categories``, ``metadata``   data that did not take part in the fit
``bartlett``, ``kmo``              whether the columns are correlated enough

Tables are frames of the same kind as the input; see ``tables``.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

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
