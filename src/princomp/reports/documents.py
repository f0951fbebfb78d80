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
    if isinstance(fitted, PCAModel) or is_kernel_pca(model):
        spectrum = fitted.result.spectrum
        columns = [spectrum.variances, spectrum.rates, spectrum.accumulated]
    else:
        rates = model.explained_variance_ratio_
        columns = [model.explained_variance_, rates, np.cumsum(rates)]
    return component_names(len(columns[0])), np.column_stack(columns)


def model_contents(model: Any) -> dict[str, Any]:
    """Describe a model in the documents of ``fit`` and ``show``.

    Outliers of a robust fit are given as row numbers from 0. Variances of a kernel PCA are those
    of images in the feature space.
    """
    fitted: FittedModel[Any] = fitted_model(model)
    result, is_kernel = fitted.result, is_kernel_pca(model)
    contents: dict[str, Any] = {"estimator": fitted.schema.owner, "rows": fitted.n_samples}
    if isinstance(fitted, PCAModel) or is_kernel:
        contents["dropped"] = result.dropped
    contents |= {
        "columns": column_labels(model),
        "id_column": fitted.schema.id_column,
        "n_components": fitted.k,
    }
    divisors = model.scale_ if is_kernel else result.scale
    scale = None if divisors is None else divisors.tolist()
    names = ("eigenvalues", "contribution_rate", "accumulated_rate")
    rates = dict(zip(names, rates_table(model)[1].T.tolist(), strict=True))
    if is_kernel:
        error = model.approximation_error_
        return contents | {
            "kernel": model.kernel,
            "gamma": result.plan.gamma,
            "scale": scale,
            "approximation": model.approximation,
            "approximation_error": None if np.isnan(error) else error,
            "pre_image": model.pre_image,
            **rates,
            "total_variance": model.total_variance_,
            "plan": result.plan.to_dict(),
            "certificate": result.certificate.to_dict(),
        }
    if isinstance(fitted, PCAModel):
        return contents | {
            "decision": None if result.decision is None else result.decision.to_dict(),
            **rates,
            "total_variance": result.spectrum.total,
            "noise_variance": result.noise_variance,
            "mean": result.mean.tolist() if result.mean_known else None,
            "scale": scale,
            "plan": result.plan.to_dict(),
            "certificate": result.certificate.to_dict(),
        }
    return contents | {
        **rates,
        "total_variance": model.total_variance_,
        "mean": model.mean_.tolist(),
        "scale": scale,
        "score_cutoff": model.score_cutoff_,
        "orthogonal_cutoff": model.orthogonal_cutoff_,
        "n_outliers": int(model.outliers_.sum()),
        "outliers": np.flatnonzero(model.outliers_).tolist(),
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
    rows = data.astype(object)
    rows[~np.isfinite(data)] = None
    if ids is not None:
        ids = [cell if isinstance(cell, str | int | None) else str(cell) for cell in ids]
    return document(
        command, rows=len(data), columns=columns, notes=notes, data=rows.tolist(), ids=ids
    )


def scale_hint(model: PCA | PCAModel | RobustPCA, rows: Any = None) -> str | None:
    """Return a hint if unscaled columns differ so much that a few of them dominate the result.

    A robust fit does not keep the spread of its columns: it is computed from ``rows``, in memory.
    """
    fitted: FittedModel[Any] = fitted_model(model)
    result = fitted.result
    if result.scale is not None:
        return None
    if isinstance(result, Fitted):
        variances, kind, scale = result.column_variances, "", "unit"
    else:
        from princomp.estimators import robust_deviations

        variances, kind, scale = robust_deviations(rows) ** 2, "robust ", "mad"
    finding = unequal_columns(variances, column_names(model))
    if finding is None:
        return None
    return f"the {kind}{finding}: --scale {scale} gives each column the same weight"
