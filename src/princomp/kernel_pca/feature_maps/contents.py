"""Feature maps in model files: conversion to arrays and plain values, and back with checks."""

from __future__ import annotations

import numpy as np

from princomp.errors import ModelFileError
from princomp.io import Array, Arrays, Document, Field, Schema, model_arrays, sizes_from, values
from princomp.kernel_pca.feature_maps.feature_map import FeatureMap
from princomp.kernel_pca.feature_maps.fourier import Fourier
from princomp.kernel_pca.feature_maps.nystrom import Nystrom
from princomp.kernel_pca.feature_maps.tensor_sketch import TensorSketch
from princomp.kernel_pca.functions import KERNELS, KernelFunction

_FIELDS = {
    "p": Field(values.integer(1)),
    "dtype": Field(values.DTYPE, "dtype.name"),
    "kernel": Field(values.one_of(*KERNELS), "kernel.name"),
    "gamma": Field(values.optional(values.NUMBER), "kernel.gamma"),
    "degree": Field(values.NUMBER),
    "coef0": Field(values.NUMBER),
}
_ARRAYS = {
    "shift": Array("p", optional=True),
    "divisors": Array("p", optional=True, sign="positive", dtype="float64"),
}
_SEED = Field(values.COUNT)
_SCHEMAS = {
    Nystrom.kind: Schema(_FIELDS, {**_ARRAYS, "weights": Array("m width", dtype="float64")}),
    Fourier.kind: Schema({**_FIELDS, "count": Field(values.integer(1)), "seed": _SEED}, _ARRAYS),
    TensorSketch.kind: Schema(
        {**_FIELDS, "size": Field(values.integer(1), "count"), "seed": _SEED}, _ARRAYS
    ),
}


def map_to_contents(map: FeatureMap) -> tuple[Arrays, Document]:
    """Return the arrays of a map by name, and its plain values."""
    numbers = {"degree": float(map.kernel.degree), "coef0": float(map.kernel.coef0)}
    return map.arrays(), {"kind": map.kind, **_SCHEMAS[map.kind].document(map, **numbers)}


def map_from_contents(document: object, arrays: Arrays) -> FeatureMap:
    """Restore a map from its document and arrays.

    Raises
    ------
    ModelFileError
        If a field or an array is not that of a feature map.
    """
    kind = document.get("kind") if isinstance(document, dict) else None
    if not isinstance(kind, str) or kind not in _SCHEMAS:
        raise ModelFileError("it holds a feature map of a kind that is not known")
    schema = _SCHEMAS[kind]
    fields, arrays = schema.checked(document), dict(arrays)
    p, dtype = fields["p"], np.dtype(fields["dtype"])
    sizes: dict[str, int | range] = {"p": p}
    points = None
    if kind == Nystrom.kind:
        points = model_arrays.unpack_rows(arrays, "points", None, p)
        sizes["m"] = points.shape[0] if points.shape[0] else sizes_from(1)
    schema.check_arrays(arrays, sizes)
    kernel = KernelFunction.from_contents(fields, arrays)
    if points is not None:
        return Nystrom(kernel, p, dtype, points, arrays["weights"])
    if kind == Fourier.kind:
        return Fourier(kernel, p, dtype, fields["count"], fields["seed"])
    return TensorSketch(kernel, p, dtype, fields["size"], fields["seed"])
