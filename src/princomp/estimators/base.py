"""Base class of all estimators, with scikit-learn's conventions; attributes of a fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from functools import wraps
from typing import Any, Generic, NoReturn, Self, TypeAlias, TypeVar, cast, overload

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.exceptions import NotFittedError

from princomp import __version__
from princomp.core import Fitted, FittedModel, TableSchema, checked_weights, refuse_iterator
from princomp.engines import DistributedRows, as_distributed
from princomp.errors import ParameterError, class_words, warn
from princomp.io import Document, Origin, PathLike, RowData, Rows, Source, write
from princomp.linalg import FloatArray, frozen
from princomp.summaries import Columns, Moments, SampleWeight, Sketch, Triangle

R = TypeVar("R")
T = TypeVar("T")
_Describe: TypeAlias = Callable[[list[str]], str | None]


class ResultAttribute(Generic[R, T]):
    """A read-only attribute that is computed from the result of a fit; arrays are read-only, too.

    Parameters
    ----------
    compute : callable
        Computes the value from the result.
    doc : str
    """

    def __init__(self, compute: Callable[[R], T], doc: str) -> None:
        self._compute, self.__doc__ = compute, doc

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, model: None, owner: type) -> Self: ...
    @overload
    def __get__(self, model: object, owner: type) -> T: ...
    def __get__(self, model: Any, owner: type) -> Self | T:
        if model is None:
            return self
        value = self._compute(model._result)
        if isinstance(value, np.ndarray) and value.flags.writeable:
            return cast(T, frozen(value.view()))
        return value

    def __set__(self, model: object, value: object) -> NoReturn:
        raise AttributeError(
            f"{self._name} is a result of the fit and cannot be set; change a copy instead"
        )


class FittedAttribute(ResultAttribute[Fitted, T]):
    """An attribute of PCA."""


def mean_of(fitted: Fitted) -> FloatArray:
    """Column means (p,); an error if they are not known."""
    fitted.require_mean()
    return fitted.mean


def summary_of(fitted: Fitted) -> Moments | Triangle | Columns | Sketch:
    """The summary of the rows, read-only and in memory."""
    summary: Moments | Triangle | Columns | Sketch = fitted.summary.to_host()
    for field in fields(summary):
        if isinstance(value := getattr(summary, field.name), np.ndarray):
            frozen(value)
    return summary


E = TypeVar("E", bound="TableEstimator[Any]")
M = TypeVar("M", bound=FittedModel[Any], covariant=True)


class TableEstimator(Generic[M]):
    """An estimator of tables, with a schema and a result.

    A subclass defines ``__fitted_model__``, which computes scores, and ``_contents``, the contents
    of its model file.
    """

    # A fit sets both, once it has succeeded; a failed fit leaves the previous ones.
    _schema: TableSchema
    _fitted: Any

    # "PC" or "sklearn".
    component_names: str

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        # scikit-learn wraps these methods for set_output, which would load a table of Dask or Spark
        # into memory: the unwrapped method is called for those.
        for name in ("transform", "fit_transform"):
            wrapped = cls.__dict__.get(name)
            if hasattr(wrapped, "__wrapped__"):
                setattr(cls, name, _bypass_output_wrapper(wrapped))

    def __fitted_model__(self) -> M:
        """The fitted model; see :func:`princomp.core.fitted_model`."""
        raise NotImplementedError

    def _contents(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Arrays and a document of plain values, for a model file."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()  # type: ignore[assignment]
        return {**state, "_version": __version__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # A subclass may have a state of its own.
        version = state.get("_version", __version__)
        if version != __version__:
            warn(
                f"this {type(self).__name__} was pickled by version {version} of princomp, and "
                f"this is version {__version__}: it may fail or give wrong results. To keep models "
                "across versions, use model.save(path)"
            )
        known = {name: value for name, value in state.items() if name != "_version"}
        super().__setstate__(known)  # type: ignore[misc]

    # ---- the state of a fit --------------------------------------------------------------

    def _require_fit(self) -> Any:
        """The result of the fit.

        Raises
        ------
        NotFittedError
        """
        if "_fitted" not in self.__dict__:
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with rows "
                "before using it."
            )
        return self._fitted

    @property
    def _result(self) -> Any:
        """The result of the fit, from which attributes are read."""
        return self._require_fit()

    def __sklearn_is_fitted__(self) -> bool:
        return "_fitted" in self.__dict__

    def _open_table(self, X: object, *, first: bool) -> tuple[Rows, TableSchema]:
        """Open the table of a first fit, or one that must have the columns of an earlier fit."""
        if first:
            scale = getattr(self, "scale", None)
            return TableSchema.read(X, type(self).__name__, scale)
        return self._schema.open(X), self._schema

    def _has_no_rows(self, X: object, sample_weight: SampleWeight) -> bool:
        """Whether a table has no rows, after its columns and weights were checked."""
        empty = self._schema.has_no_rows(X)
        if empty:
            checked_weights(sample_weight, 0)
        return empty

    def _warn_of_unequal_columns(self, X: object, describe: _Describe, remedy: str) -> None:
        """Warn if columns with names, which are probably in different units, need scaling.

        ``describe`` returns what is unequal, if anything, and ``remedy`` scales the columns.
        """
        names = self._schema.names
        if names is None or isinstance(X, Source):
            return
        if unequal := describe(list(map(str, names))):
            warn(
                f"the {unequal}; if their units differ, {remedy} gives each column the same weight"
            )

    def _schema_for(self, name: str) -> TableSchema:
        """The schema, for an attribute that only fitted models have."""
        schema: TableSchema | None = self.__dict__.get("_schema")
        if schema is None:
            raise _no_attribute(self, name)
        return schema

    n_components_ = ResultAttribute[Any, int](lambda fit: fit.k, "Number of components.")
    _n_features_out = ResultAttribute[Any, int](lambda fit: fit.k, "Columns of the scores.")

    @property
    def n_features_in_(self) -> int:
        """Number of columns."""
        return self._schema_for("n_features_in_").p

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the columns (p,), if the table had names."""
        names = self._schema_for("feature_names_in_").names
        if names is None:
            raise _no_attribute(self, "feature_names_in_")
        return frozen(np.asarray(names, dtype=object))

    @property
    def id_column_(self) -> str | None:
        """The column with the names of the rows, for a model made by the command line."""
        schema: TableSchema | None = self.__dict__.get("_schema")
        return None if schema is None else schema.id_column

    @id_column_.setter
    def id_column_(self, name: str | None) -> None:
        self._schema = replace(self._schema_for("id_column_"), id_column=name)

    # ---- scores and files ----------------------------------------------------------------

    def _scores(self, X: object) -> Any:
        """Scores of a table whose columns are those of the fit."""
        model = self.__fitted_model__()
        data, _, origin = model.open(X)
        return self._scores_with(model, data, origin)

    def _scores_with(self, model: FittedModel[Any], data: RowData, origin: Origin | None) -> Any:
        """Scores of rows that have been read."""
        if not isinstance(data, DistributedRows):
            return model.scores(data, origin)
        names, frame = self.get_feature_names_out, transform_output(self)
        return model.scores(data, origin, names=lambda: tuple(names()), frame=frame)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the components: PC1, PC2, ….

        With ``component_names="sklearn"`` they are the class name in lower case and a number, as
        in scikit-learn: pca0, pca1, … or kernelpca0, ….

        Parameters
        ----------
        input_features : array of str of shape (p,), optional
            Compared with the names of the columns in the fit. Other names are ignored, since a fit
            leaves out columns without numbers.

        Returns
        -------
        ndarray of str of shape (k,)
        """
        known = self._schema.names if self.__sklearn_is_fitted__() else None
        if known is not None and np.ndim(input_features) == 1:
            input_features = [name for name in input_features if name in known]
        # Implemented by ClassNamePrefixFeaturesOutMixin.
        names: NDArray[Any] = super().get_feature_names_out(input_features)  # type: ignore[misc]
        if self.component_names == "sklearn":
            return names
        return np.array([f"PC{i}" for i in range(1, len(names) + 1)], dtype=object)

    def _training_scores(self, X: object, data: RowData | None, origin: Origin | None) -> Any:
        """Scores of the rows of the fit; a rank may have no rows.

        A source is opened again, so that it is read from its start.
        """
        if data is None:
            return np.empty((0, self._result.k), self._result.dtype)
        if not isinstance(data, Source) or isinstance(data, DistributedRows):
            return self._scores_with(self.__fitted_model__(), data, origin)
        scores = self._scores(X)
        data.file_states()  # raises an error if a file has changed since the fit
        return scores

    def save(self, path: PathLike, *, overwrite: bool = True) -> None:
        """Write the model to a file; :func:`princomp.load` reads it.

        A subclass of your own is saved as the class of princomp that it extends, with a warning. A
        random number generator in ``random_state`` is not kept: it becomes None.

        Raises
        ------
        OutputExistsError
            If the file exists and ``overwrite`` is false.
        OutputError
            If the file cannot be written.
        """
        kind = type(self)
        known = next(base for base in kind.__mro__ if base.__module__.startswith("princomp."))
        if kind is not known:
            warn(
                f"{kind.__name__} is saved as {known.__name__}: load returns a {known.__name__} "
                "without its own parameters and methods. pickle and joblib keep the class"
            )
        write(path, *self._contents(), overwrite=overwrite)


def estimator_from_document(kind: type[E], parameters: Document, p: int, document: Document) -> E:
    """A model with the parameters and the columns of a file, without a result."""
    # A newer minor version may have added parameters, which can be ignored.
    names: list[str] = kind._get_param_names()  # type: ignore[attr-defined]
    model = kind(**{name: parameters[name] for name in names if name in parameters})
    columns = document["columns"]
    known = None if columns is None else tuple(columns)
    na = tuple(document["na"])
    model._schema = TableSchema(p, known, document["id_column"], kind.__name__, na)
    return model


def refuse_reading_twice(X: object) -> None:
    """Refuse an iterator for ``fit_transform``.

    Raises
    ------
    ParameterError
    """
    why = "fit_transform reads the rows twice, and an iterator gives them once"
    refuse_iterator(X, why, "fit_transform")


def check_other_model(other: object, kind: type) -> None:
    """Refuse to merge with anything but an estimator of this kind.

    Raises
    ------
    ParameterError
    """
    if not isinstance(other, kind):
        raise ParameterError(
            f"merge takes a fitted {kind.__name__}, got {class_words(other)}",
            place={"parameter": "other"},
            hint="model.merge(other), or model.partial_fit(rows)",
        )


def _no_attribute(estimator: object, name: str) -> AttributeError:
    return AttributeError(f"{type(estimator).__name__!r} object has no attribute {name!r}")


def transform_output(estimator: object) -> str:
    """Container that ``set_output``, or scikit-learn's configuration, chooses for ``transform``."""
    config: dict[str, str] = estimator.__dict__.get("_sklearn_output_config", {})
    return config.get("transform") or str(get_config()["transform_output"])


def _bypass_output_wrapper(wrapped: Any) -> Any:
    """Replace a method that scikit-learn wraps: call it unwrapped where that makes no frame."""

    @wraps(wrapped)
    def method(self: Any, X: Any, *args: Any, **options: Any) -> Any:
        # With comm, X is not opened here: an error on one rank must be reported to all ranks.
        if transform_output(self) == "default" or (
            options.get("comm") is None and as_distributed(X) is not None
        ):
            return wrapped.__wrapped__(self, X, *args, **options)
        return wrapped(self, X, *args, **options)

    return method
