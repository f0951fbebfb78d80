"""Print output for people and programs: results on stdout, notes and progress on stderr."""

from __future__ import annotations

import io
import json
import os
import shlex
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from princomp import __version__, core, reports
from princomp.cli.hints import as_flags
from princomp.errors import (
    DataError,
    InUseError,
    OutputError,
    counted,
    percent,
    printable,
    writing_to_stream,
)

if TYPE_CHECKING:
    from rich.progress import TaskID

    from princomp.engines import Progress, ProgressCallback
    from princomp.kernel_pca import KernelPCA
    from princomp.linalg import FloatArray

# Version of the layout of documents; changes that break readers increase it.
_VERSION = 1


class StdoutError(OutputError):
    """Standard output is closed or could not be written."""

    def __init__(self, problem: str) -> None:
        super().__init__(
            f"standard output {problem}",
            place={"file": "standard output"},
            hint="send it to a file on a disk with free space (> FILE), or to /dev/null if you do "
            "not need it",
        )


class ClosedStream(io.TextIOWrapper):
    """Takes the place of a stream that the caller closed (``>&-``), and discards its text.

    This also occupies the file descriptor. Otherwise the first output file would get it, and
    everything that libraries print.
    """

    def __init__(self) -> None:
        super().__init__(open(os.devnull, "wb"), encoding="utf-8")  # noqa: SIM115


def require_stdout() -> None:
    """Raise an error if stdout is closed. Results that are written nowhere else would be lost."""
    if isinstance(sys.stdout, ClosedStream):
        raise StdoutError("is closed, so the results would be lost")


@contextmanager
def writing_to_stdout() -> Iterator[None]:
    """Raise StdoutError if stdout cannot be written, but BrokenPipeError if its reader is gone."""
    try:
        with writing_to_stream():
            yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise stdout_failure(error) from error


def stdout_failure(error: OSError) -> StdoutError:
    """The error for a write to stdout that failed."""
    return StdoutError(f"could not be written: {error.strerror or error}")


def echo(text: object = "", *, err: bool = False) -> None:
    """Print text on stdout or stderr, with control characters as escapes."""
    try:
        with writing_to_stream() if err else writing_to_stdout():
            click.echo(printable(str(text)), err=err)  # noqa: TID251 - the one place
    except OSError:
        if not err:
            raise
        # No one reads messages any more. Continue, so that the exit code is correct.
        discard(sys.stderr)


