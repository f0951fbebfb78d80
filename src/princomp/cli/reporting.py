"""``report``: one page of a model, or of a table that is fitted first."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from princomp.cli.beside import rows_beside, values_beside
from princomp.cli.calls import refuse_inputs, stem_of
from princomp.cli.model_or_rows import fit_of_files, is_table, plain_model, refuse_flags_of_a_fit
from princomp.cli.options import PATH, fit_options, names_option, shared, typed
from princomp.cli.printed import print_json, say

if TYPE_CHECKING:
    from princomp.estimator import PCA

__all__ = ["report"]


def _resamples(_: Any, __: Any, value: int | None) -> int | None:
    if value == 1:
        raise click.BadParameter("one resample has no spread: give 2 or more, or 0 for none")
    return value


@click.command()
@click.argument("files", metavar="MODEL [DATA]... | FILE...", nargs=-1, required=True)
@click.option(
    "-o", "--output", type=PATH, help="Page to write; NAME_report.html for NAME.csv by default."
)
@click.option("--title", help="Heading of the page.")
@click.option("--groups", metavar="COLUMN", help="Column whose values are categories, in colours.")
@names_option("--metadata", "Columns to compare with the components.")
@click.option(
    "--training/--not-training",
    default=None,
    help="Whether DATA are the rows of the fit; by default their means and variances tell.",
)
@click.option(
    "--bootstrap",
    type=click.IntRange(min=0),
    callback=_resamples,
    metavar="N",
    help="Intervals from N resamples, 0 for none; 200 where that takes about a second at most.",
)
@click.option(
    "--level", type=click.FloatRange(0, 1, True, True), default=0.95, help="Of limits; 0.95."
)
@click.option("--force", is_flag=True, help="Replace an existing page.")
@fit_options
@shared
def report(
    files: tuple[str, ...],
    output: Path | None,
    force: bool,
    as_json: bool,
    groups: str | None,
    metadata: list[str] | None,
    **options: Any,
) -> None:
    """One page (HTML) that says what a PCA found and how far it can be trusted.

    Of a MODEL, and of the rows of DATA; or of FILEs, which are fitted first, with the flags
    of fit. The page needs no network and no other file.
    """
    from princomp.atomic import check_writable
    from princomp.documents import document

    fitting = is_table(files[0])
    _check_arguments(files, fitting)
    output = output or Path(f"{stem_of(files)}_report.html")
    refuse_inputs([output], files)
    check_writable([output], force=force)
    from princomp.reports.calls import check_libraries
    from princomp.reports.calls import report as report_of

    check_libraries()
    beside = list(dict.fromkeys([*([groups] if groups else []), *(metadata or [])]))
    if fitting:
        pca, rows, notes, values = _fitted(files, options, beside, as_json)
        options["training"] = True
    else:
        pca, rows, notes, values = _loaded(files, beside)
    report_of(
        pca,
        rows,
        output,
        title=options["title"],
        data=_called(files if fitting else files[1:]),
        groups=None if groups is None else {groups: values[groups]},
        metadata=None if metadata is None else {name: _plain(values[name]) for name in metadata},
        training=options["training"],
        bootstrap=options["bootstrap"],
        level=options["level"],
        overwrite=force,
    )
    if as_json:
        k = pca.n_components_
        paths = {"report": str(output)}
        print_json(document("report", n_components=k, notes=notes, files=paths))
        return
    say(notes)
    click.echo(f"{'report':12} {output}")


def _check_arguments(files: Sequence[str], fitting: bool) -> None:
    """Refuse what would be ignored."""
    given = typed()
    if fitting:
        if "training" in given:
            raise click.UsageError(f"{files[0]} is fitted here, so its rows are those of the fit")
        return
    refuse_flags_of_a_fit(files[0])
    if len(files) == 1:
        for name in ("groups", "metadata", "training", "bootstrap"):
            if name in given:
                raise click.UsageError(f"--{name} is of rows: give DATA after MODEL")


def _fitted(
    files: Sequence[str], options: dict[str, Any], beside: list[str], quiet: bool
) -> tuple[PCA, Any, list[str], dict[str, Any]]:
    """A model of the files, their rows, notes, and columns that stand beside."""
    from princomp.documents import column_names

    options["exclude"] = [*(options["exclude"] or ()), *beside]
    model, source = fit_of_files(files, options, quiet)
    model.id_column_ = options["id_column"]
    return model, source, list(source.notes), values_beside(files, column_names(model), beside)


def _loaded(files: Sequence[str], beside: list[str]) -> tuple[PCA, Any, list[str], dict[str, Any]]:
    model = plain_model(Path(files[0]), "a report is of a plain PCA")
    if len(files) == 1:
        return model, None, [], {}
    return model, *rows_beside(model, files[1:], beside)


def _called(files: Sequence[str]) -> str | None:
    """What a page calls the rows."""
    if not files:
        return None
    first = "standard input" if files[0] == "-" else Path(files[0]).name
    more = len(files) - 1
    return first if not more else f"{first} and {more} other file{'s' * (more > 1)}"


def _plain(values: Any) -> Any:
    """Text as numbers where all of it is: what files hold as numbers comes as text."""
    import numpy as np

    try:
        return np.array([np.nan if value is None else float(value) for value in values])
    except ValueError:
        return values
