"""Flags that several commands share, and how their values are read."""

from __future__ import annotations

import contextlib
import csv
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

__all__ = ["files_argument", "fit_options", "model_argument", "output_options", "shared"]

# planning.SOLVERS has them; loading it would cost --help half a second. A test compares.
SOLVERS = (
    "auto",
    "full",
    "covariance_eigh",
    "arpack",
    "lanczos",
    "randomized",
    "row_gram",
    "krylov",
    "sketch",
)

if TYPE_CHECKING:
    _ParamType = click.ParamType[int | float | str]
else:
    _ParamType = click.ParamType  # a generic only in newer releases of click


class _Components(_ParamType):
    """-k: a number, a fraction or the name of a rule."""

    name = "K"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | float | str:
        number: int | float = -1
        for kind in (float, int):
            with contextlib.suppress(ValueError):
                number = kind(value)
        if value != "mle" and not (isinstance(number, int) and number >= 0) and not 0 < number < 1:
            rule = f"{value!r} is neither a whole number, a fraction between 0 and 1, nor 'mle'"
            self.fail(rule, param, ctx)
        return "mle" if value == "mle" else number


def _names(_: Any, __: Any, value: str | None) -> list[str] | None:
    if value is None:
        return None
    # As in a CSV file, so that a name with a comma in it can be quoted.
    names = [name.strip() for name in next(csv.reader([value], skipinitialspace=True), [])]
    if not all(names) or not names:
        raise click.BadParameter(f"{value!r} holds an empty column name")
    return names


def _memory(_: Any, __: Any, value: str | None) -> str | None:
    if value is not None:
        from princomp.errors import ParameterError
        from princomp.memory import byte_count

        try:
            byte_count(value)
        except ParameterError as error:
            raise click.BadParameter(f"{value!r} is no size of memory; {error.hint}") from None
    return value


_PATH = click.Path(path_type=Path)
model_argument = click.argument("model", type=_PATH)
files_argument = click.argument("files", metavar="FILE...", nargs=-1, required=True)


def shared(command: Callable[..., Any]) -> Callable[..., Any]:
    """--json and --debug, which every command has."""
    command = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")(
        command
    )
    return click.option("--debug", is_flag=True, help="Show the traceback of an error.")(command)


def output_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """-o and --force of a command that writes one table."""
    force = click.option("--force", is_flag=True, help="Replace an existing output.")
    return click.option("-o", "--output", type=_PATH, help="CSV on stdout by default.")(
        force(command)
    )


def fit_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What ``fit`` and ``plan`` both take."""
    options = (
        click.option(
            "-k",
            "--components",
            "k",
            type=_Components(),
            help="How many: 3, a fraction of the variance (0.9), or mle. All by default.",
        ),
        click.option(
            "--scale",
            type=click.Choice(["none", "unit", "pareto", "range"]),
            default="none",
            show_default=True,
            help="Divide columns by their standard deviation, its root, or their range.",
        ),
        click.option("--columns", callback=_names, metavar="A,B", help="Use only these columns."),
        click.option("--exclude", callback=_names, metavar="A,B", help="Leave these columns out."),
        click.option("--id", "id_column", metavar="COLUMN", help="Column that names the rows."),
        click.option("--no-center", is_flag=True, help="Do not subtract the column means."),
        click.option(
            "--missing",
            type=click.Choice(["error", "drop"]),
            default="error",
            show_default=True,
            help="Refuse missing values, or leave such rows out of the fit.",
        ),
        click.option(
            "--solver",
            type=click.Choice(SOLVERS),
            default="auto",
            show_default=True,
            help="Which route; auto decides by shape and says why.",
        ),
        click.option(
            "--memory",
            callback=_memory,
            metavar="SIZE",
            help="How much memory the fit may take, such as 2GB; 60% of what is free by default.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command
