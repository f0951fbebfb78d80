"""``distances``: T² and Q of rows, with their limits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from princomp import diagnostics, errors, estimators, io
from princomp.cli.inputs import check_plain, open_for_model
from princomp.cli.models import check_row_output, row_options
from princomp.cli.options import LEVEL, command
from princomp.cli.results import write_rows


@command
@row_options
@click.option("--level", type=LEVEL, default=0.95, help="Level of the limits, 0.95 by default.")
@click.option(
    "--training", is_flag=True, help="FILEs are the rows of the fit, whose limits are lower."
)
def distances(
    model: Path, files: tuple[str, ...], level: float, training: bool, **options: object
) -> None:
    """Compute T² and Q of the rows of FILEs, with their limits.

    T² is the squared distance of a row from the centre within the components, in units of their
    variances; Q is its squared distance from their space.
    """
    import numpy as np

    pca: Any = estimators.load(model)
    check_plain(pca, model, "only a PCA has T² and Q")
    check_row_output(model, files, options)
    source, notes = open_for_model(files, pca)
    table = diagnostics.distances(pca, source, level=level, training=training, frame="listing")
    columns = [name for name in table.columns if name != "row"]
    data = np.column_stack([table[name] for name in columns]).astype(np.float64)
    values, limits = data[:, :2], data[:, 2:4]
    if tested := int(np.isfinite(values - limits).any(axis=1).sum()):
        beyond = int((values > limits).any(axis=1).sum())
        notes.append(
            f"beyond the {100 * level:g}% limit of T² or Q: {beyond:,} of "
            f"{errors.counted(tested, 'row')}"
        )
    rows = io.TableSource(
        data,
        ids=None if source.id_column is None else table["row"],
        id_column=source.id_column,
    )
    write_rows("distances", rows, lambda data, *_: data, columns, notes, options)
