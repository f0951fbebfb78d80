"""``model.plot``: the figures as methods of the model they are of."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, update_wrapper
from typing import Any

from princomp.plots.circle_plot import circle
from princomp.plots.contribution_plot import contributions
from princomp.plots.grids import cos2, metadata
from princomp.plots.loading_plot import loadings
from princomp.plots.outlier_map import outliers
from princomp.plots.pair_plot import pairs
from princomp.plots.score_plot import biplot, scores
from princomp.plots.scree_plot import scree

__all__ = ["FIGURES", "Plots"]

FIGURES: dict[str, Callable[..., Any]] = {
    figure.__name__: figure
    for figure in (
        *(scree, scores, biplot, circle, contributions),
        *(cos2, loadings, pairs, outliers, metadata),
    )
}


class Plots:
    """Figures of a model: ``model.plot.scree()`` is ``plots.scree(model)``.

    Parameters
    ----------
    model : PCA
        Fitted.
    """

    def __init__(self, model: Any) -> None:
        self._model = model

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in FIGURES:
            raise AttributeError(f"no figure {name!r}: there are {', '.join(FIGURES)}")
        return update_wrapper(partial(FIGURES[name], self._model), FIGURES[name])

    def __dir__(self) -> list[str]:
        return sorted(FIGURES)

    def __repr__(self) -> str:
        return f"Figures of {self._model!r}: {', '.join(FIGURES)}"
