"""Conversion of models of scikit-learn and of pipelines, for figures and reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from princomp.diagnostics.tables import frame_of, table
from princomp.estimators import PCA, with_names

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline


def convert_model(model: Any, X: Any = None) -> tuple[Any, Any]:
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


def _transform_rows(steps: Pipeline, X: Any, names: list[str] | None) -> Any:
    """Transform rows; a frame stays a frame of the same kind, with its index and other columns."""
    frame, input_names = frame_of(X), getattr(steps, "feature_names_in_", None)
    if frame is None or input_names is None:
        return steps.transform(X)
    other_columns = [column for column in frame.columns if column not in set(input_names)]
    rows = steps.transform(frame.drop(other_columns).to_native() if other_columns else X)
    if names is None or not isinstance(rows, np.ndarray):
        return rows
    columns = {name: rows[:, j] for j, name in enumerate(names)}
    columns |= {column: frame.get_column(column).to_numpy() for column in other_columns}
    return table(columns, str(frame.implementation), getattr(X, "index", None))
