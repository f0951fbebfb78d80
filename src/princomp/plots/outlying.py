"""How far rows lie within the components and off them, as an outlier map draws them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from princomp.arrays import FloatArray
from princomp.diagnostics import distances, limits
from princomp.diagnostics.row_blocks import Given
from princomp.errors import ParameterError, ShapeError
from princomp.robust import RobustPCA

__all__ = ["Line", "Outlying", "outlying"]

_LEVEL = 0.95


class Line(NamedTuple):
    """A limit: where it lies, and what the legend says of it."""

    at: float
    label: str


class Outlying(NamedTuple):
    """Rows that are drawn.

    ``along`` (m,) is how far each is within the components, ``off`` (m,) how far off them;
    None where nothing is left out. ``kept`` (n,) says which of the rows given these are.
    ``words`` are those of the two axes, ``notes`` what is said below.
    """

    along: FloatArray
    off: FloatArray | None
    names: NDArray[Any]
    kept: NDArray[np.bool_]
    along_limit: Line | None
    off_limit: Line | None
    words: tuple[str, str]
    notes: tuple[str, ...]

    @property
    def excess(self) -> FloatArray | None:
        """The larger share (m,) of a limit that each row takes; None where there is no limit."""
        shares = [
            distance / limit.at
            for distance, limit in ((self.along, self.along_limit), (self.off, self.off_limit))
            if distance is not None and limit is not None
        ]
        return np.max(shares, axis=0) if shares else None


def outlying(model: Any, X: Any, level: float | None, training: bool, ids: Any) -> Outlying:
    """Distances of rows under a PCA or a RobustPCA, and the limits of both.

    Raises
    ------
    ParameterError, ShapeError, ColumnError, NotFiniteError
    """
    if isinstance(model, RobustPCA):
        return _robustly(model, X, level, training, ids)
    found = limits(model, _LEVEL if level is None else level)
    table = distances(model, X, ids=ids, frame="listing")
    t2, q, names = table["t2"], table["q"], np.asarray(table["row"])
    kept = np.isfinite(t2) & np.isfinite(q)
    if not kept.any():
        raise ShapeError(
            f"none of the {len(kept):,} rows has scores: there is nothing to draw",
            place={"parameter": "X"},
            hint="give rows without missing values, or fit with missing='em'",
        )
    percent = f"{100 * found.level:.4g}%"
    kind = "training" if training else "new"
    t2_limit, k = found.t2(training), _components(found.components, model)
    symbols = {"t2": "T²", "q": "Q"}
    left = int((~kept).sum())
    return Outlying(
        t2[kept],
        None if found.components == model.n_features_in_ else q[kept],
        names[kept],
        kept,
        _line(t2_limit, f"T² {percent} of {kind} rows"),
        _line(found.q, f"Q {percent}"),
        (f"T² within {k}", "Q: squared distance from them"),
        (
            *(f"no limit of {symbols[one]}: {why}" for one, why in found.reasons.items()),
            f"{left:,} rows with missing values are not drawn" if left else "",
        ),
    )


def _robustly(model: RobustPCA, X: Any, level: float | None, training: bool, ids: Any) -> Outlying:
    """Score and orthogonal distances of rows against the cut-offs of a robust fit."""
    for name, given in (("level", level is not None), ("training", training)):
        if given:
            raise ParameterError(
                f"{name} says nothing to a RobustPCA, whose cut-offs are those of its fit",
                place={"parameter": name},
                hint=f"leave {name} out",
            )
    model._need_fit()
    given_rows = Given.opened(model, X, ids=ids)
    parts, at = [], 0
    for chunk, named in given_rows.chunks():
        found = model._chunk_map(chunk, given_rows.data, at)
        parts.append((found.score_distances, found.orthogonal_distances, named))
        at += chunk.shape[0]
    within, off, named = zip(*parts, strict=True)
    names = np.arange(at) if named[0] is None else np.concatenate(named)
    names = names if given_rows.ids is None else given_rows.ids
    inside, beside = model.score_cutoff_, model.orthogonal_cutoff_
    return Outlying(
        np.concatenate(within),
        None if model.n_components_ == model.n_features_in_ else np.concatenate(off),
        names,
        np.ones(at, dtype=bool),
        _line(inside, "cut-off of score distances, 97.5%"),
        _line(beside, "cut-off of orthogonal distances, 97.5%"),
        (
            f"score distance within {_components(model.n_components_, model)}",
            "orthogonal distance from them",
        ),
        (),
    )


def _line(at: float | None, label: str) -> Line | None:
    return None if at is None else Line(at, f"{label}: {at:.4g}")


def _components(k: int, model: Any) -> str:
    every = "all " if k == model.n_features_in_ else ""
    return f"{every}{k} component{'s' * (k != 1)}"
