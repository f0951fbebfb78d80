"""Read rows for a figure or a report, and other columns of their files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from princomp import errors
from princomp.cli.actions import open_for_model
from princomp.cli.read_options import given_read_options

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from princomp.estimators import PCA
    from princomp.io import Source


def rows_and_extra(
    pca: PCA, files: Sequence[str], extra: Sequence[str]
) -> tuple[Source, list[str], dict[str, NDArray[Any]]]:
    """Return rows with the columns of a model, notes on them, and other columns by name."""
    from princomp.reports import column_names

    columns = column_names(pca)
    values = extra_values(files, columns, extra)
    return *open_for_model(files, pca, extra=extra), values


def extra_values(
    files: Sequence[str], columns: Sequence[str] | None, extra: Sequence[str]
) -> dict[str, NDArray[Any]]:
    """Return columns that the model does not analyse, as text; for .h5ad files, those of ``obs``.

    Raises
    ------
    click.UsageError
        The files include standard input, which cannot be read again.
    ColumnError
        A column does not exist, or the model analyses it.
    """
    if extra and "-" in files:
        raise click.UsageError(
            "--groups and --metadata read DATA a second time, so DATA cannot be standard input"
        )
    return {name: _text_column(files, columns, name) for name in extra}


def _text_column(files: Sequence[str], columns: Sequence[str] | None, name: str) -> NDArray[Any]:
    """Return one column as text."""
    from princomp.io import are_anndata_files, as_texts, file_column

    if columns is not None and name in columns and not are_anndata_files(files):
        raise errors.ColumnError(
            f"the model analyses the column {name!r}",
            place={"column": name},
            hint="name a column that was left out of the fit",
        )
    return as_texts(file_column(files, name, given_read_options(), columns))
