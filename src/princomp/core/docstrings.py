"""Docstrings with entries that several functions share."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from textwrap import indent
from typing import Any, TypeVar

# A line of its own, as in matplotlib.
_PLACEHOLDER = re.compile(r"^( *)%\((\w+)\)s$", re.MULTILINE)

_F = TypeVar("_F", bound=Callable[..., Any])


def fill_docstring(entries: Mapping[str, str]) -> Callable[[_F], _F]:
    """Replace lines ``%(name)s`` of a docstring with ``entries[name]``, indented like the line.

    Put this decorator next to the function: others copy the docstring of what they wrap.

    Raises
    ------
    KeyError
        When a function is decorated whose docstring names an unknown entry.
    """

    def fill(function: _F) -> _F:
        if function.__doc__:  # python -OO removes docstrings
            function.__doc__ = _PLACEHOLDER.sub(
                lambda match: indent(entries[match[2]], match[1]), function.__doc__
            )
        return function

    return fill
