"""A fit together with the schema of its table: scores of rows of any origin, and back."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np

from princomp.core.fitted import Fitted
from princomp.core.missing.filled import FILL_METHODS
from princomp.core.missing.methods import fill_new_rows
from princomp.core.request import PCAParameters
from princomp.core.schema import TableSchema, map_blocks, open_rows, open_scores
from princomp.engines import DistributedRows
from princomp.errors import (
    ColumnError,
    NotFiniteError,
    ShapeError,
    row_words,
    scores_overflow,
    warn,
)
from princomp.io import Origin, RowArray, RowData, Rows, Source, listed, not_finite_error
from princomp.linalg import EPS, FloatArray, slices
from princomp.summaries import (
    as_dense,
    column_name,
    first_not_finite,
    is_sparse,
    rows_without_nan,
    stored_values,
)

M = TypeVar("M", covariant=True)

# Numbers of sparse rows that are made dense at a time.
_DENSE_NUMBERS = 2**22

_FILL_HINT = (
    "fill them, or fit a PCA or KernelPCA with missing='em' or missing='nipals', which does; with "
    "missing='drop' such rows get empty scores"
)

_DEVICE_HINT = (
    "fill them, or give the rows in the host's memory, where missing='em' and "
    "missing='nipals' fill them; with missing='drop' such rows get empty scores"
)


class Result(Protocol):
    """The result of a fit."""

    @property
    def k(self) -> int:
        """Number of components."""

    @property
    def n_samples(self) -> int | None:
        """Number of rows of the fit; None if it is not known."""


R = TypeVar("R", bound=Result)


@dataclass(frozen=True, eq=False)
class FittedModel(ABC, Generic[R]):
    """What an estimator has found, and how it reads and scores rows.

    Parameters
    ----------
    result : object
        The result of the fit: for a PCA, a :class:`~princomp.core.fitted.Fitted`.
    schema : TableSchema
        The columns of the table.
    """

    result: R
    schema: TableSchema

    # What to do about cells that are not finite.
    _cell_hint: ClassVar[str] = _FILL_HINT

    def __fitted_model__(self) -> Self:
        return self

    @property
    def k(self) -> int:
        """Number of components."""
        return self.result.k

    @property
    def n_samples(self) -> int | None:
        """Number of rows of the fit; None if it is not known."""
        return self.result.n_samples

    @property
    @abstractmethod
    def missing(self) -> str:
        """How missing cells are treated: ``"error"``, ``"drop"`` or a method that fills them."""

    @abstractmethod
    def block_scores(self, rows: RowArray) -> FloatArray:
        """Scores of rows in memory, without a check for NaN and infinity."""

    def open(self, X: object) -> Rows:
        """Open a table whose columns are those of the fit, as ``TableSchema.open`` does."""
        try:
            return self.schema.open(X)
        except ColumnError as error:
            lacks = error.place.get("missing") and not error.place.get("new")
            if lacks and self.missing in FILL_METHODS and hasattr(X, "reindex"):
                advice = "or leave the absent ones empty: X.reindex(columns="
                error.hint = f"{error.hint}, {advice}model.feature_names_in_)"
            raise

    @abstractmethod
    def engine_scores(self, data: DistributedRows) -> Any:
        """Scores of resident rows, which the engine multiplies as a whole."""

    def scores(
        self,
        data: RowData,
        origin: Origin | None = None,
        *,
        names: Callable[[], tuple[str, ...]] | None = None,
        frame: str = "default",
    ) -> Any:
        """Scores of all rows, whose columns have been compared with the schema.

        Parameters
        ----------
        data : ndarray, CSR array or Source of shape (n, p)
        origin : Origin, optional
            Where the rows come from, for messages.
        names, frame : optional
            A function that returns the names of the components, and the kind of frame to return,
            for rows on an engine.
        """
        if not isinstance(data, Source):
            return self.chunk_scores(data, data, 0, origin)
        if isinstance(data, DistributedRows):
            if data.resident:
                return self.engine_scores(data)
            assert names is not None
            mapped = data.with_output(frame)
            return mapped.map_rows(self.for_scoring().array_scores, names(), data.dtype)
        return map_blocks(data, lambda rows, first: self.chunk_scores(rows, data, first, origin))

    def chunk_scores(
        self, rows: RowArray, data: RowData, first: int, origin: Origin | None = None
    ) -> FloatArray:
        """Scores of some rows of ``data``; ``first`` is the number of the first one."""
        scores = self.block_scores(rows)
        # A sum of squares is quick. It may also overflow for finite scores: the checks are exact.
        if not math.isfinite(np.vdot(scores, scores)) or not scores.shape[1]:
            self.check_finite(rows, data, first, origin)
            self._check_overflow(scores, first)
        return scores

    def array_scores(self, rows: RowArray) -> FloatArray:
        """Scores of rows that form a table of their own."""
        return self.chunk_scores(rows, rows, 0)

    def for_scoring(self) -> Self:
        """Return the model with only what scores and reconstructions need."""
        return self

    def check_finite(
        self, rows: RowArray, data: RowData, first: int, origin: Origin | None = None
    ) -> None:
        """Refuse infinity in some rows of ``data``, and NaN if the model does not accept it.

        Raises
        ------
        NotFiniteError
            With the place in the whole table.
        """
        values = stored_values(rows)
        accepts_nan = self.missing != "error"
        if (~np.isinf(values) if accepts_nan else np.isfinite(values)).all():
            return
        refused = rows
        if accepts_nan:
            refused = rows.copy()
            cells = stored_values(refused)
            cells[np.isnan(cells)] = 0.0
        error, columns = first_not_finite(refused), self.schema.names
        error.place["row"] += first
        table = data if isinstance(data, Source) else rows
        raise not_finite_error(table, error, columns=columns, origin=origin, hint=self._cell_hint)

    def check_scores(self, scores: FloatArray, first: int) -> None:
        """Refuse scores (n, k) of another shape, and infinite ones, which no row has.

        Raises
        ------
        ShapeError, NotFiniteError
        """
        self._check_shape(scores.shape)
        infinite = np.isinf(scores)
        if infinite.any():
            row, column = np.argwhere(infinite)[0].tolist()
            raise NotFiniteError(
                f"score {column} of {row_words(first + row)} is {scores[row, column]}",
                place={"row": first + row, "column": column},
                hint="remove rows whose scores are infinite",
            )

    def _check_shape(self, shape: tuple[Any, ...]) -> None:
        k = self.result.k
        if len(shape) != 2 or shape[1] != k:
            raise ShapeError(
                f"scores have shape {shape}, and the model has {k} components",
                hint=f"give an array of shape (n, {k})",
            )

    def _check_overflow(self, scores: FloatArray, first: int) -> None:
        """Refuse scores that are not finite although the rows are."""
        # If missing cells are accepted, the scores of such rows may be NaN.
        overflowed = ~np.isfinite(scores) if self.missing == "error" else np.isinf(scores)
        if not overflowed.any():
            return
        raise scores_overflow(first + int(np.argmax(overflowed.any(axis=1))), scores.dtype)


@dataclass(frozen=True, eq=False)
class PCAModel(FittedModel[Fitted]):
    """A fitted PCA: its result, the columns of its table, and its parameters."""

    parameters: PCAParameters

    @property
    def missing(self) -> str:
        """The parameter ``missing``."""
        return self.parameters.missing

    def scores(self, data: RowData, origin: Origin | None = None, **options: Any) -> Any:
        """Scores of all rows, with a warning if whitened ones leave out columns."""
        if self.parameters.whiten:
            self.warn_of_columns_left_out("whitened scores", self.k)
        return super().scores(data, origin, **options)

    def warn_of_columns_left_out(self, results: str, directions: int) -> None:
        """Warn if ``results`` of the first ``directions`` components leave out columns that vary.

        ``results`` is a noun in the plural for the message: "densities".
        """
        spectrum, variances = self.result.spectrum, self.result.variances_left_out(directions)
        columns = np.flatnonzero(variances)
        if not columns.size:
            return
        names = listed([repr(column_name(self.schema.names, column)) for column in columns])
        words = ("column", "its variance is", "it")
        if columns.size > 1:
            words = ("columns", "their variances are", "them")
        advice = "scale='unit'" if self.result.centred else "center=True and scale='unit'"
        # A solver that works on the rows may resolve them.
        finest = spectrum.largest * (self.result.p * EPS) ** 2
        if spectrum.squared and variances[columns].min() > finest:
            advice += ", or with svd_solver='full',"
        warn(
            f"{results} leave out {words[0]} {names}: {words[1]} below the resolution of the fit. "
            f"A PCA with {advice} keeps {words[2]}"
        )

    def fill(self, rows: RowArray) -> Any:
        """The rows, or a copy with missing cells filled if the fit filled its own."""
        if self.missing not in FILL_METHODS or is_sparse(rows):
            return rows
        return fill_new_rows(rows, self.result, self.missing)

    def block_scores(self, rows: RowArray) -> FloatArray:
        """Scores of rows in memory, without a check for NaN and infinity."""
        if self.missing in FILL_METHODS:
            return self._filled_scores(rows)
        return self.result.scores(rows, whiten=self.parameters.whiten)

    def _filled_scores(self, rows: RowArray) -> FloatArray:
        """Scores of rows whose missing cells are filled; incomplete sparse rows are made dense."""
        scores = self.result.scores(self.fill(rows), whiten=self.parameters.whiten)
        if is_sparse(rows):
            incomplete = np.flatnonzero(~rows_without_nan(rows))
            for part in slices(len(incomplete), max(1, _DENSE_NUMBERS // rows.shape[1])):
                some = incomplete[part]
                scores[some] = self.block_scores(rows[some].toarray())
        return scores

    def engine_scores(self, data: DistributedRows) -> Any:
        """Scores of resident rows, which the engine multiplies as a whole."""
        whiten, drop = self.parameters.whiten, self.missing == "drop"
        try:
            return data.scores(self.result, whiten=whiten, drop=drop)
        except NotFiniteError as error:
            names = self.schema.names
            raise not_finite_error(data, error, columns=names, hint=_DEVICE_HINT) from None

    def for_scoring(self) -> PCAModel:
        """Return the model with only what scores and reconstructions need."""
        return replace(self, result=self.result.for_scoring())

    def reconstructions(self, X: object, names: Callable[[], Iterable[str]]) -> Any:
        """Rows (n, p) in the units of the data from scores (n, k) of any origin.

        ``names`` returns those of the scores, which are sought in a frame of Spark.
        """
        scores = open_scores(X, lambda table: open_rows(table, tuple(names())))
        if isinstance(scores, DistributedRows):
            self._check_shape((scores.rows or "n", scores.p))
            if scores.resident:
                return scores.reconstructed(self.result, whiten=self.parameters.whiten)
            columns = self.schema.text_names() if self.schema.names is None else self.schema.names
            return scores.map_rows(self.for_scoring().reconstruct, columns, scores.dtype)
        return map_blocks(scores, self.reconstruct)

    def reconstruct(self, scores: RowArray, first: int = 0) -> FloatArray:
        """Rows (n, p) in the units of the data from scores (n, k) in memory.

        ``first`` is the number of the first row, for messages.

        Raises
        ------
        ShapeError, NotFiniteError
        """
        scores = as_dense(scores)
        if scores.dtype.char != "f":
            scores = np.asarray(scores, dtype=np.float64)
        self.check_scores(scores, first)
        return self.result.reconstruction(scores, whiten=self.parameters.whiten)


class HasModel(Protocol[M]):
    """An estimator whose fitted model other parts of the package can use."""

    def __fitted_model__(self) -> M:
        """Return the model; raise an error if the estimator is not fitted."""


def fitted_model(estimator: HasModel[M]) -> M:
    """The fitted model of an estimator: its result, its schema, and how it scores rows.

    Parameters
    ----------
    estimator : PCA, RobustPCA, KernelPCA, or a FittedModel

    Returns
    -------
    FittedModel
        For a PCA, a :class:`PCAModel`.

    Raises
    ------
    NotFittedError
    """
    return estimator.__fitted_model__()
