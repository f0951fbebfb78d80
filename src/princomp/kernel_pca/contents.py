"""What the file of a KernelPCA holds: a fit as arrays and plain values, and back, all checked.

A kernel matrix that was given is left out: new rows come with their kernel with those of the fit,
and scores need no more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from princomp._version import __version__
from princomp.errors import ModelFileError, ParameterError
from princomp.estimator import PCA
from princomp.feature_maps import restored as restored_map
from princomp.kernel_functions import KernelFunction
from princomp.kernel_pca.exact_contents import described_exact, restored_exact
from princomp.kernel_pca.fits import ExactFit, ImageFit
from princomp.kernel_pca.stored_arrays import as_they_were, is_layout, layout_of, taken, under
from princomp.model_contents import described as described_pca
from princomp.model_words import check_arrays, check_words, flag, plain, real, text, texts, whole
from princomp.pre_images import Ridge
from princomp.seeds import number_of

__all__ = ["Kept", "described", "restored"]


class Kept(NamedTuple):
    """What a fit left: itself, and what it learned.

    ``learned`` is the pre-image by regression, ``filler`` the linear PCA that fills cells.
    """

    fitted: ExactFit | ImageFit
    learned: Ridge | None
    filler: PCA | None


def _is_pca(value: Any) -> bool:
    """Whether a document within the document is that of a PCA."""
    return type(value) is dict and value["estimator"] == "PCA"


# What each word of the document may be; words that are not here are ignored.
_LAWFUL: dict[str, Callable[[Any], bool]] = {
    "parameters": lambda value: (
        type(value) is dict
        and isinstance(value["kernel"], str)
        and (isinstance(value["landmarks"], str) or value["landmarks"] == {"array": True})
        and (isinstance(value.get("scale"), str | None) or value["scale"] == {"array": True})
    ),
    "columns": lambda value: value is None or texts(value),
    "id_column": text,
    "features": lambda value: whole(value) and value > 0,
    "route": lambda value: value in ("exact", "images"),
    "fit": lambda value: type(value) is dict,
    "layout": is_layout,
    "learned": flag,
    "filler": lambda value: value is None or _is_pca(value),
}
_IMAGES: dict[str, Callable[[Any], bool]] = {
    "map": lambda value: type(value) is dict,
    "images": _is_pca,
    "error": lambda value: value is None or real(value),
    "notes": texts,
}


def described(
    kept: Kept, parameters: dict[str, Any], p: int, columns: Any, id_column: str | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arrays by name, and a document of plain values.

    Raises
    ------
    ParameterError
        For what no file can hold, such as a kernel that is a function of somebody's.
    """
    fitted = kept.fitted
    _check_kernel(parameters["kernel"], _function_of(fitted))
    if isinstance(fitted, ExactFit):
        route, (own, fit) = "exact", described_exact(fitted)
    else:
        route, (own, fit) = "images", _described_map(fitted)
    if kept.learned is not None:
        own["learned.scores"] = kept.learned.scores
        own["learned.coefficients"] = kept.learned.coefficients
    tensors, filler = dict(own), None
    if isinstance(fitted, ImageFit):
        images, fit["images"] = described_pca(fitted.images._saved())
        tensors |= under("images", images)
    if kept.filler is not None:
        arrays, filler = described_pca(kept.filler._saved())
        tensors |= under("filler", arrays)
    document = {
        "princomp": __version__,
        "estimator": "KernelPCA",
        "parameters": _plain_parameters(parameters),
        "columns": None if columns is None else list(map(str, columns)),
        "id_column": id_column,
        "features": p,
        "route": route,
        "fit": fit,
        "layout": layout_of(own),
        "learned": kept.learned is not None,
        "filler": filler,
    }
    return tensors, document


