"""``bootstrap``: confidence intervals of variances and loadings, by resampling rows."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from princomp import diagnostics, io
from princomp.cli.inputs import is_table, model_and_rows
from princomp.cli.options import (
    INPUT,
    LEVEL,
    SEED,
    choice_option,
    command,
    fit_options,
    table_output_options,
)
from princomp.cli.output import (
    echo,
    print_document,
    print_notes,
    progress_bar,
    require_stdout,
    writing_to_stdout,
)
from princomp.cli.results import check_outputs
from princomp.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_COLUMNAR = (".parquet", ".arrow", ".feather")


@command
@click.argument("files", metavar="MODEL DATA... | FILE...", nargs=-1, required=True, type=INPUT)
@click.option(
    "-n",
    "--resamples",
    "n",
    type=click.IntRange(min=2),
    default=1000,
    show_default=True,
    help="Number of resamples.",
)
@click.option("--seed", type=SEED, default=0, show_default=True, help="Random seed.")
@click.option(
    "--level", type=LEVEL, default=0.95, show_default=True, help="Level of the intervals."
)
@choice_option(
    "--align",
    ["signs", "procrustes"],
    "How loadings of resamples are matched: by their signs, or by a rotation.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, allow_dash=True),
    default=Path("-"),
    show_default=True,
    help="Table to write (.csv, .tsv, .parquet, .arrow); - is CSV on stdout.",
)
@table_output_options
@fit_options
def bootstrap(
    files: tuple[str, ...],
    n: int,
    seed: int,
    level: float,
    align: str,
    output: Path,
    force: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Bootstrap intervals of variances, rates and loadings.

    Takes a MODEL and DATA, the rows that it was fitted to; or FILEs, which are fitted first,
    with the options of fit. Writes one line per variance, rate and loading: value, ends of the
    interval, standard error.
    """
    file = None if str(output) == "-" else output
    if file is None or as_json:
        require_stdout()
    if file is not None:
        _check_extension(file)
        check_outputs([file], files, force=force)
    if len(files) == 1 and not is_table(files[0]):
        raise click.UsageError(f"{files[0]} is a model: give DATA, the rows of its fit, after it")
    model, source, notes, _ = model_and_rows(files, options, as_json, "only a PCA can be resampled")

    with progress_bar(as_json) as progress:
        result = diagnostics.bootstrap(
            model, source, n=n, random_state=seed, level=level, align=align, progress=progress
        )
    if file is not None or not as_json:
        _write_columns(file, result.columns_of("intervals"), force)
    if as_json:
        outputs = {} if file is None else {"intervals": file}
        print_document("bootstrap", seed=seed, **result.to_dict(), notes=notes, files=outputs)
        return
    print_notes(notes)
    echo(result, err=True)


def _check_extension(output: Path) -> None:
    """Refuse a file extension that does not name a format for such a table."""
    known = (*_DELIMITERS, *_COLUMNAR)
    if output.suffix.lower() not in known:
        raise ParameterError(
            f"{output}: unknown file extension for a table of text and numbers",
            place={"file": str(output)},
            hint=f"use one of {', '.join(known)}",
        )


def _write_columns(output: Path | None, columns: dict[str, NDArray[Any]], force: bool) -> None:
    """Write named columns (n,); None becomes an empty cell."""
    # The csv module writes Python floats with the shortest decimals that read back the same.
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    lines = itertools.chain([list(columns)], rows)
    if output is None:
        with writing_to_stdout():
            sys.stdout.buffer.write(io.csv_lines(lines, ","))
        return
    kind = output.suffix.lower()
    with io.atomic_write(output, force=force) as file:
        if kind in _DELIMITERS:
            file.write(io.csv_lines(lines, _DELIMITERS[kind]))
            return
        pa = io.need_pyarrow("pyarrow")
        table = pa.table({name: pa.array(column.tolist()) for name, column in columns.items()})
        if kind == ".parquet":
            io.need_pyarrow("pyarrow.parquet").write_table(table, file)
        else:
            with pa.ipc.new_file(file, table.schema) as writer:
                writer.write_table(table)
