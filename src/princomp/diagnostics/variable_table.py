"""What each column is to each component: axis, loading, correlation, cos², contribution."""

from __future__ import annotations

from typing import Any

import numpy as np

from princomp.arrays import FloatArray
from princomp.diagnostics.given import Picked, axes_of, picked, state_of, variable_names
from princomp.diagnostics.tables import Contents, checked_form, checked_frame, table
from princomp.fitted import Fitted

__all__ = ["crossed", "variables"]


def variables(
    model: Any, *, components: Any = None, form: str = "long", frame: str | None = None
) -> Any:
    """Axes, loadings, correlations, cos² and contributions of the columns.

    Parameters
    ----------
    model : PCA
        Fitted.
    components : int, str or sequence of them, optional
        Numbers from 1, or "PC1", …; all by default.
    form : {"long", "wide"}
        A line for each column and component, or a line for each column.
    frame : {"pandas", "polars", "pyarrow", "listing"}, optional
        Kind of the table; what ``set_output`` says, or pandas where it is loaded.

    Returns
    -------
    frame
        With, for variable j and component a:

        - ``axis``: v, the entry of the unit eigenvector.
        - ``loading``: v√λ, in units of the *analysed* column, which is the column divided
          by ``scale_``.
        - ``correlation``: of the column and the scores. It is the loading under
          ``scale="unit"`` and under no other scale; NaN where one of the two is constant.
        - ``cos2``: share of the column's variance (mean square, without centring) that the
          component shows; over all p components it sums to 1. NaN for a constant column.
        - ``contribution``: 100 v², in percent; each component sums to 100.

        Wide tables call them ``axis_PC1``, ….

    Raises
    ------
    ParameterError
        A component that is not there, another word for ``form`` or ``frame``.

    Notes
    -----
    Abdi & Williams (2010), "Principal component analysis", sections on loadings.

    Examples
    --------
    >>> import numpy as np
    >>> from princomp import PCA
    >>> from princomp.diagnostics import variables
    >>> model = PCA(1).fit(np.array([[1.0, 2.0], [2.0, 4.0], [4.0, 8.0]]))
    >>> variables(model, frame="listing")
    variable  component      axis  loading  correlation  cos2  contribution
          x0        PC1  0.447214  1.52753            1     1            20
          x1        PC1  0.894427  3.05505            1     1            80
    """
    fitted = state_of(model)
    chosen = picked(fitted, components)
    long = checked_form(form)
    kind = checked_frame(frame, model)
    names = variable_names(model)
    return table(crossed("variable", names, chosen, _measures(fitted, chosen), long), kind)


def crossed(
    what: str, names: Any, chosen: Picked, measures: dict[str, FloatArray], long: bool
) -> Contents:
    """Measures (m, c) of m things and c components, as columns of a table."""
    if not long:
        wide = {
            f"{name}_{component}": values[:, a]
            for name, values in measures.items()
            for a, component in enumerate(chosen.names)
        }
        return {what: names, **wide}
    count = len(chosen.names)
    return {
        what: np.repeat(names, count),
        "component": np.tile(chosen.names, len(names)),
        **{name: values.ravel() for name, values in measures.items()},
    }


def _measures(fitted: Fitted, chosen: Picked) -> dict[str, FloatArray]:
    axes, variances = axes_of(fitted, chosen.at), fitted.variances[chosen.at]
    scale = np.ones(fitted.p) if fitted.scale is None else fitted.scale
    squares = axes**2
    analysed = fitted.analysed.column_scatter / (fitted.analysed.rows - 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        cos2 = squares * variances / np.where(analysed > 0, analysed, np.nan)[:, None]
    return {
        "axis": axes,
        "loading": axes * np.sqrt(variances),
        "correlation": _correlations(fitted, axes, variances, scale),
        "cos2": np.minimum(cos2, 1.0),
        "contribution": 100.0 * squares / squares.sum(axis=0),
    }


def _correlations(
    fitted: Fitted, axes: FloatArray, variances: FloatArray, scale: FloatArray
) -> FloatArray:
    """Correlations (p, c) of columns and scores, both about their means."""
    together, spread = axes * variances, variances
    if not fitted.centred:
        # The axes diagonalise mean squares: the squares of the means are taken out again.
        n, mean = fitted.summary.rows, fitted.summary.mean / scale
        along = mean @ axes
        share = n / (n - 1.0)
        together = together - share * np.outer(mean, along)
        spread = variances - share * along**2
    sound = spread > fitted.spectrum.resolution
    deviations = np.sqrt(fitted.column_variances) / scale
    size = np.outer(deviations, np.sqrt(np.where(sound, spread, np.nan)))
    with np.errstate(divide="ignore", invalid="ignore"):
        found = together / np.where(size > 0, size, np.nan)
    return np.clip(found, -1.0, 1.0)
