"""What a person hands to the estimator: rows, column names to compare, weights."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from functools import wraps
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.utils.validation import validate_data

from princomp.engines.recognised import distributed
from princomp.errors import ColumnError, ParameterError, ShapeError
from princomp.sources.any import Rows, is_file, is_plain, rows_of
from princomp.sources.frames import column_names, is_frame
from princomp.sources.memory import as_rows, labels_of_floats
from princomp.sources.source import Source
from princomp.summaries.blocks import Weights

__all__ = ["TableInput", "blocks_of", "checked_weights", "opened", "output_wanted", "with_weights"]


class TableInput:
    """The part of an estimator that takes tables and remembers their columns."""

    n_features_in_: int

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        # What scikit-learn wraps to make frames of it would bring an engine's table here.
        for name in ("transform", "fit_transform"):
            wrapped = cls.__dict__.get(name)
            if hasattr(wrapped, "__wrapped__"):
                setattr(cls, name, _lazily(wrapped))

    def _rows(self, X: Any, *, reset: bool) -> Rows:
        """Rows to compute with, after their columns were compared with those of the fit."""
        data: Any
        if is_plain(X):
            data, columns, file = as_rows(X), None, None
        elif (labels := labels_of_floats(X)) is not None:
            data, columns, file = as_rows(X.to_numpy()), labels or None, None
            known = self.__dict__.get("feature_names_in_")
            if labels and not reset and (known is None or labels != tuple(known)):
                self._check_names(X, reset)
        elif (rows := distributed(X)) is not None:
            data, columns, file = rows, rows.columns, None
            self._check_labels(columns, reset)
        elif type(X) is not list and is_frame(X):
            self._check_names(X, reset)
            return rows_of(X)
        else:
            known = None
            if not reset and (is_file(X) or callable(X) or isinstance(X, Iterator)):
                known = self.__dict__.get("feature_names_in_")
            data, columns, file = rows_of(X, columns=None if known is None else list(known))
        self._check_columns(data.shape[1], reset)
        if not reset and columns is None and "feature_names_in_" in self.__dict__:
            warnings.warn(
                f"X does not have valid feature names, but {type(self).__name__} was fitted with "
                "feature names",
                UserWarning,
                stacklevel=4,
            )
        if reset and columns is not None:
            self.feature_names_in_ = np.asarray(columns, dtype=object)
        return data, columns, file

    def _has_no_rows(self, X: Any, *, reset: bool) -> bool:
        """Whether X is a table of columns without a row, after its columns were compared."""
        shape = getattr(X, "shape", None)
        # The rows of an engine's table may be unknown, and are not counted for this.
        if type(X) is list or not (isinstance(shape, tuple) and len(shape) == 2 and shape[1]):
            return False
        if not (isinstance(shape[0], int) and shape[0] == 0):
            return False
        if is_frame(X):
            self._check_names(X, reset)
        else:
            self._check_columns(shape[1], reset)
        return True

    def _check_labels(self, columns: tuple[str, ...] | None, reset: bool) -> None:
        """Compare the column names of rows that are not here with those of the fit."""
        known = self.__dict__.get("feature_names_in_")
        if reset or columns is None or known is None or columns == tuple(map(str, known)):
            return
        raise _other_columns("The feature names are not those of the fit", known, columns)

    def _check_names(self, frame: Any, reset: bool) -> None:
        """Remember, or compare, the names of a frame's columns as scikit-learn does."""
        try:
            validate_data(self, frame, reset=reset, skip_check_array=True)
        except ValueError as error:
            known = [str(name) for name in self.__dict__.get("feature_names_in_", ())]
            try:
                given = column_names(frame)
            except ValueError:  # a name that stands twice
                rows_of(frame)  # says which
                raise
            raise _other_columns(str(error).strip(), known, given) from None

    def _check_same_columns(self, other: Any) -> None:
        """Refuse another fit whose columns are not these, in this order."""
        mine, theirs = (m.__dict__.get("feature_names_in_") for m in (self, other))
        self._check_columns(other.n_features_in_, False)
        if mine is None or theirs is None or list(map(str, mine)) == list(map(str, theirs)):
            return
        missing, new = _only_in(mine, theirs), _only_in(theirs, mine)
        what = f"missing: {', '.join(missing)}; new: {', '.join(new)}" if missing else "their order"
        raise ColumnError(
            f"the columns of the two fits differ: {what}",
            place={"missing": missing, "new": new},
            hint="fit the same columns in the same order (columns=, --columns)",
        )

    def _check_columns(self, p: int, reset: bool) -> None:
        if reset:
            self.n_features_in_ = p
            self.__dict__.pop("feature_names_in_", None)
        elif p != self.n_features_in_:
            raise ShapeError(
                f"X has {p} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input",
                hint="give the columns that the model was fitted to, in their order",
            )


