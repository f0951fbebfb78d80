"""Output of the command line about a model: contents of JSON documents, and tables of text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from princomp import core
from princomp.linalg import FloatArray

if TYPE_CHECKING:
    from princomp.io import Source
    from princomp.kernel_pca import KernelPCA


def component_names(k: int) -> list[str]:
    """Return the names PC1, …, PCk."""
    return [f"PC{i}" for i in range(1, k + 1)]


def column_names(model: core.HasModel[core.FittedModel[Any]]) -> list[str] | None:
    """Return the names of the columns of a fit; None if they had no names."""
    names = core.fitted_model(model).schema.names
    return None if names is None else list(map(str, names))


def column_labels(model: core.HasModel[core.FittedModel[Any]]) -> list[str]:
    """Return the names of the columns of a fit; their numbers from 0 if they had no names."""
    return column_names(model) or list(map(str, range(core.fitted_model(model).schema.p)))


def is_kernel_pca(model: object) -> TypeGuard[KernelPCA]:
    """Whether a model is a KernelPCA; ``princomp.kernel_pca`` is not imported to find out."""
    return hasattr(model, "kernel")


def rates_table(model: Any) -> tuple[list[str], FloatArray]:
    """Return the names of components and a table (q, 3) of all variances that the fit computed.

    Columns of the table: eigenvalue, contribution rate, accumulated rate.
    """
    fitted: core.FittedModel[Any] = core.fitted_model(model)
    if isinstance(fitted, core.PCAModel) or is_kernel_pca(model):
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
    fitted: core.FittedModel[Any] = core.fitted_model(model)
    result, names, is_kernel = fitted.result, column_names(model), is_kernel_pca(model)
    contents: dict[str, Any] = {"estimator": fitted.schema.owner, "rows": fitted.n_samples}
    if isinstance(fitted, core.PCAModel) or is_kernel:
        contents["dropped"] = result.dropped
    contents |= {
        "columns": list(range(fitted.schema.p)) if names is None else names,
        "id_column": fitted.schema.id_column,
        "n_components": fitted.k,
    }
    divisors = model.scale_ if is_kernel else result.scale
    scale = None if divisors is None else divisors.tolist()
    keys = ("eigenvalues", "contribution_rate", "accumulated_rate")
    rates = dict(zip(keys, rates_table(model)[1].T.tolist(), strict=True))
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
    if isinstance(fitted, core.PCAModel):
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


def scale_hint(
    model: core.HasModel[core.FittedModel[Any]], source: Source | None = None
) -> str | None:
    """Return a hint if unscaled columns differ so much that a few of them dominate the result.

    A robust fit does not keep the spread of its columns: it is computed from the rows of
    ``source``. There is no hint if they cannot be read again.
    """
    fitted: core.FittedModel[Any] = core.fitted_model(model)
    result, names, kind, scale = fitted.result, column_names(model), "", "unit"
    if isinstance(result, core.Fitted):
        finding = core.unequal_columns(result, names)
        scale += " --constant drop" if core.has_constant_columns(result) else ""
    elif result.scale is None and source is not None and source.repeatable:
        from princomp.estimators import robust_deviations
        from princomp.io import read_whole

        finding = core.unequal_variances(robust_deviations(read_whole(source)) ** 2, names)
        kind, scale = "robust ", "mad"
    else:
        return None
    if finding is None:
        return None
    remedy = f"if their units differ, --scale {scale} gives each column the same weight"
    return f"the {kind}{finding}; {remedy}"
