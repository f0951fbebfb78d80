"""``model.plot``: the figures as methods of a fitted model."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, update_wrapper
from importlib import import_module
from typing import Any

from princomp.errors import did_you_mean
from princomp.estimators import PCA
from princomp.kernel_pca import KernelPCA

# A kernel PCA has the first three only.
_FIGURES = (
    *("scree", "scores", "pairs", "biplot", "circle"),
    *("contributions", "cos2", "loadings", "outliers", "metadata"),
)


class Plots:
    """Figures of a model: ``model.plot.scree()`` is ``plots.scree(model)``.

    Parameters
    ----------
    model : PCA or KernelPCA
        Fitted. A kernel PCA has no loadings, so it has the figures scree, scores and pairs.
    """

    def __init__(self, model: PCA | KernelPCA) -> None:
        self._model = model
        self._figures = _FIGURES[:3] if isinstance(model, KernelPCA) else _FIGURES

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):  # copy and pickle read them before __init__
            raise AttributeError(f"no figure {name!r}")
        if name not in self._figures:
            guess = did_you_mean(name, self._figures)
            raise AttributeError(f"no figure {name!r}: {guess}there are {', '.join(self._figures)}")
        figure = getattr(import_module("princomp.plots"), name)
        return update_wrapper(partial(figure, self._model), figure)

    def __dir__(self) -> list[str]:
        return sorted(self._figures)

    def __repr__(self) -> str:
        return f"Figures of {self._model!r}: {', '.join(self._figures)}"
