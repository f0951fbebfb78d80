"""The parameters of the estimator, checked once before any work."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from princomp.core.constraints import (
    FLAG,
    Constraint,
    array_like,
    check_parameter,
    check_parameters,
    fraction,
    is_number,
    one_of,
    whole_number,
)
from princomp.core.missing import FILL_METHODS
from princomp.core.problem import SOLVERS, Problem
from princomp.engines import DistributedRows
from princomp.errors import ParameterError, ShapeError
from princomp.io import RowData, Source, TableSource
from princomp.linalg import FloatArray, byte_count, check_random_state, memory_limit
from princomp.rules import RULES, Rule, is_rule, rule_of
from princomp.summaries import is_sparse

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

RandomState: TypeAlias = int | np.random.RandomState | np.random.Generator | None

# For tables with fewer numbers, the free memory of the system is not checked.
_LARGE_TABLE = 2**23
_N_COMPONENTS = (
    whole_number(0) | fraction() | one_of(*RULES) | Constraint(is_rule, ("a rule",)) | one_of(None)
)
_CONSTRAINTS = {
    "scale": one_of("unit", "pareto", "range", None) | array_like("an array of divisors"),
    "svd_solver": one_of(*SOLVERS),
    "missing": one_of("error", "drop", *FILL_METHODS),
    "constant": one_of("error", "zero", "drop"),
    "component_names": one_of("PC", "sklearn"),
    "center": FLAG,
    "whiten": FLAG,
    "copy": FLAG,
    "power_iteration_normalizer": one_of("auto", "QR", "LU", "none"),
    # An infinite tolerance accepts the first answer of a search.
    "tol": Constraint(
        lambda value: is_number(value, Real) and value >= 0, ("a number of at least 0",)
    ),
    "iterated_power": one_of("auto") | whole_number(0),
    "decay": one_of(None)
    | Constraint(lambda value: is_number(value, Real) and 0 < value <= 1, ("a number in (0, 1]",)),
    "n_oversamples": whole_number(1),
}


class PCAParameters(NamedTuple):
    """The parameters of :class:`~princomp.PCA`, as a user gives them."""

    n_components: int | float | str | Rule | None = None
    copy: bool = True
    whiten: bool = False
    svd_solver: str = "auto"
    tol: float = 0.0
    iterated_power: int | str = "auto"
    n_oversamples: int = 10
    power_iteration_normalizer: str = "auto"
    random_state: RandomState = None
    scale: str | ArrayLike | None = None
    center: bool = True
    missing: str = "error"
    memory_limit: int | str | None = None
    decay: float | None = None
    constant: str = "error"
    component_names: str = "PC"


class Request(NamedTuple):
    """The validated parameters that affect a fit."""

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
    constant: str = "error"

    @classmethod
    def of(cls, parameters: Any) -> Request:
        """Check the parameters of an estimator, which are its attributes.

        Raises
        ------
        ParameterError
            For an invalid value; the message lists the allowed ones.
        """
        check_parameters(parameters, _CONSTRAINTS)
        if parameters.random_state is not None:
            check_random_state(parameters.random_state)
        k, missing = checked_components(parameters.n_components), parameters.missing
        if missing in FILL_METHODS and not isinstance(k, int):
            raise ParameterError(
                f"missing={missing!r} needs a number of components, and "
                f"n_components={parameters.n_components!r} is given",
                place={"parameter": "n_components"},
                hint="give a whole number, such as n_components=2; 0 fills cells with column means",
            )
        return cls(
            k,
            parameters.scale,
            bool(parameters.center),
            parameters.svd_solver,
            parameters.tol,
            parameters.iterated_power,
            parameters.n_oversamples,
            parameters.power_iteration_normalizer,
            parameters.random_state,
            missing == "drop",
            None if parameters.memory_limit is None else byte_count(parameters.memory_limit),
            1.0 if parameters.decay is None else float(parameters.decay),
            missing if missing in FILL_METHODS else None,
            parameters.constant,
        )

    def dropped_columns(self, summary: Any) -> NDArray[np.intp]:
        """Indices of the constant columns that ``constant="drop"`` leaves out of the count.

        Without centring, a constant column is not zero and is counted.
        """
        if self.constant != "drop" or not isinstance(self.scale, str) or not self.center:
            return np.empty(0, dtype=np.intp)
        return np.flatnonzero(np.asarray(summary.column_scatter) == 0)

    def clipped(self, summary: Any) -> Request:
        """Return the request with at most as many components as the rows so far allow."""
        if not isinstance(self.n_components, int):
            return self
        largest = max_components(summary, len(self.dropped_columns(summary)))
        return self._replace(n_components=min(self.n_components, largest))

    @property
    def rule(self) -> Rule | None:
        """The rule that chooses the number of components, if one does."""
        k = self.n_components
        return None if isinstance(k, int | float | None) else rule_of(k)

    @property
    def named_components(self) -> int | float | str | None:
        """``n_components``; a rule is replaced by its name."""
        k = self.n_components
        return k if isinstance(k, int | float | str | None) else k.name

    @property
    def by_range(self) -> bool:
        """Whether columns are divided by their range, which needs extreme values."""
        return isinstance(self.scale, str) and self.scale == "range"

    def problem(self, data: RowData) -> Problem:
        """Return the properties of rows (n, p) and parameters on which the plan depends."""
        n, p = data.shape
        dtype = "float32" if data.dtype.char == "f" else "float64"
        limit = self.memory
        if isinstance(data, Source) or (limit is None and max(n, p) * p > _LARGE_TABLE):
            limit = memory_limit(limit)
        problem = Problem(
            n or 0,
            p,
            self.named_components,
            dtype,
            solver=self.solver,
            by_range=self.by_range,
            memory_limit=limit,
        )
        if not isinstance(data, Source):
            return problem._replace(stored=data.nnz if is_sparse(data) else None)
        return problem._replace(
            stored=data.stored,
            in_memory=isinstance(data, TableSource),
            repeatable=data.repeatable,
            reader_bytes=data.reader_bytes,
            engine=data.engine if isinstance(data, DistributedRows) else "",
        )


def checked_components(k: Any) -> int | float | str | Rule | None:
    """Check ``n_components``.

    Raises
    ------
    ParameterError
    """
    check_parameter("n_components", k, _N_COMPONENTS)
    if is_number(k, Integral):
        return int(k)
    return float(k) if is_number(k, Real) else k


def max_components(summary: Any, dropped: int = 0) -> int:
    """Return the largest number of components: min(n, p), where a row of weight 2 counts twice.

    If the weights sum to less than the number of rows, n is the number of rows, so that weights
    can have any scale. Columns that are ``dropped`` do not count.
    """
    return min(max(math.floor(summary.rows + 1e-9), summary.count), summary.p - dropped)


def check_n_components(
    n_components: int | float | str | Rule | None, summary: Any, solver: str, dropped: int = 0
) -> int | float | Rule:
    """Return the requested number of components, or the rule that will choose it.

    Raises
    ------
    ShapeError
        For a number out of range; the message gives the range.
    """
    max_k = max_components(summary, dropped)
    is_truncated = solver in ("arpack", "lanczos", "randomized")
    if n_components is None:
        return max_k - 1 if solver == "arpack" else max_k
    if isinstance(n_components, float):
        return n_components
    if not isinstance(n_components, int):
        rule = rule_of(n_components)
        if rule.name == "mle":
            _check_mle(summary, solver, is_truncated, dropped)
        return rule
    min_k = 1 if is_truncated else 0
    if solver == "arpack" and n_components == max_k:
        raise ShapeError(
            f"n_components={n_components} must be strictly less than min(n_samples, n_features)="
            f"{max_k} with svd_solver='arpack'",
            place={"parameter": "n_components"},
            hint="svd_solver='full' finds all",
        )
    if not min_k <= n_components <= max_k:
        route = "full" if solver == "auto" else solver
        raise ShapeError(
            f"n_components={n_components} must be between {min_k} and "
            f"min(n_samples, n_features)={max_k} with svd_solver={route!r}"
            + (f", where constant columns are dropped ({dropped})" if dropped else ""),
            place={"parameter": "n_components"},
            hint=f"ask for {min_k} to {max_k} components",
        )
    return n_components


def _check_mle(summary: Any, solver: str, is_truncated: bool, dropped: int) -> None:
    if is_truncated:
        raise ParameterError(
            f"n_components='mle' cannot be a string with svd_solver={solver!r}",
            place={"parameter": "n_components"},
            hint="Minka's rule needs all variances: svd_solver='auto' or 'full'",
        )
    if summary.rows < summary.p - dropped:
        raise ShapeError(
            "n_components='mle' is only supported if n_samples >= n_features, "
            f"got {summary.rows:g} rows of {summary.p - dropped} columns",
            hint="ask for a fraction of the variance, or for another rule, such as 'parallel'",
        )
