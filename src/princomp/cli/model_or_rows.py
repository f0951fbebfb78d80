"""Shared code of commands that take a model and rows, or rows that are fitted first."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from princomp import errors
from princomp.cli.actions import open_for_fit, pca_parameters
from princomp.cli.extra_columns import extra_values, rows_and_extra
from princomp.cli.options import fit_options, given_parameters
from princomp.cli.progress import progress_bar

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from princomp.estimators import PCA
    from princomp.io import Source


def is_table(name: str) -> bool:
    """Whether a name refers to a table instead of a model."""
    from princomp.io import ending_of, split_inside

    return name == "-" or ending_of(split_inside(name)[0]) is not None


def _is_model(name: str) -> bool:
    """Whether a name refers to a file that begins like a model file."""
    path = Path(name)
    if is_table(name) or not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(9)[8:] == b"{"


def load_plain_model(path: Path, requirement: str) -> PCA:
    """Load a PCA from a file.

    Raises
    ------
    NotAvailableError
        The model is of another kind; ``requirement`` says in the message why it must be a PCA.
    """
    from princomp.estimators import load

    model: PCA = load(path)
    check_plain(model, path, requirement)
    return model


def check_plain(model: Any, path: Path, requirement: str) -> None:
    """Refuse a model that is not a plain PCA.

    Raises
    ------
    NotAvailableError
    """
    from princomp.core import PCAModel, fitted_model
    from princomp.reports import is_kernel_pca

    if not isinstance(fitted_model(model), PCAModel):
        flag = "--kernel" if is_kernel_pca(model) else "--robust"
        raise errors.NotAvailableError(
            f"{path} is a {type(model).__name__}, and {requirement}",
            place={"file": str(path)},
            hint=f"fit a plain PCA to the same rows: princomp fit without {flag}",
        )


def refuse_fit_flags(model: str) -> None:
    """Refuse flags of a fit, which a model that is already fitted would ignore.

    Raises
    ------
    click.UsageError
    """
    given = given_parameters()
    command: Any = fit_options(click.Command("fit"))
    for option in reversed(command.params):
        if option.name in given:
            raise click.UsageError(
                f"{option.opts[0]} is an option of a fit, but {model} is a model: give the table "
                "instead"
            )


def model_and_rows(
    files: Sequence[str],
    options: dict[str, Any],
    quiet: bool,
    requirement: str,
    extra: Sequence[str] = (),
) -> tuple[PCA, Source | None, list[str], dict[str, NDArray[Any]]]:
    """Load MODEL and open DATA…, if any, or fit FILE…; ``extra`` columns are not analysed.

    Return the model, the rows, notes on them, and the extra columns by name. ``requirement`` says
    in a message why the model must be a PCA.

    Raises
    ------
    click.UsageError
        One of the files to fit is a model.
    """
    from princomp.estimators import PCA
    from princomp.io import are_anndata_files
    from princomp.reports import column_names

    if not is_table(files[0]):
        model = load_plain_model(Path(files[0]), requirement)
        if len(files) == 1:
            return model, None, [], {}
        return model, *rows_and_extra(model, files[1:], extra)
    for name in files:
        if _is_model(name):
            raise click.UsageError(f"{name} is a model: MODEL comes first, then DATA")
    if not are_anndata_files(files):
        options = {**options, "exclude": [*(options["exclude"] or ()), *extra]}
    source = open_for_fit(files, options)
    model = PCA(**pca_parameters(options)._asdict())
    with progress_bar(quiet) as progress:
        model.fit(source, progress=progress)
    model.id_column_ = source.id_column
    return model, source, list(source.notes), extra_values(files, column_names(model), extra)
