"""``tune`` chooses the parameters of a KernelPCA by cross-validation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from numbers import Integral
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from princomp.core import Constraint, TableSchema, check_parameter, is_number, one_of, whole_number
from princomp.engines import ProgressCallback
from princomp.errors import DataError, MemoryLimitError, ParameterError, warn
from princomp.io import RowArray
from princomp.kernel_pca.estimator import KernelPCA
from princomp.kernel_pca.parameters import KernelParameters, is_precomputed
from princomp.kernel_pca.rows import complete_rows, in_memory, square_matrix
from princomp.kernel_pca.search import Candidate, Fold, Grid, candidates, fold_errors
from princomp.kernel_pca.tuned import Tuned
from princomp.linalg import (
    FloatArray,
    check_random_state,
    format_bytes,
    memory_limit as memory_limit_bytes,
)


class Splitter(Protocol):
    """A splitter as in scikit-learn."""

    def split(self, X: RowArray) -> Iterable[tuple[npt.ArrayLike, npt.ArrayLike]]:
        """Yield the row numbers of each fold: those to fit, and those held out."""


# A number of folds, or the folds themselves.
Folds: TypeAlias = int | Splitter | Iterable[tuple[npt.ArrayLike, npt.ArrayLike]]
# Number of n × n float64 arrays at the peak: products, two kernel matrices, four in the solver.
_MATRIX_COPIES = 7
# Smallest number of rows on which fits are compared; fewer only if X has fewer.
_MIN_ROWS = 50


def tune(
    X: Any,
    grid: Grid,
    *,
    model: KernelPCA | None = None,
    cv: Folds = 5,
    by: str = "pre_image",
    progress: ProgressCallback | None = None,
    random_state: int = 0,
    memory_limit: int | str | None = None,
) -> Tuned:
    """Find parameters of a KernelPCA by cross-validation.

    The comparison is that of scikit-learn's GridSearchCV with ``score``, but nothing is computed
    twice: distances (inner products) between rows are computed once for all γ, degrees and folds,
    and a fold is solved once for all numbers of components.

    Parameters
    ----------
    X : array, sparse array, frame or path, of shape (n, p)
        With ``kernel="precomputed"`` the kernel matrix (n, n). If the matrices of all rows do
        not fit in the memory limit, a random sample is used; the result says so.
    grid : dict or list of dict
        Values to try for each parameter: any of ``kernel``, ``kernel_params``, ``gamma`` (numbers,
        None, "median", and multiples such as "0.5 * median", of the rows compared), ``degree``,
        ``coef0``, ``n_components``, ``pre_image``, ``n_neighbors`` and ``alpha``.
    model : KernelPCA, optional
        Supplies the other parameters; ``KernelPCA(kernel="rbf", gamma="median")`` by default.
        If it has an approximation, exact fits are compared, and only ``best_model`` is
        approximate.
    cv : int or splitter, default=5
        Number of folds of the rows in random order, or a splitter or folds as in scikit-learn.
    by : {"pre_image", "reconstruction"}, default="pre_image"
        "pre_image" is the root mean squared error of pre-images, in the units of the data; where
        ``pre_image`` is not set, they are found by iteration. "reconstruction" is the share of
        the variance in the feature space that is not explained: it falls with every further
        component, and as γ falls. It is 1 for a kernel without variance, and NaN where
        ``KernelPCA.reconstruction_error`` is.
    progress : callable, optional
        Called repeatedly with a :class:`~princomp.Progress` that counts fits.
    random_state : int, default=0
        Seed of folds and of the sample.
    memory_limit : str, int or None, default=None
        By default that of ``model``.

    Returns
    -------
    Tuned
        ``best``, ``best_error``, ``best_model`` fitted to all rows, ``lines()``,
        ``to_frame()``, ``to_dict()``, ``to_json()``; it prints as a table.

    Raises
    ------
    ParameterError
        For invalid arguments, or a pre-image method that a kernel does not support.
    MemoryLimitError
        If the matrices of 50 rows do not fit.
    NotFiniteError, DataError, ShapeError

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from princomp import tune
    >>> X, _ = make_circles(120, factor=0.4, noise=0.05, random_state=0)
    >>> found = tune(X, {"gamma": ["median", "4 * median"], "n_components": [2, 4, 8]})
    >>> found.best["n_components"], found.best_model.n_components_
    (8, 8)
    """
    model = KernelPCA(kernel="rbf", gamma="median") if model is None else model
    _check_arguments(model, by, random_state)
    if memory_limit is None:
        memory_limit = model.memory_limit
    limit = memory_limit_bytes(memory_limit)
    all_rows = _read_rows(X, model, limit)
    rows = _sample(all_rows, model, cv, limit, int(random_state))
    limited = clone(model).set_params(memory_limit=limit)
    combinations = candidates(limited, grid, rows, by)
    _check_best_model(combinations)
    folds = _folds(cv, rows, int(random_state))
    _warn_of_many_components(combinations, folds, rows.shape[0])
    errors = fold_errors(rows, combinations, folds, by, progress)
    best = combinations[_best_index(errors.mean(axis=1))]
    # An iterator is exhausted, so use the rows that were read from it.
    fit_rows = all_rows if isinstance(X, Iterator) else X
    best_model = clone(model).set_params(**best.parameters).fit(fit_rows)
    parameters = tuple(candidate.parameters for candidate in combinations)
    return Tuned(parameters, errors, by, rows.shape[0], all_rows.shape[0], best_model)


def _warn_of_many_components(combinations: list[Candidate], folds: list[Fold], n: int) -> None:
    """Warn of combinations with more components than a fold has rows to fit."""
    requests = [candidate.settings.n_components for candidate in combinations]
    largest = max((k for k in requests if isinstance(k, int)), default=0)
    fewest = min(len(training) for training, _ in folds)
    if largest > fewest:
        warn(
            f"n_components={largest} is more than the {fewest:,} rows that a fold is fitted to: "
            f"combinations with more than {fewest:,} were compared with {fewest:,}, and best_model "
            f"has at most {n:,}"
        )


def _best_index(errors: FloatArray) -> int:
    """Index of the smallest error; warns of combinations that have none.

    Raises
    ------
    DataError
        If no combination has one.
    """
    unknown = int(np.isnan(errors).sum())
    why = (
        "error: their pre-images overflow, or (by='reconstruction') their kernels are not positive "
        "semi-definite, so projections of held-out rows are longer than the images"
    )
    if unknown == len(errors):
        raise DataError(
            f"no combination of the grid has an {why}",
            place={"parameter": "grid"},
            hint="use other kernels or parameters, or fewer components",
        )
    if unknown:
        warn(
            f"{unknown:,} of {len(errors):,} combinations have no {why}. They are listed last, "
            "with NaN"
        )
    return int(np.nanargmin(errors))


def _check_arguments(model: KernelPCA, by: str, random_state: int) -> None:
    expected = "a KernelPCA with the parameters that the grid does not name"
    is_model = Constraint(lambda value: isinstance(value, KernelPCA), (expected,))
    check_parameter("model", model, is_model)
    check_parameter("by", by, one_of("pre_image", "reconstruction"))
    check_parameter("random_state", random_state, whole_number(0))
    check_random_state(random_state)
    if model.scale is not None:
        raise ParameterError(
            "tune compares parameters on rows as they are, and the model has scale",
            place={"parameter": "model"},
            hint="pass the scaled rows, X / PCA(scale=model.scale).fit(X).scale_, and a model "
            "without scale",
        )
    if is_precomputed(model) and by == "pre_image":
        raise ParameterError(
            "by='pre_image' compares rows, and the kernel is precomputed",
            place={"parameter": "by"},
            hint="use by='reconstruction', or pass rows and the name of a kernel",
        )


def _check_best_model(combinations: list[Candidate]) -> None:
    """Refuse combinations that exact fits allow, and the approximation of the model does not."""
    for candidate in combinations:
        parameters = candidate.settings
        if parameters.approximation == "features" and parameters.pre_image is not None:
            raise ParameterError(
                f"pre_image={parameters.pre_image!r} needs rows, and random features keep none",
                place={"parameter": "model"},
                hint="use approximation='nystrom', or by='reconstruction' without pre_image",
            )
        k, count = parameters.n_components, parameters.n_landmarks
        chosen = parameters.approximation is not None and isinstance(parameters.landmarks, str)
        if chosen and isinstance(k, int) and isinstance(count, int) and k > count:
            raise ParameterError(
                f"n_components={k} is more than n_landmarks={count} of the model",
                place={"parameter": "n_components"},
                hint="use more landmarks, or n_landmarks='auto'",
            )


def _read_rows(X: object, model: KernelPCA, limit: int) -> RowArray:
    """Read rows without missing cells, or a kernel matrix, into memory."""
    (data, columns, origin), _ = TableSchema.read(X, "KernelPCA")
    table = in_memory(data, limit), columns, origin
    if is_precomputed(model):
        return square_matrix(table)
    missing = KernelParameters.of(model).missing
    fill = "tune does not fill cells: fill those of X"
    hint = f"{fill}, or leave their rows out with model=KernelPCA(…, missing='drop')"
    return complete_rows(table, None, missing, hint=hint)[0]


def _sample(rows: RowArray, model: KernelPCA, cv: Folds, limit: int, seed: int) -> RowArray:
    """Return the rows, or a sample that fits in memory, in float64."""
    n = rows.shape[0]
    max_rows, fewest = int((limit / (8.0 * _MATRIX_COPIES)) ** 0.5), min(n, _MIN_ROWS)
    if max_rows < fewest:
        raise MemoryLimitError(
            f"comparing fits of {fewest} rows needs "
            f"{format_bytes(8.0 * _MATRIX_COPIES * fewest**2)}, and the limit is "
            f"{format_bytes(limit)}",
            place={"parameter": "memory_limit"},
            hint="raise memory_limit",
        )
    if n <= max_rows:
        return rows.astype(np.float64)
    if not (is_number(cv, Integral) or hasattr(cv, "split")):
        raise ParameterError(
            f"cv lists row numbers, and only a sample of {max_rows:,} of {n:,} rows fits in memory",
            place={"parameter": "cv"},
            hint="pass a number of folds or a splitter, or raise memory_limit",
        )
    kept = np.sort(np.random.default_rng(seed).choice(n, max_rows, replace=False))
    sample = rows[kept][:, kept] if is_precomputed(model) else rows[kept]
    return sample.astype(np.float64)


def _folds(cv: Folds, rows: RowArray, seed: int) -> list[Fold]:
    """List the row numbers of each fold: those to fit, and those to compute errors on."""
    from sklearn.model_selection import KFold, check_cv  # loads half of scikit-learn

    try:
        if isinstance(cv, int | np.integer) and is_number(cv, Integral):
            splitter = KFold(int(cv), shuffle=True, random_state=seed)
        else:
            splitter = check_cv(cv)
        numbers = np.arange(rows.shape[0])
        folds = [
            (numbers[np.asarray(training)], numbers[np.asarray(held_out)])
            for training, held_out in splitter.split(rows)
        ]
        if not folds or any(part.ndim != 1 or not part.size for fold in folds for part in fold):
            raise ValueError("each fold needs two lists of row numbers, both with at least one")
    except (IndexError, ValueError, TypeError) as error:
        raise ParameterError(
            f"cv={cv!r} does not divide {rows.shape[0]:,} rows: {error}",
            place={"parameter": "cv"},
            hint="pass a number of folds from 2 to the number of rows, a splitter, or pairs of row "
            "numbers",
        ) from error
    return folds
