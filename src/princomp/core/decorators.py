"""Decorators of public functions: old names of arguments, and docstrings with shared entries."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import wraps
from textwrap import indent
from typing import Any, ParamSpec, TypeVar

from princomp.errors import ParameterError, warn

_P = ParamSpec("_P")
_R = TypeVar("_R")
_F = TypeVar("_F", bound=Callable[..., Any])

# A line of its own, as in matplotlib.
_PLACEHOLDER = re.compile(r"^( *)%\((\w+)\)s$", re.MULTILINE)


def renamed_parameters(**new_names: str) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Accept old names of keyword arguments, ``old="new"``, with a warning until version 0.4."""

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
        @wraps(function)
        def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            for old, new in new_names.items():
                if old not in kwargs:
                    continue
                if new in kwargs:
                    raise ParameterError(
                        f"{old}= and {new}= are the same argument",
                        place={"parameter": old},
                        hint=f"give {new} only",
                    )
                warn(
                    f"{old}= was renamed to {new}=; the old name will be removed in version 0.4",
                    FutureWarning,
                )
                kwargs[new] = kwargs.pop(old)
            return function(*args, **kwargs)

        return call

    return decorate


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
