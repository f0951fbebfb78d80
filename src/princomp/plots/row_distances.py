"""Distances of rows within and from the components, for the outlier map."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from princomp.core import fitted_model
from princomp.diagnostics import Names, RowReader, distances, limits
from princomp.errors import ParameterError
from princomp.estimators import PCA, RobustPCA
from princomp.io import RowArray
from princomp.linalg import FloatArray
from princomp.plots.drawn_rows import Ids, rows_with_scores

_DEFAULT_LEVEL = 0.95


class Limit(NamedTuple):
    """A control limit, and its label in the legend."""

    value: float
    label: str


class RowDistances(NamedTuple):
    """Distances of the rows that are drawn.

    ``within`` (m,) are distances within the components, ``outside`` (m,) distances from them;
    None where the components span all directions. ``kept`` (n,) marks the drawn rows.
    ``labels`` are those of the two axes.
    """

    within: FloatArray
    outside: FloatArray | None
    names: Names
    kept: NDArray[np.bool_]
    limit_within: Limit | None
    limit_outside: Limit | None
    labels: tuple[str, str]
    notes: tuple[str, ...] = ()

    @property
    def ratio(self) -> FloatArray | None:
        """Largest ratio (m,) of a distance to its limit; None where there is no limit."""
        ratios = [
            distance / limit.value
            for distance, limit in (
                (self.within, self.limit_within),
                (self.outside, self.limit_outside),
            )
            if distance is not None and limit is not None
        ]
        return np.max(ratios, axis=0) if ratios else None


def row_distances(
    model: PCA | RobustPCA, X: object, level: float | None, training: bool, ids: Ids
) -> RowDistances:
    """Compute distances of rows and their limits.

    Raises
    ------
    ParameterError, ShapeError, ColumnError, NotFiniteError
    """
    if isinstance(model, RobustPCA):
        return _robust_distances(model, X, level, training, ids)
    control_limits = limits(model, _DEFAULT_LEVEL if level is None else level)
    table = distances(model, X, ids=ids, frame="listing")
    t2, q = table["t2"], table["q"]
    kept = rows_with_scores(np.column_stack([t2, q]))
    percent = f"{100 * control_limits.level:.4g}%"
    kind = "training" if training else "new"
    k = _component_phrase(control_limits.components, model)
    symbols = {"t2": "T²", "q": "Q"}
    return RowDistances(
        t2[kept],
        None if control_limits.components == model.n_features_in_ else q[kept],
        table["row"][kept],
        kept,
        _labelled_limit(control_limits.t2(training), f"T² {percent} of {kind} rows"),
        _labelled_limit(control_limits.q, f"Q {percent}"),
        (f"T² within {k}", "Q: squared distance from them"),
        tuple(
            f"no limit of {symbols[statistic]}: {reason}"
            for statistic, reason in control_limits.reasons.items()
        ),
    )


def _robust_distances(
    model: RobustPCA, X: object, level: float | None, training: bool, ids: Ids
) -> RowDistances:
    """Compute score and orthogonal distances, with the cut-offs of a robust fit."""
    for name, given in (("level", level is not None), ("training", training)):
        if given:
            raise ParameterError(
                f"{name} does not apply to a RobustPCA, which has its own cut-offs",
                place={"parameter": name},
                hint=f"leave out {name}",
            )
    fitted = fitted_model(model)
    reader = RowReader.open(model, X, ids=ids)

    def distances_of(chunk: RowArray, start: int) -> tuple[FloatArray, FloatArray]:
        chunk_distances = fitted.chunk_outlier_map(chunk, reader.data, start)
        return chunk_distances.score_distances, chunk_distances.orthogonal_distances

    names, within, outside = reader.collect_chunks(distances_of)
    return RowDistances(
        within,
        None if model.n_components_ == model.n_features_in_ else outside,
        names,
        np.ones(len(names), dtype=bool),
        _labelled_limit(model.score_cutoff_, "cut-off of score distances, 97.5%"),
        _labelled_limit(model.orthogonal_cutoff_, "cut-off of orthogonal distances, 97.5%"),
        (
            f"score distance within {_component_phrase(model.n_components_, model)}",
            "orthogonal distance from them",
        ),
    )


def _labelled_limit(value: float | None, label: str) -> Limit | None:
    return None if value is None else Limit(value, f"{label}: {value:.4g}")


def _component_phrase(k: int, model: PCA | RobustPCA) -> str:
    prefix = "all " if k == model.n_features_in_ else ""
    return f"{prefix}{k} component{'s' * (k != 1)}"
