"""``transform`` and ``inverse``: apply a model to rows, block by block."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from princomp.cli.actions import check_outputs, open_for_model
from princomp.cli.options import (
    PATH,
    command,
    files_argument,
    force_option,
    formulas_option,
    model_argument,
    with_options,
)
from princomp.cli.read_options import read_options
from princomp.cli.results import write_rows
from princomp.errors import NotAvailableError, ShapeError

_options = with_options(
    model_argument,
    files_argument,
    click.option("-o", "--output", type=PATH, help="File to write; CSV on stdout by default."),
    force_option,
    formulas_option,
    read_options,
)


@command
@_options
def transform(model: Path, files: tuple[str, ...], **options: Any) -> None:
    """Compute the scores of the rows of FILEs with MODEL.

    Columns are matched by name; the file extension sets the format of the output.
    """
    from princomp.reports import component_names

    pca, fitted = _load(model, files, options)
    source, notes = open_for_model(files, pca)
    fitted.schema.check_width(source.p)
    columns = component_names(fitted.k)
    write_rows("transform", source, fitted.chunk_scores, columns, notes, options)


@command
@_options
def inverse(model: Path, files: tuple[str, ...], **options: Any) -> None:
    """Turn the scores in FILEs (columns PC1, PC2, …) back into rows in the units of the data.

    For a kernel PCA the rows are pre-images, computed as --pre-image of its fit says.
    """
    from princomp.reports import column_labels, is_kernel_pca

    pca, fitted = _load(model, files, options)
    source, notes = open_for_model(files, pca, scores=True, allow_unnamed=True)
    is_kernel = is_kernel_pca(pca)
    if is_kernel and pca.pre_image is None and not pca.fit_inverse_transform:
        raise NotAvailableError(
            f"{model} cannot turn scores back into rows",
            place={"file": str(model)},
            hint="fit with "
            + ("--approximation nystrom and " if pca.approximation == "features" else "")
            + "--pre-image ridge, fixed_point or distance",
        )
    reconstruct = pca.inverse_transform if is_kernel else fitted.reconstruct
    columns = list(map(str, column_labels(pca)))
    write_rows("inverse", source, lambda rows, *_: reconstruct(rows), columns, notes, options)


def _load(model: Path, files: Sequence[str], options: dict[str, Any]) -> tuple[Any, Any]:
    """Load the model and its fit, refuse one without components, and check the output."""
    from princomp.core import fitted_model
    from princomp.estimators import load_model

    pca = load_model(model)
    fitted: Any = fitted_model(pca)
    if fitted.k == 0:
        raise ShapeError(
            f"{model} keeps no component, so it has no scores",
            place={"file": str(model)},
            hint="fit with -k 1 or more",
        )
    if options["output"] is not None:
        force = options["force"]
        check_outputs([options["output"]], [model, *files], force=force, tables=True)
    return pca, fitted