def _lazily(wrapped: Any) -> Any:
    """A method that scikit-learn wraps, unwrapped for the tables of engines."""

    @wraps(wrapped)
    def method(self: Any, X: Any, *args: Any, **options: Any) -> Any:
        # With comm, what is wrong with the rows of one rank must be told to all: not here.
        away = None if options.get("comm") is not None else distributed(X)
        chosen = wrapped if away is None else wrapped.__wrapped__
        return chosen(self, X, *args, **options)

    return method


def output_wanted(estimator: Any) -> str:
    """What ``set_output``, or scikit-learn's configuration, says of ``transform``."""
    own: dict[str, str] = estimator.__dict__.get("_sklearn_output_config", {})
    return own.get("transform") or str(get_config()["transform_output"])


def opened(X: Any) -> Rows:
    """Rows of whatever a person hands over, an engine's tables included."""
    rows = distributed(X)
    return rows_of(X) if rows is None else (rows, rows.columns, None)


def _other_columns(message: str, known: Iterable[Any], given: Iterable[str]) -> ColumnError:
    """The error for columns that are not those of the fit, in their order."""
    known, given = list(map(str, known)), list(given)
    missing, new = _only_in(known, given), _only_in(given, known)
    told = [
        f"{what}: {', '.join(map(repr, names))}"
        for what, names in (("missing", missing), ("new", new))
        if names
    ]
    return ColumnError(
        message,
        place={"missing": missing, "new": new},
        hint="; ".join([*told, "give the columns of the fit, in their order"]),
    )


def _only_in(names: Iterable[Any], others: Iterable[Any]) -> list[str]:
    """The names that are not among the others, in their order."""
    known = set(map(str, others))
    return [name for name in map(str, names) if name not in known]


def with_weights(X: Any, sample_weight: Any, *, by_chunks: bool = False) -> tuple[Any, Any]:
    """A table, and the weights that are still to be lined up with its rows.

    An engine's rows carry their weights, which may be one of their columns; then None is left.
    Where chunks of rows are brought here one by one (``by_chunks``), weights in an array are cut
    along with them instead.
    """
    away = None if sample_weight is None else distributed(X)
    if away is None or (by_chunks and not away.together and not isinstance(sample_weight, str)):
        return X, sample_weight
    return away.weighted(sample_weight), None


def checked_weights(sample_weight: Any, n: int | None) -> Weights:
    """Frequencies (n,), or None where every row counts once; any length where n is None.

    Raises
    ------
    ShapeError, ParameterError
        With the first weight that is none.
    """
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, dtype=np.float64)
    place = {"parameter": "sample_weight"}
    if n is None:
        n = weights.size
        if weights.ndim == 0:
            raise ShapeError(
                "sample_weight is one number, and the number of rows is not known before they "
                "are read",
                place=place,
                hint="one weight for all changes nothing but the divisor: leave it out",
            )
    if weights.ndim == 0:
        weights = np.full(n, float(weights))
    if weights.shape != (n,):
        raise ShapeError(
            f"Sample weights must be 1D array or scalar: sample_weight has shape {weights.shape}, "
            f"and there are {n} rows",
            place=place,
            hint=f"give one weight a row: an array of shape ({n},)",
        )
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if wrong.size:
        raise ParameterError(
            f"Negative values, NaN or infinity in sample_weight: sample_weight[{wrong[0]}] is "
            f"{weights[wrong[0]]:g}",
            place={**place, "row": int(wrong[0])},
            hint="weights are frequencies: finite and not below 0",
        )
    return weights


def blocks_of(data: Any) -> Iterator[Any]:
    """Rows in memory as they are; those of a source chunk by chunk."""
    if isinstance(data, Source):
        for chunk in data.chunks():
            yield chunk.data
    else:
        yield data
