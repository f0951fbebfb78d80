"""Exact fits in model files: conversion to arrays and plain values, and back with checks."""

from __future__ import annotations

import numpy as np

from princomp.errors import ModelFileError
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
from princomp.kernel_pca.feature_space import Expansion
from princomp.kernel_pca.functions import KERNELS, KernelFunction
from princomp.kernel_pca.plan import KernelPlan
from princomp.solvers import Spectrum

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
_SCHEMA = Schema(
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
        "shift": Array("p", "kernel.shift", optional=True),
        "divisors": Array("p", "kernel.divisors", optional=True, sign="positive", dtype="float64"),
        "roots": Array("n 1", optional=True, sign="not negative"),
        "residuals": Array("k", "spectrum.residuals", optional=True, sign="not negative"),
    },
)


def exact_fit_to_contents(fitted: ExactFit) -> tuple[Arrays, Document]:
    """Return the arrays of a fit by name, and its plain values."""
    document = _SCHEMA.document(fitted, plan=fitted.plan.to_dict())
    points = model_arrays.pack_rows("points", fitted.expansion.points)
    arrays = _SCHEMA.arrays_of(fitted) | points
    return arrays, {name: json_value(name, value) for name, value in document.items()}


def exact_fit_from_contents(arrays: Arrays, document: Document, p: int) -> ExactFit:
    """Restore a fit of rows with p columns; with a precomputed kernel, p is the number of rows.

    Raises
    ------
    ModelFileError
    """
    fields = _SCHEMA.checked(document)
    plan = _PLAN.checked(fields["plan"])
    precomputed, rows, k = fields["kernel"] == "precomputed", fields["rows"], fields["k"]
    # A precomputed matrix has a column for each row, including rows of weight zero.
    n = p if precomputed else rows
    points = None if precomputed else model_arrays.unpack_rows(arrays, "points", n, p)
    _SCHEMA.check_arrays(arrays, {"n": n, "k": k, "p": p, "1": 1, "variances": sizes_from(k)})
    n_positive = int((arrays["roots"] > 0).sum()) if "roots" in arrays else n
    if n_positive != rows:
        raise ModelFileError(f"it is of {rows} rows, and {n_positive} of them count")
    spectrum = Spectrum(
        arrays["variances"],
        arrays["axes"],
        float(fields["total"]),
        float(fields["roundoff"]),
        residuals=arrays.get("residuals"),
        missed=fields["missed"],
    )
    if spectrum.orthogonality > _MAX_ORTHOGONALITY_LOSS:
        raise ModelFileError("the eigenvectors are not orthonormal")
    function = KernelFunction.from_contents(fields, arrays)
    without_gamma = function.takes_gamma and function.gamma is None
    if without_gamma or not (function.shift is None or function.shift_invariant):
        raise ModelFileError(f"its kernel {function.name!r} does not go with gamma and shift")
    expansion = Expansion(
        function,
        points,
        arrays["weights"],
        arrays["mean"],
        arrays["centre"],
        float(fields["mean_square"]),
    )
    return ExactFit(
        expansion,
        spectrum,
        float(fields["divisor"]),
        arrays.get("roots"),
        rows,
        np.dtype(fields["dtype"]),
        KernelPlan(**{**plan, "reasons": tuple(plan["reasons"])}),
        fields["bytes_read"],
        fields["dropped"],
        fields["complete"],
    )
