"""``choose``: the number of components, by several rules."""

from __future__ import annotations

from typing import Any

import click

from princomp.cli.actions import open_for_fit, pca_parameters
from princomp.cli.options import RULES, SEED, choose_options, command, files_argument
from princomp.cli.output import print_result
from princomp.cli.progress import progress_bar
from princomp.cli.read_options import read_options
from princomp.errors import did_you_mean


def _parse_rules(_: click.Context, __: click.Parameter, value: str | None) -> list[str] | None:
    if value is None:
        return None
    names = [name.strip() for name in value.split(",")]
    for name in names:
        if name not in RULES:
            known = f"{did_you_mean(name, RULES)}Choose from {', '.join(RULES)}"
            raise click.BadParameter(f"{name!r} is not a rule. {known}")
        if names.count(name) > 1:
            raise click.BadParameter(f"{name!r} is given twice")
    return names


@command
@files_argument
@choose_options
@read_options
@click.option(
    "--rules",
    callback=_parse_rules,
    metavar="A,B",
    help=f"Rules to apply: {', '.join(RULES)}. All by default.",
)
@click.option(
    "--seed", type=SEED, default=0, show_default=True, help="Random seed for rules that need one."
)
def choose(
    files: tuple[str, ...],
    rules: list[str] | None,
    seed: int,
    as_json: bool,
    **options: Any,
) -> None:
    """Show how many components each rule would keep, and why.

    Some rules need all rows at once, so they work only for tables that fit in memory; the others
    work for tables of any size.
    """
    from princomp.estimators import choices_and_model
    from princomp.reports import document, scale_hint

    source = open_for_fit(files, options)
    parameters = pca_parameters({"k": None, "solver": "auto", **options})._asdict()
    del parameters["n_components"], parameters["random_state"]
    with progress_bar(as_json) as progress:
        choices, model = choices_and_model(source, rules, seed, progress, None, parameters)
    hint = scale_hint(model)
    notes = [*source.notes, *([] if hint is None else [hint])]
    print_result(document("choose", seed=seed, **choices.to_dict(), notes=notes), as_json, choices)
