"""``fit --robust``: what it takes, and what it refuses since a robust fit would ignore it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from princomp.cli.options import refuse_beside

if TYPE_CHECKING:
    from princomp.robust import RobustPCA
    from princomp.sources.source import Source

__all__ = ["check_robust", "robust_estimator", "robust_hint", "write_outliers"]


def check_robust(options: dict[str, Any]) -> None:
    """Refuse options that do not go together.

    Raises
    ------
    click.UsageError
    """
    if not options["robust"]:
        for name in ("support", "seed"):
            if options[name] is not None and not options["kernel"]:
                raise click.UsageError(f"--{name} is of a robust fit: add --robust")
        if options["scale"] == "mad":
            raise click.UsageError("--scale mad is of a robust fit: add --robust, or choose unit")
        return
    if isinstance(options["k"], str):
        raise click.UsageError(
            f"-k {options['k']} is a rule for a plain PCA; with --robust give a number or a share"
        )
    if options["scale"] not in ("none", "mad"):
        raise click.UsageError(
            f"--scale {options['scale']} divides by what outliers change first; with --robust "
            "choose mad"
        )
    others = (
        ("missing", "error", "a robust fit takes complete rows"),
        ("solver", "auto", "a robust fit has one way to solve"),
        ("no_center", False, "a robust fit looks for the centre"),
        ("memory", None, "a robust fit has all rows in memory"),
        ("checkpoint", None, "a robust fit has all rows in memory and is not resumed"),
    )
    refuse_beside("--robust", options, others)


def robust_estimator(options: dict[str, Any]) -> RobustPCA:
    """The estimator that the flags describe."""
    from princomp.robust import RobustPCA

    return RobustPCA(
        options["k"],
        support=0.75 if options["support"] is None else options["support"],
        scale=None if options["scale"] == "none" else options["scale"],
        random_state=options["seed"] or 0,
    )


def robust_hint(model: RobustPCA, source: Source) -> str | None:
    """What is said of a plain fit of unequal columns, too; not where the rows are gone."""
    from princomp.documents import scale_hint
    from princomp.sources.holding import whole

    if model.scale_ is not None or not source.repeatable:
        return None
    return scale_hint(model, whole(source))


def write_outliers(model: RobustPCA, source: Source, file: Path, force: bool) -> None:
    """A row for each row of the input: its distances, and whether either is beyond its cut-off."""
    import numpy as np

    from princomp.outputs import write_table

    ids = None
    if source.id_column is not None:
        ids = np.concatenate([chunk.ids for chunk in source.chunks() if chunk.ids is not None])
    found = (model.score_distances_, model.orthogonal_distances_, model.outliers_)
    write_table(
        file,
        columns=["score_distance", "orthogonal_distance", "outlier"],
        data=np.column_stack(found).astype(np.float64),
        ids=ids,
        id_column=source.id_column,
        force=force,
    )
