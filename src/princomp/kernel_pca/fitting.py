"""Fits of a KernelPCA: exact ones, and those by images under a feature map."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from princomp.core import FILL_METHODS, checked_weights
from princomp.engines import ProgressCallback
from princomp.errors import ParameterError, ShapeError
from princomp.estimators import PCA
from princomp.io import RowData, Rows, Source
from princomp.kernel_pca.exact import ExactFit, solve_matrix, solve_rows
from princomp.kernel_pca.feature_maps import (
    FeatureMap,
    Nystrom,
    SizedMap,
    landmarks,
    mapped,
    random_map,
    sample_rows,
    sized_nystrom_map,
    sized_random_map,
)
from princomp.kernel_pca.functions import KernelFunction
from princomp.kernel_pca.images import ImageFit
from princomp.kernel_pca.parameters import KernelParameters
from princomp.kernel_pca.rows import (
    complete_rows,
    imputer_for,
    in_memory,
    rows_with_weight,
    square_matrix,
    with_divisors,
)
from princomp.summaries import SampleWeight

# Rows from which a median γ is computed.
_MEDIAN_ROWS = 1500


class _PreparedMap(NamedTuple):
    """A feature map, its estimated error (or NaN), notes for the plan, and rows to map.

    Rows that can be read only once were partly read to make the map; ``rows`` has all of them.
    """

    map: FeatureMap
    rows: RowData
    error: float
    notes: tuple[str, ...]


def fit_exact(
    rows: Rows, sample_weight: SampleWeight, parameters: KernelParameters
) -> tuple[ExactFit, PCA | None]:
    """Fit all rows, or a kernel matrix, in memory; also return the imputer of missing cells."""
    source, columns, origin = rows
    data = in_memory(source, parameters.limit)
    n = data.shape[0]
    weights = checked_weights(sample_weight, n)
    imputer = None
    if parameters.precomputed:
        matrix = square_matrix(data)
        complete_rows(matrix, parameters.missing, columns, origin)
        rows_with_weight(matrix, weights)  # refuses weights that are all zero
        fitted = replace(solve_matrix(matrix, weights, parameters), matrix=matrix)
    else:
        imputer = imputer_for(parameters, data, weights)
        data, kept = complete_rows(data, parameters.missing, columns, origin, imputer)
        dropped = n - data.shape[0]
        if weights is not None and kept is not None:
            weights = weights[kept]
        data, weights = rows_with_weight(data, weights)
        if parameters.copy and data is source:
            data = data.copy()  # the model keeps the rows, and the caller may change the originals
        parameters = with_divisors(parameters, data, weights, columns, origin)
        fitted = solve_rows(data, weights, parameters, dropped=dropped)
        fitted = replace(fitted, complete=data.shape[0] == n)
    return fitted.without_zero_components() if parameters.remove_zeros else fitted, imputer


def fit_images(
    rows: Rows,
    sample_weight: SampleWeight,
    parameters: KernelParameters,
    progress: ProgressCallback | None,
) -> tuple[ImageFit, PCA | None]:
    """Make a feature map and fit a PCA of images; also return the imputer of missing cells."""
    data, columns, origin = rows
    weights, imputer = checked_weights(sample_weight, data.shape[0]), None
    if parameters.missing in FILL_METHODS:
        data = in_memory(data, parameters.limit)
        imputer = imputer_for(parameters, data, weights)
        data, _ = complete_rows(data, parameters.missing, columns, origin, imputer)
    if not isinstance(data, Source):
        # A row of weight zero must not become a landmark.
        data, weights = rows_with_weight(data, weights)
    fit, data = fit_first_rows((data, columns, origin), weights, parameters)
    images = mapped(data, fit.map, allow_missing=parameters.missing == "drop")
    fit.images.fit(images, sample_weight=weights, progress=progress)
    return fit, imputer


def fit_first_rows(
    rows: Rows, weights: Any, parameters: KernelParameters
) -> tuple[ImageFit, RowData]:
    """Make a feature map and a PCA that is not fitted yet; also return the rows to fit it to."""
    data, columns, origin = rows
    parameters = with_divisors(parameters.seeded(), data, weights, columns, origin)
    prepared = _prepare_map(data, parameters)
    model = PCA(
        parameters.n_components,
        tol=parameters.tol,
        missing="drop" if parameters.missing == "drop" else "error",
        memory_limit=parameters.memory_limit,
        random_state=parameters.seed,
    )
    return ImageFit(prepared.map, model, prepared.error, prepared.notes), prepared.rows


def check_enough_rows(n: int | None, parameters: KernelParameters) -> None:
    """Raise if the first rows are fewer than the landmarks to choose from them.

    Raises
    ------
    ShapeError
    """
    count = parameters.n_landmarks
    chosen = parameters.approximation == "nystrom" and isinstance(parameters.landmarks, str)
    if chosen and n is not None and isinstance(count, int) and n < count:
        raise ShapeError(
            f"the first {n} rows are fewer than n_landmarks={count}, which are chosen from them",
            place={"parameter": "n_landmarks"},
            hint="pass more rows at first, fewer landmarks, or landmarks as an array",
        )


# ---- feature maps ------------------------------------------------------------------------


def _prepare_map(rows: RowData, parameters: KernelParameters) -> _PreparedMap:
    """Make the feature map that the parameters describe.

    Raises
    ------
    ParameterError
        For a kernel that the approximation does not support.
    MemoryLimitError, NotFiniteError, ShapeError
    """
    kernel, rows = _kernel_and_rows(rows, parameters)
    if parameters.approximation == "features":
        return _random_features(rows, kernel, parameters)
    if parameters.n_landmarks == "auto" and isinstance(parameters.landmarks, str):
        sized = sized_nystrom_map(
            rows, kernel, rule=parameters.landmarks, **_sizing_options(rows, parameters)
        )
        assert isinstance(sized.map, Nystrom)
        note = f"{sized.map.m:,} landmarks leave out {sized.estimate:.2g} of the variance"
        return _from_sized(note, sized)
    count = parameters.n_landmarks if isinstance(parameters.n_landmarks, int) else 1
    chosen = landmarks(
        rows,
        count,
        rule=parameters.landmarks,
        kernel=kernel,
        seed=parameters.seed,
        drop=parameters.missing == "drop",
    )
    feature_map = Nystrom.of(kernel, chosen.points, rows.dtype)
    note = f"{feature_map.m:,} landmarks ({chosen.rule}) span {feature_map.width:,} coordinates"
    return _PreparedMap(feature_map, chosen.rows, float("nan"), (note,))


def _from_sized(note: str, sized: SizedMap) -> _PreparedMap:
    notes = (note, sized.note) if sized.note else (note,)
    return _PreparedMap(sized.map, sized.rows, sized.estimate, notes)


def _random_features(
    rows: RowData, kernel: KernelFunction, parameters: KernelParameters
) -> _PreparedMap:
    if not isinstance(parameters.landmarks, str) or parameters.landmarks != "uniform":
        raise ParameterError(
            "random features have no landmarks",
            place={"parameter": "landmarks"},
            hint="leave landmarks out, or use approximation='nystrom'",
        )
    count = parameters.n_landmarks
    if isinstance(count, str):
        sized = sized_random_map(rows, kernel, **_sizing_options(rows, parameters))
        note = (
            f"{sized.map.width:,} features: estimated relative error of the kernel matrix "
            f"{sized.estimate:.2g}"
        )
        return _from_sized(note, sized)
    feature_map = random_map(kernel, rows.shape[1], count, seed=parameters.seed, dtype=rows.dtype)
    return _PreparedMap(feature_map, rows, float("nan"), (f"{feature_map.width:,} features",))


def _kernel_and_rows(rows: RowData, parameters: KernelParameters) -> tuple[KernelFunction, RowData]:
    """Return the kernel, with a median γ from a sample of the rows, and the rows to fit."""
    if not isinstance(parameters.gamma, str) or callable(parameters.kernel):
        return parameters.function(rows), rows
    drop = parameters.missing == "drop"
    sample, rows = sample_rows(rows, _MEDIAN_ROWS, seed=parameters.seed, drop=drop)
    return parameters.function(sample), rows


def _sizing_options(rows: RowData, parameters: KernelParameters) -> dict[str, Any]:
    """Options of the search for a number of landmarks or features."""
    k = parameters.n_components
    return {
        "k": k if isinstance(k, int) else 10,
        "tolerance": parameters.approximation_tol,
        "limit": parameters.limit,
        "seed": parameters.seed,
        "drop": parameters.missing == "drop",
        "dtype": np.dtype(rows.dtype),
    }
