"""KernelPCA in model files: conversion to arrays and a document of plain values, and back.

A precomputed kernel matrix is left out: scores of new rows need only their kernel with the rows
of the fit.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from princomp import __version__
from princomp.core import TableSchema, fitted_model, model_to_contents as pca_to_contents
from princomp.errors import ModelFileError, ParameterError
from princomp.estimators import PCA
from princomp.io import (
    Array,
    Arrays,
    Document,
    Field,
    Schema,
    json_value,
    model_arrays,
    sizes_from,
    values,
)
from princomp.kernel_pca.exact import ExactFit
from princomp.kernel_pca.feature_maps import FeatureMap, Fourier, Nystrom, TensorSketch
from princomp.kernel_pca.feature_space.expansion import Expansion
from princomp.kernel_pca.functions import KERNELS, KernelFunction
from princomp.kernel_pca.images import ImageFit
from princomp.kernel_pca.plan import KernelPlan
from princomp.kernel_pca.pre_images.ridge import Ridge
from princomp.kernel_pca.scoring import KernelFit
from princomp.linalg import int_or_none
from princomp.solvers import Spectrum

_PCA_DOCUMENT = values.Values("the document of a PCA", lambda value: value["estimator"] == "PCA")
_ARRAY = {"array": True}  # placeholder of a parameter that is stored as an array
_SCHEMA = Schema(
    {
        "estimator": Field(values.TEXT),
        "parameters": Field(
            values.Values(
                "an object with a kernel's name, landmarks and scale",
                lambda value: (
                    isinstance(value["kernel"], str)
                    and (isinstance(value["landmarks"], str) or value["landmarks"] == _ARRAY)
                    and (isinstance(value.get("scale"), str | None) or value["scale"] == _ARRAY)
                ),
            )
        ),
        "columns": Field(values.COLUMN_NAMES),
        "id_column": Field(values.optional(values.TEXT)),
        "na": Field(values.TEXTS, default=[]),
        "features": Field(values.integer(1)),
        "route": Field(values.one_of("exact", "images")),
        "fit": Field(values.OBJECT),
        "layout": Field(model_arrays.LAYOUTS),
        "learned": Field(values.FLAG),
        "filler": Field(values.optional(_PCA_DOCUMENT)),
    },
    {},
)
_RIDGE = Schema({}, {"scores": Array("m k"), "coefficients": Array("m p")})


def model_to_contents(
    fitted: KernelFit, ridge: Ridge | None, parameters: dict[str, Any], table: TableSchema
) -> tuple[Arrays, Document]:
    """Return arrays by name, and a document of plain values.

    Parameters
    ----------
    fitted : ExactFit or ImageFit
    ridge : Ridge, optional
        The learned pre-image.
    parameters : dict
        Those of the estimator.
    table : TableSchema

    Raises
    ------
    ParameterError
        For a model that cannot be stored, such as one whose kernel is a Python function.
    """
    _check_kernel(parameters["kernel"], fitted.kernel)
    fit_arrays, others, fit = _fit_to_contents(fitted)
    if ridge is not None:
        fit_arrays |= model_arrays.prefixed("learned", _RIDGE.arrays_of(ridge))
    filler = None
    if fitted.imputer is not None:
        arrays, filler = pca_to_contents(fitted_model(fitted.imputer))
        others |= model_arrays.prefixed("filler", arrays)
    document = {
        "princomp": __version__,
        "estimator": "KernelPCA",
        "parameters": _plain_parameters(parameters),
        "columns": None if table.names is None else list(map(str, table.names)),
        "id_column": table.id_column,
        "na": list(table.na),
        "features": table.p,
        "route": "exact" if isinstance(fitted, ExactFit) else "images",
        "fit": fit,
        "layout": model_arrays.layouts_of(fit_arrays),
        "learned": ridge is not None,
        "filler": filler,
    }
    return fit_arrays | others, document


def model_from_contents(
    tensors: Arrays, document: Document
) -> tuple[KernelFit, Ridge | None, dict[str, Any]]:
    """Restore what ``model_to_contents`` took, except for the table.

    Raises
    ------
    ModelFileError, ParameterError, KeyError
        For invalid contents.
    """
    document = _SCHEMA.checked(document)
    p, columns = document["features"], document["columns"]
    if columns is not None and len(columns) != p:
        raise ModelFileError("its document and its arrays differ in size")
    # Arrays are taken out as the document says; a fit refuses those that are left over.
    exact, filler = document["route"] == "exact", None
    if document["filler"] is not None:
        filler_arrays = model_arrays.pop_prefixed(tensors, "filler")
        filler = PCA._from_contents(filler_arrays, document["filler"])
    images = {} if exact else model_arrays.pop_prefixed(tensors, "images")
    arrays = model_arrays.restore_layouts(tensors, document["layout"])
    learned = model_arrays.pop_prefixed(arrays, "learned") if document["learned"] else None
    fitted: KernelFit
    if exact:
        fitted = _exact_fit(arrays, document["fit"], p)
    else:
        fitted = _image_fit(arrays, images, document["fit"], p)
    if filler is not None and filler.n_features_in_ != p:
        raise ModelFileError(f"the PCA that fills cells does not have {p} columns")
    parameters = dict(document["parameters"])
    function = fitted.kernel
    _check_kernel(parameters["kernel"], function)
    if isinstance(parameters["landmarks"], dict):
        # Exact fits and random features have none, and their parameter has no effect.
        parameters["landmarks"] = "uniform" if fitted.landmarks is None else fitted.landmarks
    if isinstance(parameters.get("scale"), dict):
        parameters["scale"] = function.divisors
    ridge = None
    if learned is not None:
        _RIDGE.check_arrays(learned, {"k": fitted.k, "p": p})
        between_scores = replace(function, shift=None, divisors=None)
        ridge = Ridge(between_scores, learned["scores"], learned["coefficients"])
    return replace(fitted, imputer=filler), ridge, parameters


# ---- parameters --------------------------------------------------------------------------


def _check_kernel(kernel: object, function: KernelFunction) -> None:
    """Refuse a kernel that is a Python function or differs from that of the fit."""
    if function.call is not None:
        raise ParameterError(
            "a kernel that is a Python function cannot be saved in a model file",
            place={"parameter": "kernel"},
            hint="use a kernel with a name, or pickle the model",
        )
    if kernel != function.name:
        raise ParameterError(
            f"kernel={kernel!r} is not that of the fit, {function.name!r}",
            place={"parameter": "kernel"},
            hint="fit again, or set it back",
        )


def _plain_parameters(parameters: dict[str, Any]) -> dict[str, Any]:
    parameters = dict(parameters)
    # Arrays are stored with the map and the kernel.
    for name in ("landmarks", "scale"):
        if not isinstance(parameters[name], str | None):
            parameters[name] = _ARRAY
    parameters["random_state"] = int_or_none(parameters["random_state"])
    # Only kernels that are Python functions have these, and they cannot be stored.
    parameters["kernel_params"] = None
    return {name: json_value(name, value) for name, value in parameters.items()}


# ---- fits --------------------------------------------------------------------------------


def _fit_to_contents(fitted: KernelFit) -> tuple[Arrays, Arrays, Document]:
    """Return the arrays of a fit by name, those of its PCA of images, and its plain values."""
    if isinstance(fitted, ExactFit):
        document = _EXACT.document(fitted, plan=fitted.plan.to_dict())
        arrays = _EXACT.arrays_of(fitted)
        arrays |= model_arrays.pack_rows("points", fitted.expansion.points)
        return arrays, {}, {name: json_value(name, value) for name, value in document.items()}
    map_arrays, map_document = map_to_contents(fitted.map)
    images, images_document = pca_to_contents(fitted_model(fitted.images))
    document = _IMAGES.document(
        fitted,
        map=map_document,
        error=None if np.isnan(fitted.error) else float(fitted.error),
        notes=list(fitted.notes),
        images=images_document,
    )
    arrays = model_arrays.prefixed("map", map_arrays)
    return arrays, model_arrays.prefixed("images", images), document


# The arrays of a kernel, of an exact fit or of a map; random features have no shift.
_DIVISORS = {
    "divisors": Array("p", "kernel.divisors", optional=True, sign="positive", dtype="float64")
}
_KERNEL = {"shift": Array("p", "kernel.shift", optional=True), **_DIVISORS}

# ---- exact fits --------------------------------------------------------------------------

# Largest loss of orthogonality of eigenvectors in a file; that of a fit is far smaller.
_MAX_ORTHOGONALITY_LOSS = 1e-6

_PLAN = Schema(
    {
        "rows": Field(values.COUNT),
        "columns": Field(values.optional(values.COUNT)),
        "kernel": Field(values.TEXT),
        "gamma": Field(values.optional(values.at_least(0))),
        "route": Field(values.one_of("exact")),
        "solver": Field(values.TEXT),
        "reasons": Field(values.TEXTS),
        "passes": Field(values.COUNT),
        "memory": Field(values.COUNT),
    },
    {},
)
_EXACT = Schema(
    {
        "kernel": Field(values.one_of(*KERNELS, "precomputed"), "kernel.name"),
        "gamma": Field(values.optional(values.at_least(0)), "kernel.gamma"),
        "degree": Field(values.at_least(0), "kernel.degree"),
        "coef0": Field(values.NUMBER, "kernel.coef0"),
        "rows": Field(values.integer(1), "n_samples"),
        "k": Field(values.COUNT),
        "divisor": Field(values.above(0)),
        "mean_square": Field(values.NUMBER, "expansion.mean_square"),
        "total": Field(values.at_least(0), "spectrum.total"),
        "roundoff": Field(values.at_least(0), "spectrum.roundoff"),
        "missed": Field(values.optional(values.PROBABILITY), "spectrum.missed", default=None),
        "dtype": Field(values.DTYPE, "dtype.name"),
        "dropped": Field(values.COUNT),
        "bytes_read": Field(values.COUNT),
        "complete": Field(values.FLAG),
        "plan": Field(values.OBJECT),
    },
    {
        "weights": Array("n k", "expansion.weights"),
        "mean": Array("n", "expansion.mean"),
        "centre": Array("n", "expansion.centre"),
        "variances": Array("variances", "spectrum.variances", sign="not negative"),
        "axes": Array("k n", "spectrum.axes"),
        **_KERNEL,
        "roots": Array("n 1", optional=True, sign="not negative"),
        "residuals": Array("k", "spectrum.residuals", optional=True, sign="not negative"),
    },
)


def _exact_fit(arrays: Arrays, document: Document, p: int) -> ExactFit:
    """Restore a fit of rows with p columns; with a precomputed kernel, p is the number of rows."""
    fields = _EXACT.checked(document)
    plan = _PLAN.checked(fields["plan"])
    precomputed, rows, k = fields["kernel"] == "precomputed", fields["rows"], fields["k"]
    # A precomputed matrix has a column for each row, including rows of weight zero.
    n = p if precomputed else rows
    points = None if precomputed else model_arrays.unpack_rows(arrays, "points", n, p)
    _EXACT.check_arrays(arrays, {"n": n, "k": k, "p": p, "1": 1, "variances": sizes_from(k)})
    n_positive = int((arrays["roots"] > 0).sum()) if "roots" in arrays else n
    if n_positive != rows:
        raise ModelFileError(f"it names {rows} rows, and {n_positive} have a positive weight")
    contents = {**fields, **arrays}
    spectrum = Spectrum(**_EXACT.part("spectrum", contents), signs_given=True)
    if spectrum.orthogonality > _MAX_ORTHOGONALITY_LOSS:
        raise ModelFileError("the eigenvectors are not orthonormal")
    function = KernelFunction(**_EXACT.part("kernel", contents))
    without_gamma = function.takes_gamma and function.gamma is None
    if without_gamma or not (function.shift is None or function.shift_invariant):
        raise ModelFileError(f"the gamma or shift of its kernel {function.name!r} is not valid")
    return ExactFit(
        Expansion(function, points, **_EXACT.part("expansion", contents)),
        spectrum,
        fields["divisor"],
        arrays.get("roots"),
        rows,
        np.dtype(fields["dtype"]),
        KernelPlan(**{**plan, "reasons": tuple(plan["reasons"])}),
        fields["bytes_read"],
        fields["dropped"],
        fields["complete"],
    )


# ---- fits by images ----------------------------------------------------------------------

_IMAGES = Schema(
    {
        "map": Field(values.OBJECT),
        "error": Field(values.optional(values.at_least(0))),
        "notes": Field(values.TEXTS),
        "images": Field(_PCA_DOCUMENT),
        "passes": Field(values.COUNT, default=0),
        "nonzero": Field(values.FLAG, default=False),
        "changed": Field(values.FLAG, default=False),
    },
    {},
)


def _image_fit(fit_arrays: Arrays, images: Arrays, document: Document, p: int) -> ImageFit:
    """Restore a fit by images from the arrays of its map and those of its PCA."""
    document = _IMAGES.checked(document)
    arrays = model_arrays.pop_prefixed(fit_arrays, "map")
    if fit_arrays:
        raise ModelFileError(
            f"it holds arrays {sorted(fit_arrays)} in addition to a map and images"
        )
    feature_map = map_from_contents(document["map"], arrays)
    if feature_map.p != p:
        raise ModelFileError("its document and its arrays differ in size")
    model = PCA._from_contents(images, document["images"])
    state = fitted_model(model).result
    if state.p != feature_map.width or state.dtype != feature_map.dtype or state.scale is not None:
        raise ModelFileError("its feature map and the PCA of images do not go together")
    error = float("nan") if document["error"] is None else document["error"]
    facts = {name: document[name] for name in ("passes", "nonzero", "changed")}
    return ImageFit(feature_map, model, error, tuple(document["notes"]), **facts)


# ---- feature maps ------------------------------------------------------------------------

_MAP = {
    "p": Field(values.integer(1)),
    "dtype": Field(values.DTYPE, "dtype.name"),
    "kernel": Field(values.one_of(*KERNELS), "kernel.name"),
    "gamma": Field(values.optional(values.NUMBER), "kernel.gamma"),
    "degree": Field(values.NUMBER, "kernel.degree"),
    "coef0": Field(values.NUMBER, "kernel.coef0"),
}
_COUNT, _SEED = Field(values.integer(1)), Field(values.COUNT)
_MAPS = {
    Nystrom.kind: Schema(_MAP, {**_KERNEL, "weights": Array("m width", dtype="float64")}),
    Fourier.kind: Schema({**_MAP, "count": _COUNT, "seed": _SEED}, _DIVISORS),
    TensorSketch.kind: Schema(
        {**_MAP, "size": _COUNT._replace(source="count"), "seed": _SEED}, _DIVISORS
    ),
}


def map_to_contents(map: FeatureMap) -> tuple[Arrays, Document]:
    """Return the arrays of a map by name, and its plain values."""
    numbers = {"degree": float(map.kernel.degree), "coef0": float(map.kernel.coef0)}
    return map.arrays(), {"kind": map.kind, **_MAPS[map.kind].document(map, **numbers)}


def map_from_contents(document: object, arrays: Arrays) -> FeatureMap:
    """Restore a map from its document and arrays.

    Raises
    ------
    ModelFileError
        If a field or an array is not that of a feature map.
    """
    kind = document.get("kind") if isinstance(document, dict) else None
    if not isinstance(kind, str) or kind not in _MAPS:
        raise ModelFileError("it holds a feature map of a kind that is not known")
    schema = _MAPS[kind]
    fields, arrays = schema.checked(document), dict(arrays)
    p, dtype = fields["p"], np.dtype(fields["dtype"])
    sizes: dict[str, int | range] = {"p": p}
    points = None
    if kind == Nystrom.kind:
        points = model_arrays.unpack_rows(arrays, "points", None, p)
        sizes["m"] = points.shape[0] if points.shape[0] else sizes_from(1)
    schema.check_arrays(arrays, sizes)
    kernel = KernelFunction(**schema.part("kernel", {**fields, **arrays}))
    if points is not None:
        return Nystrom(kernel, p, dtype, points, arrays["weights"])
    if kind == Fourier.kind:
        return Fourier(kernel, p, dtype, fields["count"], fields["seed"])
    return TensorSketch(kernel, p, dtype, fields["size"], fields["seed"])
