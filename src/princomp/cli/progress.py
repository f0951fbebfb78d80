"""Show the progress of a long fit on a terminal, and how to resume it after an interruption."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from princomp.cli.output import echo

if TYPE_CHECKING:
    from rich.progress import TaskID

    from princomp.engines import Progress, ProgressCallback


@contextmanager
def hint_to_resume(checkpoint: Path | None) -> Iterator[None]:
    """Print the command that resumes a run with a checkpoint when it is interrupted."""
    from princomp.errors import DataError, InUseError

    try:
        yield
    except (KeyboardInterrupt, SystemExit, Exception) as error:
        # Bad data would fail again, and a checkpoint in use belongs to another run.
        if (
            checkpoint is not None
            and checkpoint.exists()
            and not isinstance(error, DataError | InUseError)
        ):
            command = f"princomp resume {shlex.quote(str(checkpoint))}"
            echo(f"princomp: resume with: {command}", err=True)
        raise


@contextmanager
def progress_bar(quiet: bool = False) -> Iterator[ProgressCallback | None]:
    """Show a progress bar on stderr if that is a terminal."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress as RichProgress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[count]}"),
        TimeRemainingColumn(),
    )
    with RichProgress(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks: dict[int, TaskID] = {}

        def show(progress: Progress) -> None:
            is_new = progress.number not in tasks
            if is_new:
                tasks[progress.number] = bars.add_task("", total=None, count="")
            count = f"{progress.rows:,} {progress.unit}"
            if progress.unit == "rows":
                count += f" · {progress.bytes_per_second / 1e6:.0f} MB/s"
            bars.update(
                tasks[progress.number],
                description=f"pass {progress.number} {progress.step}",
                total=progress.total_rows,
                completed=progress.rows,
                count=count,
                visible=not progress.done,
                refresh=is_new,  # so that even a pass shorter than the refresh interval appears
            )

        yield show
