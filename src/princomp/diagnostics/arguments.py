"""Arguments of diagnostics and figures: how they are read and checked, and their docstrings."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from numbers import Real
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeAlias, TypeVar, cast

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from princomp.core import Fitted, fill_docstring, fitted_model, is_number
from princomp.diagnostics.tables import frame_of, table
from princomp.errors import (
    ColumnError,
    NotAvailableError,
    ParameterError,
    ShapeError,
    class_words,
    invalid_value,
    warn,
)
from princomp.estimators import PCA, TableEstimator, with_names
from princomp.io import Source, TableInput
from princomp.linalg import FloatArray

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

    from princomp.summaries import Columns, Moments, SampleWeight, Sketch, Triangle

P = ParamSpec("P")
T = TypeVar("T")
Names = NDArray[Any]
Components: TypeAlias = int | str | Iterable[int | str] | None

_TEXT = (nw.String, nw.Categorical, nw.Enum)


# ---- what is read from estimators -----------------------------------------------------


def fitted_of(model: object) -> Fitted:
    """Return the result of a fitted PCA.

    Raises
    ------
    ParameterError
        For anything but a PCA of this package.
    NotAvailableError
        For a kernel PCA.
    """
    if not isinstance(model, PCA):
        # Needed only for these errors.
        from sklearn.pipeline import Pipeline

        from princomp.estimators import RobustPCA
        from princomp.kernel_pca import KernelPCA

        if isinstance(model, KernelPCA):
            raise NotAvailableError(
                "a kernel PCA has no loadings: its axes lie in the feature space of the kernel",
                place={"parameter": "model"},
                hint="scree, scores and pairs can draw it, and "
                "model.reconstruction_error(X, per_row=True) finds rows that it does not explain; "
                "everything else needs a princomp.PCA",
            )
        hint = "the model comes first: give what PCA(…).fit(X), princomp.load(path) or "
        hint += "PCA.from_covariance(C) returns"
        if isinstance(model, RobustPCA):
            hint = (
                "plots.outliers draws it; for everything else, fit a PCA to the regular rows: "
                "PCA(model.n_components_, scale=model.scale_).fit(X[~model.outliers_])"
            )
        elif isinstance(model, Pipeline):
            last = "pipeline[-1]"
            if not isinstance(model[-1], PCA):
                last = f"PCA.from_sklearn({last})"
            hint = f"give its PCA, {last}, and the rows that this step takes, "
            hint += "pipeline[:-1].transform(X)"
        raise not_a_pca(model, hint, "give PCA.from_sklearn(model)")
    return fitted_model(model).result


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


def _hint_for_part(model: Any) -> str:
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


def feature_names(model: object) -> list[str] | None:
    """Return the names of the columns of the fit, if they had names."""
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else list(map(str, names))


def variable_names(model: TableEstimator[Any]) -> Names:
    """Return names of the columns (p,): x0, x1, … if the fit had none."""
    return np.array(fitted_model(model).schema.text_names(), dtype=object)


def lost_columns(summary: Moments | Triangle | Columns | Sketch) -> NDArray[np.bool_]:
    """Mark columns (p,) whose scatter has fewer than two correct digits left after ``forget``."""
    if summary.lost is None:
        return np.zeros(summary.p, dtype=bool)
    return np.asarray(100.0 * summary.lost > summary.column_scatter)


# ---- arguments ------------------------------------------------------------------------


def warn_without_weights(
    fitted: Fitted,
    sample_weight: SampleWeight,
    results: str,
    advice: str = "Give sample_weight, with 1 for each row that was not fitted",
) -> None:
    """Warn if the fit used weights and none are given, so that every row counts once.

    ``results`` depend on the weights, as a noun in the plural for the message; ``advice`` says
    what to do.
    """
    n = fitted.n_samples
    if sample_weight is None and n is not None and float(fitted.summary.rows) != n:
        warn(
            f"the fit used weights, and none are given: {results} are those of rows of weight 1. "
            f"{advice}"
        )


class Selection(NamedTuple):
    """Selected components: their indices from 0, and their names in tables."""

    indices: NDArray[np.intp]
    names: Names


def select_components(k: int, components: Components, first: int | None = None) -> Selection:
    """Select components of a model with k of them, given as numbers from 1 or as "PC1", ….

    By default all, or the first ``first``.

    Raises
    ------
    ParameterError
        For one that the model does not have, or that is given twice.
    """
    if components is None or k == 0:
        numbers = list(range(1, min(k, first or k) + 1))
    else:
        single = isinstance(components, int | str) or not np.iterable(components)
        numbers = [_component_number(one, k) for one in ([components] if single else components)]  # type: ignore[union-attr]
        if len(set(numbers)) < len(numbers):
            raise ParameterError(
                f"components={components!r} names a component twice",
                place={"parameter": "components"},
                hint="give each component once",
            )
    if not numbers:
        raise ShapeError(
            "no components are selected",
            place={"parameter": "components"},
            hint="keep at least one: model.truncated(1), or n_components=1",
        )
    names = np.array([f"PC{number}" for number in numbers], dtype=object)
    return Selection(np.array(numbers, dtype=np.intp) - 1, names)


def _component_number(component: object, k: int) -> int:
    text = str(component)
    digits = text.removeprefix("PC") if isinstance(component, str) else text
    is_whole = isinstance(component, int | str | np.integer) and not isinstance(component, bool)
    if is_whole and digits.isascii() and digits.isdigit() and 1 <= int(digits) <= k:
        return int(digits)
    raise ParameterError(
        f"component {component!r} is not one of PC1 to PC{k}",
        place={"parameter": "components"},
        hint="components are counted from 1, or named 'PC1'",
    )


def axes_of(fitted: Fitted, indices: NDArray[np.intp] | slice = slice(None)) -> FloatArray:
    """Return axes in float64 (p, c): the selected ones, or all k."""
    axes = fitted.spectrum.axes[: fitted.k].astype(np.float64)
    return np.ascontiguousarray(axes[indices].T)


def check_repeatable(X: object, purpose: str) -> None:
    """Refuse rows that can be read only once.

    Parameters
    ----------
    X : as for ``PCA.fit``
    purpose : str
        What reads them several times, as a noun for the message: "report".

    Raises
    ------
    ParameterError
    """
    if isinstance(X, Iterator) or (isinstance(X, Source) and not X.repeatable):
        raise ParameterError(
            f"a {purpose} reads the rows several times, but these can be read only once",
            place={"parameter": "X"},
            hint="give an array, a frame, a file, or a function that returns a new iterator",
        )


def check_count(name: str, value: object, minimum: int = 1) -> int:
    """Return a whole number of at least ``minimum``.

    Raises
    ------
    ParameterError
    """
    try:
        number = minimum - 1 if isinstance(value, bool) else index(value)  # type: ignore[arg-type]
    except TypeError:  # no number, or an array of several
        number = minimum - 1
    if number < minimum:
        expected = f"a whole number of at least {minimum}"
        raise invalid_value(name, value, expected, f"choose a whole number from {minimum} on")
    return number


def checked_level(level: object) -> float:
    """Return a level between 0 and 1.

    Raises
    ------
    ParameterError
    """
    if not is_number(level, Real) or not 0.0 < float(level) < 1.0:  # type: ignore[arg-type]
        raise invalid_value("level", level, "a number between 0 and 1", "0.95 is usual")
    return float(level)  # type: ignore[arg-type]


# ---- rows and models of other kinds ---------------------------------------------------


def ignoring_rows(function: Callable[P, T]) -> Callable[P, T]:
    """Let ``f(model, …)`` also be called as ``f(model, X, …)``, with a warning."""

    @wraps(function)
    def wrapper(model: Any, *args: Any, **options: Any) -> T:
        rows = options.pop("X", None)
        if rows is None and args and _is_table(args[0]):
            rows, args = args[0], args[1:]
        if rows is not None:
            warn(f"{function.__name__} needs the model alone: the rows are ignored")
        return cast("Callable[..., T]", function)(model, *args, **options)

    return cast("Callable[P, T]", wrapper)


def _is_table(value: Any) -> bool:
    """Whether an argument is a table, rather than components, a level or the like."""
    if isinstance(value, os.PathLike | TableInput) or hasattr(value, "columns"):
        return True
    if isinstance(value, str):
        return Path(value).suffix[1:].isidentifier()  # the name of a file
    return len(getattr(value, "shape", ())) == 2


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


def _transform_rows(steps: Pipeline, X: Any, names: list[str] | None) -> Any:
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


# ---- docstrings -----------------------------------------------------------------------

_DOCSTRINGS = {
    "model": """\
