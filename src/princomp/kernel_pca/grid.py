"""A grid of parameters of a KernelPCA: its valid combinations, grouped by kernel matrix."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from sklearn.base import clone

from princomp.errors import ParameterError
from princomp.io import RowArray
from princomp.kernel_pca.functions import POLYNOMIALS, KernelFunction, median_gamma
from princomp.kernel_pca.parameters import KernelParameters, is_precomputed
from princomp.kernel_pca.pre_images import check_method

if TYPE_CHECKING:
    from princomp.kernel_pca.estimator import KernelPCA

Grid: TypeAlias = Mapping[str, Sequence[object]] | Sequence[Mapping[str, Sequence[object]]]

_KERNEL_PARAMETERS = ("kernel", "kernel_params", "gamma", "degree", "coef0")
# Parameters that can be tuned.
TUNABLE = (*_KERNEL_PARAMETERS, "n_components", "pre_image", "n_neighbors", "alpha")
_MEDIAN_MULTIPLE = re.compile(
    r"\s*((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)\s*[*×]\s*median\s*"
)


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
    median = cache(lambda: median_gamma(rows))
    for chosen in _combinations(grid):
        if isinstance(gamma := chosen.get("gamma", model.gamma), str):
            chosen["gamma"] = _gamma_value(gamma, median)
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
        found.setdefault(tuple(map(repr, distinct.items())), candidate)
    return list(found.values())


def kind_of_products(name: str) -> str | None:
    """What all kernels of this name are computed from: "distances" or inner "products" of rows.

    None if kernels of different parameters have nothing in common.
    """
    if name == "rbf":
        return "distances"
    return "products" if name in (*POLYNOMIALS, "sigmoid") else None


def group_by_kernel(combinations: list[Candidate]) -> Iterator[tuple[list[int], list[Candidate]]]:
    """Group candidates by kernel matrix, with their positions."""
    groups: dict[tuple[str, ...], list[int]] = {}
    for index, candidate in enumerate(combinations):
        kernel = tuple(repr(candidate.parameters.get(name)) for name in _KERNEL_PARAMETERS)
        groups.setdefault(kernel, []).append(index)
    # Kernels of the same products of rows follow each other, so that these are computed once.
    by_products = sorted(
        groups.values(),
        key=lambda indices: str(kind_of_products(str(combinations[indices[0]].settings.kernel))),
    )
    for indices in by_products:
        yield indices, [combinations[index] for index in indices]


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


def _gamma_value(gamma: str, median: Callable[[], float]) -> float:
    """Compute γ from "median" or "0.5 * median"."""
    multiple = _MEDIAN_MULTIPLE.fullmatch(gamma)
    if gamma != "median" and multiple is None:
        raise ParameterError(
            f"gamma={gamma!r} is not valid",
            place={"parameter": "gamma"},
            hint="gamma must be a number, None, 'median', or a multiple such as '0.5 * median'",
        )
    return median() * (1.0 if multiple is None else float(multiple[1]))


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
        assert settings.pre_image is not None
        check_method(settings.pre_image, function)
        effective["pre_image"] = settings.pre_image
        if name != "linear":
            option = "alpha" if settings.pre_image == "ridge" else "n_neighbors"
            effective[option] = getattr(model, option)
    return Candidate(effective, settings, function)
