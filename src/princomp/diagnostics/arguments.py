"""Arguments of diagnostics and figures: how they are read and checked, and their docstrings."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import wraps
from operator import index
from pathlib import Path
from typing import Any, NamedTuple, ParamSpec, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from princomp.core import Fitted, check_parameter, fill_docstring, number, whole_number
from princomp.diagnostics.tables import Names
from princomp.errors import ParameterError, ShapeError, warn
from princomp.io import Source, TableInput
from princomp.summaries import SampleWeight

P = ParamSpec("P")
T = TypeVar("T")
Components: TypeAlias = int | str | Iterable[int | str] | None


def warn_without_weights(
    fitted: Fitted,
    sample_weight: SampleWeight,
    results: str,
    advice: str = "Give sample_weight, with 1 for each row that was not fitted",
) -> None:
    """Warn if the fit used weights and none are given, so that every row counts once.

    ``results`` depend on the weights, as a noun in the plural for the message; ``advice`` says
    what to do.
    """
    if sample_weight is None and fitted.has_weights:
        warn(
            f"the fit used weights, and none are given: {results} are those of rows of weight 1. "
            f"{advice}"
        )


class Selection(NamedTuple):
    """Selected components: their indices from 0, and their names in tables."""

    indices: NDArray[np.intp]
    names: Names


def select_components(k: int, components: Components, first: int | None = None) -> Selection:
    """Select components of a model with k of them, given as numbers from 1 or as "PC1", ….

    By default all, or the first ``first``.

    Raises
    ------
    ParameterError
        For one that the model does not have, or that is given twice.
    """
    if components is None or k == 0:
        numbers = list(range(1, min(k, first or k) + 1))
    else:
        single = isinstance(components, int | str) or not np.iterable(components)
        numbers = [_component_number(one, k) for one in ([components] if single else components)]  # type: ignore[union-attr]
        if len(set(numbers)) < len(numbers):
            raise ParameterError(
                f"components={components!r} names a component twice",
                place={"parameter": "components"},
                hint="give each component once",
            )
    if not numbers:
        raise ShapeError(
            "no components are selected",
            place={"parameter": "components"},
            hint="keep at least one: model.truncated(1), or n_components=1",
        )
    names = np.array([f"PC{number}" for number in numbers], dtype=object)
    return Selection(np.array(numbers, dtype=np.intp) - 1, names)


def _component_number(component: object, k: int) -> int:
    digits = str(component).removeprefix("PC")
    is_whole = isinstance(component, int | str | np.integer) and not isinstance(component, bool)
    if is_whole and digits.isascii() and digits.isdigit() and 1 <= int(digits) <= k:
        return int(digits)
    raise ParameterError(
        f"component {component!r} is not one of PC1 to PC{k}",
        place={"parameter": "components"},
        hint="components are counted from 1, or named 'PC1'",
    )


def check_repeatable(X: object, purpose: str) -> None:
    """Refuse rows that can be read only once.

    Parameters
    ----------
    X : as for ``PCA.fit``
    purpose : str
        What reads them several times, as a noun for the message: "report".

    Raises
    ------
    ParameterError
    """
    if isinstance(X, Iterator) or (isinstance(X, Source) and not X.repeatable):
        raise ParameterError(
            f"a {purpose} reads the rows several times, but these can be read only once",
            place={"parameter": "X"},
            hint="give an array, a frame, a file, or a function that returns a new iterator",
        )


def check_count(name: str, value: object, minimum: int = 1) -> int:
    """Return a whole number of at least ``minimum``.

    Raises
    ------
    ParameterError
    """
    if not isinstance(value, bool):
        with suppress(TypeError):  # no number, or an array of several
            value = index(value)  # type: ignore[arg-type]
    check_parameter(name, value, whole_number(minimum))
    return value  # type: ignore[return-value]


def checked_level(level: object) -> float:
    """Return a level between 0 and 1.

    Raises
    ------
    ParameterError
    """
    check_parameter("level", level, number(0, 1, exclusive=True))
    return float(level)  # type: ignore[arg-type]


# ---- rows that are not needed ---------------------------------------------------------


def ignoring_rows(function: Callable[P, T]) -> Callable[P, T]:
    """Let ``f(model, …)`` also be called as ``f(model, X, …)``, with a warning."""

    @wraps(function)
    def wrapper(model: Any, *args: Any, **options: Any) -> T:
        rows = options.pop("X", None)
        if rows is None and args and _is_table(args[0]):
            rows, args = args[0], args[1:]
        if rows is not None:
            warn(f"{function.__name__} needs the model alone: the rows are ignored")
        return cast("Callable[..., T]", function)(model, *args, **options)

    return cast("Callable[P, T]", wrapper)


def _is_table(value: object) -> bool:
    """Whether an argument is a table, rather than components, a level or the like."""
    if isinstance(value, os.PathLike | TableInput) or hasattr(value, "columns"):
        return True
    if isinstance(value, str):
        return Path(value).suffix[1:].isidentifier()  # the name of a file
    return len(getattr(value, "shape", ())) == 2


# ---- docstrings -----------------------------------------------------------------------

_DOCSTRINGS = {
    "model": """\
model : PCA
    Fitted.""",
    "X": """\
X : array, sparse array, frame, path or batches, of shape (n, p)
    Training rows or other rows, with the columns of the fit.""",
    "sample_weight": """\
sample_weight : array of shape (n,), optional
    Frequencies of the rows. Without them, every row counts once, with a warning if the fit used
    weights.""",
    "categorical": """\
categorical : iterable of str, optional
    Columns of numbers to be used as categories.""",
    "components": """\
components : int, str or sequence of them, optional
    Numbers from 1, or "PC1", …; all by default.""",
    "ids": """\
ids : str or sequence of length n, optional
    Names of the rows; see :func:`princomp.diagnostics.rows`.""",
    "frame": """\
frame : {"pandas", "polars", "pyarrow", "listing"}, optional
    Kind of the table; by default that of X.""",
    "plane": """\
x, y : int or str
    Components: numbers from 1, or "PC1", ….""",
    "bootstrap": """\
bootstrap : Bootstrap, optional
    Decides which components are marked as unstable. Without it, an approximation is used.""",
    "axes": """\
ax : matplotlib.axes.Axes, optional
    Axes to draw on; by default a new one.
dark : bool, optional
    Colours of a new Axes: light on dark if true, dark on light if false. By default those of
    matplotlib's settings.""",
    "example_model": """\
>>> import numpy as np
>>> from princomp import PCA, diagnostics
>>> X = np.array([[1.0, 2, 0], [2, 1, 1], [3, 4, 0], [4, 3, 1], [6, 5, 0], [5, 7, 2]])
>>> model = PCA(2).fit(X)""",
}

# Replaces lines such as %(model)s in a docstring.
shared_docs = fill_docstring(_DOCSTRINGS)
