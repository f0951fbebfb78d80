"""What ``random_state`` may be, and the seeds that are drawn from it."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from princomp.errors import ParameterError

__all__ = ["check_random_state", "number_of", "seed_of"]

# RandomState, and so scikit-learn, takes no larger seed.
_LARGEST = 2**32 - 1


def check_random_state(random_state: Any) -> None:
    """Refuse a ``random_state`` that nothing can be drawn with.

    Raises
    ------
    ParameterError
        For anything but None, a whole number from 0 to 2³² − 1, a NumPy ``RandomState`` and a
        NumPy ``Generator``.
    """
    number = number_of(random_state)
    if number is None:
        fits = isinstance(random_state, np.random.RandomState | np.random.Generator | None)
    else:
        fits = 0 <= number <= _LARGEST
    if not fits:
        raise ParameterError(
            f"random_state={random_state!r} is not valid",
            place={"parameter": "random_state"},
            hint="random_state must be None, a whole number from 0 to 2**32 - 1, a "
            "numpy.random.RandomState or a numpy.random.Generator",
        )


def number_of(random_state: Any) -> int | None:
    """The seed itself, or None if there is none: the state of a generator is not kept."""
    if isinstance(random_state, bool | np.bool_) or not isinstance(random_state, Integral):
        return None
    return int(random_state)


def seed_of(random_state: Any) -> int:
    """A seed: the number itself, 0 for None, or a number drawn from a generator."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    return number_of(random_state) or 0
