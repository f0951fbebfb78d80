"""``transform`` and ``inverse``: apply a model to rows, block by block."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from princomp.cli.actions import check_output, open_for_model
from princomp.cli.model_or_rows import refuse_without_inverse
from princomp.cli.options import common_options, files_argument, model_argument, output_options
from princomp.cli.read_options import read_options
from princomp.cli.results import write_rows

if TYPE_CHECKING:
    from princomp.io import Source


@click.command()
@model_argument
@files_argument
@output_options
@read_options
@common_options
def transform(
    model: Path,
    files: tuple[str, ...],
    output: Path | None,
    force: bool,
    as_json: bool,
    **_: Any,
) -> None:
    """Compute the scores of the rows of FILEs with MODEL.

    Columns are matched by name; the file extension sets the format of the output.
    """
    from princomp.core import fitted_model
    from princomp.estimators import load_model
    from princomp.reports import column_names, component_names

    pca: Any = load_model(model)
    check_output(output, force, model, *files)
    source, notes = open_for_model(files, column_names(pca), pca)
    fitted: Any = fitted_model(pca)
    fitted.schema.check_width(source.p)
    columns = component_names(fitted.k)

    def compute_scores(source: Source) -> Iterator[tuple[Any, Any]]:
        start = 0
        for chunk in source.checked_chunks():
            yield fitted.chunk_scores(chunk.data, source, start), chunk.ids
            start += chunk.data.shape[0]

    write_rows("transform", source, compute_scores, columns, output, force, as_json, notes)


@click.command()
@model_argument
@files_argument
@output_options
@read_options
@common_options
def inverse(
    model: Path,
    files: tuple[str, ...],
    output: Path | None,
    force: bool,
    as_json: bool,
    **_: Any,
) -> None:
    """Turn the scores in FILEs (columns PC1, PC2, …) back into rows in the units of the data.

    For a kernel PCA the rows are pre-images, computed as --pre-image of its fit says.
    """
    from princomp.core import fitted_model
    from princomp.estimators import load_model
    from princomp.reports import column_labels, component_names, is_kernel_pca

    pca: Any = load_model(model)
    check_output(output, force, model, *files)
    source, notes = open_for_model(
        files, component_names(fitted_model(pca).k), pca, allow_unnamed=True
    )
    columns = list(map(str, column_labels(pca)))
    if is_kernel_pca(pca):
        refuse_without_inverse(pca, model)
    fitted: Any = pca if is_kernel_pca(pca) else fitted_model(pca)
    reconstruct = fitted.inverse_transform if is_kernel_pca(pca) else fitted.reconstruct

    def reconstruct_rows(source: Source) -> Iterator[tuple[Any, Any]]:
        for chunk in source.checked_chunks():
            yield reconstruct(chunk.data), chunk.ids

    write_rows("inverse", source, reconstruct_rows, columns, output, force, as_json, notes)
