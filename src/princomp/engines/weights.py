"""Checks of frequencies in the partitions of an engine."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from princomp.errors import ParameterError

# The place of a fault in the weights.
WEIGHTS = {"parameter": "sample_weight"}


def check_frequencies(weights: NDArray[np.float64], row: int = 0) -> None:
    """Refuse weights that are negative or not finite; the first is that of row ``row``.

    Raises
    ------
    ParameterError
    """
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if wrong.size:
        raise ParameterError(
            f"Negative values, NaN or infinity in sample_weight: one is {weights[wrong[0]]:g}",
            place={**WEIGHTS, "row": row + int(wrong[0])},
            hint="weights are frequencies: finite and not negative",
        )
