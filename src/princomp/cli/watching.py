"""A long fit on a terminal: how far it is, and what to type after an interruption."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from princomp.progress import Progress

__all__ = ["bar", "resumable"]


@contextmanager
def resumable(checkpoint: Path | None) -> Iterator[None]:
    """Say how to go on when a run with a checkpoint is interrupted."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit, Exception) as error:
        if checkpoint is not None and checkpoint.exists() and _may_go_on(error):
            command = f"princomp resume {shlex.quote(str(checkpoint))}"
            click.echo(f"princomp: go on with: {command}", err=True)
        raise


def _may_go_on(error: BaseException) -> bool:
    """Whether the checkpoint is this run's, and trying again may help."""
    from princomp.errors import DataError, InUseError

    # Bad data are met again, and a checkpoint of another run is one of them.
    return not isinstance(error, DataError | InUseError)


@contextmanager
def bar(quiet: bool = False) -> Iterator[Callable[[Progress], object] | None]:
    """A bar on stderr, where that is a terminal; nothing on a pipe."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[told]}"),
        TimeRemainingColumn(),
    )
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks: dict[int, Any] = {}

        def tell(word: Progress) -> None:
            if word.number not in tasks:
                tasks[word.number] = bars.add_task("", total=None, told="")
            told = f"{word.rows:,} {word.unit}"
            if word.unit == "rows":
                told += f" · {word.bytes_per_second / 1e6:.0f} MB/s"
            bars.update(
                tasks[word.number],
                description=f"pass {word.number} {word.step}",
                total=word.total_rows,
                completed=word.rows,
                told=told,
                visible=not word.done,
            )

        yield tell
