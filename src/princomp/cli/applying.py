"""``transform`` and ``inverse``: a model and rows in, rows out, block by block."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from princomp.cli.calls import bound, check_output, hand_over
from princomp.cli.model_or_rows import check_inverse
from princomp.cli.options import files_argument, model_argument, output_options, shared

if TYPE_CHECKING:
    from princomp.sources.source import Source

__all__ = ["inverse", "transform"]


@click.command()
@model_argument
@files_argument
@output_options
@shared
def transform(
    model: Path,
    files: tuple[str, ...],
    output: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Scores of the rows of FILEs under MODEL.

    Columns are bound by name; the format of the output goes by its ending.
    """
    from princomp.documents import column_names, component_names
    from princomp.functions import load

    pca = load(model)
    check_output(output, force, model, *files)
    source, notes = bound(files, column_names(pca), pca)
    pca._check_columns(source.p, False)
    columns = component_names(pca.n_components_)

    def scores(source: Source) -> Iterator[tuple[Any, Any]]:
        at = 0
        for chunk in source.chunks():
            yield pca._chunk_scores(chunk.data, source, at), chunk.ids
            at += chunk.data.shape[0]

    hand_over("transform", source, scores, columns, output, force, as_json, notes)


@click.command()
@model_argument
@files_argument
@output_options
@shared
def inverse(
    model: Path,
    files: tuple[str, ...],
    output: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Rows in the units of the data from the scores in FILEs (columns PC1, PC2, …).

    Of a kernel PCA they are pre-images, and its fit says how they are found (--pre-image).
    """
    from princomp.documents import columns_of, component_names, has_kernel
    from princomp.functions import load

    pca = load(model)
    check_output(output, force, model, *files)
    source, notes = bound(files, component_names(pca.n_components_), pca, numbered=True)
    columns = list(map(str, columns_of(pca)))
    if has_kernel(pca):
        check_inverse(pca, model)
    back = pca.inverse_transform if has_kernel(pca) else pca._reconstructed

    def rows(source: Source) -> Iterator[tuple[Any, Any]]:
        for chunk in source.chunks():
            yield back(chunk.data), chunk.ids

    hand_over("inverse", source, rows, columns, output, force, as_json, notes)
