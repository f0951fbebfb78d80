"""The command line: arguments to calls, nothing else.

Data go to stdout, everything else to stderr. With ``--json`` stdout carries exactly
one document, also on error. Exit codes: 0 done, 2 usage, 65 bad data, 66 no such
input, 73 cannot create, 74 input or output failed, 75 try again, 130 and 143 after
signals.
"""

from __future__ import annotations

import contextlib
import csv
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from princomp import errors
from princomp._version import __version__

if TYPE_CHECKING:
    from princomp.estimator import PCA
    from princomp.sources.table import Table

__all__ = ["run"]

_CODES: tuple[tuple[type[BaseException], int], ...] = (
    (errors.ParameterError, 2),
    (errors.DataError, 65),
    (errors.NotAvailableError, 65),
    (errors.InputNotFoundError, 66),
    (errors.OutputExistsError, 73),
    (errors.OutputError, 73),
    (errors.MissingLibraryError, 75),
    (MemoryError, 75),
    (OSError, 74),
)
_SOLVERS = ("auto", "full", "covariance_eigh", "arpack", "lanczos", "randomized", "row_gram")


class _Components(click.ParamType[int | float | str]):
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


def _shared(command: Callable[..., Any]) -> Callable[..., Any]:
    """--json and --debug, which every command has."""
    command = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")(
        command
    )
    return click.option("--debug", is_flag=True, help="Show the traceback of an error.")(command)


def _fit_options(command: Callable[..., Any]) -> Callable[..., Any]:
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
            type=click.Choice(_SOLVERS),
            default="auto",
            show_default=True,
            help="Which route; auto decides by shape and says why.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="princomp", message="%(prog)s %(version)s")
def cli() -> None:
    """Principal component analysis of tables: a file in, an inspectable answer out."""


@cli.command()
@click.argument("file", type=click.Path(path_type=Path))
@_fit_options
@click.option("-m", "--model", type=click.Path(path_type=Path), help="Model file to write.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Folder for the results; NAME_pca for NAME.csv by default.",
)
@click.option(
    "--format",
    "kind",
    type=click.Choice(["csv", "parquet", "npy"]),
    default="csv",
    show_default=True,
    help="Of scores, loadings and eigenvalues.",
)
@click.option("--force", is_flag=True, help="Replace existing outputs.")
@_shared
def fit(file: Path, as_json: bool, debug: bool, **options: Any) -> None:
    """Fit a PCA to the numeric columns of FILE.

    Writes scores (a row for each row of FILE), loadings (axes times the root of their
    variance), eigenvalues and the model. FILE is .csv, .tsv (also .gz), .parquet,
    .arrow or .npy.
    """
    from princomp.atomic import check_writable
    from princomp.documents import of_fit, scale_hint

    files = _results(file, options)
    check_writable(files.values(), force=options["force"])
    table = _read(file, options)
    model = _estimator(options).fit(table)
    model.id_column_ = options["id_column"]
    notes = list(table.notes)
    if model.n_dropped_:
        notes.append(
            f"{model.n_dropped_:,} rows with missing values took no part; their scores are empty"
        )
    if hint := scale_hint(model):
        notes.append(hint)
    if table.ids is not None and options["kind"] == "npy":
        notes.append("npy files hold numbers only: the ids are not in scores.npy")
    _write_results(model, table, files, options["force"])
    if as_json:
        _print_json(of_fit(model, files, notes))
        return
    _say(notes)
    _print_summary(model)
    for name, path in files.items():
        click.echo(f"{name:12} {path}")


@cli.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("file", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), help="CSV on stdout by default.")
@click.option("--force", is_flag=True, help="Replace an existing output.")
@_shared
def transform(
    model: Path, file: Path, output: Path | None, force: bool, as_json: bool, debug: bool
) -> None:
    """Scores of the rows of FILE under MODEL.

    Columns are bound by name; the format of the output goes by its ending.
    """
    from princomp.documents import component_names
    from princomp.functions import load

    pca = load(model)
    _check_output(output, force)
    names = getattr(pca, "feature_names_in_", None)
    table, notes = _bound(file, None if names is None else [str(n) for n in names], pca)
    scores = pca.transform(table)
    _hand_over(
        "transform",
        table,
        component_names(pca.n_components_),
        scores,
        output,
        force,
        as_json,
        notes,
    )


@cli.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("file", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), help="CSV on stdout by default.")
@click.option("--force", is_flag=True, help="Replace an existing output.")
@_shared
def inverse(
    model: Path, file: Path, output: Path | None, force: bool, as_json: bool, debug: bool
) -> None:
    """Rows in the units of the data from the scores in FILE (columns PC1, PC2, …)."""
    from princomp.documents import component_names
    from princomp.functions import load

    pca = load(model)
    _check_output(output, force)
    names = None if file.name.lower().endswith(".npy") else component_names(pca.n_components_)
    table, notes = _bound(file, names, pca)
    rows = pca.inverse_transform(table.data)
    columns = getattr(pca, "feature_names_in_", range(pca.n_features_in_))
    _hand_over("inverse", table, [str(c) for c in columns], rows, output, force, as_json, notes)


