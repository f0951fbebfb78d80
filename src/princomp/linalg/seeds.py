"""Validation of ``random_state``, and the seeds drawn from it."""

from __future__ import annotations

from numbers import Integral

import numpy as np

from princomp.errors import ParameterError

# The largest seed that NumPy's RandomState, and therefore scikit-learn, accepts.
_LARGEST = 2**32 - 1
# A seed that tables are not made with: a search that starts from directions of the table itself may
# miss others.
_SEARCH_SEED = 0x5EA2C4


def check_random_state(random_state: object) -> None:
    """Refuse an invalid ``random_state``.

    Raises
    ------
    ParameterError
        If it is not None, a whole number from 0 to 2³² − 1, a NumPy ``RandomState`` or a NumPy
        ``Generator``.
    """
    number = int_or_none(random_state)
    is_seed = number is not None and 0 <= number <= _LARGEST
    generators = np.random.RandomState | np.random.Generator | None
    if not (is_seed or isinstance(random_state, generators)):
        raise ParameterError(
            f"random_state={random_state!r} is not valid",
            place={"parameter": "random_state"},
            hint="random_state must be None, a whole number from 0 to 2**32 - 1, a "
            "numpy.random.RandomState or a numpy.random.Generator",
        )


def int_or_none(random_state: object) -> int | None:
    """Return a whole number as an int, and None for anything else, including a bool."""
    if isinstance(random_state, bool | np.bool_) or not isinstance(random_state, Integral):
        return None
    return int(random_state)


def seed_of(random_state: object) -> int:
    """Return a seed: the number itself, 0 for None, or a number drawn from a generator."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    return int_or_none(random_state) or 0


def search_rng(number: int = 0) -> np.random.Generator:
    """Return the generator of random vectors that searches start from, the same for each search.

    Another ``number`` gives other vectors.
    """
    return np.random.default_rng([_SEARCH_SEED, number])
