"""Options that several commands share: of fits, of files, and of reading tables."""

from __future__ import annotations

import contextlib
import csv
import os
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeAlias

import click

from princomp import core, io
from princomp.errors import did_you_mean

# A copy of rules.RULES, whose import would add half a second to --help; a test compares them.
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

Command: TypeAlias = Callable[..., Any]
Option: TypeAlias = Callable[[Command], Command]


# ---- texts that click's own types do not convert; used as the types of options ---------------


def _parse_components(value: str) -> int | float | str:
    """Return the value of -k: a number, a fraction (0.8, "80%", "0,8") or the name of a rule."""
    if value in RULES:
        return value
    number: int | float = -1
    with contextlib.suppress(ValueError):
        number = float(value.removesuffix("%").replace(",", ".", 1))
    if value.endswith("%"):
        number /= 100
    with contextlib.suppress(ValueError):
        number = int(value)
    if not (isinstance(number, int) and number >= 0) and not 0 < number < 1:
        valid = "a whole number, a fraction between 0 and 1, or a rule"
        rules = f"{did_you_mean(value, RULES)}Rules are {', '.join(RULES)}"
        raise click.BadParameter(f"{value!r} is not {valid}. {rules}")
    return number


def _parse_names(value: str, noun: str) -> list[str]:
    # Parse as CSV, so that a name with a comma in it can be quoted.
    try:
        names = [name.strip() for name in next(csv.reader([value], skipinitialspace=True), [])]
    except csv.Error:
        raise click.BadParameter(f"{value!r} is not one line of {noun}s") from None
    if not all(names) or not names:
        raise click.BadParameter(f"{value!r} has an empty {noun}")
    return names


def _check_name(value: str) -> str:
    if not value.strip():
        raise click.BadParameter("the name of the column is empty")
    return value


def _parse_separator(value: str) -> str:
    return {"tab": "\t", "\\t": "\t", "space": " "}.get(value, value)


# ---- making options and commands --------------------------------------------------------------


def with_options(*options: Option) -> Option:
    """Combine options into one decorator; --help lists them in this order."""

    def decorate(function: Command) -> Command:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def command(function: Command) -> click.Command:
    """Make a command with --debug, for which ``run`` looks itself, and --json."""
    made = click.command()(function)
    debug_help = "Show the traceback of an error."
    click.option("--debug", is_flag=True, expose_value=False, help=debug_help)(made)
    click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")(made)
    return made


def given_parameters() -> set[str]:
    """Return the parameters of the running command that were given a value."""
    ctx = click.get_current_context()
    default = click.core.ParameterSource.DEFAULT
    return {name for name in ctx.params if ctx.get_parameter_source(name) is not default}


def flag_of(name: str) -> str:
    """Return the flag of a parameter."""
    return f"--{name.replace('_', '-')}"


def choice_option(flag: str, choices: Sequence[str], text: str, **settings: Any) -> Option:
    """Return an option whose value is one of some words, the first by default."""
    kind, default = click.Choice(choices), choices[0]
    return click.option(flag, type=kind, default=default, show_default=True, help=text, **settings)


def names_option(flag: str, text: str, noun: str = "column name") -> Option:
    """Return an option whose value is column names or other words, as in a line of CSV."""
    return click.option(
        flag, type=lambda value: _parse_names(value, noun), metavar="A,B", help=text
    )


def name_option(*flags: str, text: str) -> Option:
    """Return an option whose value is the name of one column."""
    return click.option(*flags, type=_check_name, metavar="COLUMN", help=text)


def format_option(files: str) -> Option:
    """Return an option for the format of the files that a command writes."""
    return choice_option("--format", ["csv", "parquet", "npy"], f"File format of {files}.")


