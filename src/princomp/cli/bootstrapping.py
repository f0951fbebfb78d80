"""``bootstrap``: confidence intervals of variances and loadings, by resampling rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from princomp.cli.actions import check_outputs
from princomp.cli.model_or_rows import is_table, model_and_rows, refuse_fit_flags
from princomp.cli.options import (
    LEVEL,
    SEED,
    choice_option,
    command,
    fit_options,
    force_option,
    formulas_option,
)
from princomp.cli.output import echo, print_json, print_notes
from princomp.cli.progress import progress_bar
from princomp.cli.read_options import read_options
from princomp.cli.table_writer import check_extension, write_columns


@command
@click.argument("files", metavar="MODEL DATA... | FILE...", nargs=-1, required=True)
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
@force_option
@formulas_option
@fit_options
@read_options
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
    from princomp.reports import document

    file = None if str(output) == "-" else output
    if file is not None:
        check_extension(file)
        check_outputs([file], files, force=force)
    if not is_table(files[0]):
        refuse_fit_flags(files[0])
        if len(files) == 1:
            raise click.UsageError(
                f"{files[0]} is a model: give DATA, the rows of its fit, after it"
            )
    requirement = "only a PCA can be resampled"
    model, source, notes, _ = model_and_rows(files, options, as_json, requirement)
    from princomp.diagnostics import bootstrap as compute_bootstrap

    with progress_bar(as_json) as progress:
        result = compute_bootstrap(
            model, source, n=n, random_state=seed, level=level, align=align, progress=progress
        )
    if file is not None or not as_json:
        write_columns(file, result.columns_of("intervals"), force)
    if as_json:
        paths = {} if file is None else {"intervals": str(file)}
        print_json(document("bootstrap", seed=seed, **result.to_dict(), notes=notes, files=paths))
        return
    print_notes(notes)
    echo(result, err=True)
