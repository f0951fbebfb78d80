"""``report``: an HTML page of a model, or of a table that is fitted first."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from princomp import core, io, reports
from princomp.cli.inputs import is_table, model_and_rows
from princomp.cli.options import (
    INPUT,
    LEVEL,
    OUTPUT_PATH,
    command,
    fit_options,
    force_option,
    given_parameters,
    name_option,
    names_option,
    notes_on_read_options,
)
from princomp.cli.output import print_result
from princomp.cli.results import check_outputs, notes_on_rows, output_stem

if TYPE_CHECKING:
    from numpy.typing import NDArray


def _check_resamples(_: click.Context, __: click.Parameter, value: int | None) -> int | None:
    if value == 1:
        raise click.BadParameter("one resample has no spread: give 2 or more, or 0 for none")
    return value


@command
@click.argument("files", metavar="MODEL [DATA]... | FILE...", nargs=-1, required=True, type=INPUT)
@click.option(
    "-o",
    "--output",
    type=OUTPUT_PATH,
    help="Page to write; NAME_report.html for NAME.csv by default.",
)
@click.option("--title", help="Title of the page; the name of the rows by default.")
@click.option(
    "--lang", default="en", show_default=True, help="Language of the page; only en so far."
)
@name_option("--groups", text="Column with categories, shown in colours.")
@names_option("--metadata", "Columns to compare with the components.")
@names_option("--categorical", "Columns of --metadata whose numbers are codes of categories.")
@click.option(
    "--training/--not-training",
    default=None,
    help="Whether DATA are the rows of the fit; found by their means and variances by default.",
)
@click.option(
    "--bootstrap",
    type=click.IntRange(min=0),
    callback=_check_resamples,
    metavar="N",
    help="Intervals from N resamples, 0 for none; by default 200, if that is quick (0.5 s).",
)
@click.option("--level", type=LEVEL, default=0.95, help="Level of the limits, 0.95 by default.")
@force_option
@fit_options
def report(
    files: tuple[str, ...],
    output: Path | None,
    force: bool,
    as_json: bool,
    groups: str | None,
    metadata: list[str] | None,
    categorical: list[str] | None,
    **options: Any,
) -> None:
    """Write an HTML page of the results and their reliability.

    Takes a MODEL, and the rows of DATA; or FILEs, which are fitted first, with the options of
    fit. The page needs no network and no other file.
    """
    is_fit = is_table(files[0])
    _check_arguments(files, is_fit)
    codes = categorical or []
    if unknown := [name for name in codes if name not in (metadata or [])]:
        raise click.UsageError(f"--categorical {unknown[0]} is not a column of --metadata")
    output = output or Path(f"{output_stem(files)}_report.html")
    check_outputs([output], files, force=force)

    reports.check_libraries()
    extra = list(dict.fromkeys([*([groups] if groups else []), *(metadata or [])]))
    requirement = "a report needs a plain PCA"
    row_files = files if is_fit else files[1:]
    pca, rows, notes, values = model_and_rows(files, options, as_json, requirement, extra)
    reports.report(
        pca,
        rows,
        output,
        title=options["title"],
        lang=options["lang"],
        data=_rows_name(row_files),
        groups=None if groups is None else {groups: io.as_texts(values[groups])},
        metadata=None if metadata is None else _metadata(row_files, metadata, values, codes),
        training=True if is_fit else options["training"],
        bootstrap=options["bootstrap"],
        level=options["level"],
        overwrite=force,
    )
    if rows is None:
        notes = [*notes, *notes_on_read_options("DATA")]
    elif not is_fit:
        notes = [*notes, *notes_on_rows(core.fitted_model(pca), rows)]
    k, outputs = pca.n_components_, {"report": output}
    print_result("report", as_json, n_components=k, notes=notes, files=outputs)


def _check_arguments(files: Sequence[str], is_fit: bool) -> None:
    """Refuse options that would be ignored."""
    given = given_parameters()
    if is_fit and "training" in given:
        raise click.UsageError(f"{files[0]} is fitted here, so its rows are those of the fit")
    if not is_fit and len(files) == 1:
        for name in ("groups", "metadata", "training", "bootstrap", "level"):
            if name in given:
                raise click.UsageError(f"--{name} needs rows: give DATA after MODEL")


def _metadata(
    files: Sequence[str],
    names: Sequence[str],
    values: dict[str, NDArray[Any]],
    codes: Sequence[str],
) -> dict[str, NDArray[Any]]:
    """Convert the columns of metadata as in Python: to numbers if all cells are numbers."""
    is_typed = io.are_anndata_files(files)  # a category 1 is not a number
    found = {name: values[name] if is_typed else io.as_numbers(values[name]) for name in names}
    return found | {name: io.as_texts(values[name]) for name in codes}


def _rows_name(files: Sequence[str]) -> str | None:
    """Return the name of the rows on the page."""
    if not files:
        return None
    first = "standard input" if files[0] == "-" else Path(files[0]).name
    more = len(files) - 1
    return first if not more else f"{first} and {more} other file{'s' * (more > 1)}"
