"""Rows given to a diagnostic, read block by block, centred and scaled as in the fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from princomp.core import (
    FILL_METHODS,
    Fitted,
    check_index,
    checked_weights,
    fitted_model,
)
from princomp.diagnostics.models import axes_of, fitted_of
from princomp.diagnostics.tables import Contents, checked_frame, frame_of, short_dates, table
from princomp.engines import DistributedRows
from princomp.errors import ColumnError, ParameterError, ShapeError, invalid_value
from princomp.estimators import PCA, TableEstimator
from princomp.io import Origin, RowArray, Source, TableInput, frame_origin, has_index_name, is_file
from princomp.linalg import FloatArray, part_of, slices
from princomp.summaries import SampleWeight, Weights, as_dense, check_weights, slice_weights

# Numbers that are centred at a time, so that the copy stays in the cache.
_CHUNK_NUMBERS = 2**17


class Block(NamedTuple):
    """Consecutive rows in float64, centred and scaled as in the fit.

    ``filled`` marks the cells (m, p) that were missing, if the model fills them; None if none were.
    """

    start: int
    rows: FloatArray
    ids: NDArray[Any]
    weights: Weights
    filled: NDArray[np.bool_] | None = None

    @property
    def n_filled(self) -> NDArray[np.intp]:
        """Number of filled cells of each row (m,)."""
        if self.filled is None:
            return np.zeros(len(self.rows), dtype=np.intp)
        return np.asarray(self.filled.sum(axis=1))


@dataclass(eq=False)
class RowReader:
    """Rows to be read block by block, with their names, and the kind of table to return.

    Parameters
    ----------
    model : PCA
        Or another model, if :meth:`blocks` is not used.
    data : ndarray, CSR array or Source
    origin : Origin, optional
        Where the rows come from, for messages.
    ids : ndarray of shape (n,), optional
        Names of the rows, if they are in memory.
    index : pandas index, optional
    frame : str
        Kind of table to return.
    weights : ndarray of shape (n,), optional
    """

    model: TableEstimator[Any]
    data: Any
    origin: Origin | None
    ids: NDArray[Any] | None
    index: Any
    frame: str
    weights: Weights

    @classmethod
    def open(
        cls,
        model: TableEstimator[Any],
        X: object,
        weights: SampleWeight = None,
        ids: Iterable[object] | None = None,
        frame: str | None = None,
    ) -> RowReader:
        """Open rows and compare their columns with those of the fit.

        Parameters
        ----------
        model : PCA, RobustPCA or KernelPCA
        X : as for ``PCA.transform``
        weights : array of shape (n,), optional
        ids : str or sequence of length n, optional
            Names of the rows: a column of the frame or file, or the names themselves.
        frame : str, optional
            Kind of table to return.

        Raises
        ------
        NotAvailableError, ParameterError, ShapeError, ColumnError
        """
        if isinstance(model, PCA):
            fitted_of(model).require_mean()
        check_index(X, weights)
        check_index(X, ids, "ids")
        column = ids if isinstance(ids, str) else None
        wrapped = frame_of(X)
        kind = index = names = None
        if wrapped is not None:
            kind = str(wrapped.implementation.value)
            id_column = model.id_column_ or _index_column(model, wrapped)
            X, names = split_ids(model, wrapped, column, id_column)
            index = getattr(X, "index", None) if kind == "pandas" else None
        elif is_file(X):
            X = _open_files(model, X, column or model.id_column_)
        elif column is not None:
            raise _no_id_column(column)
        data, _, origin = fitted_model(model).open(X)
        # Rows on a device are brought here or refused as they are read.
        if isinstance(data, DistributedRows) and not (data.has_chunks or data.resident):
            raise ParameterError(
                f"rows of {data.engine} cannot be read block by block",
                place={"parameter": "X"},
                hint="give them as an array in memory, as a file or in batches",
            )
        n = data.shape[0]
        if isinstance(X, Source) and not isinstance(data, Source):  # a small file, read whole
            names = getattr(X, "ids", None)
        if ids is not None and column is None:
            names = _object_array(ids)
            if n is not None and len(names) != n:
                raise _wrong_id_count(len(names), n)
        elif names is None and index is not None:
            # With a missing one, pandas would make integers float64, which merges large ones.
            names = index.to_numpy(object if index.dtype.kind in "iu" and index.hasnans else None)
        weights = checked_weights(weights, n)
        frame = checked_frame(frame, model, kind)
        if frame == "listing" and names is not None:
            names = short_dates(names)
        return cls(model, data, origin, names, index, frame, weights)

    @property
    def fitted(self) -> Fitted:
        """The result of the fit."""
        return fitted_of(self.model)

    @property
    def fills(self) -> bool:
        """Whether the model fills missing cells."""
        return fitted_model(self.model).missing in FILL_METHODS

    def blocks(self) -> Iterator[Block]:
        """Iterate over all rows in order.

        Missing values stay NaN under ``missing="drop"``, and are filled under ``"em"`` and
        ``"nipals"``.

        Raises
        ------
        NotFiniteError, ShapeError
        """
        first, step = 0, max(1, _CHUNK_NUMBERS // self.fitted.p)
        for chunk, names in self.chunks():
            for part in slices(chunk.shape[0], step):
                rows, filled = self._centred_block(chunk[part], first)
                stop = first + len(rows)
                ids = self._ids(part_of(names, part), first, stop)
                yield Block(first, rows, ids, slice_weights(self.weights, first, stop), filled)
                first = stop
        check_weights(self.weights, first)

    def collect(self, measure: Callable[[Block], tuple[NDArray[Any], ...]]) -> list[NDArray[Any]]:
        """Concatenate the arrays that ``measure`` returns for each block."""
        parts = [measure(block) for block in self.blocks()]
        return [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]

    def chunks(self) -> Iterator[tuple[Any, NDArray[Any] | None]]:
        """Iterate over the rows as given, with their names if the source provides them.

        Raises
        ------
        ShapeError
            If the number of ids differs from the number of rows.
        """
        if not isinstance(self.data, Source):
            yield self.data, None
            return
        count, chunks = 0, self.data.checked_chunks()
        for chunk in chunks:
            count += chunk.data.shape[0]
            if self.ids is not None and count > len(self.ids):
                # Count the other rows for the message.
                count += sum(further.data.shape[0] for further in chunks)
                break
            yield chunk.data, chunk.ids
        if self.ids is not None and len(self.ids) != count:
            raise _wrong_id_count(len(self.ids), count)

    def collect_chunks(
        self, measure: Callable[[Any, int], tuple[NDArray[Any], ...]]
    ) -> list[NDArray[Any]]:
        """Concatenate the names and the arrays of ``measure(chunk, start)`` over all chunks."""
        parts, start = [], 0
        for chunk, names in self.chunks():
            stop = start + chunk.shape[0]
            parts.append((self._ids(names, start, stop), *measure(chunk, start)))
            start = stop
        return [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]

    def _ids(self, names: NDArray[Any] | None, start: int, stop: int) -> NDArray[Any]:
        """Names of some rows: those in memory, those from the source, or numbers."""
        if self.ids is not None:
            return self.ids[start:stop]
        if names is None:
            return np.arange(start, stop)
        return short_dates(names) if self.frame == "listing" else names

    def scores(self, indices: NDArray[np.intp]) -> list[NDArray[Any]]:
        """Return the names of all rows, and their scores (n, c), never whitened."""
        axes = axes_of(self.fitted, indices)
        return self.collect(lambda block: (block.ids, block.rows @ axes))

    def table(self, contents: Contents, *, by_row: bool = True) -> Any:
        """Make a table of results; ``by_row`` gives it the index of X, row by row."""
        return table(contents, self.frame, self.index if by_row else None)

    def _centred_block(self, part: Any, first: int) -> tuple[FloatArray, NDArray[np.bool_] | None]:
        """Return rows centred and scaled; check values that are not finite, or fill them.

        The second result marks filled cells.
        """
        rows = centred_and_scaled(self.fitted, part)
        if np.isfinite(rows).all():
            return rows, None
        model = fitted_model(self.model)
        if isinstance(self.data, Source):
            model.check_finite(part, self.data, first, self.origin)
        elif model.missing == "error" or np.isinf(rows).any():
            model.check_finite(self.data, self.data, 0, self.origin)
        if not self.fills:
            return rows, None
        dense = as_dense(part)
        missing = np.isnan(dense)
        missing[missing.all(axis=1)] = False  # such rows stay empty
        return centred_and_scaled(self.fitted, model.fill(dense)), missing


def centred_and_scaled(fitted: Fitted, part: RowArray) -> FloatArray:
    """Return rows in float64, centred and scaled as in the fit."""
    with np.errstate(all="ignore"):  # the caller checks what is not finite
        rows: FloatArray = (as_dense(part).astype(np.float64) - fitted.mean) - fitted.mean_low
        if fitted.scale is not None:
            rows /= fitted.scale
    return rows


def split_ids(
    model: TableEstimator[Any], frame: nw.DataFrame[Any], column: str | None, id_column: str | None
) -> tuple[Any, NDArray[Any] | None]:
    """Split off the column with the names of the rows: ``column``, or the model's id column.

    A column that the fit analysed also stays in the frame.
    """
    labels = {str(label): label for label in frame.columns}
    if column is not None and column not in labels:
        raise _no_id_column(column)
    name = column or (id_column if id_column in labels else None)
    if name is None:
        return frame.to_native(), None
    names = _object_array(frame.get_column(labels[name]).to_list())
    kept = frame if name in (fitted_model(model).schema.names or ()) else frame.drop([labels[name]])
    return kept.to_native(), names


def _index_column(model: TableEstimator[Any], frame: nw.DataFrame[Any]) -> str | None:
    """Return the first column if it is called "id" or the like, and names the rows.

    Fits leave such a column out. It does not name the rows if the fit analysed it, or if the frame
    has an index with names.
    """
    if not frame.columns or frame_origin(frame.to_native()).label_of:
        return None
    first = frame.columns[0]
    analysed = fitted_model(model).schema.names or [first]
    return first if has_index_name(first) and first not in analysed else None


def _open_files(model: TableEstimator[Any], X: object, id_column: str | None) -> Source:
    """Open files with the columns of the fit, and with names of their rows, if any."""
    table = X if isinstance(X, TableInput) else TableInput(X)
    if id_column is not None:
        table = table.with_id_column(id_column)
    return table.open(fitted_model(model).schema.names)


def _object_array(values: object) -> NDArray[Any]:
    if not np.iterable(values):
        expected = "the name of a column, or a sequence with one name for each row"
        raise invalid_value("ids", values, expected, "None numbers the rows")
    return np.fromiter(values, dtype=object)


def _wrong_id_count(count: int, n: int) -> ShapeError:
    return ShapeError(
        f"{count} ids were given for {n} rows",
        place={"parameter": "ids"},
        hint="give one id for each row",
    )


def _no_id_column(column: str) -> ColumnError:
    return ColumnError(
        f"there is no column {column!r} to name the rows",
        place={"parameter": "ids", "column": column},
        hint="ids is a column of the frame or file, or a sequence with one name for each row",
    )
