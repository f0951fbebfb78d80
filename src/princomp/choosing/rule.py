"""The interface of a rule, and what rules share.

A rule is a small object with a ``name``, what it ``needs`` and ``decide``:

- ``"leading"``: variances in descending order, as many as it takes; ``decide`` gives None while
  more are needed;
- ``"all"``: all variances. Like the first, this works on any summary, also on a stream's;
- ``"rows"``: the rows themselves, in memory.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from princomp.arrays import FloatArray, one_blas_thread
from princomp.choosing.decision import Decision, Known
from princomp.errors import ParameterError

__all__ = ["Rule", "best_of", "decided", "in_words", "is_rule", "leading_run", "lowest", "plain"]

_NEEDS = ("leading", "all", "rows")
# Errors of prediction that differ by less than this share of the variance are equal: smaller
# ones are rounding.
_EQUAL = 1e-13


@runtime_checkable
class Rule(Protocol):
    """How many components: what ``n_components`` takes beside numbers and names.

    A rule that does not use the number of rows says so with ``counts_rows = False``; only such
    a one is asked where that number is not known.
    """

    @property
    def name(self) -> str:
        """What plans, tables and model files call it."""

    @property
    def needs(self) -> str:
        """``"leading"``, ``"all"`` or ``"rows"``."""

    def decide(self, known: Known) -> Decision | None:
        """The number of components, or None where more variances are needed."""


def is_rule(value: Any) -> bool:
    """Whether an object (not a class) has the interface of a rule."""
    return (
        not isinstance(value, type)
        and isinstance(getattr(value, "name", None), str)
        and getattr(value, "needs", None) in _NEEDS
        and callable(getattr(value, "decide", None))
    )


def decided(rule: Rule, known: Known) -> Decision | None:
    """What a rule says, after what it needs was looked for.

    Raises
    ------
    ParameterError
        When a rule of somebody's own answers what is no number of components.
    """
    if known.total <= 0 and not hasattr(rule, "rules"):  # those of Several say it themselves
        return Decision.none(rule.name, "every column is constant")
    if rule.needs == "rows" and known.table is None:
        return Decision.none(rule.name, known.no_table)
    if rule.needs == "all" and not known.complete:
        return None
    if known.rows is None and getattr(rule, "counts_rows", True):
        return Decision.none(rule.name, "the number of rows is not known")
    with one_blas_thread():
        decision = rule.decide(known)
    if decision is None and not known.complete:
        return None
    if not isinstance(decision, Decision) or not (
        decision.k is None
        or (
            isinstance(decision.k, int | np.integer)
            and not isinstance(decision.k, bool)
            and 0 <= decision.k <= known.columns
        )
    ):
        raise ParameterError(
            f"the rule {rule.name!r} answered {decision!r}",
            place={"parameter": "n_components"},
            hint=f"decide() gives a Decision with k from 0 to {known.columns}, or k=None",
        )
    if rule.needs == "rows" and known.sampled:
        decision = replace(decision, reason=f"{decision.reason}, {known.sampled}")
    return decision


def leading_run(values: FloatArray, thresholds: Any, known: Known) -> int | None:
    """How many values in a row, from the first, are above what they are held against.

    None where all that are known are, and more might be. A value that is rounding is not
    above anything.
    """
    limits = thresholds if np.ndim(thresholds) == 0 else thresholds[: len(values)]
    sound = known.possible[: len(values)] > known.resolution
    fails = np.flatnonzero(~((values > limits) & sound))
    if fails.size:
        return int(fails[0])
    return len(values) if known.complete else None


def lowest(errors: FloatArray, scale: float) -> int:
    """Index of the least error, the first where several differ by rounding of ``scale`` only."""
    return int(np.flatnonzero(errors <= np.nanmin(errors) + _EQUAL * scale)[0])


def best_of(errors: FloatArray, scale: float, name: str, measure: str, what: str) -> Decision:
    """The decision of a rule that seeks the least error, from no component on."""
    k = lowest(errors, scale)
    last = k == len(errors) - 1 and k > 0
    more = f"; it looked at {k} at most, and more may be better" if last else ""
    reason = f"{what} is least with {components(k)}: {errors[k]:.4g}{more}"
    return Decision(name, k, reason, measure, plain(errors), None, 0)


def components(k: int) -> str:
    """A number of components in words."""
    return "no component" if k == 0 else "1 component" if k == 1 else f"{k} components"


def in_words(k: int, what: str, verb: str) -> str:
    """``3 variances exceed``, ``1 variance exceeds``, ``no variance exceeds``."""
    return f"{k or 'no'} {what}{'' if k < 2 else 's'} {verb}{'s' if k < 2 else ''}"


def plain(values: Any) -> tuple[float, ...]:
    """Numbers of an array."""
    return tuple(np.asarray(values, dtype=np.float64).tolist())
