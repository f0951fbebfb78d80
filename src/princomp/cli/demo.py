"""``demo``: a first analysis of a table that comes with the package."""

from __future__ import annotations

import shlex
import sys
from contextlib import nullcontext, redirect_stdout
from importlib import resources
from io import StringIO
from pathlib import Path
from shutil import which

import click

from princomp import io, reports
from princomp.cli.fitting import fit
from princomp.cli.options import OUTPUT_PATH, command, force_option
from princomp.cli.output import echo, print_document
from princomp.cli.reporting import report


@command
@click.option(
    "-o",
    "--output",
    type=OUTPUT_PATH,
    default=Path("princomp_demo"),
    show_default=True,
    help="Folder for the data and the results.",
)
@force_option
def demo(output: Path, force: bool, as_json: bool) -> None:
    """Try princomp: analyse a small table and write its report.

    The data are arrests per 100,000 residents in the 50 US states in 1973, for three crimes, and
    the share of people who live in cities.
    """
    table, model, page = (output / name for name in ("usarrests.csv", "model.pca", "report.html"))
    fit_outputs = ("eigenvalues.csv", "loadings.csv", "model.pca", "scores.csv")
    io.check_writable([table, page, *(output / name for name in fit_outputs)], force=force)
    reports.check_libraries()
    with io.atomic_write(table, force=force) as file:
        file.write(resources.files("princomp.cli").joinpath(table.name).read_bytes())
    options = [str(table), "--id", "State", "--scale", "unit"]
    _run(fit, [*options, "-k", "0.8", "-o", str(output)], force, as_json)
    _run(report, [*options, "-k", "2", "-o", str(page)], force, as_json)
    if as_json:
        print_document("demo", notes=[], files={"data": table, "model": model, "report": page})
        return
    echo(f"Open the report in a browser: {page.resolve()}\n\nThree things to try next:")
    biplot = str(output / "biplot.svg")
    for arguments in (
        ["choose", *options],
        ["plot", "biplot", str(model), str(table), "-o", biplot],
        ["report", "YOUR_TABLE.csv", "--scale", "unit"],
    ):
        echo(f"  {_program_name()} {shlex.join(arguments)}")


def _program_name() -> str:
    """Return how to call this program: by name, or by path if the shell does not find the name."""
    program = Path(sys.argv[0])
    by_path = program.name == "princomp" and which("princomp") is None
    return shlex.quote(str(program)) if by_path else "princomp"


def _run(to_run: click.Command, arguments: list[str], force: bool, quiet: bool) -> None:
    """Print a command as a user would type it, and run it."""
    full_arguments = [*arguments, *(["--force"] if force else [])]
    with redirect_stdout(StringIO()) if quiet else nullcontext():
        echo(f"$ princomp {to_run.name} {shlex.join(arguments)}")
        group = click.get_current_context().parent
        to_run.main(full_arguments, prog_name=to_run.name, standalone_mode=False, parent=group)
        echo()
