"""``tune``: the parameters of a KernelPCA, by errors on rows that it was not fitted to."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone

from princomp.arrays import FloatArray
from princomp.errors import MemoryLimitError, ParameterError
from princomp.kernel_pca.asked import Asked
from princomp.kernel_pca.estimator import KernelPCA
from princomp.kernel_pca.folds import Fold, SharedProducts, SolvedFold
from princomp.kernel_pca.grid import Candidate, candidates, grouped, is_precomputed
from princomp.kernel_pca.rows import complete_rows, held, square
from princomp.kernel_pca.tuned import Tuned
from princomp.memory import in_words
from princomp.memory import memory_limit as bytes_of
from princomp.parameters import is_a
from princomp.progress import Tell, Teller

__all__ = ["tune"]

_BY = ("pre_image", "reconstruction")
# Arrays of n² doubles at the peak: products, a kernel, that of a fold, and four to solve it.
_SQUARES = 7
# A comparison on fewer rows than these says nothing, where there are more.
_FEWEST = 50


def tune(
    X: Any,
    grid: Any,
    *,
    model: KernelPCA | None = None,
    cv: Any = 5,
    by: str = "pre_image",
    progress: Tell | None = None,
    random_state: int = 0,
    memory_limit: int | str | None = None,
) -> Tuned:
    """Find parameters of a KernelPCA by cross-validation.

    What scikit-learn's GridSearchCV would do with ``score``, without doing anything twice:
    distances (inner products) between rows are computed once for all γ, degrees and folds, and a
    fold is solved once for all numbers of components.

    Parameters
    ----------
    X : array, sparse array, frame or path, of shape (n, p)
        With ``kernel="precomputed"`` the kernel matrix (n, n). Where the matrices of all rows do
        not fit in the memory limit, as many as do are drawn; the result says so.
    grid : dict or list of dict
        Values to try by parameter: any of ``kernel``, ``kernel_params``, ``gamma`` (numbers,
        None, "median", and multiples such as "0.5 * median", of the rows compared), ``degree``,
        ``coef0``, ``n_components``, ``pre_image``, ``n_neighbors`` and ``alpha``.
    model : KernelPCA, optional
        All other parameters; ``KernelPCA(kernel="rbf", gamma="median")`` by default. With an
        approximation the comparison is of exact fits, and only the last one is approximate.
    cv : int or splitter, default=5
        Folds, of rows in random order; or as scikit-learn takes it.
    by : {"pre_image", "reconstruction"}, default="pre_image"
        The root mean squared error of pre-images, in the units of the data; by iteration
        where ``pre_image`` is not given. Or the share of the variance in the feature space
        that is left: that falls with every component, and with γ.
    progress : callable, optional
        Called now and then with a :class:`~princomp.Progress` whose rows are fits.
    random_state : int, default=0
        Seed of folds and of the sample.
    memory_limit : str, int or None, default=None
        That of ``model`` by default.

    Returns
    -------
    Tuned
        ``best``, ``best_error``, ``best_model`` fitted to all rows, ``lines()``,
        ``to_frame()``, ``to_dict()``, ``to_json()``; it prints as a table.

    Raises
    ------
    ParameterError
        For unlawful arguments, or a way to pre-images that a kernel does not allow.
    MemoryLimitError
        When the matrices of not even 50 rows fit.
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
    model, seed = _checked(model, by, random_state)
    if memory_limit is None:
        memory_limit = model.memory_limit
    limit = bytes_of(memory_limit)
    given = _rows_of(X, model, limit)
    rows = _sample(given, model, cv, limit, seed)
    these = candidates(model, grid, rows, by)
    folds = _folds(cv, rows, seed)
    errors = _errors(rows, these, folds, by, limit, progress)
    best = these[int(np.argmin(errors.mean(axis=1)))]
    # Rows that come once have been.
    final = clone(model).set_params(**best.parameters).fit(given if isinstance(X, Iterator) else X)
    parameters = tuple(one.parameters for one in these)
    return Tuned(parameters, errors, by, rows.shape[0], given.shape[0], final)


