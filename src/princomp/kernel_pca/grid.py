"""A grid of parameters of a KernelPCA: checked, γ as numbers, and what is computed together."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from sklearn.base import clone

from princomp.errors import ParameterError
from princomp.kernel_functions import KernelFunction, median_gamma
from princomp.kernel_pca.asked import Asked
from princomp.pre_images import check_method

__all__ = ["TUNED", "Candidate", "candidates", "grouped", "is_precomputed"]

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
_POLYNOMIALS = ("poly", "polynomial")


class Candidate(NamedTuple):
    """One combination.

    Attributes
    ----------
    parameters : dict
        Those that mean something to it.
    asked : Asked
        All of them, checked.
    function : KernelFunction or None
        None where the kernel is precomputed.
    n_neighbors : int
    """

    parameters: dict[str, Any]
    asked: Asked
    function: KernelFunction | None
    n_neighbors: int

    @property
    def kernel(self) -> tuple[Any, ...]:
        """What tells its kernel matrix from others."""
        return tuple(repr(self.parameters.get(name)) for name in _OF_KERNEL)


def candidates(model: Any, grid: Any, rows: Any, by: str) -> list[Candidate]:
    """All combinations of a grid, those that come to the same taken once.

    Parameters
    ----------
    model : KernelPCA
        For what the grid does not say.
    grid : dict or list of dict
        Lists of values by parameter.
    rows : array of shape (n, p)
        For γ by the median.
    by : {"pre_image", "reconstruction"}

    Raises
    ------
    ParameterError
    """
    found: dict[tuple[str, ...], Candidate] = {}
    median: list[float] = []  # of the rows, once it was asked for
    for chosen in _combinations(grid):
        if isinstance(gamma := chosen.get("gamma", model.gamma), str):
            chosen["gamma"] = _number(gamma, rows, median)
        one = clone(model).set_params(**chosen)
        if by == "pre_image" and one.pre_image is None:
            one.pre_image = "ridge" if one.fit_inverse_transform else "fixed_point"
        if is_precomputed(one) != is_precomputed(model):
            raise ParameterError(
                "grid names a precomputed kernel and others, and X is either rows or a kernel",
                place={"parameter": "grid"},
                hint="give model=KernelPCA(kernel='precomputed') and no kernel in the grid",
            )
        made = _candidate(one, rows, by)
        found.setdefault(tuple(map(repr, made.parameters.items())), made)
    return list(found.values())


def grouped(these: list[Candidate]) -> Iterator[tuple[list[int], list[Candidate]]]:
    """Candidates of one kernel matrix, and where they stand."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    for at, one in enumerate(these):
        groups.setdefault(one.kernel, []).append(at)
    # By name, so that products of rows are made once.
    for _, places in sorted(groups.items(), key=lambda each: each[0][0]):
        yield places, [these[at] for at in places]


def is_precomputed(model: Any) -> bool:
    """Whether rows are those of a kernel matrix."""
    return isinstance(model.kernel, str) and model.kernel == "precomputed"


def _combinations(grid: Any) -> list[dict[str, Any]]:
    from sklearn.model_selection import ParameterGrid  # half of scikit-learn: only here

    try:
        made = [dict(each) for each in ParameterGrid(grid)]
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"grid is no grid of parameters: {error}",
            place={"parameter": "grid"},
            hint="give lists by name, such as {'gamma': [0.1, 'median'], 'n_components': [2, 5]}",
        ) from error
    unknown = sorted({name for each in made for name in each} - set(TUNED))
    if unknown:
        raise ParameterError(
            f"grid names {', '.join(unknown)}, which cannot be tuned",
            place={"parameter": "grid"},
            hint=f"it may name {', '.join(TUNED)}; give others in model=KernelPCA(…)",
        )
    return made


def _number(gamma: str, rows: Any, known: list[float]) -> float:
    """γ of "median" or "0.5 * median"."""
    times = _MULTIPLE.fullmatch(gamma)
    if gamma != "median" and times is None:
        raise ParameterError(
            f"gamma={gamma!r} is not lawful",
            place={"parameter": "gamma"},
            hint="give numbers, None, 'median', or multiples such as '0.5 * median'",
        )
    if not known:
        known.append(median_gamma(rows))
    return known[0] * (1.0 if times is None else float(times[1]))


def _candidate(model: Any, rows: Any, by: str) -> Candidate:
    asked = Asked.of(model)
    if asked.precomputed:
        named = {"kernel": asked.kernel, "n_components": asked.n_components}
        return Candidate(named, asked, None, 1)
    function = asked.function(rows)
    name = function.name
    use: dict[str, Any] = {"kernel": asked.kernel}
    if asked.kernel_params:
        use["kernel_params"] = asked.kernel_params
    if function.takes_gamma:
        use["gamma"] = function.gamma
    if name in _POLYNOMIALS:
        use["degree"] = asked.degree
    if name in (*_POLYNOMIALS, "sigmoid"):
        use["coef0"] = asked.coef0
    use["n_components"] = asked.n_components
    if by == "pre_image":
        assert asked.pre_image is not None
        check_method(asked.pre_image, function)
        use["pre_image"] = asked.pre_image
        if name != "linear":
            other = "alpha" if asked.pre_image == "ridge" else "n_neighbors"
            use[other] = getattr(model, other)
    return Candidate(use, asked, function, int(model.n_neighbors))
