"""The rules by name."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from princomp.choosing.cross import CV, BiCV
from princomp.choosing.gcv import GCV
from princomp.choosing.marchenko_pastur import GavishDonoho, MarchenkoPastur
from princomp.choosing.minka import Minka
from princomp.choosing.parallel import Parallel
from princomp.choosing.permutation import Permutation
from princomp.choosing.rule import Rule, is_rule
from princomp.choosing.scree import BrokenStick, Elbow, Kaiser
from princomp.errors import ParameterError

__all__ = ["RULES", "name_of", "rule_of", "rule_of_dict", "rule_to_dict"]

_ALL: tuple[type[Any], ...] = (
    Kaiser,
    BrokenStick,
    Elbow,
    Parallel,
    Minka,
    GavishDonoho,
    MarchenkoPastur,
    GCV,
    BiCV,
    CV,
    Permutation,
)
RULES: dict[str, type[Any]] = {kind.name: kind for kind in _ALL}


def rule_of(wanted: Any, parameter: str = "n_components") -> Rule:
    """The rule of a name, or a rule as it is.

    Raises
    ------
    ParameterError
        With the names there are.
    """
    if isinstance(wanted, str) and wanted in RULES:
        rule: Rule = RULES[wanted]()
        return rule
    if is_rule(wanted):
        given: Rule = wanted
        return given
    raise ParameterError(
        f"{parameter}={wanted!r} is no rule",
        place={"parameter": parameter},
        hint=f"choose one of {', '.join(RULES)}, or an object with name, needs and decide",
    )


def name_of(wanted: Any) -> Any:
    """What stands for a rule in plans and files: its name; numbers and names as they are."""
    return wanted.name if is_rule(wanted) else wanted


def rule_to_dict(rule: Any) -> dict[str, Any] | None:
    """A rule of this package as plain values; None for one of somebody's own."""
    kind = RULES.get(getattr(rule, "name", ""))
    if kind is None or type(rule) is not kind:
        return None
    return {"rule": rule.name, **{part.name: getattr(rule, part.name) for part in fields(kind)}}


def rule_of_dict(plain: dict[str, Any]) -> Rule:
    """The rule that :func:`rule_to_dict` made plain.

    Raises
    ------
    ParameterError, TypeError, KeyError
        When it is none.
    """
    options = dict(plain)
    rule: Rule = RULES[options.pop("rule")](**options)
    return rule
