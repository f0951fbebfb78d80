"""KernelPCA in model files: conversion to arrays and a document of plain values, and back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from princomp import __version__
from princomp.core import TableSchema, fitted_model, model_to_contents as pca_to_contents
from princomp.errors import ModelFileError, ParameterError
from princomp.io import Array, Arrays, Document, Field, Schema, json_value, model_arrays, values
from princomp.kernel_pca.exact import ExactFit
from princomp.kernel_pca.fit_contents import (
    PCA_DOCUMENT,
    fit_from_contents,
    fit_to_contents,
    pca_from_contents,
)
from princomp.kernel_pca.functions import KernelFunction
from princomp.kernel_pca.pre_images.ridge import Ridge
from princomp.kernel_pca.scoring import KernelFit
from princomp.linalg import int_or_none

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
        "filler": Field(values.optional(PCA_DOCUMENT)),
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
    fit_arrays, others, fit = fit_to_contents(fitted)
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
    filler = pca_from_contents(document["filler"], model_arrays.pop_prefixed(tensors, "filler"))
    images = model_arrays.pop_prefixed(tensors, "images")
    fit_arrays = model_arrays.restore_layouts(tensors, document["layout"])
    learned = model_arrays.pop_prefixed(fit_arrays, "learned")
    if columns is not None and len(columns) != p:
        raise ModelFileError("its document and its arrays differ in size")
    exact = document["route"] == "exact"
    fitted = fit_from_contents(exact, fit_arrays, images, document["fit"], p)
    if filler is not None and filler.n_features_in_ != p:
        raise ModelFileError("the PCA that fills cells is of other columns")
    parameters = dict(document["parameters"])
    function = fitted.kernel
    _check_kernel(parameters["kernel"], function)
    if isinstance(parameters["landmarks"], dict):
        # Exact fits and random features have none, and their parameter has no effect.
        parameters["landmarks"] = "uniform" if fitted.landmarks is None else fitted.landmarks
    if isinstance(parameters.get("scale"), dict):
        parameters["scale"] = function.divisors
    ridge = None
    if document["learned"]:
        _RIDGE.check_arrays(learned, {"k": fitted.k, "p": p})
        between_scores = replace(function, shift=None, divisors=None)
        ridge = Ridge(between_scores, learned["scores"], learned["coefficients"])
    elif learned:
        raise ModelFileError("it holds a learned pre-image, and says that there is none")
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