def discard(stream: TextIO) -> None:
    """Discard all further output to a stream, also what Python writes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def one_line(text: str) -> str:
    """Escape line breaks in a text, which names may contain."""
    return text.replace("\n", "\\u000a")


def encodes_all(stream: object) -> bool:
    """Whether a stream can encode every character."""
    return (getattr(stream, "encoding", None) or "utf-8").lower().startswith("utf")


def print_json(contents: dict[str, Any], **settings: Any) -> None:
    """Print one JSON document on stdout; ``settings`` are those of ``json.dumps``."""
    require_stdout()
    if "notes" in contents:
        contents = {**contents, "notes": [as_flags(str(note)) for note in contents["notes"]]}
    # An escape that the stream writes, such as \xe9, would not be JSON.
    ascii_only = not encodes_all(sys.stdout)
    echo(json.dumps(contents, ensure_ascii=ascii_only, **{"allow_nan": False, **settings}))


def print_notes(notes: Iterable[object]) -> None:
    """Print notes on stderr."""
    for note in notes:
        echo(f"note: {one_line(as_flags(str(note)))}", err=True)


def print_document(command: str, **contents: Any) -> None:
    """Print the versioned JSON document of a command; ``files`` are paths by name."""
    if "files" in contents:
        contents["files"] = {name: str(path) for name, path in contents["files"].items()}
    head = {"document": f"princomp.{command}", "version": _VERSION, "princomp": __version__}
    print_json({**head, **contents})


def print_files(files: dict[str, Path]) -> None:
    """Print the paths of files with their names."""
    for name, path in files.items():
        echo(f"{name:12} {path}")


def print_result(
    command: str, as_json: bool, text: object = None, *, list_files: bool = True, **contents: Any
) -> None:
    """Print a document as JSON or, for people, its notes, ``text`` and its files."""
    if as_json:
        print_document(command, **contents)
        return
    if not contents.get("files"):
        require_stdout()
    print_notes(contents["notes"])
    if text is not None:
        echo(text)
    if list_files:
        print_files(contents.get("files", {}))


def print_summary(model: Any, angles: FloatArray | None = None) -> None:
    """Print what a model was fitted to and its variances; ``angles`` (k,) are from a bootstrap."""
    if reports.is_kernel_pca(model):
        _print_kernel_summary(model)
        return
    fitted: Any = core.fitted_model(model)
    plain = isinstance(fitted, core.PCAModel)
    robust, scale = not plain, fitted.parameters.scale if plain else model.scale
    if not isinstance(scale, str):
        scale = "none" if fitted.result.scale is None else "given divisors"
    rows, (components, table) = fitted.n_samples, reports.rates_table(model)
    total = core.row_total(fitted.result.summary.rows, rows) if plain else ""
    count_as = f" (counted as {total})" if total else ""
    kind, of_what = "robust, ", "the variance of most rows"
    if plain:
        kind, of_what = "" if fitted.result.centred else "not centred, ", fitted.result.total_name
    echo(
        f"{'unknown rows' if rows is None else counted(rows, 'row') + count_as} × "
        f"{counted(fitted.schema.p, 'column')}, {kind}scale {scale}: "
        f"{_explained(fitted.k, table[: fitted.k, 1])} of {of_what}"
    )
    if robust:
        count = int(model.outliers_.sum())
        echo(
            f"{count:,} of {counted(rows, 'row')} "
            f"{'is an outlier' if count == 1 else 'are outliers'}: "
            f"score distance above {model.score_cutoff_:.4g}, or orthogonal distance above "
            f"{model.orthogonal_cutoff_:.4g}"
        )
    else:
        if fitted.result.decision is not None:
            echo(f"chosen by {fitted.result.decision}")
        if note := core.sketch_note(fitted.result):
            echo(note)
        for line in core.verdict_lines(core.verdicts(fitted.result, angles)):
            echo(line)
    # A robust fit has no spectrum.
    resolution = 0.0 if robust else fitted.result.spectrum.resolution
    _print_variances(components, table, fitted.k, resolution)


def _print_kernel_summary(model: KernelPCA) -> None:
    gamma, error = model.plan_.gamma, model.approximation_error_
    echo(
        f"{counted(model.n_samples_, 'row')} × {counted(model.n_features_in_, 'column')}, "
        f"kernel {model.kernel}"
        f"{'' if gamma is None else f', gamma {gamma:.6g}'}"
        f"{'' if model.scale_ is None else ', scaled columns'}: "
        f"{_explained(model.n_components_, model.explained_variance_ratio_)} of the variance in "
        "its feature space"
    )
    if error > 0:  # NaN without an estimate
        what = f"estimated relative error of the kernel matrix {error:.2%}"
        if model.approximation == "nystrom":
            what = f"an estimated {error:.2%} of the variance is left out"
        echo(f"{model.approximation}: {what}")
    resolution = core.fitted_model(model).result.spectrum.resolution
    _print_variances(*reports.rates_table(model), model.n_components_, resolution)


def _explained(k: int, rates: FloatArray) -> str:
    verb = " explains" if k == 1 else "s explain"
    return f"{k} component{verb} {percent(float(rates.sum()))}"


def _print_variances(names: list[str], table: FloatArray, k: int, resolution: float) -> None:
    """Print one line per component, including the first ones left out."""
    from rich.console import Console
    from rich.table import Table

    grid = Table("component", box=None, pad_edge=False)
    for heading in ("variance", "rate", "accumulated"):
        grid.add_column(heading, justify="right")
    shown = min(len(names), max(k, 1) + 3, 20)
    for i in range(shown):
        value, rate, accumulated = table[i]
        rounding = " (below resolution)" if value <= resolution else ""
        remark = rounding if i < k else " (left out)"
        grid.add_row(names[i] + remark, f"{value:.7g}", f"{rate:.2%}", f"{accumulated:.2%}")
    with writing_to_stdout():
        Console(highlight=False, width=None if sys.stdout.isatty() else 100).print(grid)
    if shown < len(names):
        echo(f"… {counted(len(names) - shown, 'more variance')}")


# ---- progress ---------------------------------------------------------------------------


@contextmanager
def hint_to_resume(checkpoint: Path | None) -> Iterator[None]:
    """Print the command that resumes a run with a checkpoint when it is interrupted."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit, Exception) as error:
        # Bad data would fail again, and a checkpoint in use belongs to another run.
        resumable = not isinstance(error, DataError | InUseError)
        if checkpoint is not None and checkpoint.exists() and resumable:
            command = f"princomp resume {shlex.quote(str(checkpoint))}"
            echo(f"princomp: resume with: {command}", err=True)
        elif checkpoint is not None and isinstance(error, KeyboardInterrupt | SystemExit):
            echo(f"princomp: interrupted before anything was saved in {checkpoint}", err=True)
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
                refresh=is_new,  # so that even a pass shorter than the refresh interval appears
            )
            if progress.done:  # hidden only after it was drawn
                bars.update(tasks[progress.number], visible=False)

        yield show


def print_loadings(model: Any, smallest: float) -> None:
    """Print loadings: each variable under the component on which its loading is largest.

    Loadings that are smaller than ``smallest`` in absolute value are left blank.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    loadings: FloatArray = core.fitted_model(model).result.loadings
    names = reports.column_labels(model)
    sizes = abs(loadings)
    component, form = sizes.argmax(axis=1), ".3f" if 0.1 <= sizes.max() < 10 else ".4g"
    grid = Table(box=None, pad_edge=False)
    grid.add_column("loading", overflow="fold")
    for a in range(loadings.shape[1]):
        grid.add_column(f"PC{a + 1}", justify="right", no_wrap=True)
    for j in sorted(range(len(names)), key=lambda j: (component[j], -sizes[j].max())):
        shown = ("" if abs(x) < smallest else f"{x:{form}}" for x in loadings[j])
        grid.add_row(Text(one_line(printable(str(names[j])))), *shown)
    with writing_to_stdout():
        # Lines that are longer than those of a terminal are wrapped by it, not cut.
        Console(highlight=False, width=50 + 12 * loadings.shape[1]).print(grid)
