"""Models given to diagnostics and figures: what is read from them, and those of scikit-learn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from princomp.core import Fitted, fitted_model
from princomp.diagnostics.tables import Names, frame_of, table
from princomp.errors import ColumnError, NotAvailableError, ParameterError, class_words
from princomp.estimators import PCA, TableEstimator, with_names
from princomp.linalg import FloatArray

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

    from princomp.summaries import Columns, Moments, Sketch, Triangle

_TEXT = (nw.String, nw.Categorical, nw.Enum)


# ---- what is read from them -----------------------------------------------------------


def fitted_of(model: object) -> Fitted:
    """Return the result of a fitted PCA.

    Raises
    ------
    ParameterError
        For anything but a PCA of this package.
    NotAvailableError
        For a kernel PCA.
    """
    if isinstance(model, PCA):
        return fitted_model(model).result
    # Needed only for these errors.
    from sklearn.pipeline import Pipeline

    from princomp.estimators import RobustPCA
    from princomp.kernel_pca import KernelPCA

    if isinstance(model, KernelPCA):
        raise NotAvailableError(
            "a kernel PCA has no loadings: its axes lie in the feature space of the kernel",
            place={"parameter": "model"},
            hint="scree, scores and pairs can draw it, and model.reconstruction_error(X, "
            "per_row=True) finds rows that it does not explain; everything else needs a "
            "princomp.PCA",
        )
    if isinstance(model, RobustPCA):
        hint = (
            "plots.outliers draws it; for everything else, fit a PCA to the regular rows: "
            "PCA(model.n_components_, scale=model.scale_).fit(X[~model.outliers_])"
        )
    elif isinstance(model, Pipeline):
        last = "pipeline[-1]" if isinstance(model[-1], PCA) else "PCA.from_sklearn(pipeline[-1])"
        hint = (
            f"give its PCA, {last}, and the rows that this step takes, pipeline[:-1].transform(X)"
        )
    else:
        hint = (
            "the model comes first: give what PCA(…).fit(X), princomp.load(path) or "
            "PCA.from_covariance(C) returns"
        )
    raise not_a_pca(model, hint, "give PCA.from_sklearn(model)")


def solvers_with_covariance(fitted: Fitted) -> str:
    """The option by which a fit of such a table keeps what all variances follow from."""
    is_wide = fitted.n_samples is not None and fitted.p > fitted.n_samples
    ours = "princomp.PCA and " if fitted.route.solver == "given" else ""  # one of scikit-learn
    return f"{ours}svd_solver='full'" + " or 'covariance_eigh'" * (not is_wide)


def not_a_pca(model: object, hint: str, sklearn_hint: str) -> ParameterError:
    """Return an error for a model that is not a PCA; scikit-learn's gets its own hint."""
    from sklearn import decomposition

    is_sklearn = isinstance(model, decomposition.PCA | decomposition.IncrementalPCA)
    hint = _hint_for_part(model) or hint
    return ParameterError(
        f"a fitted princomp.PCA is needed, got {class_words(model)}",
        place={"parameter": "model"},
        hint=sklearn_hint if is_sklearn else hint,
    )


def _hint_for_part(model: object) -> str:
    """Say which part of a search, or of a pipeline that does not end in a PCA, can be given.

    Empty for other models.
    """
    from sklearn import decomposition
    from sklearn.pipeline import Pipeline

    name, found = "pipeline", model
    if hasattr(model, "best_estimator_"):
        name, found = "search.best_estimator_", model.best_estimator_
    kinds = (PCA, decomposition.PCA, decomposition.IncrementalPCA)
    if isinstance(found, Pipeline) and not isinstance(found[-1], kinds):
        for count, (_, step) in enumerate(found.steps, 1):
            if isinstance(step, kinds):
                return f"give the steps up to its PCA, {name}[:{count}]"
    return "" if found is model else f"give {name}"


def variable_names(model: TableEstimator[Any]) -> Names:
    """Return names of the columns (p,): x0, x1, … if the fit had none."""
    return np.array(fitted_model(model).schema.text_names(), dtype=object)


def lost_columns(summary: Moments | Triangle | Columns | Sketch) -> NDArray[np.bool_]:
    """Mark columns (p,) whose scatter has fewer than two correct digits left after ``forget``."""
    if summary.lost is None:
        return np.zeros(summary.p, dtype=bool)
    return np.asarray(100.0 * summary.lost > summary.column_scatter)


def axes_of(fitted: Fitted, indices: NDArray[np.intp] | slice = slice(None)) -> FloatArray:
    """Return axes in float64 (p, c): the selected ones, or all k."""
    axes = fitted.spectrum.axes[: fitted.k].astype(np.float64)
    return np.ascontiguousarray(axes[indices].T)


# ---- models of scikit-learn, and pipelines --------------------------------------------


def convert_model(model: Any, X: object = None) -> tuple[Any, Any]:
    """Convert a model of scikit-learn or a pipeline to one of this package; return others as is.

    Return also the rows to pass to it.

    The steps of a pipeline before the last transform the rows. Frames stay frames, with the names
    that these steps give to the columns.
    """
    if isinstance(model, PCA):
        return model, X
    # Imported here, because these modules load much that a fit does not need.
    from sklearn import decomposition
    from sklearn.pipeline import Pipeline

    names = None
    if hint := _hint_for_part(model):
        raise not_a_pca(model, hint, hint)
    if isinstance(model, Pipeline):
        preprocessing, model = model[:-1], model[-1]
        if len(preprocessing.steps):
            names = _output_names(preprocessing)
            X = None if X is None else _transform_rows(preprocessing, X, names)
    if isinstance(model, decomposition.PCA | decomposition.IncrementalPCA):
        model = PCA.from_sklearn(model, feature_names=names)
    elif isinstance(model, PCA) and names is not None and not hasattr(model, "feature_names_in_"):
        model = with_names(model, names)
    return model, X


def _output_names(steps: Pipeline) -> list[str] | None:
    """Names of the columns that these steps return; None if the input had none."""
    if not hasattr(steps, "feature_names_in_"):
        return None
    try:
        return list(map(str, steps.get_feature_names_out()))
    except AttributeError:
        return None  # a step cannot name them


def _transform_rows(steps: Pipeline, X: object, names: list[str] | None) -> Any:
    """Transform rows; a frame stays a frame of the same kind, with its index and other columns."""
    frame, input_names = frame_of(X), getattr(steps, "feature_names_in_", None)
    if frame is None or input_names is None:
        return steps.transform(X)
    inputs = set(input_names)
    other_columns = [column for column in frame.columns if column not in inputs]
    rows = steps.transform(frame.drop(other_columns).to_native() if other_columns else X)
    if (found := frame_of(rows)) is not None:
        names, values = found.columns, [found.get_column(name).to_numpy() for name in found.columns]
    elif names is not None and isinstance(rows, np.ndarray):
        values = list(rows.T)
    else:
        return rows
    if taken := [column for column in other_columns if str(column) in names]:
        raise ColumnError(
            f"column {taken[0]!r} of X has the name of a column that the pipeline computes",
            place={"parameter": "X", "column": taken[0]},
            hint="rename it, or leave it out",
        )
    columns = dict(zip(names, values, strict=True))
    # Text that the steps drop or replace can name groups or rows; numbers would look like columns
    # of the fit.
    text = [name for name, kind in frame.schema.items() if kind in _TEXT and name not in columns]
    for column in dict.fromkeys((*other_columns, *text)):
        columns[column] = frame.get_column(column).to_numpy()
    return table(columns, str(frame.implementation), getattr(X, "index", None))
