"""A grid of parameters of a KernelPCA: its valid combinations, grouped by kernel matrix."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
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

# Parameters that can be tuned.
TUNED = (
    "kernel",
    "kernel_params",
    "gamma",
    "degree",
    "coef0",
    "n_components",
    "pre_image",
    "n_neighbors",
    "alpha",
)
_OF_KERNEL = TUNED[:5]
_MULTIPLE = re.compile(r"\s*([0-9.]+(?:[eE][-+]?[0-9]+)?)\s*[*×]\s*median\s*")


class Candidate(NamedTuple):
    """One combination of parameters.

    Attributes
    ----------
    parameters : dict
        The parameters that have an effect.
    settings : KernelParameters
        All parameters, validated.
    function : KernelFunction or None
        None if the kernel is precomputed.
    """

    parameters: dict[str, Any]
    settings: KernelParameters
    function: KernelFunction | None

    @property
    def kernel(self) -> tuple[Any, ...]:
        """The parameters that determine the kernel matrix."""
        return tuple(repr(self.parameters.get(name)) for name in _OF_KERNEL)


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
    median: list[float] = []  # computed once
    for chosen in _combinations(grid):
        if isinstance(gamma := chosen.get("gamma", model.gamma), str):
            chosen["gamma"] = _number(gamma, rows, median)
        one = clone(model).set_params(**chosen)
        if by == "pre_image" and one.pre_image is None:
            one.pre_image = "ridge" if one.fit_inverse_transform else "fixed_point"
        if is_precomputed(one) != is_precomputed(model):
            raise ParameterError(
                "grid has a precomputed kernel and others, but X is either rows or a kernel matrix",
                place={"parameter": "grid"},
                hint="pass model=KernelPCA(kernel='precomputed') and no kernel in the grid",
            )
        made = _candidate(one, rows, by)
        found.setdefault(tuple(map(repr, made.parameters.items())), made)
    return list(found.values())


def kind_of_products(name: str) -> str:
    """Which products of rows a kernel is computed from."""
    return {"rbf": "distances", "linear": "about", "cosine": "cosine"}.get(name, "raw")


def grouped(these: list[Candidate]) -> Iterator[tuple[list[int], list[Candidate]]]:
    """Group candidates by kernel matrix, with their positions."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    for at, one in enumerate(these):
        groups.setdefault(one.kernel, []).append(at)
    # Kernels of the same products of rows follow each other, so that these are computed once.
    by_products = sorted(groups.items(), key=lambda each: kind_of_products(each[0][0]))
    for _, places in by_products:
        yield places, [these[at] for at in places]


def _combinations(grid: Grid) -> list[dict[str, Any]]:
    from sklearn.model_selection import ParameterGrid  # loads half of scikit-learn

    try:
        made = [dict(each) for each in ParameterGrid(grid)]
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"grid is not a grid of parameters: {error}",
            place={"parameter": "grid"},
            hint="pass lists by name, such as {'gamma': [0.1, 'median'], 'n_components': [2, 5]}",
        ) from error
    unknown = sorted({name for each in made for name in each} - set(TUNED))
    if unknown:
        raise ParameterError(
            f"grid names {', '.join(unknown)}, which cannot be tuned",
            place={"parameter": "grid"},
            hint=f"it may name {', '.join(TUNED)}; pass others in model=KernelPCA(…)",
        )
    return made


def _number(gamma: str, rows: RowArray, known: list[float]) -> float:
    """Compute γ from "median" or "0.5 * median"."""
    times = _MULTIPLE.fullmatch(gamma)
    if gamma != "median" and times is None:
        raise ParameterError(
            f"gamma={gamma!r} is not valid",
            place={"parameter": "gamma"},
            hint="gamma must be a number, None, 'median', or a multiple such as '0.5 * median'",
        )
    if not known:
        known.append(median_gamma(rows))
    return known[0] * (1.0 if times is None else float(times[1]))


def _candidate(model: KernelPCA, rows: RowArray, by: str) -> Candidate:
    settings = KernelParameters.of(model)
    if settings.precomputed:
        named = {"kernel": settings.kernel, "n_components": settings.n_components}
        return Candidate(named, settings, None)
    function = settings.function(rows)
    name = function.name
    use: dict[str, Any] = {"kernel": settings.kernel}
    if settings.kernel_params:
        use["kernel_params"] = settings.kernel_params
    if function.takes_gamma:
        use["gamma"] = function.gamma
    if name in POLYNOMIALS:
        use["degree"] = settings.degree
    if name in (*POLYNOMIALS, "sigmoid"):
        use["coef0"] = settings.coef0
    use["n_components"] = settings.n_components
    if by == "pre_image":
        assert settings.pre_image is not None
        check_method(settings.pre_image, function)
        use["pre_image"] = settings.pre_image
        if name != "linear":
            other = "alpha" if settings.pre_image == "ridge" else "n_neighbors"
            use[other] = getattr(model, other)
    return Candidate(use, settings, function)
