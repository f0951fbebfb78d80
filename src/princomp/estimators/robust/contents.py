"""Contents of the model file of a RobustPCA: arrays and a document of plain values."""

from __future__ import annotations

from typing import Any

import numpy as np

from princomp import __version__
from princomp.errors import ModelFileError
from princomp.estimators.robust.model import RobustFit
from princomp.io import Array, Arrays, Document, Field, Schema, json_value, values
from princomp.linalg import int_or_none
from princomp.summaries import Names

# Largest error of orthonormality; that of computed axes is far smaller.
_ORTHONORMAL = 1e-6


_SCHEMA = Schema(
    {
        "estimator": Field(values.TEXT),
        "parameters": Field(
            values.Values(
                "an object whose 'scale' is null, 'mad' or an array",
                lambda value: value["scale"] in (None, "mad", {"array": True}),
            )
        ),
        "columns": Field(values.COLUMN_NAMES),
        "id_column": Field(values.optional(values.TEXT)),
        "rows": Field(values.integer(2), "score_distances.size"),
        "features": Field(values.integer(1), "mean.size"),
        "k": Field(values.COUNT, "variances.size"),
        "support": Field(values.integer(1)),
        "total": Field(values.at_least(0)),
        "score_cutoff": Field(values.at_least(0)),
        "orthogonal_cutoff": Field(values.at_least(0)),
        "dtype": Field(values.DTYPE, "dtype.name"),
    },
    {
        "mean": Array("p"),
        "axes": Array("k p"),
        "variances": Array("k", sign="not negative"),
        # Along a component without variance, a row off the centre is infinitely far away.
        "score_distances": Array("n", sign="not negative", infinite=True),
        "orthogonal_distances": Array("n", sign="not negative"),
        "scale": Array("p", optional=True, sign="positive"),
    },
)


def model_to_contents(
    result: RobustFit,
    parameters: dict[str, Any],
    columns: Names,
    id_column: str | None,
) -> tuple[Arrays, Document]:
    """Convert a fit to arrays by name and a document of plain values."""
    parameters = {**parameters, "random_state": int_or_none(parameters["random_state"])}
    # The divisors are those of the fit, also if the parameter was changed since.
    if result.scale is None:
        parameters["scale"] = None
    elif not isinstance(parameters["scale"], str):
        parameters["scale"] = {"array": True}  # the array of that name
    document = _SCHEMA.document(
        result,
        estimator="RobustPCA",
        parameters={name: json_value(name, value) for name, value in parameters.items()},
        columns=None if columns is None else list(map(str, columns)),
        id_column=id_column,
    )
    return _SCHEMA.arrays_of(result), {"princomp": __version__, **document}


def model_from_contents(tensors: Arrays, document: Document) -> tuple[RobustFit, dict[str, Any]]:
    """Restore the result of a fit and the parameters of the estimator.

    Raises
    ------
    ModelFileError
    """
    document = _SCHEMA.checked(document)
    n, p, columns = document["rows"], document["features"], document["columns"]
    _SCHEMA.check_arrays(tensors, {"n": n, "p": p, "k": document["k"]})
    if document["support"] > n or (columns is not None and len(columns) != p):
        raise ModelFileError("its document and its arrays differ in size")
    if (np.diff(tensors["variances"]) > 0).any():
        raise ModelFileError("the variances do not descend")
    axes = tensors["axes"]
    if np.abs(axes @ axes.T - np.eye(len(axes))).max(initial=0.0) > _ORTHONORMAL:
        raise ModelFileError("the axes are not orthonormal")
    parameters = dict(document["parameters"])
    if (parameters["scale"] is None) is not ("scale" not in tensors):
        raise ModelFileError("its parameter 'scale' and its array 'scale' do not go together")
    if isinstance(parameters["scale"], dict):
        parameters["scale"] = tensors["scale"]
    parts: dict[str, Any] = {"scale": None, **tensors}
    for name in ("total", "score_cutoff", "orthogonal_cutoff"):
        parts[name] = float(document[name])
    result = RobustFit(**parts, support=document["support"], dtype=np.dtype(document["dtype"]))
    return result, parameters
