"""Output of the command line about a model: JSON documents and tables of text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from princomp import __version__
from princomp.core import Fitted, FittedModel, PCAModel, fitted_model, unequal_columns
from princomp.linalg import FloatArray

if TYPE_CHECKING:
    from princomp.estimators import PCA, RobustPCA
    from princomp.kernel_pca import KernelPCA

__all__ = [
    "column_labels",
    "column_names",
    "component_names",
    "document",
    "fit_document",
    "is_kernel_pca",
    "model_contents",
    "rates_table",
    "rows_document",
    "scale_hint",
]

# Version of the layout of documents; changes that break readers increase it.
_VERSION = 1


def document(command: str, **contents: Any) -> dict[str, Any]:
    """Return a versioned document of one command."""
    return {
        "document": f"princomp.{command}",
        "version": _VERSION,
        "princomp": __version__,
        **contents,
    }


def component_names(k: int) -> list[str]:
    """Return the names PC1, …, PCk."""
    return [f"PC{i}" for i in range(1, k + 1)]


def column_names(model: Any) -> list[str] | None:
    """Return the names of the columns of a fit; None if they had no names."""
    names = fitted_model(model).schema.names
    return None if names is None else list(map(str, names))


def column_labels(model: Any) -> list[str] | list[int]:
    """Return the names of the columns of a fit; their numbers from 0 if they had no names."""
    return column_names(model) or list(range(fitted_model(model).schema.p))


def is_kernel_pca(model: Any) -> TypeGuard[KernelPCA]:
    """Whether a model is a KernelPCA; ``princomp.kernel_pca`` is not imported to find out."""
    return hasattr(model, "kernel")


def rates_table(model: Any) -> tuple[list[str], FloatArray]:
    """Return the names of components and a table (q, 3) of all variances that the fit computed.

    Columns of the table: eigenvalue, contribution rate, accumulated rate.
    """
    fitted: FittedModel[Any] = fitted_model(model)
    if not isinstance(fitted, PCAModel) and not is_kernel_pca(model):
        rates = model.explained_variance_ratio_
        columns = [model.explained_variance_, rates, np.cumsum(rates)]
        return component_names(fitted.k), np.column_stack(columns)
    spectrum = fitted.result.spectrum
    values = [spectrum.variances, spectrum.rates, spectrum.accumulated]
    return component_names(len(spectrum.variances)), np.column_stack(values)


def model_contents(model: Any) -> dict[str, Any]:
    """Describe a model in the documents of ``fit`` and ``show``."""
    if is_kernel_pca(model):
        return {"estimator": "KernelPCA", **_kernel_contents(model)}
    fitted = fitted_model(model)
    if not isinstance(fitted, PCAModel):
        return {"estimator": "RobustPCA", **_robust_contents(model)}
    result = fitted.result
    return {
        "estimator": fitted.schema.owner,
        "rows": result.n_samples,
        "dropped": result.dropped,
        "columns": column_labels(model),
        "id_column": fitted.schema.id_column,
        "n_components": result.k,
        "decision": None if result.decision is None else result.decision.to_dict(),
        **_rate_columns(model),
        "total_variance": result.spectrum.total,
        "noise_variance": result.noise_variance,
        "mean": result.mean.tolist(),
        "scale": None if result.scale is None else result.scale.tolist(),
        "plan": result.plan.to_dict(),
        "certificate": result.certificate.to_dict(),
    }


def _rate_columns(model: Any) -> dict[str, list[float]]:
    """Return the columns of the table of rates by their names in documents."""
    names = ("eigenvalues", "contribution_rate", "accumulated_rate")
    return dict(zip(names, rates_table(model)[1].T.tolist(), strict=True))


def _robust_contents(model: RobustPCA) -> dict[str, Any]:
    """Describe a robust fit; outliers are given as row numbers from 0."""
    return {
        "rows": model.n_samples_,
        "columns": column_labels(model),
        "id_column": model.id_column_,
        "n_components": model.n_components_,
        **_rate_columns(model),
        "total_variance": model.total_variance_,
        "mean": model.mean_.tolist(),
        "scale": None if model.scale_ is None else model.scale_.tolist(),
        "score_cutoff": model.score_cutoff_,
        "orthogonal_cutoff": model.orthogonal_cutoff_,
        "n_outliers": int(model.outliers_.sum()),
        "outliers": np.flatnonzero(model.outliers_).tolist(),
    }


def _kernel_contents(model: KernelPCA) -> dict[str, Any]:
    """Describe a kernel PCA; variances are those of images in the feature space."""
    error = model.approximation_error_
    return {
        "rows": model.n_samples_,
        "dropped": model.n_dropped_,
        "columns": column_labels(model),
        "id_column": model.id_column_,
        "n_components": model.n_components_,
        "kernel": model.kernel,
        "gamma": model.plan_.gamma,
        "scale": None if model.scale_ is None else model.scale_.tolist(),
        "approximation": model.approximation,
        "approximation_error": None if np.isnan(error) else error,
        "pre_image": model.pre_image,
        **_rate_columns(model),
        "total_variance": model.total_variance_,
        "plan": model.plan_.to_dict(),
        "certificate": model.certificate_.to_dict(),
    }


def fit_document(
    model: PCA | PCAModel | RobustPCA | KernelPCA, files: dict[str, Path], notes: list[str]
) -> dict[str, Any]:
    """Return the document of ``fit``."""
    paths = {name: str(path) for name, path in files.items()}
    return document("fit", **model_contents(model), files=paths, notes=notes)


def rows_document(
    command: str, columns: list[str], data: FloatArray, ids: Any, notes: list[str]
) -> dict[str, Any]:
    """Return the document of ``transform`` or ``inverse``, including its rows (n, columns).

    JSON has neither NaN nor dates: numbers that are not finite become null, and ids that are not
    numbers or text become text.
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


def scale_hint(model: PCA | PCAModel | RobustPCA, rows: Any = None) -> str | None:
    """Return a hint if unscaled columns differ so much that a few of them dominate the result.

    A robust fit does not keep the spread of its columns: it is computed from ``rows``, in memory.
    """
    fitted: FittedModel[Any] = fitted_model(model)
    result = fitted.result
    if result.scale is not None:
        return None
    names = column_names(model)
    if isinstance(result, Fitted):
        finding, scale = unequal_columns(result.column_variances, names), "unit"
    else:
        from princomp.estimators import robust_deviations

        finding, scale = unequal_columns(robust_deviations(rows) ** 2, names), "mad"
    if finding is None:
        return None
    robust = "robust " * (scale == "mad")
    return f"the {robust}{finding}: --scale {scale} gives each column the same weight"