@cli.command()
@click.argument("model", type=click.Path(path_type=Path))
@_shared
def show(model: Path, as_json: bool, debug: bool) -> None:
    """What MODEL holds: variances, plan and certificate."""
    from princomp.documents import document, of_model
    from princomp.functions import load

    pca = load(model)
    if as_json:
        parameters = {k: v for k, v in pca.get_params().items() if k != "scale"}
        scale = pca.scale if isinstance(pca.scale, str | None) else "given"
        _print_json(document("show", parameters={**parameters, "scale": scale}, **of_model(pca)))
        return
    _print_summary(pca)
    if (names := getattr(pca, "feature_names_in_", None)) is not None:
        click.echo(f"columns: {', '.join(map(str, names))}")
    if pca.id_column_ is not None:
        click.echo(f"id column: {pca.id_column_}")
    click.echo(pca.plan_)
    click.echo(pca.certificate_)


@cli.command()
@click.argument("file", type=click.Path(path_type=Path))
@_fit_options
@_shared
def plan(file: Path, as_json: bool, debug: bool, **options: Any) -> None:
    """What a fit of FILE would do and cost, without doing it."""
    from princomp.documents import document
    from princomp.functions import plan as plan_of

    table = _read(file, options)
    found = plan_of(table, **_estimator(options).get_params(deep=False))
    if as_json:
        _print_json(document("plan", plan=found.to_dict(), notes=list(table.notes)))
        return
    _say(table.notes)
    click.echo(found)


# ---- calls ----------------------------------------------------------------------------


def _estimator(options: dict[str, Any]) -> PCA:
    from princomp.estimator import PCA

    return PCA(
        options["k"],
        svd_solver=options["solver"],
        scale=None if options["scale"] == "none" else options["scale"],
        center=not options["no_center"],
        missing=options["missing"],
    )


def _read(file: Path, options: dict[str, Any]) -> Table:
    from princomp.sources.files import read_table

    return read_table(
        file,
        columns=options["columns"],
        exclude=options["exclude"] or (),
        id_column=options["id_column"],
    )


def _bound(file: Path, names: list[str] | None, model: PCA) -> tuple[Table, list[str]]:
    """The columns of a file that a model wants, by name; an extra one is noted."""
    from princomp.sources.files import read_table

    id_column = model.__dict__.get("id_column_")
    notes: list[str] = []
    if names is None:
        return read_table(file), notes
    try:
        table = read_table(file, columns=names, id_column=id_column)
    except errors.ColumnError as error:
        missing = error.place.get("missing")
        if missing is None:
            raise
        if missing != [id_column]:
            raise _unbound(error, file, names, id_column) from None
        notes.append(f"{file} has no id column {id_column!r}; the rows go without")
        table = read_table(file, columns=names)
    if table.unused:
        notes.append(f"ignored columns that the model does not use: {', '.join(table.unused)}")
    return table, notes


def _unbound(
    error: errors.ColumnError, file: Path, names: list[str], id_column: str | None
) -> errors.ColumnError:
    """Say which columns of the model are missing in a file, and which are new."""
    available = error.place["available"]
    missing = [name for name in names if name not in available]
    new = [name for name in available if name not in names and name != id_column]
    return errors.ColumnError(
        f"{file} lacks columns of the model: {', '.join(missing)}"
        + (f"; new in it: {', '.join(new)}" if new else ""),
        place={"file": str(file), "missing": missing, "new": new},
        hint="rename the columns to those of the model (princomp show lists them)",
    )


def _results(file: Path, options: dict[str, Any]) -> dict[str, Path]:
    """Where the results of a fit go."""
    stem = file.name.partition(".")[0] or "table"
    folder = options["output"] or Path(f"{stem}_pca")
    files = {
        name: folder / f"{name}.{options['kind']}" for name in ("scores", "loadings", "eigenvalues")
    }
    return {**files, "model": options["model"] or folder / "model.pca"}


def _write_results(model: PCA, table: Table, files: dict[str, Path], force: bool) -> None:
    from princomp.documents import component_names, rates_table
    from princomp.outputs import write_table

    components = component_names(model.n_components_)
    columns = getattr(model, "feature_names_in_", range(model.n_features_in_))
    all_components, rates = rates_table(model)
    scores = model.transform(table)
    id_column = model.__dict__.get("id_column_")
    write_table(
        files["scores"],
        columns=components,
        data=scores,
        ids=table.ids,
        id_column=id_column,
        force=force,
    )
    write_table(
        files["loadings"],
        columns=components,
        data=model.loadings_,
        ids=[str(c) for c in columns],
        id_column="variable",
        force=force,
    )
    write_table(
        files["eigenvalues"],
        columns=["eigenvalue", "contribution_rate", "accumulated_rate"],
        data=rates,
        ids=all_components,
        id_column="component",
        force=force,
    )
    model.save(files["model"], overwrite=force)


