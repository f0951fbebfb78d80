"""Fits of a KernelPCA in model files: conversion to arrays and plain values, and back with checks.

A precomputed kernel matrix is left out: scores of new rows need only their kernel with the rows
of the fit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from princomp.core import fitted_model, model_to_contents as pca_to_contents
from princomp.errors import ModelFileError
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
from princomp.kernel_pca.scoring import KernelFit
from princomp.solvers import Spectrum


def fit_to_contents(fitted: KernelFit) -> tuple[Arrays, Arrays, Document]:
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


def fit_from_contents(
    exact: bool, arrays: Arrays, images: Arrays, document: Document, p: int
) -> KernelFit:
    """Restore a fit of rows with p columns.

    Raises
    ------
    ModelFileError
    """
    if not exact:
        return _image_fit(arrays, images, document, p)
    if images:
        raise ModelFileError("it holds images, and the fit is exact")
    return _exact_fit(arrays, document, p)


# The arrays of a kernel, of an exact fit or of a map.
_KERNEL = {
    "shift": Array("p", "kernel.shift", optional=True),
    "divisors": Array("p", "kernel.divisors", optional=True, sign="positive", dtype="float64"),
}

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
        raise ModelFileError(f"it is of {rows} rows, and {n_positive} of them count")
    floats = {name: float(fields[name]) for name in ("divisor", "mean_square", "total", "roundoff")}
    contents = {**fields, **floats, **arrays}
    spectrum = Spectrum(**_EXACT.part("spectrum", contents), signs_given=True)
    if spectrum.orthogonality > _MAX_ORTHOGONALITY_LOSS:
        raise ModelFileError("the eigenvectors are not orthonormal")
    function = KernelFunction(**_EXACT.part("kernel", contents))
    without_gamma = function.takes_gamma and function.gamma is None
    if without_gamma or not (function.shift is None or function.shift_invariant):
        raise ModelFileError(f"its kernel {function.name!r} does not go with gamma and shift")
    return ExactFit(
        Expansion(function, points, **_EXACT.part("expansion", contents)),
        spectrum,
        floats["divisor"],
        arrays.get("roots"),
        rows,
        np.dtype(fields["dtype"]),
        KernelPlan(**{**plan, "reasons": tuple(plan["reasons"])}),
        fields["bytes_read"],
        fields["dropped"],
        fields["complete"],
    )


# ---- fits by images ----------------------------------------------------------------------

PCA_DOCUMENT = values.Values("the document of a PCA", lambda value: value["estimator"] == "PCA")
_IMAGES = Schema(
    {
        "map": Field(values.OBJECT),
        "error": Field(values.optional(values.at_least(0))),
        "notes": Field(values.TEXTS),
        "images": Field(PCA_DOCUMENT),
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
    model = pca_from_contents(document["images"], images)
    state = fitted_model(model).result
    if state.p != feature_map.width or state.dtype != feature_map.dtype or state.scale is not None:
        raise ModelFileError("its feature map and the PCA of images do not go together")
    error = float("nan") if document["error"] is None else float(document["error"])
    return ImageFit(
        feature_map,
        model,
        error,
        tuple(document["notes"]),
        passes=document["passes"],
        nonzero=document["nonzero"],
        changed=document["changed"],
    )


def pca_from_contents(document: Document | None, arrays: Arrays) -> Any:
    """Restore a PCA in the file with the checks of a file of its own; None if there is none."""
    if document is None:
        if arrays:
            raise ModelFileError(f"it holds arrays {sorted(arrays)} of a PCA that is not there")
        return None
    return PCA._from_contents(arrays, document)


# ---- feature maps ------------------------------------------------------------------------

_MAP = {
    "p": Field(values.integer(1)),
    "dtype": Field(values.DTYPE, "dtype.name"),
    "kernel": Field(values.one_of(*KERNELS), "kernel.name"),
    "gamma": Field(values.optional(values.NUMBER), "kernel.gamma"),
    "degree": Field(values.NUMBER, "kernel.degree"),
    "coef0": Field(values.NUMBER, "kernel.coef0"),
}
_SEED = Field(values.COUNT)
_MAPS = {
    Nystrom.kind: Schema(_MAP, {**_KERNEL, "weights": Array("m width", dtype="float64")}),
    Fourier.kind: Schema({**_MAP, "count": Field(values.integer(1)), "seed": _SEED}, _KERNEL),
    TensorSketch.kind: Schema(
        {**_MAP, "size": Field(values.integer(1), "count"), "seed": _SEED}, _KERNEL
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
