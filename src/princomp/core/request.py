"""The parameters of a PCA, checked once before any work, and the validated request of a fit."""

from __future__ import annotations

import math
from dataclasses import replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from princomp.core.constraints import (
    FLAG,
    Constraint,
    array_like,
    check_parameter,
    fraction,
    is_number,
    one_of,
    whole_number,
)
from princomp.core.missing.filled import FILL_METHODS
from princomp.core.problem import SOLVERS, Problem
from princomp.engines import DistributedRows
from princomp.errors import ConstantColumnError, ParameterError
from princomp.io import RowData, Source, TableSource
from princomp.linalg import FloatArray, byte_count, check_random_state, memory_limit
from princomp.rules import RULES, Rule, is_rule, rule_of
from princomp.summaries import is_sparse

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from princomp.core.routes.base import Summary

RandomState: TypeAlias = int | np.random.RandomState | np.random.Generator | None

# For tables with fewer numbers, and scatters of as many, the free memory is not checked.
_LARGE_TABLE = 2**23

_N_COMPONENTS = (
    whole_number(0) | fraction() | one_of(*RULES) | Constraint(is_rule, ("a rule",)) | one_of(None)
)
_CONSTRAINTS = {
    "scale": one_of("unit", "pareto", "range", None) | array_like("an array of divisors"),
    "svd_solver": one_of(*SOLVERS),
    "missing": replace(
        one_of("error", "drop", *FILL_METHODS),
        advice="; PCA(0, missing='em').fit(X).impute(X) fills cells with the column means",
    ),
    "constant": one_of("error", "zero", "drop"),
    "component_names": one_of("PC", "sklearn"),
    "center": Constraint(
        FLAG.accepts,
        ("True", "False; for centres c of your own, PCA(center=False).fit(X - c)"),
    ),
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


_DEFAULTS = PCAParameters()._asdict()


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
        # Checking the defaults, too, would take a twentieth of the time of a fit of a small table.
        for name, constraint in _CONSTRAINTS.items():
            value, default = getattr(parameters, name), _DEFAULTS[name]
            # Equal floats may be different objects.
            if value is not default and not (type(value) is float and value == default):
                check_parameter(name, value, constraint)
        if parameters.random_state is not None:
            check_random_state(parameters.random_state)
        k, missing = checked_components(parameters.n_components), parameters.missing
        if missing in FILL_METHODS and not isinstance(k, int):
            raise ParameterError(
                f"missing={missing!r} needs a number of components, and "
                f"n_components={parameters.n_components!r} is given",
                place={"parameter": "n_components"},
                hint="give a whole number, such as n_components=2; 0 fills cells with column "
                "means. A rule finds a number in complete rows: choose with missing='drop'",
            )
        limit, decay = parameters.memory_limit, parameters.decay
        return cls(
            n_components=k,
            scale=parameters.scale,
            center=bool(parameters.center),
            solver=parameters.svd_solver,
            tol=parameters.tol,
            iterated_power=parameters.iterated_power,
            n_oversamples=parameters.n_oversamples,
            power_iteration_normalizer=parameters.power_iteration_normalizer,
            random_state=parameters.random_state,
            drop=missing == "drop",
            memory=None if limit is None else byte_count(limit),
            decay=1.0 if decay is None else float(decay),
            fill=missing if missing in FILL_METHODS else None,
            constant=parameters.constant,
        )

    def dropped_columns(self, summary: Summary) -> NDArray[np.intp]:
        """Indices of the constant columns that ``constant="drop"`` does not count as columns.

        Without centring, all columns count.

        Raises
        ------
        ConstantColumnError
            If every column is constant.
        """
        if self.constant != "drop" or not self.center:
            return np.empty(0, dtype=np.intp)
        dropped = constant_columns(summary)
        if dropped.size == summary.p:
            raise ConstantColumnError(
                "every column is constant, and constant='drop' leaves none",
                hint="give a column that varies, or set constant='zero'",
            )
        return dropped

    def clipped(self, summary: Summary) -> Request:
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
        k = self.named_components
        problem = Problem(
            n or 0, p, k, dtype, solver=self.solver, by_range=self.by_range, memory_limit=limit
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
    if type(k) is int and k >= 0:  # the usual case needs no other check
        return k
    check_parameter("n_components", k, _N_COMPONENTS)
    if is_number(k, Integral):
        return int(k)
    return float(k) if is_number(k, Real) else k


def constant_columns(summary: Summary) -> NDArray[np.intp]:
    """Indices of the columns whose values are all equal."""
    return np.flatnonzero(np.asarray(summary.column_scatter) == 0)


def max_components(summary: Summary, dropped: int) -> int:
    """Return the largest number of components: min(n, p), where a row of weight 2 counts twice.

    If the weights sum to less than the number of rows, n is the number of rows, so that weights
    can have any scale. Columns that are ``dropped`` do not count.
    """
    return min(max(math.floor(summary.rows + 1e-9), summary.count), summary.p - dropped)
