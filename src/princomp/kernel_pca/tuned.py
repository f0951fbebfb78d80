"""``tune`` chooses the parameters of a KernelPCA by cross-validation; ``Tuned`` is its result."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray
from sklearn.base import clone

from princomp.core import (
    FILL_METHODS,
    Constraint,
    TableSchema,
    check_parameter,
    is_number,
    one_of,
    whole_number,
)
from princomp.engines import ProgressCallback
from princomp.errors import MemoryLimitError, ParameterError
from princomp.io import RowArray
from princomp.kernel_pca.estimator import KernelPCA
from princomp.kernel_pca.parameters import KernelParameters, is_precomputed
from princomp.kernel_pca.rows import complete_rows, in_memory, square_matrix
from princomp.kernel_pca.search import Candidate, Fold, Grid, candidates, fold_errors
from princomp.linalg import FloatArray, check_random_state, format_bytes, memory_limit as bytes_of
from princomp.rules import html_table, text_table


class Splitter(Protocol):
    """A splitter as in scikit-learn."""

    def split(self, X: RowArray) -> Iterable[tuple[npt.ArrayLike, npt.ArrayLike]]:
        """Yield the row numbers of each fold: those to fit, and those held out."""


# A number of folds, or the folds themselves.
Folds: TypeAlias = int | Splitter | Iterable[tuple[npt.ArrayLike, npt.ArrayLike]]
# Number of arrays of n² doubles at the peak: products, two kernel matrices, four to solve one.
_MATRIX_COPIES = 7
# Size of the smallest sample of rows that fits are compared on.
_MIN_ROWS = 50
_MAX_LINES = 20  # lines that are printed
_ERROR_NAMES = {
    "pre_image": "error of pre-images, in the units of the data",
    "reconstruction": "share of the variance in the feature space that is left",
}


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
        component, and as γ falls.
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
    limit = bytes_of(memory_limit)
    all_rows = _read_rows(X, model, limit)
    rows = _sample(all_rows, model, cv, limit, int(random_state))
    limited = clone(model).set_params(memory_limit=limit)
    combinations = candidates(limited, grid, rows, by)
    _check_best_model(combinations)
    folds = _folds(cv, rows, int(random_state))
    errors = fold_errors(rows, combinations, folds, by, progress)
    best = combinations[int(np.argmin(errors.mean(axis=1)))]
    # An iterator is exhausted, so use the rows that were read from it.
    fit_rows = all_rows if isinstance(X, Iterator) else X
    best_model = clone(model).set_params(**best.parameters).fit(fit_rows)
    parameters = tuple(candidate.parameters for candidate in combinations)
    return Tuned(parameters, errors, by, rows.shape[0], all_rows.shape[0], best_model)


def _check_arguments(model: KernelPCA, by: str, random_state: int) -> None:
    expected = "a KernelPCA with the parameters that the grid does not name"
    is_model = Constraint(lambda value: isinstance(value, KernelPCA), (expected,))
    check_parameter("model", model, is_model)
    check_parameter("by", by, one_of("pre_image", "reconstruction"))
    check_parameter("random_state", random_state, whole_number(0))
    check_random_state(random_state)
    if model.scale is not None:
        scale = (
            f"PCA(scale={model.scale!r}).fit(X).scale_" if isinstance(model.scale, str) else "scale"
        )
        raise ParameterError(
            "tune compares parameters on rows as they are, and the model has scale",
            place={"parameter": "model"},
            hint=f"pass the scaled rows, X / {scale}, and a model without scale",
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


def _read_rows(X: Any, model: KernelPCA, limit: int) -> RowArray:
    """Read rows without missing cells, or a kernel matrix, into memory."""
    (data, columns, origin), _ = TableSchema.read(X, "KernelPCA")
    table = in_memory(data, limit), columns, origin
    if is_precomputed(model):
        return square_matrix(table)
    missing = KernelParameters.of(model).missing
    ignored = f"tune does not fill cells, so missing={missing!r} has no effect: "
    fill = f"{ignored * (missing in FILL_METHODS)}fill the cells of X"
    hint = f"{fill}, or leave their rows out with model=KernelPCA(…, missing='drop')"
    return complete_rows(table, None, missing, hint=hint)[0]


def _sample(rows: RowArray, model: KernelPCA, cv: Folds, limit: int, seed: int) -> RowArray:
    """Return the rows, or a sample that fits in memory, in float64."""
    n = rows.shape[0]
    max_rows = int((limit / (8.0 * _MATRIX_COPIES)) ** 0.5)
    if max_rows < (fewest := min(n, _MIN_ROWS)):
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


# ---- the result --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Tuned:
    """Combinations of parameters and their errors on rows that were left out of their fits.

    Attributes
    ----------
    parameters : tuple of dict
        The parameters of each combination that have an effect, γ as a number.
    fold_errors : ndarray of shape (combinations, folds)
    by : str
        "pre_image" or "reconstruction".
    rows, rows_given : int
        Number of rows compared, and of rows passed: a sample was compared if not all fit in memory.
    best_model : KernelPCA
        With the best parameters, fitted to all rows.
    """

    parameters: tuple[dict[str, Any], ...]
    fold_errors: FloatArray
    by: str
    rows: int
    rows_given: int
    best_model: KernelPCA

    @property
    def errors(self) -> FloatArray:
        """Means over the folds (combinations,)."""
        return self.fold_errors.mean(axis=1)

    @property
    def deviations(self) -> FloatArray:
        """Standard deviations over the folds (combinations,), with folds − 1; NaN for one fold."""
        if self.fold_errors.shape[1] < 2:
            return np.full(len(self.fold_errors), np.nan)
        return self.fold_errors.std(axis=1, ddof=1)

    @property
    def best_index(self) -> int:
        """Index of the combination with the smallest error; the first one if there are several."""
        return int(np.argmin(self.errors))

    @property
    def best(self) -> dict[str, Any]:
        """The parameters with the smallest error."""
        return dict(self.parameters[self.best_index])

    @property
    def best_error(self) -> float:
        """The smallest error."""
        return float(self.errors[self.best_index])

    @property
    def names(self) -> tuple[str, ...]:
        """Parameters that have an effect in any combination."""
        return tuple(dict.fromkeys(name for each in self.parameters for name in each))

    def lines(self) -> list[dict[str, Any]]:
        """List the combinations with their errors, in the order of the grid."""
        effective = ({name: each.get(name) for name in self.names} for each in self.parameters)
        found = zip(effective, self.errors.tolist(), self.deviations.tolist(), strict=True)
        return [{**each, "error": error, "deviation": spread} for each, error, spread in found]

    def to_frame(self) -> Any:
        """Return ``lines()`` as a pandas frame if pandas is imported, else as a dict of arrays."""
        lines = self.lines()
        found = {name: _column([line[name] for line in lines]) for name in lines[0]}
        pandas = sys.modules.get("pandas")
        return found if pandas is None else pandas.DataFrame(found)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON; a kernel function is represented by its name."""
        return {
            "by": self.by,
            "rows": self.rows,
            "rows_given": self.rows_given,
            "folds": self.fold_errors.shape[1],
            "best": _plain(self.best),
            "best_error": self.best_error,
            "combinations": [_plain(line) for line in self.lines()],
        }

    def to_json(self) -> str:
        """Return ``to_dict()`` as a JSON object."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)

    @property
    def title(self) -> str:
        """The heading of the table: what was compared, and on which rows."""
        rows = f"{self.rows:,} rows"
        if self.rows < self.rows_given:
            rows = f"{self.rows:,} of {self.rows_given:,} rows, drawn at random"
        count = len(self.parameters)
        return (
            f"{count:,} combination{'s' * (count != 1)}, {self.fold_errors.shape[1]} folds of "
            f"{rows}: {_ERROR_NAMES[self.by]}"
        )

    def _cells(self) -> list[list[str]]:
        """Format the headings and the combinations, those with the smallest errors first."""
        order = np.argsort(self.errors, kind="stable")[:_MAX_LINES]
        lines = self.lines()
        shown = [[_cell(value) for value in lines[at].values()] for at in order]
        return [list(lines[0]), *shown]

    def __str__(self) -> str:
        lines = text_table(self._cells())
        n_left = len(self.parameters) - _MAX_LINES
        more = [f"… and {n_left:,} more"] if n_left > 0 else []
        return "\n".join([self.title, *lines, *more])

    def __repr__(self) -> str:
        chosen = ", ".join(f"{name}={_cell(value)}" for name, value in self.best.items())
        return f"<Tuned {chosen}: error {self.best_error:.4g}>"

    def _repr_html_(self) -> str:
        headings, *lines = self._cells()
        return html_table(self.title, headings, lines)


def _column(values: list[Any]) -> NDArray[Any]:
    """Make an array: of numbers, with NaN for None, if possible, otherwise of objects."""
    numbers = [value for value in values if value is not None]
    if numbers and all(isinstance(value, int | float | np.number) for value in numbers):
        whole = len(numbers) == len(values) and all(isinstance(value, int) for value in values)
        return np.array([np.nan if v is None else v for v in values], int if whole else float)
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def _plain(line: dict[str, Any]) -> dict[str, Any]:
    return {name: _plain_value(value) for name, value in line.items()}


def _plain_value(value: object) -> str | int | float | None:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and np.isnan(value):
        return None
    return value if value is None or isinstance(value, str | int | float) else _cell(value)


def _cell(value: object) -> str:
    if value is None:
        return "–"
    if callable(value):
        return str(getattr(value, "__name__", repr(value)))
    return f"{value:.4g}" if isinstance(value, float | np.floating) else str(value)
