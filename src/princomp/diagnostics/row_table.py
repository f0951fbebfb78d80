"""Scores, cos² and contributions of rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from princomp.core import renamed_parameters
from princomp.diagnostics.arguments import (
    Components,
    axes_of,
    fitted_of,
    select_components,
)
from princomp.diagnostics.row_reader import Block, RowReader
from princomp.diagnostics.shared_docs import shared_docs
from princomp.diagnostics.tables import is_long_form
from princomp.diagnostics.variable_table import columns_by_component
from princomp.errors import ParameterError
from princomp.estimators import PCA
from princomp.linalg import FloatArray
from princomp.summaries import SampleWeight


@renamed_parameters(weights="sample_weight")
@shared_docs
def rows(
    model: PCA,
    X: object,
    sample_weight: SampleWeight = None,
    *,
    supplementary: bool = False,
    components: Components = None,
    ids: Iterable[object] | None = None,
    form: str = "wide",
    frame: str | None = None,
) -> Any:
    """Compute scores, cos² and contributions of rows, and their distances from the centre.

    Parameters
    ----------
    %(model)s
    X : array, sparse array, frame, path or batches, of shape (n, p)
        Training rows or other rows, read block by block.
    sample_weight : array of shape (n,), optional
        Frequencies, as in ``fit``; used for the contributions.
    supplementary : bool, default=False
        Whether the rows were not part of the fit, and so have no contributions.
    %(components)s
    ids : str or sequence of length n, optional
        Names of the rows: a column of the frame or file, or the names. By default the
        index of a pandas frame, the model's id column, or numbers from 0.
    form : {"wide", "long"}
        A row for each row of X, or a row for each row of X and component.
    frame : {"pandas", "polars", "pyarrow", "listing"}, optional
        Kind of the table; by default that of X, and pandas (if loaded) for arrays.

    Returns
    -------
    frame
        With, for row i and component a:

        - ``score``: t, in units of the analysed columns; not whitened.
        - ``cos2``: t²/d², NaN for a row at the centre.
        - ``contribution``: 100 w t²/((Σw − 1) λ) in percent. Over the training rows each
          component sums to 100 (except after ``missing="nipals"``, which fills new rows
          differently). NaN if λ is below the fit's resolution.
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
    fitted = fitted_of(model)
    selected = select_components(fitted.k, components)
    long = is_long_form(form)
    if supplementary and sample_weight is not None:
        raise ParameterError(
            "sample_weight changes only contributions, which supplementary rows do not have",
            place={"parameter": "sample_weight"},
            hint="leave out sample_weight, or supplementary=True",
        )
    n = None if supplementary else fitted.row_count("contributions of rows")
    reader = RowReader.open(model, X, sample_weight, ids, frame)
    axes, variances = axes_of(fitted, selected.indices), fitted.variances[selected.indices]
    divisor = np.where(variances > fitted.spectrum.resolution, variances, np.nan)

    def measure(block: Block) -> tuple[FloatArray, ...]:
        t, lengths = block.rows @ axes, _lengths(block.rows)
        cosines = t / np.where(lengths > 0, lengths, np.nan)[:, None]
        measures = (block.ids, lengths, t, np.minimum(cosines**2, 1.0))
        if n is None:
            return measures
        shares = (t / np.sqrt(divisor)) ** 2 * (100.0 / (n - 1.0))
        return (*measures, shares if block.weights is None else shares * block.weights[:, None])

    names, distance, *values = reader.collect(measure)
    measures = dict(zip(("score", "cos2", "contribution"), values, strict=False))
    contents = columns_by_component("row", names, selected, measures, long)
    contents["distance"] = np.repeat(distance, len(selected.names)) if long else distance
    return reader.table(contents, by_row=not long)


def _lengths(rows: FloatArray) -> FloatArray:
    """Lengths (m,) of rows, even if squares leave the range of float64."""
    exponents = np.frexp(np.abs(rows).max(axis=1, initial=0.0))[1]
    scaled = np.ldexp(rows, -exponents[:, None])
    return np.ldexp(np.sqrt(np.einsum("ij,ij->i", scaled, scaled)), exponents)
