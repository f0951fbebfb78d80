"""Contents of the model file of a PCA: arrays and a document of plain values, made and read.

Every field and every array is checked before it is used.
"""

from __future__ import annotations

from dataclasses import fields
from types import SimpleNamespace
from typing import Any

import numpy as np

from princomp import __version__
from princomp.core.fitted import Fitted
from princomp.core.fitted_model import PCAModel
from princomp.core.missing.filled import FILL_METHODS, Filled
from princomp.core.problem import Problem, RouteChoice
from princomp.core.request import PCAParameters
from princomp.core.schema import TableSchema
from princomp.errors import ModelFileError, ParameterError
from princomp.io import (
    Array,
    Arrays,
    Document,
    Field,
    PathLike,
    Schema,
    json_value,
    sizes_from,
    values,
    write,
)
from princomp.linalg import int_or_none
from princomp.rules import Decision, is_rule, rule_of_dict, rule_to_dict
from princomp.solvers import Spectrum
from princomp.summaries import KINDS, Extremes

# Largest error of orthonormality; that of a solver in float64 is far smaller.
_MAX_ORTHOGONALITY_ERROR = 1e-6
# Largest difference of the two halves of a scatter, relative to its largest entry. They differ by
# rounding only.
_MAX_ASYMMETRY = 1e-10

# Numbers of rows, columns, bytes and components are smaller.
_FACTS_BELOW = 2**63

_LOST = Array("p", "summary.lost", optional=True, sign="not negative")
_COLUMN_SCATTER = Array("p", "summary.column_scatter", sign="not negative")
# The arrays that a summary has besides its mean.
_SUMMARY_ARRAYS = {
    "moments": {"scatter": Array("p p", "summary.scatter"), "lost": _LOST},
    "triangle": {"factor": Array("factor_rows p", "summary.factor"), "lost": _LOST},
    # Unknown for a model of scikit-learn without all components.
    "columns": {"column_scatter": _COLUMN_SCATTER._replace(optional=True)},
    "sketch": {
        "column_scatter": _COLUMN_SCATTER,
        "product": Array("p width", "summary.product"),
        "lost": _LOST,
    },
}


def _is_problem(value: Any) -> bool:
    problem = Problem(*value)
    return (
        all(map(values.COUNT.allows, (problem.rows, problem.columns, problem.reader_bytes)))
        and isinstance(problem.n_components, str | int | float | None)
        and all(0 <= fact < _FACTS_BELOW for fact in problem if isinstance(fact, int | float))
        and all(map(values.TEXT.allows, (problem.dtype, problem.solver, problem.engine)))
        and all(map(values.FLAG.allows, (problem.by_range, problem.in_memory, problem.repeatable)))
        and all(map(values.optional(values.COUNT).allows, (problem.stored, problem.memory_limit)))
    )


_PROBLEM = values.Values("the facts of a plan", _is_problem)
_CHOICE = values.Values(
    "a summary, a solver and a reason",
    lambda value: values.TEXTS.allows(value) and len(value) == len(RouteChoice._fields),
)
_FILLED_VALUES = {
    "method": values.one_of(*FILL_METHODS),
    **dict.fromkeys(("cells", "rows", "iterations"), values.COUNT),
    **dict.fromkeys(("share", "change", "objective"), values.at_least(0)),
    "converged": values.FLAG,
}


def _is_filled(value: Any) -> bool:
    """Whether a value holds the fields of :class:`Filled`."""
    return value.keys() == _FILLED_VALUES.keys() and all(
        _FILLED_VALUES[name].allows(item) for name, item in value.items()
    )


_FILLED = values.Values("a record of filled cells", _is_filled)
_DECISION = values.Values("a rule's decision", lambda value: Decision.of_dict(value) is not None)

