"""Figures of a fitted PCA: each function draws one and returns its Axes. Needs ``princomp[plots]``.

``scree``                          variances, their cumulative sum, the number of components
``scores``, ``pairs``              rows on components, groups with ellipses
``circle``, ``loadings``           variables on components
``biplot``                         rows and variables
``contributions``, ``cos2``        of variables
``outliers``                       T² against Q, with control limits
``metadata``                       associations with extra columns
``new_axes``                       an empty Axes, light or dark

No global setting of matplotlib is changed. Only in IPython, pyplot is loaded, to show the figures.
"""

from typing import Any

import lazy_loader

from princomp.errors import MissingLibraryError

_load, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    # Only figures need matplotlib: dir(model) and notebooks evaluate model.plot without it.
    try:
        return _load(name)
    except ModuleNotFoundError as error:
        if str(error.name).startswith("princomp"):
            raise
        raise MissingLibraryError(
            f"figures need {error.name}, which is not installed",
            hint="pip install 'princomp[plots]'",
        ) from error


# The public names; the stub also has those that other rooms use.
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