def _errors(
    rows: Any, these: list[Candidate], folds: list[Fold], by: str, limit: int, progress: Tell | None
) -> FloatArray:
    """Errors (combinations, folds)."""
    teller = Teller(progress)
    teller.begin("tuning", len(these) * len(folds), 0.0, unit="fits")
    errors, done = np.empty((len(these), len(folds))), 0
    shared = SharedProducts(rows)
    for places, group in grouped(these):
        matrix = shared.matrix(group[0].function)
        for at, fold in enumerate(folds):
            solved = SolvedFold.of(matrix, shared, fold, group, limit)
            for place, one in zip(places, group, strict=True):
                errors[place, at] = solved.error(one, by)
                done += 1
                teller.advance(done, done=done == errors.size)
    return errors


def _checked(model: Any, by: Any, seed: Any) -> tuple[KernelPCA, int]:
    if model is None:
        model = KernelPCA(kernel="rbf", gamma="median")
    if not isinstance(model, KernelPCA):
        raise ParameterError(
            f"model is a {type(model).__name__}",
            place={"parameter": "model"},
            hint="give a KernelPCA with the parameters that the grid does not name",
        )
    if model.scale is not None:
        raise ParameterError(
            "tune compares parameters on rows as they are, and the model has scale",
            place={"parameter": "model"},
            hint="scale the rows before (StandardScaler), or leave scale out",
        )
    if by not in _BY:
        raise ParameterError(
            f"by={by!r} is not known",
            place={"parameter": "by"},
            hint=f"one of {', '.join(map(repr, _BY))}",
        )
    if not (is_a(seed, Integral) and seed >= 0):
        raise ParameterError(
            f"random_state={seed!r} is not lawful",
            place={"parameter": "random_state"},
            hint="give a whole number of at least 0",
        )
    if is_precomputed(model) and by == "pre_image":
        raise ParameterError(
            "by='pre_image' compares rows, and the kernel is precomputed",
            place={"parameter": "by"},
            hint="use by='reconstruction', or give rows and the name of a kernel",
        )
    return model, int(seed)


def _rows_of(X: Any, model: KernelPCA, limit: int) -> Any:
    """Rows without missing cells, or a kernel matrix, in memory."""
    reader: KernelPCA = clone(model)
    data, columns, file = reader._rows(X, reset=True)
    rows = held(data, limit)
    if is_precomputed(model):
        rows = square(rows)
    rows, _ = complete_rows(rows, Asked.of(model), columns, file, None)
    return rows


def _sample(rows: Any, model: KernelPCA, cv: Any, limit: int, seed: int) -> Any:
    """The rows, or as many of them as fit; in double precision."""
    n = rows.shape[0]
    most = int((limit / (8.0 * _SQUARES)) ** 0.5)
    if most < min(n, _FEWEST):
        raise MemoryLimitError(
            f"to compare fits of {min(n, _FEWEST)} rows takes "
            f"{in_words(8.0 * _SQUARES * min(n, _FEWEST) ** 2)}, and the limit is "
            f"{in_words(limit)}",
            place={"parameter": "memory_limit"},
            hint="raise memory_limit",
        )
    if n <= most:
        return rows.astype(np.float64)
    if not (is_a(cv, Integral) or hasattr(cv, "split")):
        raise ParameterError(
            f"cv lists row numbers, and only {most:,} of {n:,} rows fit in memory and are drawn",
            place={"parameter": "cv"},
            hint="give a number of folds or a splitter, or raise memory_limit",
        )
    kept = np.sort(np.random.default_rng(seed).choice(n, most, replace=False))
    drawn = rows[kept][:, kept] if is_precomputed(model) else rows[kept]
    return drawn.astype(np.float64)


def _folds(cv: Any, rows: Any, seed: int) -> list[Fold]:
    """Row numbers to fit to, and to measure errors on."""
    from sklearn.model_selection import KFold, check_cv  # half of scikit-learn: only here

    try:
        whole = is_a(cv, Integral)
        made = KFold(int(cv), shuffle=True, random_state=seed) if whole else check_cv(cv)
        found = list(made.split(rows))
    except (ValueError, TypeError) as error:
        raise ParameterError(
            f"cv={cv!r} does not divide {rows.shape[0]:,} rows: {error}",
            place={"parameter": "cv"},
            hint="give a number of folds from 2 to the number of rows, or a splitter",
        ) from error
    return [(np.asarray(one), np.asarray(other)) for one, other in found]