_FIELDS = {
    "estimator": Field(values.TEXT, default="PCA"),
    "parameters": Field(values.with_keys("scale")),
    "columns": Field(values.COLUMN_NAMES),
    "id_column": Field(values.optional(values.TEXT)),
    "na": Field(values.TEXTS, default=[]),
    "summary": Field(values.one_of(*_SUMMARY_ARRAYS)),
    "rows": Field(values.above(1), "summary.rows"),
    "count": Field(values.integer(1), "summary.count"),
    "unit": Field(values.at_least(0), "summary.unit"),
    "seed": Field(values.COUNT, default=0),
    "total": Field(values.at_least(0), "spectrum.total"),
    "roundoff": Field(values.at_least(0), "spectrum.roundoff"),
    "squared": Field(values.FLAG, "spectrum.squared"),
    "missed": Field(values.optional(values.PROBABILITY), "spectrum.missed", default=None),
    "k": Field(values.COUNT, "fitted.k"),
    "centred": Field(values.FLAG, "fitted.centred"),
    "about_mean": Field(values.FLAG, "summary.centred"),
    "dtype": Field(values.DTYPE, "fitted.dtype.name"),
    "n_samples": Field(values.optional(values.COUNT), "fitted.n_samples"),
    "facts": Field(_PROBLEM, "problem"),
    "choice": Field(_CHOICE, "fitted.route"),
    "fallbacks": Field(values.TEXTS, "fitted.notes"),
    "passes": Field(values.optional(values.COUNT), "fitted.passes"),
    "bytes_read": Field(values.COUNT, "fitted.bytes_read"),
    "dropped": Field(values.COUNT, "fitted.dropped"),
    "mean_known": Field(values.FLAG, "fitted.mean_known"),
    "uncounted": Field(values.COUNT, "fitted.uncounted", default=0),
    "faded_by": Field(values.optional(values.PROBABILITY), "fitted.faded_by", default=None),
    "weighted": Field(values.FLAG, "fitted.weighted", default=False),
    "filled": Field(values.optional(_FILLED), default=None),
    "decision": Field(values.optional(_DECISION), default=None),
}


def _schema(summary: str) -> Schema:
    """The schema of a model that has a summary of this kind."""
    arrays = {
        "mean": Array("p", "summary.mean"),
        "mean_low": Array("p", "summary.mean_low"),
        **_SUMMARY_ARRAYS[summary],
        "variances": Array("variances", "spectrum.variances", sign="not negative"),
        "axes": Array("k p", "spectrum.axes"),
        "residuals": Array("k", "spectrum.residuals", optional=True, sign="not negative"),
        "scale": Array("p", "fitted.scale", optional=True, sign="positive"),
        "low": Array("p", "extremes.low", optional=True),
        "high": Array("p", "extremes.high", optional=True),
    }
    return Schema(_FIELDS, arrays)


