"""What a model file holds of an exact fit, and back, every word checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from princomp.errors import ModelFileError
from princomp.feature_maps import valid_divisors
from princomp.feature_space import Expansion
from princomp.kernel_functions import KERNELS, KernelFunction
from princomp.kernel_pca.fits import ExactFit
from princomp.kernel_pca.plan import KernelPlan
from princomp.model_words import chance, check_arrays, check_words, flag, plain, real, texts, whole
from princomp.spectrum import Spectrum
from princomp.summaries.blocks import is_sparse

__all__ = ["described_exact", "restored_exact"]

# Eigenvectors are orthonormal to far less than this.
_ORTHONORMAL = 1e-6
_PARTS = ("data", "indices", "indptr")


def _finite(value: Any) -> bool:
    return type(value) in (int, float) and bool(np.isfinite(value))


def _gamma(value: Any) -> bool:
    return value is None or real(value)


_PLAN: dict[str, Callable[[Any], bool]] = {
    "rows": whole,
    "columns": lambda value: value is None or whole(value),
    "kernel": lambda value: isinstance(value, str),
    "gamma": _gamma,
    "route": lambda value: value == "exact",
    "solver": lambda value: isinstance(value, str),
    "reasons": texts,
    "passes": whole,
    "memory": whole,
}
_LAWFUL: dict[str, Callable[[Any], bool]] = {
    "kernel": lambda value: value in (*KERNELS, "precomputed"),
    "gamma": _gamma,
    "degree": real,
    "coef0": _finite,
    "rows": lambda value: whole(value) and value > 0,
    "k": whole,
    "divisor": lambda value: real(value) and value > 0,
    "mean_square": _finite,
    "total": real,
    "roundoff": real,
    "missed": chance,
    "dtype": lambda value: value in ("float32", "float64"),
    "dropped": whole,
    "bytes_read": whole,
    "complete": flag,
    "plan": lambda value: type(value) is dict,
}


def described_exact(fitted: ExactFit) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arrays by name, and plain values."""
    expansion, spectrum, function = fitted.expansion, fitted.spectrum, fitted.expansion.function
    tensors = {
        "weights": expansion.weights,
        "mean": expansion.mean,
        "centre": expansion.centre,
        "variances": spectrum.variances,
        "axes": spectrum.axes,
    }
    for name, array in (
        ("shift", function.shift),
        ("divisors", function.divisors),
        ("roots", fitted.roots),
        ("residuals", spectrum.residuals),
    ):
        if array is not None:
            tensors[name] = array
    points = expansion.points
    if is_sparse(points):
        tensors |= {f"points.{part}": getattr(points, part) for part in _PARTS}
    elif points is not None:
        tensors["points"] = points
    words = {
        "kernel": function.name,
        "gamma": function.gamma,
        "degree": function.degree,
        "coef0": function.coef0,
        "rows": fitted.n_samples,
        "k": fitted.k,
        "divisor": fitted.divisor,
        "mean_square": expansion.mean_square,
        "total": spectrum.total,
        "roundoff": spectrum.roundoff,
        "missed": spectrum.missed,
        "dtype": fitted.dtype.name,
        "dropped": fitted.dropped,
        "bytes_read": fitted.bytes_read,
        "complete": fitted.complete,
        "plan": fitted.plan.to_dict(),
    }
    return tensors, {name: plain(name, value) for name, value in words.items()}


def restored_exact(arrays: dict[str, Any], words: dict[str, Any], p: int) -> ExactFit:
    """The fit of rows of p columns; of a kernel that was given, p is the number of rows.

    Raises
    ------
    ModelFileError, KeyError, ValueError
    """
    words = {"missed": None, **words}
    check_words(words, _LAWFUL)
    check_words(words["plan"], _PLAN)
    given, rows, k = words["kernel"] == "precomputed", words["rows"], words["k"]
    # The columns of a matrix that was given are its rows, also those that do not count.
    n = p if given else rows
    points = _restored_points(arrays, n, p, given=given)
    _check_arrays(arrays, n, k, p)
    counted = int((arrays["roots"] > 0).sum()) if "roots" in arrays else n
    if counted != rows:
        raise ModelFileError(f"it is of {rows} rows, and {counted} of them count")
    spectrum = Spectrum(
        arrays["variances"],
        arrays["axes"],
        float(words["total"]),
        float(words["roundoff"]),
        residuals=arrays.get("residuals"),
        missed=words["missed"],
    )
    if spectrum.orthogonality > _ORTHONORMAL:
        raise ModelFileError("the eigenvectors are not orthonormal")
    dtype = np.dtype(words["dtype"])
    expansion = Expansion(
        _restored_function(words, arrays.get("shift"), arrays.get("divisors")),
        points,
        arrays["weights"],
        arrays["mean"],
        arrays["centre"],
        float(words["mean_square"]),
    )
    plan = {name: words["plan"][name] for name in _PLAN}
    return ExactFit(
        expansion,
        spectrum,
        float(words["divisor"]),
        arrays.get("roots"),
        rows,
        dtype,
        KernelPlan(**{**plan, "reasons": tuple(plan["reasons"])}),
        words["bytes_read"],
        words["dropped"],
        words["complete"],
    )


def _restored_function(words: dict[str, Any], shift: Any, divisors: Any) -> KernelFunction:
    function = KernelFunction(
        words["kernel"],
        words["gamma"],
        words["degree"],
        words["coef0"],
        shift=shift,
        divisors=divisors,
    )
    if (function.takes_gamma and function.gamma is None) or not (
        shift is None or function.of_differences
    ):
        raise ModelFileError(f"its kernel {function.name!r} does not go with gamma and shift")
    return function


def _restored_points(arrays: dict[str, Any], n: int, p: int, *, given: bool) -> Any:
    """The rows of the fit (n, p), which leave the other arrays; None of a kernel that was given."""
    names = {name for name in arrays if name.partition(".")[0] == "points"}
    if names == (set() if given else {"points"}):
        points = arrays.pop("points", None)
        lawful = given or (points.shape == (n, p) and points.dtype.kind == "f")
    elif names == {f"points.{part}" for part in _PARTS} and not given:
        parts = tuple(arrays.pop(f"points.{part}") for part in _PARTS)
        lawful = parts[0].dtype.kind == "f" and all(part.dtype.kind == "i" for part in parts[1:])
        points = sp.csr_array(parts, shape=(n, p))
        points.check_format(full_check=True)
    else:
        raise ModelFileError(f"it holds arrays {sorted(names)} for the rows of its fit")
    if not lawful:
        raise ModelFileError("the rows of its fit are not as many numbers as they should be")
    return points


def _check_arrays(arrays: dict[str, Any], n: int, k: int, p: int) -> None:
    """Exact names and shapes, nothing negative where that has no meaning."""
    shapes: dict[str, Any] = {
        "weights": (n, k),
        "mean": (n,),
        "centre": (n,),
        "variances": (arrays["variances"].size,),
        "axes": (k, n),
    }
    optional = {"shift": (p,), "divisors": (p,), "roots": (n, 1), "residuals": (k,)}
    shapes |= {name: shape for name, shape in optional.items() if name in arrays}
    check_arrays(arrays, shapes)
    if "divisors" in arrays and not valid_divisors(arrays["divisors"], p):
        raise ModelFileError("array 'divisors' is not one divisor a column")
    if len(arrays["variances"]) < k:
        raise ModelFileError("it has fewer variances than eigenvectors")
    for name in ("variances", "residuals", "roots"):
        if (arrays.get(name, np.empty(0)) < 0).any():
            raise ModelFileError(f"array {name!r} holds negative values")
