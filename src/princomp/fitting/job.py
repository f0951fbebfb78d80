"""What a fit works on, what a route answers, and the checks that every route shares."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from princomp.arrays import FloatArray
from princomp.choosing import Decision, check_wanted
from princomp.engines.local import Folded, fold
from princomp.errors import ShapeError
from princomp.parameters import Request
from princomp.passes import Passes
from princomp.planning import Choice, Facts
from princomp.scaling import Names
from princomp.sources.holding import refuse_changed
from princomp.sources.source import Identity
from princomp.spectrum import Spectrum
from princomp.summaries import Columns, Extremes
from princomp.summaries.blocks import Weights

__all__ = [
    "GivenUp",
    "Job",
    "Solved",
    "check_rows",
    "check_shape",
    "is_one_block",
    "safe_divisor",
    "share_found",
]

# Below so many numbers BLAS stays on one thread by itself, as the engine knows.
_ONE_THREAD = 2**12


class Job(NamedTuple):
    """Rows (none where only a summary is solved) and what is asked of them."""

    data: Any
    weights: Weights
    request: Request
    names: Names
    extremes: Extremes | None
    passes: Passes | None = None
    identities: tuple[Identity, ...] = ()
    count_known: bool = True  # whether the number of rows behind a summary is

    def fold(self, kind: Any, name: str, *, precise: bool = False) -> Folded:
        """One pass over the rows.

        Raises
        ------
        InputChangedError
            When a file is not the one that it was when the fit began.
        """
        data = self.data
        if (
            self.passes is None
            and type(data) is np.ndarray
            and not self.request.drop
            and is_one_block(kind, data)
        ):
            # Nothing to cut, to hand out or to tell.
            return Folded(kind.of(data, self.weights, precise=precise), 0, len(data))
        folded = fold(
            kind,
            data,
            self.weights,
            drop=self.request.drop,
            precise=precise,
            passes=self.passes,
            step_name=name,
        )
        if self.identities:
            refuse_changed(self.identities, self.data.identities())
        return folded


def is_one_block(kind: Any, data: FloatArray) -> bool:
    """Whether rows (n, p) are one logical block, so few that one thread sums them."""
    n, p = data.shape
    return n * p < _ONE_THREAD and n <= kind.block_rows(p)


class Solved(NamedTuple):
    """A spectrum, the summary it stands on, and how it came about."""

    spectrum: Spectrum
    k: int
    summary: Any
    scale: FloatArray | None
    choice: Choice
    passes: int
    fallbacks: tuple[str, ...] = ()
    decision: Decision | None = None  # of the rule that counted the components


class GivenUp(NamedTuple):
    """A search that was ended: how often it read the rows, and why another route is better."""

    passes: int
    why: str


def share_found(k: int, p: int) -> str:
    """What a plan says of a fraction that a search found."""
    return f"the search for the share ended after {k} of {p:,} components"


def safe_divisor(scale: FloatArray | None, exponent: int, p: int) -> FloatArray | None:
    """The scale times a power of two that keeps products in range."""
    if not exponent:
        return scale
    power = np.full(p, 2.0**exponent)
    return power if scale is None else scale * power


def check_shape(facts: Facts) -> None:
    """Refuse, by their shape alone, rows that a fit would refuse.

    Raises
    ------
    ShapeError, ParameterError
    """
    if not facts.rows and not facts.held:
        return  # nobody knows yet
    none = np.zeros(facts.columns)
    shape = Columns(float(facts.rows), facts.rows, none, none, none)
    check_rows(shape, facts.rows, 0)
    check_wanted(facts.wanted, shape, facts.solver)


def check_rows(summary: Any, n: int, dropped: int) -> None:
    """Refuse too few rows to see a variance.

    Raises
    ------
    ShapeError
    """
    if summary.rows > 1.0:
        return
    if dropped:
        raise ShapeError(
            f"{n - dropped} of {n} rows are left after dropping those with missing values; "
            "a variance needs at least 2",
            hint="fill the missing values, or leave out the columns that hold them",
        )
    raise ShapeError(
        "a variance needs at least 2 rows, and there "
        f"{'is 1 sample' if n else 'are 0 samples'} (n_samples = {n})"
        if n <= 1
        else f"a variance needs a sum of weights above 1, got {summary.rows:g} over {n} rows"
        + ("" if summary.rows else ": every weight is zero"),
        hint="give more rows" if n <= 1 else "weights are frequencies: give more, or larger ones",
    )