def model_to_contents(
    model: PCAModel, estimator: str = "PCA", **more: object
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Convert a model to arrays by name and a document of plain values.

    Parameters
    ----------
    model : PCAModel
    estimator : str
        Class of the estimator.
    **more
        Parameters of that class that a PCA does not have.
    """
    fitted, table = model.result, model.schema
    summary = fitted.summary.to_host()
    kind, problem = type(summary).__name__.lower(), fitted.problem
    if model.parameters.memory_limit is None:
        # The default depends on the free memory: without it, equal fits give equal files.
        problem = problem._replace(memory_limit=None)
    source = SimpleNamespace(
        estimator=estimator,
        fitted=fitted,
        problem=problem,
        columns=table.names,
        id_column=table.id_column,
        na=list(table.na),
        summary=summary,
        spectrum=fitted.spectrum,
        extremes=fitted.extremes or SimpleNamespace(low=None, high=None),
    )
    schema = _schema(kind)
    document = schema.document(
        source,
        parameters={**_plain_parameters(model), **more},
        summary=kind,
        seed=getattr(summary, "seed", 0),
        filled=None if fitted.filled is None else fitted.filled.to_dict(),
        decision=None if fitted.decision is None else fitted.decision.to_dict(),
    )
    arrays = schema.arrays_of(source)
    if np.isnan(summary.column_scatter).any():
        del arrays["column_scatter"]
    return arrays, {"princomp": __version__, **document}


def _plain_parameters(model: PCAModel) -> dict[str, Any]:
    """The parameters, by name, as plain values."""
    parameters = dict(sorted(model.parameters._asdict().items()))
    if not isinstance(parameters["scale"], str | None):
        parameters["scale"] = {"array": True}  # stored as the array of that name
    parameters["random_state"] = int_or_none(parameters["random_state"])
    if is_rule(rule := parameters["n_components"]):
        # A user-defined rule cannot be stored; the number that it chose can.
        parameters["n_components"] = rule_to_dict(rule) or model.result.k
    return {name: json_value(name, value) for name, value in parameters.items()}


def save_model(path: PathLike, model: PCAModel, *, overwrite: bool) -> None:
    """Write the file of a PCA; see :meth:`princomp.PCA.save`."""
    write(path, *model_to_contents(model), overwrite=overwrite)


def model_from_contents(tensors: Arrays, document: Document) -> PCAModel:
    """Restore a model from arrays and a document; each is checked before it is used.

    Raises
    ------
    ModelFileError
    """
    document = _schema("moments").checked(document)
    _check_arrays(tensors, document)
    columns, parameters = document["columns"], dict(document["parameters"])
    fitted = _fitted(tensors, document)
    if isinstance(parameters["scale"], dict):
        parameters["scale"] = fitted.scale
    if isinstance(parameters.get("n_components"), dict):
        try:
            parameters["n_components"] = rule_of_dict(parameters["n_components"])
        except (KeyError, TypeError, ParameterError):
            raise ModelFileError(f"its 'n_components' is {parameters['n_components']!r}") from None
    # A newer minor version may have added parameters, which can be ignored.
    known = {name: parameters[name] for name in PCAParameters._fields if name in parameters}
    names = None if columns is None else tuple(columns)
    estimator, na = document["estimator"], tuple(document["na"])
    schema = TableSchema(fitted.p, names, document["id_column"], estimator, na)
    return PCAModel(fitted, schema, PCAParameters(**known))


def _fitted(tensors: Arrays, document: Document) -> Fitted:
    floats = {name: float(document[name]) for name in ("rows", "unit", "total", "roundoff")}
    contents = {**document, **floats, **tensors}
    schema = _schema(document["summary"])
    spectrum = Spectrum(**schema.part("spectrum", contents), signs_given=True)
    if spectrum.orthogonality > _MAX_ORTHOGONALITY_ERROR:
        raise ModelFileError("the axes are not orthonormal")
    kind = KINDS[document["summary"]]
    known = {"seed": document["seed"], **schema.part("summary", contents)}
    known.setdefault("column_scatter", np.full_like(tensors["mean"], np.nan))
    summary = kind(**{one.name: known[one.name] for one in fields(kind) if one.name in known})
    extremes = None
    if "low" in tensors:
        extremes = Extremes(floats["rows"], **schema.part("extremes", contents))
    filled, decision = document["filled"], document["decision"]
    values: dict[str, Any] = {
        "scale": None,
        **schema.part("fitted", contents),
        "dtype": np.dtype(document["dtype"]),
        "problem": Problem(*document["facts"]),
        "route": RouteChoice(*document["choice"]),
        "notes": tuple(document["fallbacks"]),
        "filled": None if filled is None else Filled(**filled),
        "decision": None if decision is None else Decision.of_dict(decision),
    }
    return Fitted(summary=summary, spectrum=spectrum, extremes=extremes, **values)


def _check_arrays(tensors: Arrays, document: Document) -> None:
    """Compare the arrays with the schema and with each other."""
    p, k, columns = document["facts"][1], document["k"], document["columns"]
    sizes = {
        "p": p,
        "k": k,
        "variances": sizes_from(k),
        "width": sizes_from(k),
        "factor_rows": range(2 * p + 1),
    }
    _schema(document["summary"]).check_arrays(tensors, sizes)
    for array in tensors.values():
        array.flags.writeable = False
    if columns is not None and len(columns) != p:
        raise ModelFileError(f"it has {len(columns)} column names, not {p}")
    scatter = tensors.get("scatter", np.empty((0, 0)))
    max_asymmetry = _MAX_ASYMMETRY * np.abs(scatter).max(initial=0.0)
    if (scatter.diagonal() < 0).any() or not np.allclose(
        scatter, scatter.T, rtol=0, atol=max_asymmetry
    ):
        raise ModelFileError("array 'scatter' is not symmetric with a diagonal ≥ 0")
    if ("low" in tensors) is not ("high" in tensors):
        raise ModelFileError("it holds one of the arrays 'low' and 'high' without the other")
    if "low" in tensors and not (tensors["low"] <= tensors["high"]).all():
        raise ModelFileError("a column's smallest value is above its largest")