def restored(tensors: dict[str, Any], document: dict[str, Any]) -> tuple[Kept, dict[str, Any]]:
    """What a fit left, and the parameters of the estimator.

    Raises
    ------
    ModelFileError, ParameterError, KeyError, …
        Whatever is not as it should be.
    """
    check_words(document, _LAWFUL)
    p, columns = document["features"], document["columns"]
    filler = _restored_pca(document["filler"], taken(tensors, "filler"))
    images = taken(tensors, "images")
    own = as_they_were(tensors, document["layout"])
    learned = taken(own, "learned")
    fitted: ExactFit | ImageFit
    if document["route"] == "exact":
        if images:
            raise ModelFileError("it holds images, and the fit is exact")
        fitted, width = restored_exact(own, document["fit"], p), p
    else:
        fitted = _restored_images(own, images, document["fit"])
        width = fitted.map.p
    if width != p or (columns is not None and len(columns) != p):
        raise ModelFileError("its document and its arrays differ in size")
    if filler is not None and filler.n_features_in_ != p:
        raise ModelFileError("the PCA that fills cells is of other columns")
    parameters = dict(document["parameters"])
    function = _function_of(fitted)
    _check_kernel(parameters["kernel"], function)
    if isinstance(parameters["landmarks"], dict):
        points = None if fitted.expansion is None else fitted.expansion.points
        parameters["landmarks"] = "uniform" if points is None else points
    divisors = function.divisors
    if (parameters.get("scale") is None) is not (divisors is None):
        raise ModelFileError("its parameter 'scale' and its divisors do not go together")
    if isinstance(parameters.get("scale"), dict):
        parameters["scale"] = divisors
    ridge = _restored_ridge(learned, function, fitted.k, p) if document["learned"] else None
    if ridge is None and learned:
        raise ModelFileError("it holds a pre-image that nobody learned")
    return Kept(fitted, ridge, filler), parameters


# ---- parts -----------------------------------------------------------------------------


def _described_map(fitted: ImageFit) -> tuple[dict[str, Any], dict[str, Any]]:
    fit: dict[str, Any] = {
        "map": fitted.map.words(),
        "error": None if np.isnan(fitted.error) else float(fitted.error),
        "notes": list(fitted.notes),
    }
    return under("map", fitted.map.arrays()), fit


def _restored_images(
    own: dict[str, Any], images: dict[str, Any], words: dict[str, Any]
) -> ImageFit:
    check_words(words, _IMAGES)
    arrays = taken(own, "map")
    if own:
        raise ModelFileError(f"it holds arrays {sorted(own)} beside a map and images")
    made, model = restored_map(words["map"], arrays), _restored_pca(words["images"], images)
    state = model._state
    if state.p != made.width or state.dtype != made.dtype or state.scale is not None:
        raise ModelFileError("its feature map and the PCA of images do not go together")
    error = float("nan") if words["error"] is None else float(words["error"])
    return ImageFit(made, model, error, tuple(words["notes"]))


def _restored_pca(document: dict[str, Any] | None, arrays: dict[str, Any]) -> Any:
    """A PCA within the file, all of it checked as in a file of its own; None for none."""
    if document is None:
        if arrays:
            raise ModelFileError(f"it holds arrays {sorted(arrays)} of a PCA that is not there")
        return None
    return PCA._restored(arrays, document)


def _restored_ridge(arrays: dict[str, Any], function: KernelFunction, k: int, p: int) -> Ridge:
    m = arrays.get("scores", np.empty(0)).shape[0]
    check_arrays(arrays, {"scores": (m, k), "coefficients": (m, p)})
    plain_function = replace(function, shift=None, divisors=None)
    return Ridge(plain_function, arrays["scores"], arrays["coefficients"])


def _function_of(fitted: ExactFit | ImageFit) -> KernelFunction:
    return fitted.expansion.function if isinstance(fitted, ExactFit) else fitted.map.kernel


def _check_kernel(kernel: Any, function: KernelFunction) -> None:
    """Refuse a kernel that nobody can write down, or another than that of the fit."""
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
    if not isinstance(parameters["landmarks"], str):
        parameters["landmarks"] = {"array": True}  # they are those of the map
    parameters["random_state"] = number_of(parameters["random_state"])
    if not isinstance(parameters["scale"], str | None):
        parameters["scale"] = {"array": True}  # they are those of the kernel
    # Named kernels take none: they are of a function, which no file holds.
    parameters["kernel_params"] = None
    return {name: plain(name, value) for name, value in parameters.items()}
