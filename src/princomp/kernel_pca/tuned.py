"""The result of ``tune``: combinations of parameters with their cross-validation errors."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from princomp.kernel_pca.estimator import KernelPCA
from princomp.linalg import FloatArray
from princomp.rules import html_table, text_table

_MAX_LINES = 20  # lines that are printed
_ERROR_NAMES = {
    "pre_image": "error of pre-images, in the units of the data",
    "reconstruction": "share of the variance in the feature space that is left",
}


@dataclass(frozen=True, eq=False)
class Tuned:
    """Combinations of parameters and their errors on rows that were left out of their fits.

    Attributes
    ----------
    parameters : tuple of dict
        Of each combination, the parameters that have an effect, with γ as a number.
    fold_errors : ndarray of shape (combinations, folds)
        NaN for a reconstruction error that an indefinite kernel does not have.
    by : str
        "pre_image" or "reconstruction".
    rows, rows_given : int
        Number of rows compared, and of rows passed: a sample was compared if not all fit in memory.
    best_model : KernelPCA
        With the best parameters, fitted to all rows.
    """

    parameters: tuple[dict[str, Any], ...]
    fold_errors: FloatArray
    by: str
    rows: int
    rows_given: int
    best_model: KernelPCA

    @property
    def errors(self) -> FloatArray:
        """Means over the folds (combinations,)."""
        return self.fold_errors.mean(axis=1)

    @property
    def deviations(self) -> FloatArray:
        """Standard deviations over folds (combinations,), divisor folds − 1; NaN for one fold."""
        if self.fold_errors.shape[1] < 2:
            return np.full(len(self.fold_errors), np.nan)
        return self.fold_errors.std(axis=1, ddof=1)

    @property
    def best_index(self) -> int:
        """Index of the combination with the smallest error; the first one if there are several."""
        return int(np.nanargmin(self.errors))

    @property
    def best(self) -> dict[str, Any]:
        """The parameters with the smallest error."""
        return dict(self.parameters[self.best_index])

    @property
    def best_error(self) -> float:
        """The smallest error."""
        return float(self.errors[self.best_index])

    @property
    def names(self) -> tuple[str, ...]:
        """Parameters that have an effect in any combination."""
        return tuple(dict.fromkeys(name for each in self.parameters for name in each))

    def lines(self) -> list[dict[str, Any]]:
        """List the combinations with their errors, in the order of the grid."""
        effective = ({name: each.get(name) for name in self.names} for each in self.parameters)
        found = zip(effective, self.errors.tolist(), self.deviations.tolist(), strict=True)
        return [{**each, "error": error, "deviation": spread} for each, error, spread in found]

    def to_frame(self) -> Any:
        """Return ``lines()`` as a pandas frame if pandas is imported, else as a dict of arrays."""
        lines = self.lines()
        found = {name: _column([line[name] for line in lines]) for name in lines[0]}
        pandas = sys.modules.get("pandas")
        return found if pandas is None else pandas.DataFrame(found)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON; a kernel function is represented by its name."""
        return {
            "by": self.by,
            "rows": self.rows,
            "rows_given": self.rows_given,
            "folds": self.fold_errors.shape[1],
            "best": _plain(self.best),
            "best_error": self.best_error,
            "combinations": [_plain(line) for line in self.lines()],
        }

    def to_json(self) -> str:
        """Return ``to_dict()`` as a JSON object."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)

    @property
    def title(self) -> str:
        """The heading of the table: what was compared, and on which rows."""
        rows = f"{self.rows:,} rows"
        if self.rows < self.rows_given:
            rows = f"{self.rows:,} of {self.rows_given:,} rows, drawn at random"
        count = len(self.parameters)
        return (
            f"{count:,} combination{'s' * (count != 1)}, {self.fold_errors.shape[1]} folds of "
            f"{rows}: {_ERROR_NAMES[self.by]}"
        )

    def _cells(self) -> list[list[str]]:
        """Format the headings and the combinations, those with the smallest errors first."""
        order = np.argsort(self.errors, kind="stable")[:_MAX_LINES]
        lines = self.lines()
        shown = [[_cell(value) for value in lines[at].values()] for at in order]
        return [list(lines[0]), *shown]

    def __str__(self) -> str:
        lines = text_table(self._cells())
        n_left = len(self.parameters) - _MAX_LINES
        more = [f"… and {n_left:,} more"] if n_left > 0 else []
        return "\n".join([self.title, *lines, *more])

    def __repr__(self) -> str:
        chosen = ", ".join(f"{name}={_cell(value)}" for name, value in self.best.items())
        return f"<Tuned {chosen}: error {self.best_error:.4g}>"

    def _repr_html_(self) -> str:
        headings, *lines = self._cells()
        return html_table(self.title, headings, lines)


def _column(values: list[Any]) -> NDArray[Any]:
    """Make an array: of numbers, with NaN for None, if possible, otherwise of objects."""
    numbers = [value for value in values if value is not None]
    if numbers and all(isinstance(value, int | float | np.number) for value in numbers):
        whole = len(numbers) == len(values) and all(isinstance(value, int) for value in values)
        return np.array([np.nan if v is None else v for v in values], int if whole else float)
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def _plain(line: dict[str, Any]) -> dict[str, Any]:
    return {name: _plain_value(value) for name, value in line.items()}


def _plain_value(value: object) -> str | int | float | None:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and np.isnan(value):
        return None
    return value if value is None or isinstance(value, str | int | float) else _cell(value)


def _cell(value: object) -> str:
    if value is None:
        return "–"
    if callable(value):
        return str(getattr(value, "__name__", repr(value)))
    return f"{value:.4g}" if isinstance(value, float | np.floating) else str(value)
