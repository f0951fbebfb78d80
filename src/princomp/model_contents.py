"""What the file of a PCA holds: a fit as arrays and a document of plain values, and back.

Reading believes nothing: every word of the document and every array is checked before
it is used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from princomp._version import __version__
from princomp.choosing import Decision, is_rule, rule_of_dict, rule_to_dict
from princomp.errors import ModelFileError, ParameterError
from princomp.fitted import Fitted
from princomp.missing import Filled
from princomp.model_words import (
    chance,
    check_arrays,
    check_words,
    flag,
    plain,
    real,
    text,
    texts,
    whole,
)
from princomp.planning import Choice, Facts
from princomp.seeds import number_of
from princomp.spectrum import Spectrum
from princomp.summaries import Extremes
from princomp.summaries.stored import KINDS

__all__ = ["Saved", "described", "restored"]

# The arrays that a summary has beside its mean.
_BODIES = {
    "moments": ("scatter",),
    "triangle": ("factor",),
    "columns": ("column_scatter",),
    "sketch": ("column_scatter", "product"),
}
# Axes of a float64 solver are orthonormal to far less than this.
_ORTHONORMAL = 1e-6
# A scatter's two halves are summed alike, to the last bits.
_SKEW = 1e-10


def _facts(value: Any) -> bool:
    facts = Facts(*value)
    return (
        whole(facts.rows)
        and whole(facts.columns)
        and isinstance(facts.wanted, str | int | float | None)
        and texts([facts.dtype, facts.solver])
        and (facts.stored is None or whole(facts.stored))
        and all(map(flag, (facts.by_range, facts.held, facts.repeatable)))
        and (facts.limit is None or whole(facts.limit))
        and whole(facts.reader)
    )


def _decided(value: Any) -> bool:
    try:
        return value is None or Decision.of_dict(value) is not None
    except (KeyError, TypeError, ValueError, AttributeError):
        return False


# Words that files of format 1.0 do not have.
_ADDED: dict[str, Any] = {
    "seed": 0,
    "filled": None,
    "decision": None,
    "estimator": "PCA",
    "missed": None,
}

# What each word of the document may be; words that are not here are ignored.
_LAWFUL: dict[str, Callable[[Any], bool]] = {
    "estimator": lambda value: isinstance(value, str),
    "parameters": lambda value: type(value) is dict and "scale" in value,
    "columns": lambda value: value is None or texts(value),
    "id_column": text,
    "summary": lambda value: value in _BODIES,
    "rows": lambda value: real(value) and value > 1,
    "count": lambda value: whole(value) and value > 0,
    "about_mean": flag,
    "unit": real,
    "total": real,
    "roundoff": real,
    "squared": flag,
    "missed": chance,
    "k": whole,
    "centred": flag,
    "dtype": lambda value: value in ("float32", "float64"),
    "n_samples": lambda value: value is None or whole(value),
    "facts": _facts,
    "choice": lambda value: texts(value) and len(value) == len(Choice._fields),
    "fallbacks": texts,
    "passes": lambda value: value is None or whole(value),
    "bytes_read": whole,
    "dropped": whole,
    "mean_known": flag,
    "seed": whole,
    "filled": lambda value: value is None or Filled.is_lawful(value),
    "decision": _decided,
}


class Saved(NamedTuple):
    """What a model file holds: whose fit, the fit, and what the estimator adds to it."""

    estimator: str
    fitted: Fitted
    parameters: dict[str, Any]
    columns: tuple[str, ...] | None
    id_column: str | None


def described(saved: Saved) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arrays by name, and a document of plain values."""
    fitted = saved.fitted
    summary, spectrum = fitted.summary.held(), fitted.spectrum
    kind = type(summary).__name__.lower()
    document = {
        "princomp": __version__,
        "estimator": saved.estimator,
        "parameters": _plain_parameters(saved),
        "columns": None if saved.columns is None else list(saved.columns),
        "id_column": saved.id_column,
        "summary": kind,
        "rows": summary.rows,
        "count": summary.count,
        "unit": summary.unit,
        "seed": getattr(summary, "seed", 0),
        "total": spectrum.total,
        "roundoff": spectrum.roundoff,
        "squared": spectrum.squared,
        "missed": spectrum.missed,
        "k": fitted.k,
        "centred": fitted.centred,
        "about_mean": summary.centred,
        "dtype": fitted.dtype.name,
        "n_samples": fitted.n_samples,
        "facts": list(fitted.facts),
        "choice": list(fitted.choice),
        "fallbacks": list(fitted.fallbacks),
        "passes": fitted.passes,
        "bytes_read": fitted.bytes_read,
        "dropped": fitted.dropped,
        "mean_known": fitted.mean_known,
        "filled": None if fitted.filled is None else fitted.filled.to_dict(),
        "decision": None if fitted.decision is None else fitted.decision.to_dict(),
    }
    return _tensors(fitted, summary, kind), document


def _tensors(fitted: Fitted, summary: Any, kind: str) -> dict[str, Any]:
    """Arrays by name."""
    spectrum = fitted.spectrum
    tensors = {
        "mean": summary.mean,
        "mean_low": summary.mean_low,
        **{body: getattr(summary, body) for body in _BODIES[kind]},
        "variances": spectrum.variances,
        "axes": spectrum.axes,
    }
    if summary.lost is not None:
        tensors["lost"] = summary.lost
    if spectrum.residuals is not None:
        tensors["residuals"] = spectrum.residuals
    if fitted.scale is not None:
        tensors["scale"] = fitted.scale
    if fitted.extremes is not None:
        tensors["low"], tensors["high"] = fitted.extremes.low, fitted.extremes.high
    return tensors