def _check_output(output: Path | None, force: bool) -> None:
    from princomp.outputs import check_writable, table_format

    if output is not None:
        table_format(output)
        check_writable([output], force=force)


def _hand_over(
    command: str,
    table: Table,
    columns: list[str],
    data: Any,
    output: Path | None,
    force: bool,
    as_json: bool,
    notes: list[str],
) -> None:
    """Write a table to a file or stdout, or put it into the document."""
    from princomp.documents import document, of_rows
    from princomp.outputs import write_table

    if as_json and output is None:
        _print_json(of_rows(command, columns, data, table.ids, notes))
        return
    write_table(
        sys.stdout.buffer if output is None else output,
        columns=columns,
        data=data,
        ids=table.ids,
        id_column=table.id_column,
        force=force,
    )
    if as_json:
        files = {"data": str(output)}
        _print_json(document(command, rows=len(data), columns=columns, notes=notes, files=files))
    else:
        _say(notes)


# ---- what is printed ------------------------------------------------------------------


def _print_json(contents: dict[str, Any]) -> None:
    click.echo(json.dumps(contents, ensure_ascii=False, allow_nan=False))


def _say(notes: Any) -> None:
    for note in notes:
        click.echo(f"note: {note}", err=True)


def _print_summary(model: PCA) -> None:
    from rich.console import Console
    from rich.table import Table as Grid

    from princomp.documents import rates_table

    fitted = model._state
    scale = model.scale if isinstance(model.scale, str) else None
    given = "given divisors" if fitted.scale is not None and scale is None else scale
    rows = "unknown" if fitted.n_samples is None else f"{fitted.n_samples:,}"
    click.echo(
        f"{rows} rows × {fitted.p:,} columns, scale {given or 'none'}: "
        f"{fitted.k} components hold {float(fitted.rates.sum()):.1%} of the variance"
    )
    grid = Grid(box=None, pad_edge=False)
    for heading in ("component", "variance", "rate", "accumulated"):
        grid.add_column(heading, justify="left" if heading == "component" else "right")
    names, table = rates_table(model)
    shown = min(len(names), max(fitted.k, 1) + 3, 20)
    for i in range(shown):
        value, rate, accumulated = table[i]
        left = "" if i < fitted.k else " (left out)"
        grid.add_row(names[i] + left, f"{value:.7g}", f"{rate:.2%}", f"{accumulated:.2%}")
    Console(highlight=False, width=None if sys.stdout.isatty() else 100).print(grid)
    if shown < len(names):
        click.echo(f"… {len(names) - shown} more variances")


# ---- running --------------------------------------------------------------------------


def run(arguments: list[str] | None = None) -> int:
    """Run the command line and give its exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    signal.signal(signal.SIGTERM, _terminated)
    try:
        cli.main(args=given, prog_name="princomp", standalone_mode=False)
        sys.stdout.flush()
        return 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except (KeyboardInterrupt, click.exceptions.Abort):
        return 130
    except BrokenPipeError:
        return _unheard()
    except SystemExit as stop:
        if stop.code != 1:
            raise
        return _unheard()  # click itself makes exit code 1 of a closed pipe
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return 2
    except click.UsageError as error:
        return _failed(error, given, _usage(error), 2)
    except Exception as error:
        code = next((code for kind, code in _CODES if isinstance(error, kind)), 70)
        if isinstance(error, errors.PrincompError):
            return _failed(error, given, error.to_dict(), code)
        what = {"kind": type(error).__name__, "message": str(error) or type(error).__name__}
        hint = None if code != 70 else "this is a fault of princomp; --debug shows where"
        return _failed(error, given, {**what, "place": {}, "hint": hint}, code)


def _unheard() -> int:
    """The reader has seen enough; nothing more may be written, not even at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _terminated(*_: Any) -> NoReturn:
    raise SystemExit(143)


def _usage(error: click.UsageError) -> dict[str, Any]:
    command = error.ctx.command_path if error.ctx else "princomp"
    return {
        "kind": "UsageError",
        "message": error.format_message(),
        "place": {"command": command},
        "hint": f"see '{command} --help'",
    }


def _failed(error: Exception, given: list[str], told: dict[str, Any], code: int) -> int:
    """Print an error where and as it was asked for."""
    if "--debug" in given:
        traceback.print_exception(error)
    if "--json" in given:
        plain = json.dumps({"error": {**told, "exit_code": code}}, ensure_ascii=False, default=str)
        click.echo(plain)
    else:
        click.echo(f"princomp: {told['message']}", err=True)
        if told["hint"]:
            click.echo(f"Hint: {told['hint']}", err=True)
    return code
