"""Rows for a picture or a report, and columns of their files that stand beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from princomp import errors
from princomp.cli.calls import bound

if TYPE_CHECKING:
    from princomp.estimator import PCA
    from princomp.sources.source import Source

__all__ = ["rows_beside", "values_beside"]


def rows_beside(
    pca: PCA, files: Sequence[str], beside: Sequence[str]
) -> tuple[Source, list[str], dict[str, Any]]:
    """The rows in the columns of a model, what to say of them, and other columns by name."""
    from princomp.documents import column_names

    columns = column_names(pca)
    values = values_beside(files, columns, beside)
    source, notes = bound(files, columns, pca)
    if set(beside) & set(source.unused):  # the last note says that nobody uses them
        others = [name for name in source.unused if name not in beside]
        told = f"ignored columns that neither uses: {', '.join(others)}"
        notes = [*notes[:-1], *([told] if others else [])]
    return source, notes, values


def values_beside(
    files: Sequence[str], columns: Sequence[str] | None, beside: Sequence[str]
) -> dict[str, Any]:
    """Columns that the model does not analyse, as text.

    Raises
    ------
    click.UsageError
        For standard input, which cannot be read again.
    ColumnError
        For a column that is not there, or that the model analyses.
    """
    if beside and "-" in files:
        raise click.UsageError(
            "--groups and --metadata read DATA a second time, which standard input is not"
        )
    return {name: _values(files, columns, name) for name in beside}


def _values(files: Sequence[str], columns: Sequence[str] | None, name: str) -> Any:
    """One column as text, whatever it holds: read as if it named the rows."""
    import numpy as np

    from princomp.sources.files import open_files

    if columns is not None and name in columns:
        raise errors.ColumnError(
            f"the column {name!r} is one that the model analyses",
            place={"column": name},
            hint="name a column that was left out of the fit",
        )
    source = open_files(files, columns=columns, id_column=name)
    values = np.concatenate([np.asarray(chunk.ids, dtype=object) for chunk in source.chunks()])
    return np.array([_category(value) for value in values], dtype=object)


def _category(value: Any) -> str | None:
    if value is None or value != value or value == "":
        return None
    return str(value)
