"""Functions of the model alone that also take rows, and ignore them with a warning."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

from princomp.io import TableInput

P = ParamSpec("P")
T = TypeVar("T")


def ignoring_rows(function: Callable[P, T]) -> Callable[P, T]:
    """Let ``f(model, …)`` also be called as ``f(model, X, …)``, with a warning."""

    @wraps(function)
    def wrapper(model: Any, *args: Any, **options: Any) -> T:
        rows = options.pop("X", None)
        if rows is None and args and _is_table(args[0]):
            rows, args = args[0], args[1:]
        if rows is not None:
            warnings.warn(
                f"{function.__name__} needs the model alone: the rows are ignored",
                UserWarning,
                stacklevel=2,
            )
        return cast("Callable[..., T]", function)(model, *args, **options)

    return cast("Callable[P, T]", wrapper)


def _is_table(value: Any) -> bool:
    """Whether an argument is a table, rather than components, a level or the like."""
    if isinstance(value, os.PathLike | TableInput) or hasattr(value, "columns"):
        return True
    if isinstance(value, str):
        return Path(value).suffix[1:].isidentifier()  # the name of a file
    return len(getattr(value, "shape", ())) == 2
