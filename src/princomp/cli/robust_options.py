"""``fit --robust``: the estimator, the options that it refuses, and the table of outliers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from princomp.cli.options import refuse_incompatible, refuse_ineffective, refuse_rule

if TYPE_CHECKING:
    from princomp.estimators import RobustPCA
    from princomp.io import Source

# Options that a robust fit would ignore: name, default, reason.
_REFUSED = (
    ("missing", "error", "a robust fit needs complete rows"),
    ("solver", "auto", "a robust fit has one solver"),
    ("constant", "error", "leave constant columns out"),
    ("no_center", False, "a robust fit estimates the centre"),
    ("memory", None, "a robust fit needs all rows in memory"),
    ("checkpoint", None, "a robust fit needs all rows in memory and cannot be resumed"),
)


def check_robust(options: dict[str, Any]) -> None:
    """Refuse options that cannot be used together.

    Raises
    ------
    click.UsageError
    """
    uses_seed = (
        options["robust"]
        or options["approximation"] is not None
        or options["solver"] == "randomized"
        or isinstance(options["k"], str)
    )
    requirements = {
        "support": (options["robust"], "--robust"),
        "seed": (uses_seed, "--robust, --approximation, --solver randomized or a rule for -k"),
    }
    refuse_ineffective(options, requirements)
    if not options["robust"]:
        if options["scale"] == "mad":
            raise click.UsageError(
                "--scale mad is an option of robust fits: add --robust, or choose unit"
            )
        return
    refuse_rule(options, "--robust", "plain")
    if options["scale"] not in (None, "mad"):
        raise click.UsageError(
            f"--scale {options['scale']} is not robust: outliers change it most; with --robust "
            "choose mad"
        )
    refuse_incompatible("--robust", options, _REFUSED)


def robust_estimator(options: dict[str, Any]) -> RobustPCA:
    """Return the estimator that the options describe."""
    from princomp.estimators import RobustPCA

    return RobustPCA(
        options["k"],
        support=0.75 if options["support"] is None else options["support"],
        scale=options["scale"],
        random_state=options["seed"] or 0,
    )


def robust_hint(model: RobustPCA, source: Source) -> str | None:
    """Return the note on columns of unequal scale; None if the rows cannot be read again."""
    from princomp.io import read_whole
    from princomp.reports import scale_hint

    if model.scale_ is not None or not source.repeatable:
        return None
    return scale_hint(model, read_whole(source))


def write_outliers(model: RobustPCA, source: Source, file: Path, force: bool) -> None:
    """Write the score and orthogonal distance of each row, and whether one exceeds its cut-off."""
    import numpy as np

    from princomp.io import write_table

    ids = None
    if source.id_column is not None:
        ids = np.concatenate(
            [chunk.ids for chunk in source.checked_chunks() if chunk.ids is not None]
        )
    columns = (model.score_distances_, model.orthogonal_distances_, model.outliers_)
    write_table(
        file,
        columns=["score_distance", "orthogonal_distance", "outlier"],
        data=np.column_stack(columns).astype(np.float64),
        ids=ids,
        id_column=source.id_column,
        force=force,
    )
