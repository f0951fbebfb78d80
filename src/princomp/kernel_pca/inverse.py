"""The part of a KernelPCA that goes back: rows whose images lie near given scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from princomp.arrays import FloatArray, frozen
from princomp.errors import NotAvailableError
from princomp.inputs import blocks_of, opened
from princomp.kernel_pca.asked import Asked
from princomp.kernel_pca.attributes import KernelAttributes
from princomp.kernel_pca.fits import ExactFit
from princomp.pre_images import PreImages, Ridge, pre_images
from princomp.summaries.blocks import is_sparse

__all__ = ["Inverts"]


class Inverts(KernelAttributes):
    """Pre-images, by whichever way was asked for."""

    # Of the estimator.
    pre_image: str | None
    fit_inverse_transform: bool
    n_neighbors: int
    # The way back, of which fit, and how it was asked for.
    _learned: tuple[Any, tuple[Any, ...], PreImages]

    def inverse_transform(self, X: Any) -> FloatArray:
        """Rows (n, p) in the units of the data, from scores (n, k).

        Raises
        ------
        NotFittedError
            Where no pre-images were asked for.
        NotAvailableError
            Where random features keep no rows to make them of.
        ShapeError, NotFiniteError
        """
        self._state  # noqa: B018  (raises where nothing is fitted)
        asked = Asked.of(self)
        if asked.pre_image is None:
            raise NotFittedError(
                "The fit_inverse_transform parameter was not set to True when instantiating, nor "
                "pre_image to 'ridge', 'fixed_point' or 'distance': there is no inverse."
            )
        way = self._learn(asked)
        scores = X if isinstance(X, np.ndarray) else opened(X)[0]
        parts = [
            way.rows(block.toarray() if is_sparse(block) else block) for block in blocks_of(scores)
        ]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _learn(self, asked: Asked) -> PreImages:
        """What makes rows of scores: solved once for each fit."""
        fitted = self._state
        wanted = asked.pre_image, int(self.n_neighbors)
        known = self.__dict__.get("_learned")
        # Rows that came since made another spectrum.
        if known is not None and known[0] is fitted.spectrum and known[1] == wanted:
            return known[2]
        expansion = fitted.expansion
        if expansion is None:
            raise NotAvailableError(
                "random features keep no rows, and pre-images are made of rows",
                place={"parameter": "pre_image"},
                hint="use approximation='nystrom', whose landmarks are rows",
            )
        assert asked.pre_image is not None
        way = pre_images(
            asked.pre_image,
            expansion,
            scores=fitted.training_scores if isinstance(fitted, ExactFit) else None,
            alpha=asked.alpha,
            n_neighbors=wanted[1],
            memory=asked.limit,
        )
        self._learned = fitted.spectrum, wanted, way
        return way

    def _ridge(self, name: str) -> Ridge:
        asked = Asked.of(self)
        way = self._learn(asked) if asked.pre_image == "ridge" else None
        if not isinstance(way, Ridge):
            raise NotAvailableError(
                f"{name} is of the learned pre-image, and none was learned",
                hint="fit_inverse_transform=True, and a kernel that is not linear",
            )
        return way

    @property
    def dual_coef_(self) -> FloatArray:
        """Coefficients (n, p) of the learned pre-image."""
        return self._ridge("dual_coef_").coefficients.astype(self._dtype)

    @property
    def X_transformed_fit_(self) -> FloatArray:  # noqa: N802  (scikit-learn's name)
        """Scores (n, k) of the rows that it was learned from."""
        return frozen(self._ridge("X_transformed_fit_").scores)
