"""Scores of rows, to be compared with extra columns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from princomp.diagnostics.arguments import Components, Names, fitted_of, select_components
from princomp.diagnostics.metadata_columns import ExtraColumn, extra_columns
from princomp.diagnostics.row_reader import RowReader
from princomp.diagnostics.tables import columns_from_rows
from princomp.estimators import PCA
from princomp.linalg import FloatArray
from princomp.summaries import SampleWeight


class ProjectedRows(NamedTuple):
    """Scores (n, c) of rows on the selected components, and their weights (n,).

    ``resolution`` is the variance below which a component is a rounding error.
    """

    scores: FloatArray
    weights: FloatArray
    names: Names
    resolution: float
    reader: RowReader

    def extra_columns(
        self, data: object, categorical: Iterable[str] = (), what: str = "columns"
    ) -> list[ExtraColumn]:
        """Read extra columns with one value for each of the rows."""
        return extra_columns(data, len(self.scores), self.reader.index, categorical, what)

    def table(self, rows: list[NamedTuple], **last_columns: Any) -> Any:
        """Make a table of results from its rows."""
        columns = {
            name: column
            for name, column in columns_from_rows(rows).items()
            if name not in last_columns
        }
        return self.reader.table({**columns, **last_columns}, by_row=False)


def project_rows(
    model: PCA, X: object, weights: SampleWeight, components: Components, frame: str | None
) -> ProjectedRows:
    """Read rows and compute their scores."""
    fitted = fitted_of(model)
    selected = select_components(fitted.k, components)
    reader = RowReader.open(model, X, weights, frame=frame)
    scores = reader.scores(selected.indices)
    w = np.ones(len(scores)) if reader.weights is None else reader.weights
    return ProjectedRows(scores, w, selected.names, fitted.spectrum.resolution, reader)
