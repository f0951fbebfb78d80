"""T² and Q of rows, and the contributions of variables to them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from princomp.core import Fitted
from princomp.diagnostics.arguments import axes_of, fitted_of, variable_names
from princomp.diagnostics.row_reader import RowReader
from princomp.diagnostics.shared_docs import shared_docs
from princomp.diagnostics.tables import is_long_form
from princomp.estimators import PCA
from princomp.linalg import FloatArray


class Projector(NamedTuple):
    """The axes (p, k) with variances (k,) above the resolution."""

    axes: FloatArray
    variances: FloatArray

    @classmethod
    def of(cls, fitted: Fitted) -> Projector:
        """Take the axes of a fit."""
        k = fitted.n_resolved
        return cls(axes_of(fitted, slice(k)), fitted.variances[:k])

    def residuals(self, rows: FloatArray) -> FloatArray:
        """Return the parts of rows (m, p) orthogonal to the axes."""
        p, k = self.axes.shape
        if k == p:
            return np.zeros_like(rows)
        return rows - (rows @ self.axes) @ self.axes.T

    def t2_and_q(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return T² and Q (m,) of rows (m, p)."""
        t2 = ((rows @ self.axes / np.sqrt(self.variances)) ** 2).sum(axis=1)
        residuals = self.residuals(rows)
        return t2, np.einsum("ij,ij->i", residuals, residuals)

    def contributions(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return contributions (m, p) of variables to T² and, with the residual's sign, to Q."""
        scaled_rows = ((rows @ self.axes) / self.variances) @ self.axes.T
        residuals = self.residuals(rows)
        return rows * scaled_rows, residuals * np.abs(residuals)


@shared_docs
def distances(
    model: PCA, X: object, *, ids: Iterable[object] | None = None, frame: str | None = None
) -> Any:
    """Compute T² and Q of rows: distances within the components and from them.

    Parameters
    ----------
    %(model)s
    X : array, sparse array, frame, path or batches, of shape (n, p)
        Training rows or new rows, read block by block.
    %(ids)s
    %(frame)s

    Returns
    -------
    frame
        ``row``; ``t2``: Σ t²/λ, without unit, over the components above the fit's
        resolution; ``q``: ‖x − x̂‖² in squared units of the analysed columns, with x̂ from
        the same components (zero if there are p of them).

    Raises
    ------
    ParameterError, ShapeError, ColumnError, NotFiniteError, NotAvailableError

    Notes
    -----
    Hotelling (1931); Jackson & Mudholkar (1979). Limits: :func:`princomp.diagnostics.limits`.

    Examples
    --------
    %(example_model)s
    >>> table = diagnostics.distances(model, X, frame="listing")
    >>> print(np.round(table["t2"], 2))
    [1.68 1.25 0.11 0.44 2.94 3.57]
    """
    projector = Projector.of(fitted_of(model))
    reader = RowReader.open(model, X, ids=ids, frame=frame)
    columns = reader.collect(lambda block: (block.ids, *projector.t2_and_q(block.rows)))
    return reader.table(dict(zip(("row", "t2", "q"), columns, strict=True)))


@shared_docs
def contributions(
    model: PCA,
    X: object,
    *,
    ids: Iterable[object] | None = None,
    form: str = "long",
    frame: str | None = None,
) -> Any:
    """Compute the contributions of variables to T² and Q of rows.

    The table is as large as X: select rows first, such as those of ``outliers``.

    Parameters
    ----------
    %(model)s
    X : array, sparse array, frame, path or batches, of shape (n, p)
    %(ids)s
    form : {"long", "wide"}
        A row for each row of X and variable, or a row for each row of X.
    %(frame)s

    Returns
    -------
    frame
        ``t2``: x Σ (t/λ) v for each variable. Those of a row sum to its T²; negative ones
        decrease it. ``q``: the squared residual with the residual's sign; their absolute
        values sum to Q. In wide tables they are called ``t2_NAME`` and ``q_NAME``.

    Raises
    ------
    ParameterError, ShapeError, ColumnError, NotFiniteError, NotAvailableError

    Notes
    -----
    Nomikos & MacGregor (1995) for T²; Wise et al. (1990) for Q.

    Examples
    --------
    %(example_model)s
    >>> table = diagnostics.contributions(model, X[:1], frame="listing")
    >>> print(table["variable"], np.round(table["q"], 3))
    ['x0' 'x1' 'x2'] [-0.019  0.04  -0.339]
    """
    projector, long = Projector.of(fitted_of(model)), is_long_form(form)
    reader = RowReader.open(model, X, ids=ids, frame=frame)
    row_ids, t2, q = reader.collect(lambda block: (block.ids, *projector.contributions(block.rows)))
    names = variable_names(model)
    if long:
        contents = {
            "row": np.repeat(row_ids, len(names)),
            "variable": np.tile(names, len(row_ids)),
            "t2": t2.ravel(),
            "q": q.ravel(),
        }
        return reader.table(contents, by_row=False)
    wide = {f"t2_{name}": t2[:, j] for j, name in enumerate(names)}
    wide |= {f"q_{name}": q[:, j] for j, name in enumerate(names)}
    return reader.table({"row": row_ids, **wide})
