"""The parameters of the estimator, checked once before any work."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from princomp.arrays import FloatArray
from princomp.choosing import RULES, Rule, is_rule, name_of
from princomp.engines.distributed import Distributed
from princomp.errors import ParameterError
from princomp.memory import byte_count, memory_limit
from princomp.missing import METHODS
from princomp.planning import SOLVERS, Facts
from princomp.seeds import check_random_state
from princomp.sources.source import Held, Source
from princomp.summaries.blocks import is_sparse

__all__ = ["Request", "checked_components", "is_a"]

# Below so many numbers nobody asks the system how much memory is free.
_LARGE = 2**23
_SOLVERS = tuple(SOLVERS)
_SCALES = ("unit", "pareto", "range")
_MISSING = ("error", "drop", *METHODS)
_NORMALIZERS = ("auto", "QR", "LU", "none")


class Request(NamedTuple):
    """What a person asked for, as far as it shapes a fit."""

    n_components: int | float | str | Rule | None = None
    scale: str | FloatArray | None = None
    center: bool = True
    solver: str = "auto"
    tol: float = 0.0
    iterated_power: int | str = "auto"
    n_oversamples: int = 10
    power_iteration_normalizer: str = "auto"
    random_state: Any = None
    drop: bool = False
    memory: int | None = None
    decay: float = 1.0
    fill: str | None = None

    @classmethod
    def of(cls, parameters: Any) -> Request:
        """Check the attributes of an estimator.

        Raises
        ------
        ParameterError
            With the lawful values.
        """
        scale = parameters.scale
        if isinstance(scale, str):
            _among("scale", scale, _SCALES, "None", "an array of divisors")
        _among("svd_solver", parameters.svd_solver, _SOLVERS)
        _among("missing", parameters.missing, _MISSING)
        for name, value in (
            ("center", parameters.center),
            ("whiten", parameters.whiten),
            ("copy", parameters.copy),
        ):
            if value is not True and value is not False and not isinstance(value, np.bool_):
                raise _unlawful(name, value, "True", "False")
        normalizer = parameters.power_iteration_normalizer
        _among("power_iteration_normalizer", normalizer, _NORMALIZERS)
        tol, power, extra = parameters.tol, parameters.iterated_power, parameters.n_oversamples
        if not (is_a(tol, Real) and tol >= 0):
            raise _unlawful("tol", tol, "a number of at least 0")
        if power != "auto" and not (is_a(power, Integral) and power >= 0):
            raise _unlawful("iterated_power", power, "'auto'", "a whole number of at least 0")
        decay = parameters.decay
        if decay is not None and not (is_a(decay, Real) and 0 < decay <= 1):
            raise _unlawful("decay", decay, "None", "a number in (0, 1]")
        check_random_state(parameters.random_state)
        if not (is_a(extra, Integral) and extra >= 1):
            raise _unlawful("n_oversamples", extra, "a whole number of at least 1")
        return cls(
            checked_components(parameters.n_components),
            scale,
            bool(parameters.center),
            parameters.svd_solver,
            tol,
            power,
            extra,
            normalizer,
            parameters.random_state,
            parameters.missing == "drop",
            None if parameters.memory_limit is None else byte_count(parameters.memory_limit),
            1.0 if parameters.decay is None else float(parameters.decay),
            _filling(parameters.missing, parameters.n_components),
        )

    @property
    def wanted(self) -> int | float | str | None:
        """``n_components`` as plans and files say it: a rule by its name."""
        plain: int | float | str | None = name_of(self.n_components)
        return plain

    @property
    def by_range(self) -> bool:
        """Whether the smallest and largest values are needed."""
        return isinstance(self.scale, str) and self.scale == "range"

    def facts(self, data: Any) -> Facts:
        """What a plan for these rows (n, p) is decided from."""
        n, p = data.shape
        dtype = "float32" if data.dtype.char == "f" else "float64"
        if isinstance(data, Source):
            return Facts(
                n or 0,
                p,
                self.wanted,
                dtype,
                data.stored,
                self.solver,
                self.by_range,
                isinstance(data, Held),
                data.repeatable,
                memory_limit(self.memory),
                data.reader,
                data.engine if isinstance(data, Distributed) else "",
            )
        stored = data.nnz if is_sparse(data) else None
        limit = self.memory
        if limit is None and max(n, p) * p > _LARGE:
            limit = memory_limit(None)
        return Facts(n, p, self.wanted, dtype, stored, self.solver, self.by_range, limit=limit)


def checked_components(k: Any) -> int | float | str | Rule | None:
    """A lawful ``n_components``.

    Raises
    ------
    ParameterError
    """
    if k is None or (isinstance(k, str) and k in RULES):
        return k
    if is_a(k, Integral) and k >= 0:
        return int(k)
    if is_a(k, Real) and not is_a(k, Integral) and 0 < k < 1:
        return float(k)
    if is_rule(k):
        rule: Rule = k
        return rule
    lawful = ("a whole number of at least 0", "a fraction in (0, 1)", *map(repr, RULES))
    raise _unlawful("n_components", k, *lawful, "a rule", "None")


def _filling(missing: str, k: Any) -> str | None:
    """The method that fills missing cells, for which the number of components must be known."""
    if missing not in METHODS:
        return None
    if not is_a(k, Integral):
        raise ParameterError(
            f"missing={missing!r} fills cells by a number of components, and n_components={k!r}",
            place={"parameter": "n_components"},
            hint="ask for a whole number, such as n_components=2; 0 fills cells with means",
        )
    return missing


def is_a(value: Any, kind: Any) -> bool:
    """Whether a value is a number of a kind; True and False are none."""
    # The built-in types first: looking a number up in an abstract class takes longer.
    if type(value) is int or (type(value) is float and kind is Real):
        return True
    return isinstance(value, kind) and not isinstance(value, bool | np.bool_)


def _among(name: str, value: Any, lawful: tuple[str, ...], *others: str) -> None:
    if not isinstance(value, str) or value not in lawful:
        raise _unlawful(name, value, *(repr(one) for one in lawful), *others)


def _unlawful(name: str, value: Any, *lawful: str) -> ParameterError:
    return ParameterError(
        f"{name}={value!r} is not lawful",
        place={"parameter": name},
        hint=f"{name} must be {' or '.join(lawful)}",
    )
