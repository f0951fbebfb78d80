"""The parameters of a KernelPCA, checked once before any work."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Integral
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy.typing as npt

from princomp.core import (
    FILL_METHODS,
    FLAG,
    Constraint,
    RandomState,
    array_like,
    check_parameters,
    fraction,
    is_number,
    number,
    one_of,
    whole_number,
)
from princomp.errors import ParameterError
from princomp.io import RowData
from princomp.kernel_pca.functions import GAMMA_KERNELS, KERNELS, KernelFunction, divide_columns
from princomp.kernel_pca.median import median_gamma
from princomp.kernel_pca.pre_images.methods import METHODS as PRE_IMAGES, check_method
from princomp.linalg import FloatArray, check_random_state, memory_limit, seed_of

if TYPE_CHECKING:
    from princomp.kernel_pca.estimator import KernelPCA

# scikit-learn's names of solvers, and the solvers of this package that they select.
_SOLVERS = {"auto": "auto", "dense": "eigh", "arpack": "lanczos", "randomized": "lanczos"}

_CONSTRAINTS = {
    "n_components": one_of(None) | whole_number(1) | fraction(),
    "kernel": one_of(*KERNELS, "precomputed") | Constraint(callable, ("a function of two rows",)),
    "kernel_params": one_of(None)
    | Constraint(lambda value: isinstance(value, Mapping), ("a dict of arguments of the kernel",)),
    "eigen_solver": one_of(*_SOLVERS),
    "approximation": one_of(None, "nystrom", "features"),
    "pre_image": one_of(None, *PRE_IMAGES),
    "missing": one_of("error", "drop", *FILL_METHODS),
    "component_names": one_of("PC", "sklearn"),
    "scale": one_of(None, "unit", "pareto", "range") | array_like("one divisor per column"),
    "gamma": one_of(None, "median") | number(0),
    **dict.fromkeys(("degree", "alpha", "tol", "approximation_tol"), number(0)),
    "coef0": number(),
    "n_neighbors": whole_number(1),
    "n_landmarks": one_of("auto") | whole_number(1),
    "iterated_power": one_of("auto") | whole_number(0),
    "max_iter": one_of(None) | whole_number(1),
    "n_jobs": one_of(None) | whole_number(),
    **dict.fromkeys(("fit_inverse_transform", "remove_zero_eig", "copy_X"), FLAG),
}
# Parameters that need rows instead of a kernel matrix.
_NEED_ROWS = ("approximation", "pre_image", "scale", "missing")


class KernelParameters(NamedTuple):
    """The parameters of one fit, valid and in their final types."""

    n_components: int | float | None
    kernel: str | Callable[..., Any]
    gamma: float | str | None
    degree: float
    coef0: float
    kernel_params: dict[str, Any]
    solver: str
    tol: float
    approximation: str | None
    n_landmarks: int | str
    landmarks: str | npt.ArrayLike
    approximation_tol: float
    pre_image: str | None
    alpha: float
    n_neighbors: int
    missing: str
    memory_limit: int | str | None
    random_state: RandomState
    threads: int | None
    copy_X: bool  # noqa: N815  (scikit-learn's name)
    remove_zero_eig: bool
    scale: str | npt.ArrayLike | None = None
    # Of landmarks and features; see ``seeded``.
    seed: int = 0
    # Computed from the rows; see :func:`~princomp.kernel_pca.rows.with_divisors`.
    divisors: FloatArray | None = None

    @classmethod
    def of(cls, model: KernelPCA) -> KernelParameters:
        """Check and convert the attributes of an estimator.

        Raises
        ------
        ParameterError
            With the valid values.
        """
        check_parameters(model, _CONSTRAINTS)
        check_random_state(model.random_state)
        pre_image = model.pre_image or ("ridge" if model.fit_inverse_transform else None)
        if is_precomputed(model):
            _check_precomputed(model)
        if model.approximation == "nystrom" and model.kernel == "additive_chi2":
            raise ParameterError(
                "landmarks need a positive semi-definite kernel, and kernel='additive_chi2' is "
                "positive semi-definite only after centring",
                place={"parameter": "approximation"},
                hint="use kernel='chi2', or leave approximation out",
            )
        if pre_image is not None:
            # A gamma that depends on the rows is positive.
            gamma = 1.0 if isinstance(model.gamma, str | None) else float(model.gamma)
            name = "callable" if callable(model.kernel) else model.kernel
            chosen_by = "pre_image" if model.pre_image else "fit_inverse_transform"
            check_method(pre_image, KernelFunction(name, gamma, model.degree), chosen_by)
        k, jobs, count = model.n_components, model.n_jobs, model.n_landmarks
        if k is not None:
            k = int(k) if is_number(k, Integral) else float(k)
        converted = {
            "n_components": k,
            "n_landmarks": count if isinstance(count, str) else int(count),
            "kernel_params": dict(model.kernel_params or {}),
            "solver": _SOLVERS[model.eigen_solver],
            "tol": float(model.tol),
            "approximation_tol": float(model.approximation_tol),
            "pre_image": pre_image,
            "alpha": float(model.alpha),
            "n_neighbors": int(model.n_neighbors),
            "threads": None if jobs is None or jobs < 1 else int(jobs),
        }
        given = {name: getattr(model, name) for name in cls._fields if hasattr(model, name)}
        return cls(**{**given, **converted})

    def seeded(self) -> KernelParameters:
        """Return a copy with the seed of ``random_state``, drawn once if it is a generator."""
        return self._replace(seed=seed_of(self.random_state))

    @property
    def drop(self) -> bool:
        """Whether rows with missing cells are left out."""
        return self.missing == "drop"

    @property
    def pre_image_settings(self) -> tuple[str | None, int, float]:
        """What the pre-images of a fit depend on."""
        return self.pre_image, self.n_neighbors, self.alpha

    @property
    def has_median_gamma(self) -> bool:
        """Whether γ is computed from distances of rows; kernels without γ ignore it."""
        return isinstance(self.gamma, str) and self.kernel in GAMMA_KERNELS

    @property
    def limit(self) -> int:
        """Bytes that a fit may use."""
        return memory_limit(self.memory_limit)

    def function(self, sample: RowData) -> KernelFunction:
        """Return the kernel; a γ that is not a number is computed from the rows ``sample``."""
        if callable(self.kernel):
            return KernelFunction(
                "callable", call=self.kernel, parameters=self.kernel_params, divisors=self.divisors
            )
        gamma = self.gamma
        if self.has_median_gamma:
            gamma = median_gamma(divide_columns(sample, self.divisors), kernel=self.kernel)
        elif gamma is None or isinstance(gamma, str):
            gamma = 1.0 / sample.shape[1]
        return KernelFunction(
            self.kernel, float(gamma), self.degree, self.coef0, divisors=self.divisors
        )


def is_precomputed(parameters: KernelParameters | KernelPCA) -> bool:
    """Whether the input is a kernel matrix instead of rows."""
    return isinstance(parameters.kernel, str) and parameters.kernel == "precomputed"


def _check_precomputed(model: KernelPCA) -> None:
    """Refuse parameters that need rows where only a kernel matrix is given."""
    if model.fit_inverse_transform:
        raise ParameterError(
            "Cannot fit_inverse_transform with a precomputed kernel.",
            place={"parameter": "fit_inverse_transform"},
            hint="pre-images are rows: give rows and the name of a kernel",
        )
    if isinstance(model.gamma, str):
        raise ParameterError(
            f"gamma={model.gamma!r} is computed from rows, and the kernel is precomputed",
            place={"parameter": "gamma"},
            hint="princomp.kernel_pca.median_gamma(rows, kernel='rbf') gives the number",
        )
    for name in _NEED_ROWS:
        value = getattr(model, name)
        if value is not None and not (isinstance(value, str) and value == "error"):
            shown = f"{name}={value!r}" if isinstance(value, str) else name
            raise ParameterError(
                f"{shown} needs rows, and the kernel is precomputed",
                place={"parameter": name},
                hint=f"leave {name} out (scale and fill rows before you compute their kernel), or "
                "give rows and the name of a kernel",
            )
