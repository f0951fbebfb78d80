"""All scores of some rows, to compare other data with."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from princomp.arrays import FloatArray
from princomp.diagnostics.given import Names, picked, state_of
from princomp.diagnostics.row_blocks import Given
from princomp.diagnostics.tables import checked_frame

__all__ = ["Scores", "opened_scores"]


class Scores(NamedTuple):
    """Scores (n, c) of all rows, their weights (n,), and what the answer is called and made of.

    ``floor`` is the variance below which a component is noise.
    """

    t: FloatArray
    weights: FloatArray
    names: Names
    index: Any
    kind: str
    floor: float


def opened_scores(model: Any, X: Any, weights: Any, components: Any, frame: str | None) -> Scores:
    """What every comparison begins with."""
    fitted = state_of(model)
    chosen = picked(fitted, components)
    given = Given.of(model, X, weights)
    kind = checked_frame(frame, model, given.kind)
    t = given.scores(chosen.at)
    w = np.ones(len(t)) if given.weights is None else given.weights
    return Scores(t, w, chosen.names, given.index, kind, fitted.spectrum.resolution)