def _escape_formulas(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        ctx.with_resource(io.escaped_formulas())


class _OutputPath(click.Path):
    """A path that is not standard output; ``advice`` follows the message."""

    def __init__(self, advice: str = "") -> None:
        super().__init__(path_type=Path)
        self.advice = advice

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> str | bytes | os.PathLike[str]:
        if os.fspath(value) in ("-", "/dev/stdout"):
            self.fail(f"{value!r} is not the name of a file or folder{self.advice}", param, ctx)
        return super().convert(value, param, ctx)


PATH = click.Path(path_type=Path)
# Text that shells complete to a path; it may also be a wildcard, or name an array in a file.
INPUT = click.Path(readable=False)
OUTPUT_PATH = _OutputPath()
# For commands that write to standard output without the option.
OPTIONAL_PATH = _OutputPath("; leave it out to write to standard output")
SEED = click.IntRange(min=0)
LEVEL = click.FloatRange(0, 1, min_open=True, max_open=True)

model_argument = click.argument("model", type=PATH)
files_argument = click.argument("files", metavar="FILE...", nargs=-1, required=True, type=INPUT)
data_argument = click.argument("files", metavar="[DATA]...", nargs=-1, type=INPUT)
force_option = click.option("--force", is_flag=True, help="Replace existing outputs.")
table_output_options = with_options(
    force_option,
    click.option(
        "--escape-formulas",
        is_flag=True,
        expose_value=False,
        callback=_escape_formulas,
        help="Put ' before names that a spreadsheet may take for formulas (CSV files).",
    ),
)


read_options = with_options(
    click.option("--no-id", is_flag=True, help="Use no column as names of the rows."),
    click.option(
        "--sep", type=_parse_separator, metavar="CHAR", help="Separator: , ; | tab space."
    ),
    click.option("--decimal", type=click.Choice([".", ","]), help="Decimal mark."),
    click.option("--thousands", metavar="CHAR", help="Separator of thousands."),
    click.option("--encoding", metavar="NAME", help="Encoding of the text, such as cp1252."),
    names_option("--na", "More words for missing cells, besides empty, NA, NaN, null.", "word"),
    click.option(
        "--skip", type=click.IntRange(min=0), metavar="N", help="Skip N lines before the table."
    ),
    click.option(
        "--skip-end",
        type=click.IntRange(min=0),
        metavar="N",
        help="Skip N lines at the end, such as totals; blank lines count.",
    ),
    click.option(
        "--header/--no-header", default=None, help="Whether the first line names the columns."
    ),
    click.option(
        "--header-lines", type=click.IntRange(1, 2), help="Lines of column names; 2 are joined."
    ),
    click.option("--comment", metavar="CHAR", help="Skip lines that begin with CHAR."),
    click.option("--sheet", metavar="NAME|N", help="Sheet of a workbook; the first by default."),
    click.option(
        "--untrusted",
        is_flag=True,
        help="Read files in a separate process, with limited memory and time.",
    ),
)


def given_options(options: Option) -> list[click.Parameter]:
    """Return those of some options that the running command was given, the last one first."""
    given, holder = given_parameters(), click.Command("options")
    options(holder)
    return [option for option in holder.params if option.name in given]


def notes_on_read_options(required: str) -> list[str]:
    """Name the options of reading that are ignored, since ``required`` was not given."""
    return [
        f"{'/'.join([*option.opts, *option.secondary_opts])} has no effect without {required}"
        for option in given_options(read_options)
    ]


def _scale_option(more_ways: str = "", *more_choices: str) -> Option:
    return choice_option(
        "--scale",
        ["none", "unit", "pareto", "range", *more_choices],
        "Divide columns by their standard deviation (unit), its square root (pareto) or "
        f"their range{more_ways}.",
        callback=lambda ctx, param, value: None if value == "none" else value,
    )


_column_options = (
    names_option(
        "--columns", "Use only these columns; put a name with a comma in it in double quotes."
    ),
    names_option("--exclude", "Leave these columns out."),
    name_option("--id", "id_column", text="Column with the names of the rows."),
    choice_option(
        "--constant",
        ["error", "zero", "drop"],
        "Constant columns: fail or set their loadings to zero (both with --scale), or also leave "
        "them out of the count of columns.",
    ),
    click.option("--no-center", is_flag=True, help="Do not subtract the column means."),
)
_memory_option = click.option(
    "--memory",
    metavar="SIZE",
    help="Memory that the fit may take, such as 2GB; 60% of the free memory by default.",
)


def _fit_options(scale_option: Option) -> Option:
    return with_options(
        click.option(
            "-k",
            "--components",
            "k",
            type=_parse_components,
            metavar="K",
            help="Number of components: 3, a fraction of the variance (0.9 or 90%), or a rule such "
            "as parallel (see princomp choose). All by default.",
        ),
        scale_option,
        *_column_options,
        choice_option(
            "--missing",
            ["error", "drop", "em", "nipals"],
            "Missing values: fail, drop their rows, or fill the cells from -k components.",
        ),
        choice_option(
            "--solver", [*core.SOLVERS], "Solver; auto chooses one by the shape of the table."
        ),
        _memory_option,
    )


# Options of a plain fit; with those for reading tables; of a fit that may be robust, without them;
# and of choosing the number of components, with them.
plain_fit_options = _fit_options(_scale_option())
fit_options = with_options(plain_fit_options, read_options)
robust_fit_options = with_options(
    _fit_options(_scale_option("; with --robust by their median absolute deviation (mad)", "mad")),
    click.option(
        "--robust",
        is_flag=True,
        help="Fit a robust PCA (ROBPCA), which resists outliers and finds them. Without -k it "
        "keeps 80% of the variance, in at most 10 components.",
    ),
    click.option(
        "--support",
        type=click.FloatRange(0.5, 1.0),
        help="With --robust: share of the rows that are surely not outliers, 0.75 by default.",
    ),
    click.option(
        "--seed",
        type=SEED,
        help="With --robust, --approximation, --solver randomized or a rule: seed, 0 by default.",
    ),
)
choose_options = with_options(
    _scale_option(),
    *_column_options,
    choice_option(
        "--missing",
        ["error", "drop", "em", "nipals"],  # the last two are refused with advice
        "Missing values: fail, or drop their rows.",
        metavar="[error|drop]",
    ),
    _memory_option,
    read_options,
)


def given_read_options() -> io.ReadOptions:
    """Return the read options of the running command; the others are detected from the file."""
    flags = click.get_current_context().params
    names = [field.name for field in fields(io.ReadOptions)]
    given = {name: flags[name] for name in names if flags.get(name) is not None}
    if flags.get("header_lines") is not None:
        if flags["header"] is False:
            raise click.UsageError("--no-header contradicts --header-lines: leave one of them out")
        given["header"] = flags["header_lines"]
    return io.ReadOptions.of(given)
