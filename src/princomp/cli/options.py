"""Flags that several commands share, and how their values are read."""

from __future__ import annotations

import contextlib
import csv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

__all__ = [
    "PATH",
    "choose_options",
    "files_argument",
    "fit_options",
    "flag_of",
    "model_argument",
    "names_option",
    "output_options",
    "refuse_beside",
    "robust_options",
    "shared",
    "typed",
]

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

# choosing.RULES has them; the same holds.
RULES = (
    "kaiser",
    "broken-stick",
    "elbow",
    "parallel",
    "mle",
    "gavish-donoho",
    "marchenko-pastur",
    "gcv",
    "bi-cv",
    "cv",
    "permutation",
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
        if value in RULES:
            return str(value)
        if not (isinstance(number, int) and number >= 0) and not 0 < number < 1:
            lawful = "neither a whole number, a fraction between 0 and 1, nor a rule"
            self.fail(f"{value!r} is {lawful} ({', '.join(RULES)})", param, ctx)
        return number


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


_Option: TypeAlias = Callable[[Callable[..., Any]], Callable[..., Any]]

PATH = click.Path(path_type=Path)
model_argument = click.argument("model", type=PATH)
files_argument = click.argument("files", metavar="FILE...", nargs=-1, required=True)


def shared(command: Callable[..., Any]) -> Callable[..., Any]:
    """--json and --debug, which every command has; ``run`` looks for the latter itself."""
    told = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
    debug = click.option(
        "--debug", is_flag=True, expose_value=False, help="Show the traceback of an error."
    )
    return debug(told(command))


def typed() -> set[str]:
    """Parameters of the running command that somebody gave a value."""
    ctx = click.get_current_context()
    default = click.core.ParameterSource.DEFAULT
    return {name for name in ctx.params if ctx.get_parameter_source(name) is not default}


def flag_of(name: str) -> str:
    """What is typed for a parameter."""
    return f"--{name.replace('_', '-')}"


def refuse_beside(
    flag: str, options: dict[str, Any], others: Sequence[tuple[str, Any, str]]
) -> None:
    """Refuse parameters (name, default, why) that ``flag`` would ignore.

    Raises
    ------
    click.UsageError
    """
    for name, default, why in others:
        if options[name] != default:
            raise click.UsageError(f"{flag_of(name)} does not go with {flag}: {why}")


def names_option(flag: str, told: str) -> _Option:
    """A flag that takes names of columns, as in a line of CSV."""
    return click.option(flag, callback=_names, metavar="A,B", help=told)


def output_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """-o and --force of a command that writes one table."""
    force = click.option("--force", is_flag=True, help="Replace an existing output.")
    return click.option("-o", "--output", type=PATH, help="CSV on stdout by default.")(
        force(command)
    )


def fit_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """How to fit a plain PCA."""
    return _with(command, _fit_options())


def robust_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """How to fit a PCA, plain or robust."""
    robust = (
        click.option(
            "--robust",
            is_flag=True,
            help="Components of most rows, whatever the others do, and which those are (ROBPCA).",
        ),
        click.option(
            "--support",
            type=click.FloatRange(0.5, 1.0),
            help="With --robust: share of the rows that are surely no outliers; 0.75.",
        ),
        click.option(
            "--seed",
            type=click.IntRange(min=0),
            help="With --robust or --approximation: of draws; 0.",
        ),
    )
    return _with(command, (*_fit_options(("none", "unit", "pareto", "range", "mad")), *robust))


def choose_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """How to fit a plain PCA, without -k and --solver."""
    _, *of_table, _, memory = _fit_options()
    return _with(command, (*of_table, memory))


def _with(command: Callable[..., Any], options: Sequence[_Option]) -> Callable[..., Any]:
    for option in reversed(options):
        command = option(command)
    return command


def _fit_options(
    scales: Sequence[str] = ("none", "unit", "pareto", "range"),
) -> tuple[_Option, ...]:
    mad = "; with --robust mad, their median absolute deviation" if "mad" in scales else ""
    return (
        click.option(
            "-k",
            "--components",
            "k",
            type=_Components(),
            help="How many: 3, a fraction of the variance (0.9), or a rule such as parallel "
            "(princomp choose shows them). All by default.",
        ),
        click.option(
            "--scale",
            type=click.Choice(scales),
            default="none",
            show_default=True,
            help=f"Divide columns by their standard deviation, its root, or their range{mad}.",
        ),
        click.option("--columns", callback=_names, metavar="A,B", help="Use only these columns."),
        click.option("--exclude", callback=_names, metavar="A,B", help="Leave these columns out."),
        click.option("--id", "id_column", metavar="COLUMN", help="Column that names the rows."),
        click.option("--no-center", is_flag=True, help="Do not subtract the column means."),
        click.option(
            "--missing",
            type=click.Choice(["error", "drop", "em", "nipals"]),
            default="error",
            show_default=True,
            help="Refuse missing values, leave such rows out, or fill the cells by -k components.",
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
