"""What the file of a RobustPCA holds: a fit as arrays and plain values, and back, all checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from princomp._version import __version__
from princomp.arrays import FloatArray
from princomp.errors import ModelFileError
from princomp.model_words import check_arrays, check_words, plain, real, text, texts, whole
from princomp.seeds import number_of

__all__ = ["Robustly", "described", "restored"]

# Axes are orthonormal to far less than this.
_ORTHONORMAL = 1e-6


class Robustly(NamedTuple):
    """What a robust fit found; all its attributes follow.

    Centre (p,) in the units of the data, divisors (p,), axes (k, p), variances (k,), the total
    variance, distances of the rows of the fit (n,) within the space and off it, the cut-off of
    each, rows that were surely no outliers, and the precision of the data.
    """

    mean: FloatArray
    scale: FloatArray | None
    axes: FloatArray
    variances: FloatArray
    total: float
    score_distances: FloatArray
    orthogonal_distances: FloatArray
    score_cutoff: float
    orthogonal_cutoff: float
    support: int
    dtype: np.dtype[Any]

    @property
    def outliers(self) -> NDArray[np.bool_]:
        """Rows (n,) beyond either cut-off."""
        far = self.score_distances > self.score_cutoff
        apart = self.orthogonal_distances > self.orthogonal_cutoff
        return np.asarray(far | apart)


# What each word of the document may be; words that are not here are ignored.
_LAWFUL: dict[str, Callable[[Any], bool]] = {
    "parameters": lambda value: (
        type(value) is dict and value["scale"] in (None, "mad", {"array": True})
    ),
    "columns": lambda value: value is None or texts(value),
    "id_column": text,
    "rows": lambda value: whole(value) and value > 1,
    "features": lambda value: whole(value) and value > 0,
    "k": whole,
    "support": lambda value: whole(value) and value > 0,
    "total": real,
    "score_cutoff": real,
    "orthogonal_cutoff": real,
    "dtype": lambda value: value in ("float32", "float64"),
}


def described(
    found: Robustly, parameters: dict[str, Any], columns: Any, id_column: str | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arrays by name, and a document of plain values."""
    tensors = {
        "mean": found.mean,
        "axes": found.axes,
        "variances": found.variances,
        "score_distances": found.score_distances,
        "orthogonal_distances": found.orthogonal_distances,
    }
    if found.scale is not None:
        tensors["scale"] = found.scale
    parameters = dict(parameters)
    parameters["random_state"] = number_of(parameters["random_state"])
    if not isinstance(parameters["scale"], str | None):
        parameters["scale"] = {"array": True}  # it is the tensor of that name
    document = {
        "princomp": __version__,
        "estimator": "RobustPCA",
        "parameters": {name: plain(name, value) for name, value in parameters.items()},
        "columns": None if columns is None else list(map(str, columns)),
        "id_column": id_column,
        "rows": len(found.score_distances),
        "features": len(found.mean),
        "k": len(found.axes),
        "support": found.support,
        "total": found.total,
        "score_cutoff": found.score_cutoff,
        "orthogonal_cutoff": found.orthogonal_cutoff,
        "dtype": found.dtype.name,
    }
    return tensors, document


def restored(tensors: dict[str, Any], document: dict[str, Any]) -> tuple[Robustly, dict[str, Any]]:
    """What was found, and the parameters of the estimator.

    Raises
    ------
    ModelFileError, KeyError
    """
    check_words(document, _LAWFUL)
    n, p, k = document["rows"], document["features"], document["k"]
    shapes: dict[str, Any] = {"mean": (p,), "axes": (k, p), "variances": (k,)}
    shapes |= {"score_distances": (n,), "orthogonal_distances": (n,)}
    parameters = dict(document["parameters"])
    if parameters["scale"] is not None:
        shapes["scale"] = (p,)
    check_arrays(tensors, shapes)
    columns = document["columns"]
    if document["support"] > n or (columns is not None and len(columns) != p):
        raise ModelFileError("its document and its arrays differ in size")
    _check_values(tensors)
    if isinstance(parameters["scale"], dict):
        parameters["scale"] = tensors["scale"]
    found = Robustly(
        tensors["mean"],
        tensors.get("scale"),
        tensors["axes"],
        tensors["variances"],
        float(document["total"]),
        tensors["score_distances"],
        tensors["orthogonal_distances"],
        float(document["score_cutoff"]),
        float(document["orthogonal_cutoff"]),
        document["support"],
        np.dtype(document["dtype"]),
    )
    return found, parameters


def _check_values(tensors: dict[str, Any]) -> None:
    for name, array in tensors.items():
        # A row off the centre of a component without variance is infinitely far out.
        far = name == "score_distances"
        if not (~np.isnan(array) if far else np.isfinite(array)).all():
            raise ModelFileError(f"array {name!r} holds values that are not finite")
        if name not in ("mean", "axes") and (array < 0).any():
            raise ModelFileError(f"array {name!r} holds negative values")
    if not np.all(tensors.get("scale", 1.0)):
        raise ModelFileError("array 'scale' holds a zero")
    if (np.diff(tensors["variances"]) > 0).any():
        raise ModelFileError("the variances do not descend")
    axes = tensors["axes"]
    if np.abs(axes @ axes.T - np.eye(len(axes))).max(initial=0.0) > _ORTHONORMAL:
        raise ModelFileError("the axes are not orthonormal")
