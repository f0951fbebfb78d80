"""Scores of rows, to be compared with extra columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from princomp.diagnostics.arguments import Components, Names, fitted_of, select_components
from princomp.diagnostics.metadata_columns import ExtraColumn, extra_columns, take_named_columns
from princomp.diagnostics.row_reader import RowReader
from princomp.errors import NotFiniteError
from princomp.estimators import PCA
from princomp.linalg import FloatArray
from princomp.summaries import SampleWeight


class ProjectedRows(NamedTuple):
    """Scores (n, c) of rows on the selected components, their weights (n,), and extra columns.

    ``resolution`` is the variance below which a component is a rounding error.
    """

    scores: FloatArray
    weights: FloatArray
    names: Names
    resolution: float
    columns: list[ExtraColumn]
    reader: RowReader

    def table(self, rows: Sequence[NamedTuple]) -> Any:
        """Make a table of results from its rows: text is stored as objects."""
        contents = {}
        for name, cells in zip(rows[0]._fields, zip(*rows, strict=True), strict=True):
            is_text = any(isinstance(cell, str) for cell in cells)
            contents[name] = np.array(cells, dtype=object if is_text else None)
        return self.reader.table(contents, by_row=False)


def project_rows(
    model: PCA,
    X: object,
    columns: object,
    weights: SampleWeight,
    components: Components,
    frame: str | None,
    categorical: Iterable[str] = (),
    what: str = "columns",
) -> ProjectedRows:
    """Read rows and extra columns with one value for each of the rows, and compute scores.

    ``what`` is the name of the argument with the columns, for messages.

    Raises
    ------
    NotFiniteError
        If squares of the scores overflow: the results are ratios of such squares.
    """
    columns, X = take_named_columns(model, X, columns, what)
    fitted = fitted_of(model)
    selected = select_components(fitted.k, components)
    reader = RowReader.open(model, X, weights, frame=frame)
    _, scores = reader.scores(selected.indices)
    w = np.ones(len(scores)) if reader.weights is None else reader.weights
    largest = float(np.nanmax(np.abs(scores), initial=0.0))
    if np.isinf(4.0 * largest * largest * float(w.sum())):  # 4: differences from the mean
        raise NotFiniteError(
            f"the scores are too large: the square of the largest, {largest:.3g}, overflows",
            hint="divide the columns by a power of ten",
        )
    extra = extra_columns(columns, len(scores), reader.index, categorical, what)
    return ProjectedRows(scores, w, selected.names, fitted.spectrum.resolution, extra, reader)
