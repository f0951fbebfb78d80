"""The candidates of a parameter search, and their errors on the folds of the rows.

Nothing is computed twice: candidates are grouped by kernel matrix, matrices of the same products of
rows are computed from these products, and each fold of a matrix is solved once.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from princomp.engines import ProgressCallback, ProgressReporter
from princomp.errors import NotFiniteError, ParameterError
from princomp.io import RowArray
from princomp.kernel_pca.exact import solve_matrix
from princomp.kernel_pca.feature_space.solve import count_components
from princomp.kernel_pca.functions import GAMMA_KERNELS, POLYNOMIALS, KernelFunction, shift_of
from princomp.kernel_pca.median import median_gamma
from princomp.kernel_pca.parameters import KernelParameters, is_precomputed
from princomp.kernel_pca.pre_images.methods import pre_images
from princomp.kernel_pca.row_errors import are_negative, unexplained_share
from princomp.linalg import FloatArray

if TYPE_CHECKING:
    from princomp.kernel_pca.estimator import KernelPCA

Grid: TypeAlias = Mapping[str, Sequence[object]] | Sequence[Mapping[str, Sequence[object]]]
# Row numbers: those to fit, and those held out to measure errors.
Fold: TypeAlias = tuple[NDArray[np.intp], NDArray[np.intp]]

_KERNEL_PARAMETERS = ("kernel", "kernel_params", "gamma", "degree", "coef0")
# Parameters that can be tuned.
TUNABLE = (*_KERNEL_PARAMETERS, "n_components", "pre_image", "n_neighbors", "alpha")


class Candidate(NamedTuple):
    """One combination of parameters.

    Attributes
    ----------
    parameters : dict
        The parameters that have an effect.
    settings : KernelParameters
        All parameters, validated.
    function : KernelFunction
    """

    parameters: dict[str, Any]
    settings: KernelParameters
    function: KernelFunction


def candidates(model: KernelPCA, grid: Grid, rows: RowArray, by: str) -> list[Candidate]:
    """List the distinct combinations of a grid.

    Parameters
    ----------
    model : KernelPCA
        Supplies the parameters that the grid does not name.
    grid : dict or list of dict
        Lists of values by parameter.
    rows : array of shape (n, p)
        Rows from which a median γ is computed.
    by : {"pre_image", "reconstruction"}

    Raises
    ------
    ParameterError
    """
    found: dict[tuple[str, ...], Candidate] = {}
    median = cache(lambda kernel: median_gamma(rows, kernel=kernel))
    for chosen in _combinations(grid):
        if isinstance(gamma := chosen.get("gamma", model.gamma), str):
            name = chosen.get("kernel", model.kernel)
            factor = _gamma_factor(gamma)
            chosen["gamma"] = factor * median(name) if name in GAMMA_KERNELS else factor
        trial = clone(model).set_params(**chosen)
        if by == "pre_image" and trial.pre_image is None:
            trial.pre_image = "ridge" if trial.fit_inverse_transform else "fixed_point"
        if is_precomputed(trial) != is_precomputed(model):
            raise ParameterError(
                "grid has a precomputed kernel and others, but X is either rows or a kernel matrix",
                place={"parameter": "grid"},
                hint="pass model=KernelPCA(kernel='precomputed') and no kernel in the grid",
            )
        candidate = _candidate(trial, rows, by)
        distinct = dict(candidate.parameters)
        if candidate.function.name == "linear":
            distinct.pop("pre_image", None)  # every method gives the exact inverse
        found.setdefault(_key(distinct.items()), candidate)
    return list(found.values())


def _key(values: Iterable[Any]) -> tuple[str, ...]:
    """Return a key that is equal for equal values, which may be arrays."""
    with np.printoptions(threshold=sys.maxsize):  # all entries of long arrays
        return tuple(map(repr, values))


def _kind_of_products(name: str) -> str | None:
    """What all kernels of this name are computed from: "distances" or inner "products" of rows.

    None if kernels of different parameters have nothing in common.
    """
    if name == "rbf":
        return "distances"
    return "products" if name in (*POLYNOMIALS, "sigmoid") else None


def _group_by_kernel(combinations: list[Candidate]) -> list[list[int]]:
    """Group the positions of candidates by kernel matrix."""
    groups: dict[tuple[str, ...], list[int]] = {}
    for index, candidate in enumerate(combinations):
        kernel = _key(candidate.parameters.get(name) for name in _KERNEL_PARAMETERS)
        groups.setdefault(kernel, []).append(index)
    # Kernels of the same products of rows follow each other, so that these are computed once.
    return sorted(
        groups.values(),
        key=lambda indices: str(_kind_of_products(combinations[indices[0]].function.name)),
    )


def _combinations(grid: Grid) -> list[dict[str, Any]]:
    from sklearn.model_selection import ParameterGrid  # loads half of scikit-learn

    try:
        combinations = [dict(combination) for combination in ParameterGrid(grid)]
        if not combinations:
            raise ValueError("it is empty")
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"grid is not a grid of parameters: {error}",
            place={"parameter": "grid"},
            hint="pass lists by name, such as {'gamma': [0.1, 'median'], 'n_components': [2, 5]}",
        ) from error
    names = {str(name) for combination in combinations for name in combination}
    unknown = sorted(names - set(TUNABLE))
    if unknown:
        raise ParameterError(
            f"grid names {', '.join(unknown)}, which cannot be tuned",
            place={"parameter": "grid"},
            hint=f"it may name {', '.join(TUNABLE)}; pass others in model=KernelPCA(…)",
        )
    return combinations


def _gamma_factor(gamma: str) -> float:
    """Return the factor of the median in "median" or "0.5 * median"."""
    factor, times, median = gamma.replace("×", "*").rpartition("*")
    with suppress(ValueError):
        if median.strip() == "median":
            return float(factor) if times else 1.0
    raise ParameterError(
        f"gamma={gamma!r} is not valid",
        place={"parameter": "gamma"},
        hint="gamma must be a number, None, 'median', or a multiple such as '0.5 * median'",
    )


def _candidate(model: KernelPCA, rows: RowArray, by: str) -> Candidate:
    settings = KernelParameters.of(model)
    function = settings.function(rows)
    name = function.name
    effective: dict[str, Any] = {"kernel": settings.kernel}
    if settings.kernel_params and name != "precomputed":
        effective["kernel_params"] = settings.kernel_params
    if function.takes_gamma:
        effective["gamma"] = function.gamma
    if name in POLYNOMIALS:
        effective["degree"] = settings.degree
    if name in (*POLYNOMIALS, "sigmoid"):
        effective["coef0"] = settings.coef0
    effective["n_components"] = settings.n_components
    if by == "pre_image":
        effective["pre_image"] = settings.pre_image
        if name != "linear":
            option = "alpha" if settings.pre_image == "ridge" else "n_neighbors"
            effective[option] = getattr(model, option)
    return Candidate(effective, settings, function)


# ---- errors on folds ---------------------------------------------------------------------


def fold_errors(
    rows: RowArray,
    combinations: list[Candidate],
    folds: list[Fold],
    by: str,
    progress: ProgressCallback | None,
) -> FloatArray:
    """Compute the errors of candidates on the held-out rows (combinations, folds).

    NaN for a reconstruction error that a kernel does not have.
    """
    reporter = ProgressReporter(progress)
    reporter.begin("tuning", len(combinations) * len(folds), 0.0, unit="fits")
    errors, done = np.empty((len(combinations), len(folds))), 0
    shared = SharedProducts(rows)
    for indices in _group_by_kernel(combinations):
        group = [combinations[index] for index in indices]
        matrix = shared.matrix(group[0].function)
        for column, fold in enumerate(folds):
            solved = SolvedFold(matrix, shared, fold, group)
            for row, candidate in zip(indices, group, strict=True):
                errors[row, column] = solved.error(candidate, by)
                done += 1
                reporter.advance(done, done=done == errors.size)
    return errors


class SharedProducts:
    """Inner products or squared distances of all rows, computed once for several kernels.

    Parameters
    ----------
    rows : array or CSR array of shape (n, p)
        In float64; a kernel matrix (n, n) if the kernel is precomputed.
    """

    def __init__(self, rows: RowArray) -> None:
        self.rows, self.shift = rows, shift_of(rows)
        self._kind, self._products = "", np.empty((0, 0))

    def matrix(self, function: KernelFunction) -> FloatArray:
        """Compute the kernel matrix of all rows (n, n).

        Raises
        ------
        NotFiniteError
        """
        if function.name == "precomputed":
            return self.rows
        kind = _kind_of_products(function.name)
        with np.errstate(all="ignore" if function.uses_products else None):  # checked below
            if kind is None:
                values = self._tile(function.with_shift(self.shift))
            else:
                if kind != self._kind:
                    self._kind, self._products = kind, self._compute(kind)
                assert function.gamma is not None
                factor = -function.gamma if kind == "distances" else function.gamma
                values = function.values_of_products(factor * self._products, np.float64)
        if not np.isfinite(values).all():
            gamma = "" if function.gamma is None else f" with gamma {function.gamma:g}"
            raise NotFiniteError(
                f"kernel {function.name!r}{gamma} is not finite between all rows",
                place={"parameter": "grid"},
                hint="leave out larger gammas or degrees, or scale the columns",
            )
        return values

    def _compute(self, kind: str) -> FloatArray:
        """Compute inner products, or squared distances."""
        self._products = np.empty((0, 0))  # freed before another array of its size is made
        linear = KernelFunction("linear")
        if kind == "products":
            return self._tile(linear)
        products = self._tile(linear.with_shift(self.shift))
        squares = np.diagonal(products).copy()
        products *= -2
        products += squares
        products += squares[:, None]
        np.maximum(products, 0.0, out=products)
        np.fill_diagonal(products, 0.0)
        return products

    def _tile(self, function: KernelFunction) -> FloatArray:
        sides = function.sides(self.rows)
        return function.tile(sides, sides)


class SolvedFold:
    """A fold, solved for the most components that any candidate with one kernel asks for.

    Its kernel matrix is a part of the matrix of all rows.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
        The kernel matrix of all rows.
    shared : SharedProducts
    fold : tuple of ndarray
    group : sequence of Candidate
    """

    def __init__(
        self, matrix: FloatArray, shared: SharedProducts, fold: Fold, group: Sequence[Candidate]
    ) -> None:
        training, held_out = fold
        n_components = _largest_request([candidate.settings.n_components for candidate in group])
        settings = group[0].settings._replace(n_components=n_components)
        self.fitted = solve_matrix(matrix[np.ix_(training, training)], None, settings)
        self.held_out_rows = shared.rows[held_out]
        expansion = self.fitted.expansion
        cross = matrix[np.ix_(held_out, training)]
        self.scores = expansion.scores_from_kernel(cross)
        # Squared lengths of centred images, of the held-out rows and of the rows of the fit.
        self.squared_norms = self.fitted.squared_norms(cross, matrix[held_out, held_out])
        squared_norms = matrix[training, training] - 2 * expansion.centre + expansion.mean_square
        self.training_squared_norms = np.maximum(squared_norms, 0.0)
        if group[0].function.name != "precomputed":
            function = group[0].function.with_shift(shared.shift)
            expansion = replace(expansion, function=function, points=shared.rows[training])
        self.expansion = expansion
        self.fitted = replace(self.fitted, expansion=expansion)  # with the function of the kernel

    def error(self, candidate: Candidate, by: str) -> float:
        """Compute the error of a candidate on the held-out rows."""
        # As many as a separate fit with this ``n_components`` would keep.
        spectrum, n_components = self.fitted.spectrum, candidate.settings.n_components
        k = count_components(spectrum.variances[: self.fitted.k], spectrum.total, n_components)
        scores = self.scores[:, :k]
        if by == "reconstruction":
            residuals = self.squared_norms - np.einsum("ij,ij->i", scores, scores)
            if are_negative(self.fitted, residuals, self.squared_norms).any():
                return float("nan")
            return unexplained_share(residuals, float(np.maximum(self.squared_norms, 0.0).mean()))
        inverse = pre_images(
            replace(self.expansion, weights=self.expansion.weights[:, :k]),
            candidate.settings,
            scores=self.fitted.training_scores[:, :k],
            squared_norms=self.training_squared_norms,
        )
        return float(np.sqrt(np.mean((self.held_out_rows - inverse.rows(scores)) ** 2)))


def _largest_request(requests: Sequence[int | float | None]) -> int | float | None:
    """Return the largest request; None (all) if numbers and fractions are mixed."""
    numbers = [request for request in requests if request is not None]
    if len(numbers) < len(requests) or len({isinstance(request, int) for request in numbers}) > 1:
        return None
    return max(numbers)
