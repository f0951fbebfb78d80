"""Errors of rows in the feature space, and of pre-images in the units of the data."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from princomp.errors import NotAvailableError, NotFiniteError, ParameterError, ShapeError
from princomp.io import RowArray
from princomp.kernel_pca.fit import KernelFit
from princomp.linalg import FloatArray
from princomp.summaries import is_sparse


class ScoredRows(NamedTuple):
    """Rows (n, p) as they are, their scores (n, k), and the rows with missing cells filled."""

    rows: RowArray
    scores: FloatArray
    filled: RowArray


def projection_residuals(
    fit: KernelFit, blocks: Iterable[ScoredRows], diagonal: npt.ArrayLike | None
) -> tuple[FloatArray, FloatArray]:
    """Compute ‖φ − Pφ‖² and ‖φ − mean‖² of each row (n,), NaN for rows without scores.

    Raises
    ------
    NotAvailableError
        For a precomputed kernel without ``diagonal``.
    ParameterError, ShapeError
    """
    kernel_diagonal = _checked_diagonal(fit, diagonal)
    residuals, totals, start = [np.empty(0)], [np.empty(0)], 0
    for block in blocks:
        scores = block.scores.astype(np.float64)
        block_diagonal = None
        if kernel_diagonal is not None:
            _check_length(kernel_diagonal, start + len(scores))
            block_diagonal = kernel_diagonal[start : start + len(scores)]
        squares = fit.squared_norms(block.filled, block_diagonal)
        squares = np.where(np.isnan(scores).any(axis=1), np.nan, squares)
        start += len(scores)
        totals.append(np.maximum(squares, 0.0))
        residuals.append(np.maximum(squares - np.einsum("ij,ij->i", scores, scores), 0.0))
    if kernel_diagonal is not None:
        _check_length(kernel_diagonal, start, last=True)
    return np.concatenate(residuals), np.concatenate(totals)


def pre_image_residuals(
    blocks: Iterable[ScoredRows], inverse: Callable[[FloatArray], FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """Sum (x − x̂)² over the known cells of each row (n,), and count these cells.

    Both are NaN for rows without scores.
    """
    parts: list[FloatArray] = []
    for rows, scores, _ in blocks:
        scored = np.isfinite(scores).all(axis=1)
        dense = np.asarray(rows.toarray() if is_sparse(rows) else rows, dtype=np.float64)
        sums = np.full((2, len(dense)), np.nan)
        differences = dense[scored] - inverse(scores[scored])
        cells = np.isfinite(differences)
        sums[0, scored] = (np.where(cells, differences, 0.0) ** 2).sum(axis=1)
        sums[1, scored] = cells.sum(axis=1)
        parts.append(sums)
    squares, counts = np.concatenate(parts, axis=1)
    return squares, counts


def known_mean(values: FloatArray) -> float:
    """Compute the mean of the values that are not NaN.

    Raises
    ------
    NotFiniteError
        If there is none.
    """
    known = values[~np.isnan(values)]
    if not known.size:
        raise NotFiniteError(
            "no row of X is without missing values",
            place={"parameter": "X"},
            hint="pass rows without NaN",
        )
    return float(known.mean())


def _checked_diagonal(fit: KernelFit, diagonal: npt.ArrayLike | None) -> FloatArray | None:
    """Check ``diagonal``, which is required for a precomputed kernel and refused for others."""
    precomputed = fit.kernel.name == "precomputed"
    if precomputed and diagonal is None:
        raise NotAvailableError(
            "the error of a row needs its kernel with itself, and a precomputed kernel has only "
            "that with the rows of the fit",
            place={"parameter": "diagonal"},
            hint="use reconstruction_error(X, diagonal=…), or pass rows and the name of a kernel",
        )
    if diagonal is None:
        return None
    if not precomputed:
        raise ParameterError(
            "diagonal is only for kernel='precomputed'",
            place={"parameter": "diagonal"},
            hint=f"leave it out: kernel {fit.kernel.name!r} computes it",
        )
    return np.ravel(np.asarray(diagonal, dtype=np.float64))


def _check_length(diagonal: FloatArray, rows: int, *, last: bool = False) -> None:
    if len(diagonal) < rows or (last and len(diagonal) != rows):
        raise ShapeError(
            f"diagonal has {len(diagonal)} entries, and there are {rows} rows or more",
            place={"parameter": "diagonal"},
            hint="pass the kernel of each row with itself",
        )
