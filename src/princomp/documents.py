"""What the command line says of a model: JSON documents and tables of text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from princomp._version import __version__
from princomp.arrays import FloatArray
from princomp.estimator import PCA

__all__ = [
    "component_names",
    "document",
    "of_fit",
    "of_model",
    "of_rows",
    "rates_table",
    "scale_hint",
]

# Columns whose variances differ by more than this make an unscaled PCA a PCA of one column.
_UNEQUAL = 1000.0
# Layout of the documents; a change that breaks a reader raises it.
_VERSION = 1


def document(command: str, **contents: Any) -> dict[str, Any]:
    """A versioned document of one command."""
    return {
        "document": f"princomp.{command}",
        "version": _VERSION,
        "princomp": __version__,
        **contents,
    }


def component_names(k: int) -> list[str]:
    """PC1 … PCk."""
    return [f"PC{i}" for i in range(1, k + 1)]


def rates_table(model: PCA) -> tuple[list[str], FloatArray]:
    """Names and values (q, 3) of all variances that the route knows.

    Columns: eigenvalue, contribution rate, accumulated rate.
    """
    spectrum = model._state.spectrum
    values = [spectrum.variances, spectrum.rates, spectrum.accumulated]
    return component_names(len(spectrum.variances)), np.column_stack(values)


def of_model(model: PCA) -> dict[str, Any]:
    """What ``fit`` and ``show`` both say of a model."""
    fitted = model._state
    table = rates_table(model)[1]
    names = getattr(model, "feature_names_in_", range(fitted.p))
    return {
        "rows": fitted.n_samples,
        "dropped": fitted.dropped,
        "columns": [name if isinstance(name, int) else str(name) for name in names],
        "id_column": model.__dict__.get("id_column_"),
        "n_components": fitted.k,
        "eigenvalues": table[:, 0].tolist(),
        "contribution_rate": table[:, 1].tolist(),
        "accumulated_rate": table[:, 2].tolist(),
        "total_variance": fitted.spectrum.total,
        "noise_variance": fitted.noise_variance,
        "mean": fitted.mean.tolist(),
        "scale": None if fitted.scale is None else fitted.scale.tolist(),
        "plan": fitted.plan.to_dict(),
        "certificate": fitted.certificate.to_dict(),
    }


def of_fit(model: PCA, files: dict[str, Path], notes: list[str]) -> dict[str, Any]:
    """The document of ``fit``."""
    paths = {name: str(path) for name, path in files.items()}
    return document("fit", **of_model(model), files=paths, notes=notes)


def of_rows(
    command: str, columns: list[str], data: FloatArray, ids: Any, notes: list[str]
) -> dict[str, Any]:
    """The document of ``transform`` and ``inverse`` with its rows (n, columns) in it.

    JSON knows neither NaN nor dates: a number that is not finite is null, an id of
    another kind is its text.
    """
    finite = np.isfinite(data)
    rows = data.astype(object)
    rows[~finite] = None
    names = None
    if ids is not None:
        names = [cell if isinstance(cell, str | int | None) else str(cell) for cell in ids]
    return document(
        command, rows=len(data), columns=columns, notes=notes, data=rows.tolist(), ids=names
    )


def scale_hint(model: PCA) -> str | None:
    """A word where unscaled columns differ so much that few of them decide everything."""
    fitted = model._state
    variances = fitted.column_variances
    varied = variances[variances > 0]
    if fitted.scale is not None or not varied.size or varied.max() <= _UNEQUAL * varied.min():
        return None
    names = getattr(model, "feature_names_in_", None)
    top = int(np.argmax(variances))
    name = f"column {top}" if names is None else repr(str(names[top]))
    return (
        f"the variances of the columns differ {varied.max() / varied.min():,.0f}-fold and "
        f"{name} has the largest: --scale unit gives each column the same weight"
    )
