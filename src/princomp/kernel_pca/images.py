"""Fits of approximations: a map is made of some rows, and a PCA of the images of all."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from princomp.errors import ParameterError
from princomp.estimator import PCA
from princomp.feature_maps import (
    FeatureMap,
    Fourier,
    Nystrom,
    TensorSketch,
    drawn_rows,
    enough_features,
    enough_landmarks,
    landmarks,
    mapped,
)
from princomp.kernel_functions import KernelFunction
from princomp.kernel_pca.asked import Asked
from princomp.kernel_pca.fits import ImageFit
from princomp.progress import Tell

__all__ = ["MadeMap", "fit_images", "made_map"]

# Rows from which γ is found where it is to be the median's.
_FOR_GAMMA = 1500


class MadeMap(NamedTuple):
    """A map, how good it is, and where to read the rows from now on.

    Parameters
    ----------
    map : FeatureMap
    rows : object
        To read the rows from: those that were given, or what has read their first.
    error : float
        Estimated, NaN where nothing was held out to estimate it by.
    notes : tuple of str
        For the plan.
    """

    map: FeatureMap
    rows: Any
    error: float
    notes: tuple[str, ...]


def made_map(rows: Any, asked: Asked) -> MadeMap:
    """The map that was asked for, of rows of any origin.

    Raises
    ------
    ParameterError
        For a kernel that the approximation does not know.
    MemoryLimitError, NotFiniteError, ShapeError
    """
    drop, seed = asked.missing == "drop", asked.seed
    dtype = np.dtype(rows.dtype)
    if isinstance(asked.gamma, str) and not callable(asked.kernel):
        sample, rows = drawn_rows(rows, _FOR_GAMMA, seed=seed, drop=drop)
        kernel = asked.function(sample)
    else:
        kernel = asked.function(rows)
    k = asked.n_components if isinstance(asked.n_components, int) else 10
    if asked.approximation == "features":
        return _features(rows, kernel, k, asked, dtype)
    if asked.n_landmarks == "auto" and isinstance(asked.landmarks, str):
        found = enough_landmarks(
            rows,
            kernel,
            k,
            rule=asked.landmarks,
            tolerance=asked.approximation_tol,
            limit=asked.limit,
            seed=seed,
            drop=drop,
            dtype=dtype,
        )
        assert isinstance(found.map, Nystrom)
        told = f"{found.map.m:,} landmarks leave out {found.estimate:.2g} of the variance"
        return MadeMap(found.map, found.rows, found.estimate, (told, *_noted(found.note)))
    count = asked.n_landmarks if isinstance(asked.n_landmarks, int) else 1
    chosen = landmarks(rows, count, rule=asked.landmarks, kernel=kernel, seed=seed, drop=drop)
    made = Nystrom.of(kernel, chosen.points, dtype)
    told = f"{made.m:,} landmarks ({chosen.rule}) span {made.width:,} coordinates"
    return MadeMap(made, chosen.rows, float("nan"), (told,))


def _features(
    rows: Any, kernel: KernelFunction, k: int, asked: Asked, dtype: np.dtype[Any]
) -> MadeMap:
    if not isinstance(asked.landmarks, str) or asked.landmarks != "uniform":
        raise ParameterError(
            "random features have no landmarks",
            place={"parameter": "landmarks"},
            hint="leave landmarks out, or choose approximation='nystrom'",
        )
    if asked.n_landmarks == "auto":
        found = enough_features(
            rows,
            kernel,
            k,
            tolerance=asked.approximation_tol,
            limit=asked.limit,
            seed=asked.seed,
            drop=asked.missing == "drop",
            dtype=dtype,
        )
        told = f"{found.map.width:,} features miss {found.estimate:.2g} of the kernel matrix"
        return MadeMap(found.map, found.rows, found.estimate, (told, *_noted(found.note)))
    kind: Any = TensorSketch if kernel.name in ("poly", "polynomial") else Fourier
    made = kind.of(kernel, rows.shape[1], asked.n_landmarks, seed=asked.seed, dtype=dtype)
    return MadeMap(made, rows, float("nan"), (f"{made.width:,} features",))


def _noted(note: str) -> tuple[str, ...]:
    return (note,) if note else ()


def fit_images(
    made: MadeMap, model: PCA, asked: Asked, weights: Any = None, progress: Tell | None = None
) -> ImageFit:
    """Fit the PCA of the images, one pass over the rows.

    Parameters
    ----------
    made : MadeMap
    model : PCA
        Unfitted; it may travel to other ranks.
    """
    images = mapped(made.rows, made.map, holes=asked.missing == "drop")
    model.fit(images, sample_weight=weights, progress=progress)
    return ImageFit(made.map, model, made.error, made.notes)
