"""Conversion of summaries to arrays and plain values for files, and back."""

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

KINDS: dict[str, Any] = {
    kind.__name__.lower(): kind for kind in (Moments, Triangle, Columns, Sketch, Extremes)
}


def pack(summary: Any, prefix: str, kinds: dict[str, Any]) -> tuple[Any, Any]:
    """Return the arrays of a summary by prefixed name, and a dictionary of its plain values.

    ``kinds`` are the possible kinds of summaries, by their lower-case names.
    """
    if isinstance(summary, Pair):
        arrays, first = pack(summary.first, prefix + "first.", kinds)
        more, second = pack(summary.second, prefix + "second.", kinds)
        return {**arrays, **more}, {"kind": "pair", "first": first, "second": second}
    if isinstance(summary, Centred):
        summary = summary.to_host()
    name = type(summary).__name__.lower()
    assert name in kinds, name
    arrays, values = {}, {"kind": name}
    for field in fields(summary):
        value = getattr(summary, field.name)
        if isinstance(value, np.ndarray):
            arrays[prefix + field.name] = value
        else:
            values[field.name] = value
    return arrays, values


def unpack(
    arrays: dict[str, Any], values: dict[str, Any], prefix: str, kinds: dict[str, Any]
) -> Any:
    """Return the summary that was given to ``pack``.

    Raises
    ------
    KeyError, TypeError
        If the arrays and values are not those of a summary.
    """
    if values["kind"] == "pair":
        return Pair(
            unpack(arrays, values["first"], prefix + "first.", kinds),
            unpack(arrays, values["second"], prefix + "second.", kinds),
        )
    kind = kinds[values["kind"]]
    known = {name: value for name, value in values.items() if name != "kind"}
    for field in fields(kind):
        if prefix + field.name in arrays:
            known[field.name] = arrays[prefix + field.name]
    return kind(**known)
