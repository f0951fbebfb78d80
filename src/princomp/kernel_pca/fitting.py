"""Fits of a KernelPCA: exact ones, and those by images under a feature map."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from princomp.core import FILL_METHODS, TableSchema, checked_weights
from princomp.engines import ProgressCallback
from princomp.errors import ParameterError, ShapeError
from princomp.estimators import PCA
from princomp.io import RowData, Rows, Source, is_frame
from princomp.kernel_pca.exact import ExactFit, solve_matrix, solve_rows
from princomp.kernel_pca.feature_maps import (
    Nystrom,
    PreparedMap,
    landmarks,
    mapped,
    random_map,
    sample_rows,
    sized_nystrom_map,
    sized_random_map,
)
from princomp.kernel_pca.images import ImageFit
from princomp.kernel_pca.parameters import KernelParameters, is_precomputed
from princomp.kernel_pca.rows import (
    complete_rows,
    imputer_for,
    in_memory,
    rows_with_weight,
    square_matrix,
    with_divisors,
)
from princomp.summaries import SampleWeight, Weights

# Rows from which a median γ is computed.
_MEDIAN_ROWS = 1500


def fit_exact(rows: Rows, sample_weight: SampleWeight, parameters: KernelParameters) -> ExactFit:
    """Fit all rows, or a kernel matrix, in memory."""
    source, columns, origin = rows
    data = in_memory(source, parameters.limit)
    n = data.shape[0]
    weights = checked_weights(sample_weight, n)
    if is_precomputed(parameters):
        matrix = square_matrix(data, columns, origin, weights)
        rows_with_weight(matrix, weights)  # refuses weights that are all zero
        fitted = replace(solve_matrix(matrix, weights, parameters), matrix=matrix)
    else:
        imputer = imputer_for(parameters, data, weights)
        data, weights, dropped = complete_rows(
            data, weights, parameters.missing, columns, origin, imputer
        )
        if parameters.copy_X and data is source:
            data = data.copy()  # the model keeps the rows, and the caller may change the originals
        parameters = with_divisors(parameters, data, weights, columns, origin)
        fitted = solve_rows(data, weights, parameters)
        complete = data.shape[0] == n
        fitted = replace(fitted, dropped=dropped, complete=complete, imputer=imputer)
    return fitted.without_zero_components() if parameters.remove_zero_eig else fitted


def fit_images(
    rows: Rows,
    sample_weight: SampleWeight,
    parameters: KernelParameters,
    progress: ProgressCallback | None,
) -> ImageFit:
    """Make a feature map and fit a PCA of images."""
    data, columns, origin = rows
    weights, imputer = checked_weights(sample_weight, data.shape[0]), None
    if parameters.missing in FILL_METHODS:
        data = in_memory(data, parameters.limit)
        imputer = imputer_for(parameters, data, weights)
        data, weights, _ = complete_rows(
            data, weights, parameters.missing, columns, origin, imputer
        )
    elif not isinstance(data, Source):
        # A row of weight zero must not become a landmark.
        data, weights = rows_with_weight(data, weights)
    fit, data = fit_first_rows((data, columns, origin), weights, parameters)
    images = mapped(data, fit.map, allow_missing=parameters.drop)
    fit.images.fit(images, sample_weight=weights, progress=progress)
    return replace(fit, imputer=imputer)


def fit_first_rows(
    rows: Rows, weights: Any, parameters: KernelParameters
) -> tuple[ImageFit, RowData]:
    """Make a feature map and a PCA that is not fitted yet; also return the rows to fit it to."""
    data, columns, origin = rows
    if columns is not None and is_frame(parameters.landmarks):
        # Compare the names: by position, columns in another order would be mixed up.
        schema = TableSchema(data.shape[1], columns, owner="KernelPCA")
        parameters = parameters._replace(landmarks=schema.open(parameters.landmarks)[0])
    parameters = with_divisors(parameters.seeded(), data, weights, columns, origin)
    prepared = _prepare_map(data, parameters, weights)
    k, n, width = parameters.n_components, data.shape[0], prepared.map.width
    if isinstance(k, int) and k > width and (n is None or n > width):
        raise ShapeError(
            f"n_components={k} is more than the {width} coordinates of the map",
            place={"parameter": "n_components"},
            hint="raise n_landmarks, or ask for fewer components",
        )
    model = PCA(
        parameters.n_components,
        tol=parameters.tol,
        missing="drop" if parameters.drop else "error",
        memory_limit=parameters.memory_limit,
        random_state=parameters.seed,
    )
    fit = ImageFit(
        prepared.map,
        model,
        prepared.error,
        prepared.notes,
        passes=_passes_before(data, parameters),
        nonzero=parameters.n_components is None or parameters.remove_zero_eig,
    )
    return fit, prepared.rows


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


def _passes_before(rows: RowData, parameters: KernelParameters) -> int:
    """Count the passes over the rows that the map and its divisors take."""
    if isinstance(rows, Source) and not rows.repeatable:
        return 0  # the first rows are kept, and not read again
    auto, given = parameters.n_landmarks == "auto", not isinstance(parameters.landmarks, str)
    sampled = auto if parameters.approximation == "features" else not given
    median = isinstance(parameters.gamma, str) and not callable(parameters.kernel)
    return isinstance(parameters.scale, str) + median + sampled


def _prepare_map(rows: RowData, parameters: KernelParameters, weights: Weights) -> PreparedMap:
    """Make the feature map that the parameters describe.

    Raises
    ------
    ParameterError
        For a kernel that the approximation does not support.
    MemoryLimitError, NotFiniteError, ShapeError
    """
    sample, rule, count = rows, parameters.landmarks, parameters.n_landmarks
    given, seed, drop = not isinstance(rule, str), parameters.seed, parameters.drop
    if isinstance(parameters.gamma, str) and not callable(parameters.kernel):
        # For a median γ.
        sample, rows = sample_rows(rows, _MEDIAN_ROWS, seed=seed, drop=drop, weights=weights)
    kernel = parameters.function(sample)
    if parameters.approximation == "features":
        if given or rule != "uniform":
            raise ParameterError(
                "random features have no landmarks",
                place={"parameter": "landmarks"},
                hint="leave landmarks out, or use approximation='nystrom'",
            )
        if isinstance(count, str):
            return sized_random_map(rows, kernel, parameters, weights)
        map = random_map(kernel, rows.shape[1], count, seed=seed, dtype=rows.dtype)
        return PreparedMap(map, rows, float("nan"), (f"{map.width:,} features",))
    if isinstance(count, str) and not given:
        return sized_nystrom_map(rows, kernel, parameters, weights)
    number = 1 if isinstance(count, str) else count
    points, rows = landmarks(rows, number, kernel, rule=rule, seed=seed, drop=drop, weights=weights)
    nystrom = Nystrom.of(kernel, points, rows.dtype)
    name = "given" if given else rule
    note = f"{nystrom.m:,} landmarks ({name}) span {nystrom.width:,} coordinates"
    return PreparedMap(nystrom, rows, float("nan"), (note,))
