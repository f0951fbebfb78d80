"""Shared code of commands that take a model and rows, or rows that are fitted first."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from princomp import errors
from princomp.cli.actions import open_for_fit, open_for_model, pca_parameters
from princomp.cli.options import fit_options, given_parameters
from princomp.cli.progress import progress_bar

if TYPE_CHECKING:
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


def fit_files(files: Sequence[str], options: dict[str, Any], quiet: bool) -> tuple[PCA, Source]:
    """Fit a PCA to files without saving it; return the model and the rows.

    Raises
    ------
    click.UsageError
        One of the files is a model.
    """
    for name in files:
        if _is_model(name):
            raise click.UsageError(f"{name} is a model: MODEL comes first, then DATA")
    from princomp.estimators import PCA

    source = open_for_fit(files, options)
    model = PCA(**pca_parameters(options)._asdict())
    with progress_bar(quiet) as progress:
        model.fit(source, progress=progress)
    return model, source


def model_and_rows(
    files: Sequence[str], options: dict[str, Any], quiet: bool
) -> tuple[PCA, Source, list[str]]:
    """Load MODEL and open DATA…, or fit FILE…; return the model, the rows, and notes.

    Raises
    ------
    click.UsageError
        A model is given without data, or with flags of a fit.
    """
    if is_table(files[0]):
        model, source = fit_files(files, options, quiet)
        return model, source, list(source.notes)
    refuse_fit_flags(files[0])
    if len(files) == 1:
        raise click.UsageError(f"{files[0]} is a model: give DATA, the rows of its fit, after it")
    model = load_plain_model(Path(files[0]), "only a PCA can be resampled")
    return model, *open_for_model(files[1:], model)
