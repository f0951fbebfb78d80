"""Main loop of a search for eigenpairs: each step grows the search space, and a rule ends it.

Block Lanczos with full reorthogonalisation and thick restart, after Golub & Underwood (1977) and Wu
& Simon (2000). The residuals of the wanted pairs end it, never a number of iterations.
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
        Eigenvalues, descending.
    vectors : ndarray of shape (size, k)
        Eigenvectors.
    residuals : ndarray of shape (k,)
        Norm of ``A v − λ v``, from the Lanczos recurrence.
    products : int
        Number of times that the operator was applied to a block.
    converged : bool
        False if the search was abandoned; the pairs are then the best so far.
    missed : float
        Upper bound of the probability that a larger eigenvalue is missing; see
        :func:`~princomp.solvers.copies.miss_probability`.
    """

    values: FloatArray
    vectors: FloatArray
    residuals: FloatArray
    products: int
    converged: bool = True
    missed: float = 1.0


class Rule(Protocol):
    """Decides when a search computes its pairs, and when it ends."""

    @property
    def width(self) -> int:
        """Number of vectors in the next block."""

    def check(self, space: SearchSpace) -> Pairs | None:
        """Return pairs to end the search, or None to continue; called when the space has grown.

        To continue with a full space, the rule must restart it.
        """


def search(space: SearchSpace, rule: Rule, rng: np.random.Generator) -> Pairs:
    """Grow the space until the rule ends the search."""
    while True:
        space.grow()
        pairs = rule.check(space)
        if pairs is not None:
            return pairs
        space.extend(rule.width, rng)
