"""What each row is to each component: score, cos², contribution."""

from __future__ import annotations

from typing import Any

import numpy as np

from princomp.arrays import FloatArray
from princomp.diagnostics.given import axes_of, picked, row_count, state_of
from princomp.diagnostics.row_blocks import Block, Given
from princomp.diagnostics.tables import checked_form, checked_frame, table
from princomp.diagnostics.variable_table import crossed
from princomp.errors import ParameterError

__all__ = ["rows"]


def rows(
    model: Any,
    X: Any,
    weights: Any = None,
    *,
    supplementary: bool = False,
    components: Any = None,
    ids: Any = None,
    form: str = "wide",
    frame: str | None = None,
) -> Any:
    """Scores, cos² and contributions of rows, and their distances from the centre.

    Parameters
    ----------
    model : PCA
        Fitted.
    X : array, sparse array, frame, path or batches, of shape (n, p)
        The training rows, or others; read block by block.
    weights : array of shape (n,), optional
        Frequencies, as they were given to ``fit``; for the contributions.
    supplementary : bool, default=False
        Rows that took no part in the fit: they have no contribution, and get none here.
    components : int, str or sequence of them, optional
        Numbers from 1, or "PC1", …; all by default.
    ids : str or sequence of length n, optional
        Names of the rows: a column of the frame or file, or the names. By default the
        index of a pandas frame, the model's id column, or numbers from 0.
    form : {"wide", "long"}
        A line for each row, or a line for each row and component.
    frame : {"pandas", "polars", "pyarrow", "listing"}, optional
        Kind of the table; by default that of X, and pandas (where loaded) for arrays.

    Returns
    -------
    frame
        With, for row i and component a:

        - ``score``: t, in units of the analysed columns; not whitened.
        - ``cos2``: t²/d², NaN for a row at the centre.
        - ``contribution``: 100 w t²/((Σw − 1) λ) in percent. Over the training rows each
          component sums to 100. NaN where λ is below the fit's resolution.
        - ``distance``: d, from the centre, over all p columns.

    Raises
    ------
    NotAvailableError
        Contributions of a model from a covariance without ``n_samples``.
    ParameterError, ShapeError, ColumnError, NotFiniteError

    Examples
    --------
    >>> import numpy as np
    >>> from princomp import PCA
    >>> from princomp.diagnostics import rows
    >>> X = np.array([[1.0, 2.0], [2.0, 4.0], [6.0, 12.0]])
    >>> rows(PCA(1).fit(X), X, frame="listing")
    row  score_PC1  cos2_PC1  contribution_PC1  distance
      0   -4.47214         1           28.5714   4.47214
      1   -2.23607         1           7.14286   2.23607
      2     6.7082         1           64.2857    6.7082
    """
    fitted = state_of(model)
    chosen = picked(fitted, components)
    long = checked_form(form)
    if supplementary and weights is not None:
        raise ParameterError(
            "weights only change contributions, and supplementary rows have none",
            place={"parameter": "weights"},
            hint="leave weights out, or supplementary=True",
        )
    n = None if supplementary else row_count(fitted, "contributions of rows")
    given = Given.of(model, X, weights, ids)
    kind = checked_frame(frame, model, given.kind)

    axes, variances = axes_of(fitted, chosen.at), fitted.variances[chosen.at]
    divisor = np.where(variances > fitted.spectrum.resolution, variances, np.nan)
    scores, cos2, contributions, distance, names = [], [], [], [], []
    for block in given.blocks():
        t, d2 = block.rows @ axes, np.einsum("ij,ij->i", block.rows, block.rows)
        scores.append(t)
        cos2.append(np.minimum(t**2 / np.where(d2 > 0, d2, np.nan)[:, None], 1.0))
        if n is not None:
            contributions.append(_weighed(block, t**2) * (100.0 / (n - 1.0)) / divisor)
        distance.append(np.sqrt(d2))
        names.append(block.ids)
    measures = {"score": np.concatenate(scores), "cos2": np.concatenate(cos2)}
    if n is not None:
        measures["contribution"] = np.concatenate(contributions)
    contents = crossed("row", np.concatenate(names), chosen, measures, long)
    far = np.concatenate(distance)
    contents["distance"] = np.repeat(far, len(chosen.at)) if long else far
    return table(contents, kind, None if long else given.index)


def _weighed(block: Block, squares: FloatArray) -> FloatArray:
    return squares if block.weights is None else squares * block.weights[:, None]
