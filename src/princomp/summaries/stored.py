"""Summaries as arrays and plain values, and back: for files that hold them."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from princomp.summaries.centred import Centred
from princomp.summaries.columns import Columns
from princomp.summaries.extremes import Extremes
from princomp.summaries.moments import Moments
from princomp.summaries.pair import Pair
from princomp.summaries.sketch import Sketch
from princomp.summaries.triangle import Triangle

__all__ = ["KINDS", "pack", "unpack"]

KINDS: dict[str, Any] = {
    kind.__name__.lower(): kind for kind in (Moments, Triangle, Columns, Sketch, Extremes)
}


def pack(summary: Any, prefix: str = "", kinds: dict[str, Any] = KINDS) -> tuple[Any, Any]:
    """Arrays by name (with the prefix), and a document of plain values."""
    if isinstance(summary, Pair):
        arrays, first = pack(summary.first, prefix + "first.", kinds)
        more, second = pack(summary.second, prefix + "second.", kinds)
        return {**arrays, **more}, {"kind": "pair", "first": first, "second": second}
    if isinstance(summary, Centred):
        summary = summary.held()
    name = type(summary).__name__.lower()
    assert name in kinds, name
    arrays, words = {}, {"kind": name}
    for field in fields(summary):
        value = getattr(summary, field.name)
        if isinstance(value, np.ndarray):
            arrays[prefix + field.name] = value
        else:
            words[field.name] = value
    return arrays, words


def unpack(
    arrays: dict[str, Any], words: dict[str, Any], prefix: str = "", kinds: dict[str, Any] = KINDS
) -> Any:
    """The summary that ``pack`` was given.

    Raises
    ------
    KeyError, TypeError
        When the arrays and words are not those of a summary.
    """
    if words["kind"] == "pair":
        return Pair(
            unpack(arrays, words["first"], prefix + "first.", kinds),
            unpack(arrays, words["second"], prefix + "second.", kinds),
        )
    kind = kinds[words["kind"]]
    known = {name: value for name, value in words.items() if name != "kind"}
    for field in fields(kind):
        if prefix + field.name in arrays:
            known[field.name] = arrays[prefix + field.name]
    return kind(**known)
