"""Feature maps in model files: reading them back, with checks of every field and array."""

from __future__ import annotations

from princomp.errors import ModelFileError
from princomp.io import Array, Arrays, Field, Schema, model_arrays, sizes_from, values
from princomp.kernel_pca.feature_maps.feature_map import FeatureMap
from princomp.kernel_pca.feature_maps.fourier import Fourier
from princomp.kernel_pca.feature_maps.nystrom import Nystrom
from princomp.kernel_pca.feature_maps.tensor_sketch import TensorSketch
from princomp.kernel_pca.functions import KERNELS, KernelFunction

_KINDS: dict[str, type[Nystrom | Fourier | TensorSketch]] = {
    kind.kind: kind for kind in (Nystrom, Fourier, TensorSketch)
}
_FIELDS = {
    "p": Field(values.integer(1)),
    "dtype": Field(values.DTYPE),
    "kernel": Field(values.one_of(*KERNELS)),
    "gamma": Field(values.optional(values.NUMBER)),
    "degree": Field(values.NUMBER),
    "coef0": Field(values.NUMBER),
}
_ARRAYS = {
    "shift": Array("p", optional=True),
    "divisors": Array("p", optional=True, sign="positive", dtype="float64"),
}
_SEED = Field(values.COUNT)
_SCHEMAS = {
    "nystrom": Schema(_FIELDS, {**_ARRAYS, "weights": Array("m width", dtype="float64")}),
    "fourier": Schema({**_FIELDS, "count": Field(values.integer(1)), "seed": _SEED}, _ARRAYS),
    "tensor sketch": Schema({**_FIELDS, "size": Field(values.integer(1)), "seed": _SEED}, _ARRAYS),
}


def map_from_contents(document: object, arrays: Arrays) -> FeatureMap:
    """Restore a map from its ``document()`` and ``arrays()``.

    Raises
    ------
    ModelFileError
        If a field or an array is not that of a feature map.
    """
    kind = document.get("kind") if isinstance(document, dict) else None
    if not isinstance(kind, str) or kind not in _KINDS:
        raise ModelFileError("it holds a feature map of a kind that is not known")
    schema = _SCHEMAS[kind]
    fields, arrays = schema.checked(document), dict(arrays)
    sizes: dict[str, int | range] = {"p": fields["p"]}
    points = None
    if kind == "nystrom":
        points = model_arrays.unpack_rows(arrays, "points", None, fields["p"])
        sizes["m"] = points.shape[0] if points.shape[0] else sizes_from(1)
    schema.check_arrays(arrays, sizes)
    kernel = KernelFunction(
        fields["kernel"],
        fields["gamma"],
        fields["degree"],
        fields["coef0"],
        shift=arrays.get("shift"),
        divisors=arrays.get("divisors"),
    )
    try:
        if points is not None:
            arrays["points"] = points
        made: FeatureMap = _KINDS[kind].from_contents(kernel, fields, arrays)
    except (ValueError, TypeError) as error:
        raise ModelFileError(f"its feature map does not go together: {error}") from None
    return made
