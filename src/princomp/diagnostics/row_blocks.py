"""The rows that a person gives to a diagnostic, block by block as the model sees them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from princomp.arrays import FloatArray
from princomp.diagnostics.given import axes_of, state_of
from princomp.diagnostics.tables import frame_of
from princomp.engines.distributed import Distributed
from princomp.errors import ColumnError, ParameterError, PrincompError, ShapeError
from princomp.estimator import PCA
from princomp.fitted import Fitted
from princomp.inputs import checked_weights
from princomp.sources.any import is_file
from princomp.sources.source import Source
from princomp.summaries.blocks import Weights, check_weights, part_of

__all__ = ["Block", "Given", "without_ids"]

# Numbers of a table that are centred at a time: the copy stays in the cache.
_CHUNK_NUMBERS = 2**17


def _as_weights(weights: Any, n: int | None) -> Weights:
    """Frequencies (n,), or None where every row counts once."""
    try:
        return checked_weights(weights, n)
    except PrincompError as error:
        raise _of_weights(error) from None


def _of_weights(error: PrincompError) -> PrincompError:
    """The same error under the name that diagnostics give the argument."""
    message = error.message.replace("sample_weight", "weights")
    place = {**error.place, "parameter": "weights"}
    return type(error)(message, place=place, hint=error.hint)


class Block(NamedTuple):
    """Some consecutive rows, centred and scaled as the model does it, in float64."""

    start: int
    rows: FloatArray
    ids: Any
    weights: Weights


@dataclass(eq=False)
class Given:
    """Rows to be read block by block, and what their table calls them.

    Parameters
    ----------
    model : PCA
        Or another model, where :meth:`blocks` is not asked for.
    data : ndarray, CSR array or Source
    file : str, optional
    ids : ndarray of shape (n,), optional
        Names of the rows, where they are in memory.
    index : pandas index, optional
    kind : str, optional
        Of the frame they came in.
    weights : ndarray of shape (n,), optional
    """

    model: Any
    data: Any
    file: str | None
    ids: Any
    index: Any
    kind: str | None
    weights: Weights

    @classmethod
    def of(cls, model: PCA, X: Any, weights: Any = None, ids: Any = None) -> Given:
        """Open rows and compare their columns with those of the fit.

        Parameters
        ----------
        model : PCA
        X : as for ``PCA.transform``
        weights : array of shape (n,), optional
        ids : str or sequence of length n, optional
            Names of the rows: a column of the frame or file, or the names themselves.

        Raises
        ------
        NotAvailableError, ParameterError, ShapeError, ColumnError
        """
        state_of(model)._need_mean()
        return cls.opened(model, X, weights, ids)

    @classmethod
    def opened(cls, model: Any, X: Any, weights: Any = None, ids: Any = None) -> Given:
        """The same for a model of any kind that takes tables."""
        column = ids if isinstance(ids, str) else None
        frame = frame_of(X)
        kind = index = names = None
        if frame is not None:
            kind = str(frame.implementation.value)
            X, names = without_ids(frame, column, model.id_column_)
            index = getattr(X, "index", None) if kind == "pandas" else None
        elif is_file(X):
            X = _opened(model, X, column or model.id_column_)
        elif column is not None:
            raise _no_such_ids(column)
        data, _, file = model._rows(X, reset=False)
        if isinstance(data, Distributed) and data.together:
            raise ParameterError(
                f"rows of {data.engine} are not read block by block",
                place={"parameter": "X"},
                hint="give them as an array in memory, as a file or in batches",
            )
        n = data.shape[0]
        if isinstance(X, Source) and not isinstance(data, Source):
            table = getattr(X, "table", None)  # a small file, read whole
            names = None if table is None else table.ids
        if ids is not None and column is None:
            names = _given_ids(ids, n)
        elif names is None and index is not None:
            names = index.to_numpy()
        return cls(model, data, file, names, index, kind, _as_weights(weights, n))

    def blocks(self) -> Iterator[Block]:
        """All rows in order; a missing value is refused with its place.

        Under ``missing="drop"`` it stays NaN, under the methods that fill cells it is filled.

        Raises
        ------
        NotFiniteError, ShapeError
        """
        fitted, at = self.model._state, 0
        for chunk, names in self.chunks():
            step = max(1, _CHUNK_NUMBERS // fitted.p)
            for start in range(0, chunk.shape[0], step):
                part = chunk[start : start + step]
                first, stop = at + start, at + start + part.shape[0]
                rows = _analysed(fitted, part)
                if not np.isfinite(rows).all():
                    self._check(part, first)
                    rows = _analysed(fitted, self.model._with_cells(part))
                ids = self.ids if names is None else names
                begin = first if names is None else start
                yield Block(
                    first,
                    rows,
                    np.arange(first, stop) if ids is None else ids[begin : begin + len(rows)],
                    self._part(first, stop),
                )
            at += chunk.shape[0]
        try:
            check_weights(self.weights, at)
        except ShapeError as error:
            raise _of_weights(error) from None
        if self.ids is not None and len(self.ids) != at:
            raise _unequal_ids(len(self.ids), at)

    def chunks(self) -> Iterator[tuple[Any, Any]]:
        """Rows as they came, and their names where these come with them."""
        if isinstance(self.data, Source):
            for chunk in self.data.chunks():
                yield chunk.data, chunk.ids
        else:
            yield self.data, None

    def _part(self, start: int, stop: int) -> Weights:
        try:
            return part_of(self.weights, start, stop)
        except ShapeError as error:
            raise _of_weights(error) from None

    def _check(self, part: Any, first: int) -> None:
        """Refuse what is not finite, with its place in the whole."""
        values = part.data if sp.issparse(part) else part
        if isinstance(self.data, Source):
            self.model._check_finite(part, self.data, first, self.file)
        elif self.model.missing == "error" or np.isinf(values).any():
            self.model._check_finite(self.data, self.data, 0, self.file)

    def scores(self, at: Any = None) -> FloatArray:
        """Scores of all rows (n, c), never whitened."""
        axes = axes_of(self.model._state, at)
        return np.concatenate([block.rows @ axes for block in self.blocks()])


def _analysed(fitted: Fitted, part: Any) -> FloatArray:
    dense = part.toarray() if sp.issparse(part) else part
    with np.errstate(all="ignore"):  # what is not finite is looked at by the caller
        rows: FloatArray = (dense.astype(np.float64) - fitted.mean) - fitted.mean_low
        if fitted.scale is not None:
            rows /= fitted.scale
    return rows


def without_ids(frame: Any, column: str | None, known: str | None) -> tuple[Any, Any]:
    """A frame without the column that names its rows, and that column."""
    labels = {str(label): label for label in frame.columns}
    if column is not None and column not in labels:
        raise _no_such_ids(column)
    name = column or (known if known in labels else None)
    if name is None:
        return frame.to_native(), None
    names = np.empty(len(frame), dtype=object)
    names[:] = frame.get_column(labels[name]).to_list()
    return frame.drop([labels[name]]).to_native(), names


def _opened(model: Any, X: Any, id_column: str | None) -> Any:
    """Files with their ids, in the columns of the fit; the path where there are no ids."""
    if id_column is None:
        return X
    from princomp.sources.files import open_files

    known = model.__dict__.get("feature_names_in_")
    columns = None if known is None else [str(name) for name in known]
    paths = X if isinstance(X, list | tuple) else [X]
    return open_files(paths, columns=columns, id_column=id_column)


def _given_ids(ids: Any, n: int | None) -> Any:
    values = list(ids)
    names = np.empty(len(values), dtype=object)
    names[:] = values
    if n is not None and len(names) != n:
        raise _unequal_ids(len(names), n)
    return names


def _unequal_ids(given: int, n: int) -> ShapeError:
    return ShapeError(
        f"{given} ids do not fit {n} rows", place={"parameter": "ids"}, hint="give one id a row"
    )


def _no_such_ids(column: str) -> ColumnError:
    return ColumnError(
        f"there is no column {column!r} to name the rows",
        place={"parameter": "ids", "column": column},
        hint="ids is a column of the frame or file, or a sequence of one name a row",
    )
