"""The search for eigenpairs: a step grows the space, a rule ends it, this is the loop.

Block Lanczos with full reorthogonalisation and thick restart, after Golub & Underwood (1977) and Wu
& Simon (2000). It ends on the residuals of the wanted pairs, never on a count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from princomp.linalg import FloatArray
from princomp.solvers.search_space import SearchSpace


@dataclass(frozen=True)
class Pairs:
    """The largest eigenpairs of a symmetric operator.

    Parameters
    ----------
    values : ndarray of shape (k,)
        Descending.
    vectors : ndarray of shape (size, k)
    residuals : ndarray of shape (k,)
        Norm of ``A v − λ v`` by the recurrence.
    products : int
        Number of times that the operator was applied to a block.
    converged : bool
        False where the search was abandoned; the vectors are then the best so far.
    missed : float
        Upper bound of the probability that a larger eigenvalue is missing; see
        :func:`~princomp.solvers.copies.chance_of_a_miss`.
    """

    values: FloatArray
    vectors: FloatArray
    residuals: FloatArray
    products: int
    converged: bool = True
    missed: float = 1.0


class Rule(Protocol):
    """Decides when a search looks at its pairs, and when it ends."""

    @property
    def width(self) -> int:
        """Vectors of the next block."""

    def look(self, space: SearchSpace) -> Pairs | None:
        """Return pairs to end the search, or None. Called each time the space has grown.

        A full space must be restarted.
        """


def search(space: SearchSpace, rule: Rule, rng: np.random.Generator) -> Pairs:
    """Grow the space until the rule ends the search."""
    while True:
        space.grow()
        pairs = rule.look(space)
        if pairs is not None:
            return pairs
        space.extend(rule.width, rng)