def _plain_parameters(saved: Saved) -> dict[str, Any]:
    """What was asked for, as far as a document can say it."""
    parameters = dict(saved.parameters)
    if not isinstance(parameters["scale"], str | None):
        parameters["scale"] = {"array": True}  # it is the tensor of that name
    parameters["random_state"] = number_of(parameters["random_state"])
    if is_rule(rule := parameters["n_components"]):
        # Somebody's own rule has no place in a file: what it chose has.
        parameters["n_components"] = rule_to_dict(rule) or saved.fitted.k
    return {name: plain(name, value) for name, value in parameters.items()}


def restored(tensors: dict[str, Any], document: dict[str, Any]) -> Saved:
    """What the arrays and the document stand for, each of them checked before it is used."""
    document = {**_ADDED, **document}
    check_words(document, _LAWFUL)
    _check_shapes(tensors, document)
    _check_values(tensors)
    columns, parameters = document["columns"], document["parameters"]
    fitted = _fitted(tensors, document)
    if isinstance(parameters["scale"], dict):
        parameters["scale"] = fitted.scale
    if isinstance(parameters.get("n_components"), dict):
        try:
            parameters["n_components"] = rule_of_dict(parameters["n_components"])
        except (KeyError, TypeError, ParameterError):
            raise ModelFileError(f"its 'n_components' is {parameters['n_components']!r}") from None
    return Saved(
        document["estimator"],
        fitted,
        parameters,
        None if columns is None else tuple(columns),
        document["id_column"],
    )


def _fitted(tensors: dict[str, Any], document: dict[str, Any]) -> Fitted:
    spectrum = Spectrum(
        tensors["variances"],
        tensors["axes"],
        float(document["total"]),
        float(document["roundoff"]),
        document["squared"],
        tensors.get("residuals"),
        document["missed"],
    )
    if spectrum.orthogonality > _ORTHONORMAL:
        raise ModelFileError("the axes are not orthonormal")
    kind, rows = document["summary"], float(document["rows"])
    known: dict[str, Any] = {"centred": document["about_mean"]}
    if kind != "columns":
        known["unit"] = float(document["unit"])
    if kind in ("moments", "sketch"):
        known["lost"] = tensors.get("lost")
    if kind == "sketch":
        known["seed"] = document["seed"]
    bodies = [tensors[body] for body in _BODIES[kind]]
    summary = KINDS[kind](
        rows, document["count"], tensors["mean"], tensors["mean_low"], *bodies, **known
    )
    extremes = Extremes(rows, tensors["low"], tensors["high"]) if "low" in tensors else None
    return Fitted(
        summary,
        spectrum,
        document["k"],
        tensors.get("scale"),
        document["centred"],
        np.dtype(document["dtype"]),
        document["n_samples"],
        Facts(*document["facts"]),
        Choice(*document["choice"]),
        tuple(document["fallbacks"]),
        document["passes"],
        document["bytes_read"],
        document["dropped"],
        extremes,
        document["mean_known"],
        None if document["filled"] is None else Filled(**document["filled"]),
        None if document["decision"] is None else Decision.of_dict(document["decision"]),
    )


def _check_shapes(tensors: dict[str, Any], document: dict[str, Any]) -> None:
    """Exact names and shapes."""
    p, k, kind = document["facts"][1], document["k"], document["summary"]
    factor = tensors.get("factor", np.empty((0, p)))
    width = tensors.get("product", np.empty((p, 0))).shape[-1]
    bodies = {
        "scatter": (p, p),
        "column_scatter": (p,),
        "factor": (min(len(factor), 2 * p), p),
        "product": (p, max(width, k)),
    }
    shapes: dict[str, Any] = {
        "mean": (p,),
        "mean_low": (p,),
        **{body: bodies[body] for body in _BODIES[kind]},
        "variances": (tensors["variances"].size,),
        "axes": (k, p),
    }
    optional = {"residuals": (k,), "scale": (p,)}
    if kind in ("moments", "sketch"):
        optional["lost"] = (p,)
    shapes |= {name: shape for name, shape in optional.items() if name in tensors}
    if "low" in tensors or "high" in tensors:
        shapes |= {"low": (p,), "high": (p,)}
    check_arrays(tensors, shapes)
    columns = document["columns"]
    if len(tensors["variances"]) < k or (columns is not None and len(columns) != p):
        raise ModelFileError("its document and its arrays differ in size")


def _check_values(tensors: dict[str, Any]) -> None:
    """Finite numbers, none of them negative where that has no meaning."""
    for name, array in tensors.items():
        if not np.isfinite(array).all():
            raise ModelFileError(f"array {name!r} holds values that are not finite")
        array.flags.writeable = False
    for name in ("variances", "residuals", "column_scatter", "scale", "lost"):
        if (tensors.get(name, np.empty(0)) < 0).any():
            raise ModelFileError(f"array {name!r} holds negative values")
    if not np.all(tensors.get("scale", 1.0)):
        raise ModelFileError("array 'scale' holds a zero")
    scatter = tensors.get("scatter", np.empty((0, 0)))
    skew = _SKEW * np.abs(scatter).max(initial=0.0)
    if (scatter.diagonal() < 0).any() or not np.allclose(scatter, scatter.T, rtol=0, atol=skew):
        raise ModelFileError("array 'scatter' is not that of any rows")
    if "low" in tensors and not (tensors["low"] <= tensors["high"]).all():
        raise ModelFileError("a column's smallest value is above its largest")
