"""What a person reads: data and documents on stdout, notes on stderr."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from princomp.estimator import PCA

__all__ = ["print_json", "print_summary", "say"]


def print_json(contents: dict[str, Any]) -> None:
    """One document on stdout."""
    click.echo(json.dumps(contents, ensure_ascii=False, allow_nan=False))


def say(notes: Any) -> None:
    """Notes on stderr."""
    for note in notes:
        click.echo(f"note: {note}", err=True)


def print_summary(model: PCA) -> None:
    """The variances of a model, as a table."""
    from rich.console import Console
    from rich.table import Table as Grid

    from princomp.documents import rates_table

    fitted = model._state
    scale = model.scale if isinstance(model.scale, str) else None
    given = "given divisors" if fitted.scale is not None and scale is None else scale
    rows = "unknown" if fitted.n_samples is None else f"{fitted.n_samples:,}"
    hold = "component holds" if fitted.k == 1 else "components hold"
    click.echo(
        f"{rows} rows × {fitted.p:,} columns, scale {given or 'none'}: "
        f"{fitted.k} {hold} {float(fitted.rates.sum()):.1%} of the variance"
    )
    grid = Grid(box=None, pad_edge=False)
    for heading in ("component", "variance", "rate", "accumulated"):
        grid.add_column(heading, justify="left" if heading == "component" else "right")
    names, table = rates_table(model)
    shown = min(len(names), max(fitted.k, 1) + 3, 20)
    for i in range(shown):
        value, rate, accumulated = table[i]
        noise = value <= fitted.spectrum.resolution
        left = " (noise)" if noise else "" if i < fitted.k else " (left out)"
        grid.add_row(names[i] + left, f"{value:.7g}", f"{rate:.2%}", f"{accumulated:.2%}")
    Console(highlight=False, width=None if sys.stdout.isatty() else 100).print(grid)
    if shown < len(names):
        click.echo(f"… {len(names) - shown} more variances")
