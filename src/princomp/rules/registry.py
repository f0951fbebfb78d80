"""The rules by name."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from princomp.errors import ParameterError, did_you_mean, value_words
from princomp.rules.cross_validation import CV, BiCV
from princomp.rules.decision import Rule, is_rule
from princomp.rules.gcv import GCV
from princomp.rules.marchenko_pastur import GavishDonoho, MarchenkoPastur
from princomp.rules.minka import Minka
from princomp.rules.parallel import Parallel
from princomp.rules.permutation import Permutation
from princomp.rules.scree import BrokenStick, Elbow, Kaiser

_RULE_CLASSES: tuple[type[Any], ...] = (
    *(Kaiser, BrokenStick, Elbow, Parallel, Minka, GavishDonoho),
    *(MarchenkoPastur, GCV, BiCV, CV, Permutation),
)
RULES: dict[str, type[Any]] = {rule_class.name: rule_class for rule_class in _RULE_CLASSES}


def rule_of(wanted: object, parameter: str = "n_components") -> Rule:
    """Return the rule with a name, or a rule object unchanged.

    Raises
    ------
    ParameterError
        For an unknown name, with the known ones.
    """
    if isinstance(wanted, str) and wanted in RULES:
        return RULES[wanted]()
    if is_rule(wanted):
        return wanted
    raise ParameterError(
        f"{parameter}={value_words(wanted)} is not a rule",
        place={"parameter": parameter},
        hint=f"{did_you_mean(wanted, RULES)}choose one of {', '.join(RULES)}, or an object with "
        "name, needs and decide",
    )


def name_of(wanted: int | float | str | Rule | None) -> Any:
    """Return the name of a rule, as plans and files use it; numbers and names unchanged."""
    return wanted.name if is_rule(wanted) else wanted


def rule_to_dict(rule: object) -> dict[str, Any] | None:
    """Return a rule of this package as plain values; None for a user-defined rule."""
    if type(rule) not in RULES.values():
        return None
    plain: Any = rule
    options = asdict(plain).items()
    return {"rule": plain.name} | {
        name: value.item() if isinstance(value, np.generic) else value for name, value in options
    }


def rule_of_dict(plain: dict[str, Any]) -> Rule:
    """Restore a rule from the values of :func:`rule_to_dict`.

    Raises
    ------
    ParameterError, TypeError, KeyError
        When the values are not those of a rule.
    """
    options = dict(plain)
    return RULES[options.pop("rule")](**options)
