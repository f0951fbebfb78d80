"""The parameters of a KernelPCA, checked once before any work."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from princomp.arrays import FloatArray
from princomp.errors import ParameterError
from princomp.kernel_functions import KERNELS, KernelFunction, divided, median_gamma
from princomp.memory import byte_count, memory_limit
from princomp.missing import METHODS
from princomp.parameters import is_a
from princomp.pre_images import METHODS as PRE_IMAGES
from princomp.pre_images import check_method
from princomp.seeds import check_random_state, seed_of

__all__ = ["APPROXIMATIONS", "PRE_IMAGES", "Asked"]

APPROXIMATIONS = ("nystrom", "features")
_SCALES = ("unit", "pareto", "range")
_MISSING = ("error", "drop", *METHODS)
# scikit-learn's names for solvers, and what answers to them here.
_SOLVERS = {"auto": "auto", "dense": "eigh", "arpack": "lanczos", "randomized": "lanczos"}


class Asked(NamedTuple):
    """What a person asked for."""

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
    landmarks: Any
    approximation_tol: float
    pre_image: str | None
    alpha: float
    missing: str
    memory: int | None
    random_state: Any
    threads: int | None
    scale: Any = None
    # Found of the rows; see :func:`~princomp.kernel_pca.scaled.with_divisors`.
    divisors: FloatArray | None = None

    @classmethod
    def of(cls, model: Any) -> Asked:
        """Check the attributes of an estimator.

        Raises
        ------
        ParameterError
            With the lawful values.
        """
        _check_each(model)
        pre_image = model.pre_image or ("ridge" if model.fit_inverse_transform else None)
        _check_together(model, pre_image)
        k, jobs = model.n_components, model.n_jobs
        return cls(
            int(k) if is_a(k, Integral) else k,
            model.kernel,
            model.gamma,
            model.degree,
            model.coef0,
            dict(model.kernel_params or {}),
            _SOLVERS[model.eigen_solver],
            float(model.tol),
            model.approximation,
            model.n_landmarks,
            model.landmarks,
            float(model.approximation_tol),
            pre_image,
            float(model.alpha),
            model.missing,
            None if model.memory_limit is None else byte_count(model.memory_limit),
            model.random_state,
            None if jobs is None or jobs < 1 else int(jobs),
            model.scale,
        )

    def seeded(self) -> Asked:
        """A copy with a number as ``random_state``: one fit draws from a generator once."""
        return self._replace(random_state=seed_of(self.random_state))

    @property
    def seed(self) -> int:
        """The seed of landmarks and features, once there is one (see :meth:`seeded`)."""
        assert isinstance(self.random_state, int)
        return self.random_state

    @property
    def precomputed(self) -> bool:
        """Whether rows are those of a kernel matrix."""
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    @property
    def limit(self) -> int:
        """Bytes that a fit may take."""
        return memory_limit(self.memory)

    def function(self, sample: Any) -> KernelFunction:
        """The kernel, with γ from rows (m, p) where it is not a number."""
        if callable(self.kernel):
            return KernelFunction(
                "callable",
                call=self.kernel,
                parameters=self.kernel_params,
                divisors=self.divisors,
            )
        gamma = self.gamma
        if gamma is None:
            gamma = 1.0 / sample.shape[1]
        elif isinstance(gamma, str):
            scaled = sample if self.divisors is None else divided(sample, self.divisors)
            gamma = median_gamma(scaled)
        return KernelFunction(
            self.kernel, float(gamma), self.degree, self.coef0, divisors=self.divisors
        )


def _check_each(model: Any) -> None:
    """Refuse a parameter that is not lawful, whatever the others are."""
    lawful = _Lawful(model)
    lawful.n_components()
    if not callable(model.kernel):
        lawful.among("kernel", (*KERNELS, "precomputed"), "a function of two rows")
    lawful.among("eigen_solver", tuple(_SOLVERS))
    lawful.among("approximation", (None, *APPROXIMATIONS))
    lawful.among("pre_image", (None, *PRE_IMAGES))
    lawful.among("missing", _MISSING)
    if isinstance(model.scale, str):
        lawful.among("scale", _SCALES, "None, one divisor a column")
    gamma = model.gamma
    if not (gamma is None or (isinstance(gamma, str) and gamma == "median")):
        lawful.number("gamma", 0, "None, 'median' or")
    for name, least in (("degree", 0), ("alpha", 0), ("tol", 0), ("approximation_tol", 0)):
        lawful.number(name, least)
    lawful.number("coef0", -np.inf)
    lawful.whole("n_neighbors", 1)
    for name in ("n_landmarks", "iterated_power"):
        if getattr(model, name) != "auto":
            lawful.whole(name, 0 if name == "iterated_power" else 1, "'auto' or")
    for name in ("max_iter", "n_jobs"):
        if getattr(model, name) is not None:
            lawful.whole(name, -np.inf if name == "n_jobs" else 1, "None or")
    for name in ("fit_inverse_transform", "remove_zero_eig", "copy_X"):
        lawful.flag(name)
    check_random_state(model.random_state)


def _check_together(model: Any, pre_image: str | None) -> None:
    """Refuse lawful parameters that do not go with each other."""
    if isinstance(model.kernel, str) and model.kernel == "precomputed":
        _check_precomputed(model, pre_image)
    if pre_image is not None:
        _check_pre_image(model, pre_image)


def _check_pre_image(model: Any, asked_for: str) -> None:
    """Refuse a way back that the kernel does not allow, before the fit."""
    if callable(model.kernel):
        check_method(asked_for, KernelFunction("callable", call=model.kernel))
        return
    # What is not known before the rows is above zero.
    gamma = float(model.gamma) if is_a(model.gamma, Real) else 1.0
    check_method(asked_for, KernelFunction(model.kernel, gamma, model.degree))


def _check_precomputed(model: Any, pre_image: str | None) -> None:
    """Refuse what needs rows where only a kernel matrix is given."""
    if pre_image is not None:
        raise ParameterError(
            "Cannot fit_inverse_transform with a precomputed kernel.",
            place={"parameter": "pre_image" if model.pre_image else "fit_inverse_transform"},
            hint="pre-images are rows: give rows and the name of a kernel",
        )
    if model.approximation is not None:
        raise ParameterError(
            f"approximation={model.approximation!r} needs rows, and the kernel is precomputed",
            place={"parameter": "approximation"},
            hint="leave approximation out, or give rows and the name of a kernel",
        )
    if model.scale is not None:
        raise ParameterError(
            "scale divides the columns of rows, and the kernel is precomputed",
            place={"parameter": "scale"},
            hint="scale the rows before their kernel is computed",
        )
    if isinstance(model.gamma, str):
        raise ParameterError(
            f"gamma={model.gamma!r} is found from rows, and the kernel is precomputed",
            place={"parameter": "gamma"},
            hint="princomp.kernel_functions.median_gamma(rows) gives the number",
        )
    if model.missing != "error":
        raise ParameterError(
            f"missing={model.missing!r} is of rows, and the kernel is precomputed",
            place={"parameter": "missing"},
            hint="a kernel matrix has no missing entries",
        )


class _Lawful:
    """Refuses unlawful parameters by name."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def among(self, name: str, values: tuple[Any, ...], *others: str) -> None:
        value = getattr(self.model, name)
        if (value is None or isinstance(value, str)) and value in values:
            return
        raise self._unlawful(name, ", ".join([*map(repr, values), *others]))

    def number(self, name: str, least: float, before: str = "") -> None:
        value = getattr(self.model, name)
        if not (is_a(value, Real) and np.isfinite(value) and value >= least):
            floor = "" if least == -np.inf else f" of at least {least:g}"
            raise self._unlawful(name, f"{before} a number{floor}".strip())

    def whole(self, name: str, least: float, before: str = "") -> None:
        value = getattr(self.model, name)
        if not (is_a(value, Integral) and value >= least):
            floor = "" if least == -np.inf else f" of at least {least:g}"
            raise self._unlawful(name, f"{before} a whole number{floor}".strip())

    def flag(self, name: str) -> None:
        value = getattr(self.model, name)
        if value is not True and value is not False and not isinstance(value, np.bool_):
            raise self._unlawful(name, "True or False")

    def n_components(self) -> None:
        k = self.model.n_components
        whole = is_a(k, Integral) and k >= 1
        share = is_a(k, Real) and not is_a(k, Integral) and 0 < k < 1
        if not (k is None or whole or share):
            raise self._unlawful(
                "n_components", "None, a whole number from 1 on, or a share in (0, 1)"
            )

    def _unlawful(self, name: str, lawful: str) -> ParameterError:
        return ParameterError(
            f"{name}={getattr(self.model, name)!r} is not lawful",
            place={"parameter": name},
            hint=f"{name} must be {lawful}",
        )
