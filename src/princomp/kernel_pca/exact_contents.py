"""Exact fits in model files: conversion to arrays and plain values, and back with checks."""

from __future__ import annotations

from types import SimpleNamespace

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
        "kernel": Field(values.one_of(*KERNELS, "precomputed"), "function.name"),
        "gamma": Field(values.optional(values.at_least(0)), "function.gamma"),
        "degree": Field(values.at_least(0), "function.degree"),
        "coef0": Field(values.NUMBER, "function.coef0"),
        "rows": Field(values.integer(1), "fit.n_samples"),
        "k": Field(values.COUNT, "fit.k"),
        "divisor": Field(values.above(0), "fit.divisor"),
        "mean_square": Field(values.NUMBER, "expansion.mean_square"),
        "total": Field(values.at_least(0), "spectrum.total"),
        "roundoff": Field(values.at_least(0), "spectrum.roundoff"),
        "missed": Field(values.optional(values.PROBABILITY), "spectrum.missed", default=None),
        "dtype": Field(values.DTYPE, "fit.dtype.name"),
        "dropped": Field(values.COUNT, "fit.dropped"),
        "bytes_read": Field(values.COUNT, "fit.bytes_read"),
        "complete": Field(values.FLAG, "fit.complete"),
        "plan": Field(values.OBJECT),
    },
    {
        "weights": Array("n k", "expansion.weights"),
        "mean": Array("n", "expansion.mean"),
        "centre": Array("n", "expansion.centre"),
        "variances": Array("variances", "spectrum.variances", sign="not negative"),
        "axes": Array("k n", "spectrum.axes"),
        "shift": Array("p", "function.shift", optional=True),
        "divisors": Array(
            "p", "function.divisors", optional=True, sign="positive", dtype="float64"
        ),
        "roots": Array("n 1", "fit.roots", optional=True, sign="not negative"),
        "residuals": Array("k", "spectrum.residuals", optional=True, sign="not negative"),
    },
)


def exact_fit_to_contents(fitted: ExactFit) -> tuple[Arrays, Document]:
    """Return the arrays of a fit by name, and its plain values."""
    expansion = fitted.expansion
    source = SimpleNamespace(
        fit=fitted, expansion=expansion, spectrum=fitted.spectrum, function=expansion.function
    )
    document = _SCHEMA.document(source, plan=fitted.plan.to_dict())
    arrays = _SCHEMA.arrays_of(source) | model_arrays.pack_rows("points", expansion.points)
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
    dtype = np.dtype(fields["dtype"])
    expansion = Expansion(
        _kernel_from_contents(fields, arrays),
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
        dtype,
        KernelPlan(**{**plan, "reasons": tuple(plan["reasons"])}),
        fields["bytes_read"],
        fields["dropped"],
        fields["complete"],
    )


def _kernel_from_contents(fields: Document, arrays: Arrays) -> KernelFunction:
    shift = arrays.get("shift")
    function = KernelFunction(
        fields["kernel"],
        fields["gamma"],
        fields["degree"],
        fields["coef0"],
        shift=shift,
        divisors=arrays.get("divisors"),
    )
    if (function.takes_gamma and function.gamma is None) or not (
        shift is None or function.shift_invariant
    ):
        raise ModelFileError(f"its kernel {function.name!r} does not go with gamma and shift")
    return function
