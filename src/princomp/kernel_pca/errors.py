"""The part of a KernelPCA that measures what its components leave of rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from princomp.arrays import FloatArray
from princomp.errors import NotAvailableError, NotFiniteError, ParameterError, ShapeError
from princomp.inputs import blocks_of
from princomp.kernel_pca.inverse import Inverts
from princomp.kernel_pca.scores import ScoresByKernel
from princomp.summaries.blocks import is_sparse

__all__ = ["MeasuresErrors"]

# Rows that are looked at together.
_ROWS = 8192


class MeasuresErrors(Inverts, ScoresByKernel):
    """Errors of rows in the feature space, and of pre-images in the input's units."""

    def reconstruction_error(
        self, X: Any, *, per_row: bool = False, diagonal: Any = None
    ) -> float | FloatArray:
        """How far images are from their projections: mean over the rows of ‖φ(x) − Pφ(x)‖².

        In squared units of the kernel's feature space; for the linear kernel in those of the
        data. It compares numbers of components of one kernel, not kernels: each has units of
        its own, which ``score`` divides by.

        Parameters
        ----------
        X : array, sparse array, frame or path, of shape (n, p)
            With ``kernel="precomputed"`` the kernel of each row with each row of the fit.
        per_row : bool, default=False
            The error of each row (n,) instead of their mean.
        diagonal : array of shape (n,), optional
            Kernel of each row with itself, where it was computed elsewhere, and there only.

        Returns
        -------
        float or ndarray of shape (n,)
            NaN of rows that ``missing="drop"`` leaves out; the mean is of the others.

        Raises
        ------
        NotAvailableError
            For a precomputed kernel without ``diagonal``.
        NotFiniteError, ParameterError, ShapeError, ColumnError
        """
        left, _ = self._left_and_all(X, diagonal)
        return left if per_row else _mean(left)

    def pre_image_error(self, X: Any, *, per_row: bool = False) -> float | FloatArray:
        """How far rows are from what ``inverse_transform`` makes of their scores.

        The root of the mean of (x − x̂)² over rows and columns, in the units of the data. Cells
        that are missing do not count.

        Parameters
        ----------
        X : array, sparse array, frame or path, of shape (n, p)
        per_row : bool, default=False
            The same for each row (n,) instead.

        Raises
        ------
        NotFittedError
            Where no pre-images were asked for.
        NotFiniteError, ShapeError, ColumnError
        """
        found: list[FloatArray] = []
        for rows in self._blocks(X):
            scores = self._rows_scored(rows)
            known = np.isfinite(scores).all(axis=1)
            dense = np.asarray(rows.toarray() if is_sparse(rows) else rows, dtype=np.float64)
            away = np.full((2, len(dense)), np.nan)
            apart = dense[known] - self.inverse_transform(scores[known])
            cells = np.isfinite(apart)
            away[0, known] = (np.where(cells, apart, 0.0) ** 2).sum(axis=1)
            away[1, known] = cells.sum(axis=1)
            found.append(away)
        squares, cells = np.concatenate(found, axis=1)
        if per_row:
            return np.sqrt(squares / cells)
        return float(np.sqrt(_mean(squares) / _mean(cells)))

    def score(self, X: Any, y: Any = None) -> float:
        """How well rows are described, the larger the better: for searches over parameters.

        Where pre-images were asked for, −``pre_image_error(X)``. Else the share of the
        variance of the rows in the feature space, about the mean of the fit, that the components
        hold: 1 − Σ‖φ(x) − Pφ(x)‖² / Σ‖φ(x) − mean‖². That share rises with every component,
        and comes close to 1 for any smooth enough kernel: it does not choose these.

        Raises
        ------
        NotAvailableError
            For a precomputed kernel, which says nothing of new rows alone.
        """
        if self.pre_image is not None or self.fit_inverse_transform:
            return -float(self.pre_image_error(X))
        left, whole = (_mean(each) for each in self._left_and_all(X, None))
        return 1.0 - left / whole if whole > 0 else float(left == 0)

    def _left_and_all(self, X: Any, diagonal: Any) -> tuple[FloatArray, FloatArray]:
        """‖φ − Pφ‖² and ‖φ − mean‖² of each row (n,)."""
        given = isinstance(self.kernel, str) and self.kernel == "precomputed"
        own = self._own(diagonal, given)
        left, whole, at = [np.empty(0)], [np.empty(0)], 0
        for rows in self._blocks(X):
            scores = self._rows_scored(rows).astype(np.float64)
            if given:
                expansion = self._state.expansion
                part = own[at : at + len(scores)]
                _check_length(own, at + len(scores))
                squares = part - 2 * (rows @ expansion.mean) + expansion.mean_square
            else:
                squares = self._state.squares(self._with_cells(rows)[0])
            squares = np.where(np.isnan(scores).any(axis=1), np.nan, squares)
            at += len(scores)
            whole.append(np.maximum(squares, 0.0))
            left.append(np.maximum(squares - np.einsum("ij,ij->i", scores, scores), 0.0))
        if given:
            _check_length(own, at, last=True)
        return np.concatenate(left), np.concatenate(whole)

    def _own(self, diagonal: Any, given: bool) -> FloatArray:
        """The kernel of rows with themselves, where it is not to be computed."""
        if given and diagonal is None:
            raise NotAvailableError(
                "the error of a row needs its kernel with itself, and a precomputed kernel holds "
                "that with the rows of the fit only",
                place={"parameter": "diagonal"},
                hint="use reconstruction_error(X, diagonal=…), or give rows and a kernel's name",
            )
        if not given and diagonal is not None:
            raise ParameterError(
                "diagonal goes with kernel='precomputed' only",
                place={"parameter": "diagonal"},
                hint=f"leave it out: kernel {self.kernel!r} computes it",
            )
        return np.ravel(np.asarray(0.0 if diagonal is None else diagonal, dtype=np.float64))

    def _blocks(self, X: Any) -> Iterator[Any]:
        """Some rows at a time, their columns compared and their cells looked at."""
        self._state  # noqa: B018  (raises where nothing is fitted)
        data, _, file = self._rows(X, reset=False)
        at = 0
        for block in blocks_of(data):
            self._check_finite(block, data, at, file)
            at += block.shape[0]
            for start in range(0, block.shape[0], _ROWS):
                yield block[start : start + _ROWS]


def _check_length(own: FloatArray, rows: int, *, last: bool = False) -> None:
    if len(own) < rows or (last and len(own) != rows):
        raise ShapeError(
            f"diagonal has {len(own)} entries, and there are {rows} rows or more",
            place={"parameter": "diagonal"},
            hint="give the kernel of each row with itself",
        )


def _mean(values: FloatArray) -> float:
    known = values[~np.isnan(values)]
    if not known.size:
        raise NotFiniteError(
            "no row of X is without missing values",
            place={"parameter": "X"},
            hint="give rows without NaN",
        )
    return float(known.mean())
