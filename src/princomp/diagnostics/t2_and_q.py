"""T² and Q of rows, and what each variable adds to them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from princomp.arrays import FloatArray
from princomp.diagnostics.control_limits import sound_components
from princomp.diagnostics.given import axes_of, state_of, variable_names
from princomp.diagnostics.row_blocks import Given
from princomp.diagnostics.tables import checked_form, checked_frame, table
from princomp.fitted import Fitted

__all__ = ["Projector", "contributions", "distances"]


class Projector(NamedTuple):
    """The axes (p, k) whose variances (k,) are above the resolution; the rest is residual."""

    axes: FloatArray
    variances: FloatArray

    @classmethod
    def of(cls, fitted: Fitted) -> Projector:
        """Of a fit."""
        k = sound_components(fitted)
        return cls(axes_of(fitted, slice(k)), fitted.variances[:k])

    def residuals(self, rows: FloatArray) -> FloatArray:
        """What the axes leave of rows (m, p): zero where they leave no direction."""
        p, k = self.axes.shape
        if k == p:
            return np.zeros_like(rows)
        left: FloatArray = rows - (rows @ self.axes) @ self.axes.T
        return left

    def both(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """T² and Q (m,) of rows (m, p)."""
        t2 = ((rows @ self.axes) ** 2 / self.variances).sum(axis=1)
        left = self.residuals(rows)
        return t2, np.einsum("ij,ij->i", left, left)

    def parts(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What each variable adds to T², and its squared residual with its sign, (m, p) each."""
        inner = ((rows @ self.axes) / self.variances) @ self.axes.T
        left = self.residuals(rows)
        return rows * inner, left * np.abs(left)


def distances(model: Any, X: Any, *, ids: Any = None, frame: str | None = None) -> Any:
    """T² and Q of rows: how far off within the components, and how far off them.

    Parameters
    ----------
    model : PCA
        Fitted.
    X : array, sparse array, frame, path or batches, of shape (n, p)
        Training rows or new ones; read block by block.
    ids : str or sequence of length n, optional
        Names of the rows; see :func:`princomp.diagnostics.rows`.
    frame : {"pandas", "polars", "pyarrow", "listing"}, optional
        Kind of the table; by default that of X.

    Returns
    -------
    frame
        ``row``; ``t2``: Σ t²/λ, without unit, over the components above the fit's
        resolution; ``q``: ‖x − x̂‖² in squared units of the analysed columns, with x̂ from
        the same components (zero where they are p).

    Raises
    ------
    ParameterError, ShapeError, ColumnError, NotFiniteError, NotAvailableError

    Notes
    -----
    Hotelling (1931); Jackson & Mudholkar (1979). Limits: :func:`princomp.diagnostics.limits`.
    """
    fitted = state_of(model)
    given = Given.of(model, X, ids=ids)
    kind = checked_frame(frame, model, given.kind)
    onto = Projector.of(fitted)
    names, t2, q = [], [], []
    for block in given.blocks():
        one, other = onto.both(block.rows)
        names.append(block.ids)
        t2.append(one)
        q.append(other)
    contents = {"row": np.concatenate(names), "t2": np.concatenate(t2), "q": np.concatenate(q)}
    return table(contents, kind, given.index)


def contributions(
    model: Any, X: Any, *, ids: Any = None, form: str = "long", frame: str | None = None
) -> Any:
    """What each variable adds to T² and Q of rows.

    The table is as large as X: give it the rows that matter, as ``outliers`` names them.

    Parameters
    ----------
    model : PCA
        Fitted.
    X : array, sparse array, frame, path or batches, of shape (n, p)
    ids : str or sequence of length n, optional
        Names of the rows; see :func:`princomp.diagnostics.rows`.
    form : {"long", "wide"}
        A line for each row and variable, or a line for each row.
    frame : {"pandas", "polars", "pyarrow", "listing"}, optional
        Kind of the table; by default that of X.

    Returns
    -------
    frame
        ``t2``: x Σ (t/λ) v for each variable; those of a row sum to its T², and one below
        zero makes it smaller. ``q``: the squared residual with the residual's sign; their
        absolute values sum to Q. Wide tables call them ``t2_NAME`` and ``q_NAME``.

    Raises
    ------
    ParameterError, ShapeError, ColumnError, NotFiniteError, NotAvailableError

    Notes
    -----
    Nomikos & MacGregor (1995) for T²; Wise et al. (1990) for Q.
    """
    fitted = state_of(model)
    long = checked_form(form)
    given = Given.of(model, X, ids=ids)
    kind = checked_frame(frame, model, given.kind)
    onto = Projector.of(fitted)
    found = [(block.ids, *onto.parts(block.rows)) for block in given.blocks()]
    ids_, t2, q = (np.concatenate(parts) for parts in zip(*found, strict=True))
    names = variable_names(model)
    if long:
        contents = {
            "row": np.repeat(ids_, len(names)),
            "variable": np.tile(names, len(ids_)),
            "t2": t2.ravel(),
            "q": q.ravel(),
        }
        return table(contents, kind)
    wide = {f"t2_{name}": t2[:, j] for j, name in enumerate(names)}
    wide |= {f"q_{name}": q[:, j] for j, name in enumerate(names)}
    return table({"row": ids_, **wide}, kind, given.index)
