"""``bootstrap``: intervals of variances and loadings, by resampling rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from princomp.cli.calls import refuse_inputs
from princomp.cli.model_or_rows import model_and_rows
from princomp.cli.options import fit_options, shared
from princomp.cli.printed import print_json, say
from princomp.cli.tidy import check_tidy, write_tidy
from princomp.cli.watching import bar

__all__ = ["bootstrap"]


@click.command()
@click.argument("files", metavar="MODEL DATA... | FILE...", nargs=-1, required=True)
@click.option(
    "-n",
    "--resamples",
    "n",
    type=click.IntRange(min=2),
    default=1000,
    show_default=True,
    help="How many times rows are drawn.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of draws.")
@click.option(
    "--level",
    type=click.FloatRange(0, 1, True, True),
    default=0.95,
    show_default=True,
    help="Of the intervals.",
)
@click.option(
    "--align",
    type=click.Choice(["signs", "procrustes"]),
    default="signs",
    show_default=True,
    help="Only the signs of axes, or all loadings turned towards those of the table.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, allow_dash=True),
    default=Path("-"),
    show_default=True,
    help="Table to write (.csv, .tsv, .parquet, .arrow); - is CSV on stdout.",
)
@click.option("--force", is_flag=True, help="Replace an existing output.")
@fit_options
@shared
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
    """Intervals of variances, rates and loadings: how far they are this sample's.

    Of a MODEL and DATA, the rows that it was fitted to; or of FILEs, which are fitted first,
    with the flags of fit. One line a variance, a rate and a loading: value, low and high end
    of the interval, standard error.
    """
    from princomp.atomic import check_writable
    from princomp.documents import document

    file = None if str(output) == "-" else output
    if file is not None:
        check_tidy(file)
        refuse_inputs([file], files)
        check_writable([file], force=force)
    model, source, notes = model_and_rows(files, options, as_json)
    from princomp.resampling import bootstrap as bootstrap_of

    with bar(as_json) as tell:
        found = bootstrap_of(source, model, n=n, seed=seed, level=level, align=align, progress=tell)
    if file is not None or not as_json:
        write_tidy(file, found.columns_of("intervals"), force)
    if as_json:
        paths = {} if file is None else {"intervals": str(file)}
        print_json(document("bootstrap", seed=seed, **found.to_dict(), notes=notes, files=paths))
        return
    say(notes)
    click.echo(found, err=True)