model : PCA
    Fitted.""",
    "X": """\
X : array, sparse array, frame, path or batches, of shape (n, p)
    Training rows or other rows, with the columns of the fit.""",
    "sample_weight": """\
sample_weight : array of shape (n,), optional
    Frequencies of the rows. Without them, every row counts once, with a warning if the fit used
    weights.""",
    "categorical": """\
categorical : iterable of str, optional
    Columns of numbers to be used as categories.""",
    "components": """\
components : int, str or sequence of them, optional
    Numbers from 1, or "PC1", …; all by default.""",
    "ids": """\
ids : str or sequence of length n, optional
    Names of the rows; see :func:`princomp.diagnostics.rows`.""",
    "frame": """\
frame : {"pandas", "polars", "pyarrow", "listing"}, optional
    Kind of the table; by default that of X.""",
    "plane": """\
x, y : int or str
    Components: numbers from 1, or "PC1", ….""",
    "bootstrap": """\
bootstrap : Bootstrap, optional
    Decides which components are marked as unstable. Without it, an approximation is used.""",
    "axes": """\
ax : matplotlib.axes.Axes, optional
    Axes to draw on; by default a new one.
dark : bool, optional
    Colours of a new Axes: light on dark if true, dark on light if false. By default those of
    matplotlib's settings.""",
    "example_model": """\
>>> import numpy as np
>>> from princomp import PCA, diagnostics
>>> X = np.array([[1.0, 2, 0], [2, 1, 1], [3, 4, 0], [4, 3, 1], [6, 5, 0], [5, 7, 2]])
>>> model = PCA(2).fit(X)""",
}

# Replaces lines such as %(model)s in a docstring.
shared_docs = fill_docstring(_DOCSTRINGS)
