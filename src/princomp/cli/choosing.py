"""``choose``: how many components, by all rules side by side."""

from __future__ import annotations

from typing import Any

import click

from princomp.cli.calls import estimator, read
from princomp.cli.options import RULES, choose_options, files_argument, shared
from princomp.cli.printed import print_json, say
from princomp.cli.watching import bar

__all__ = ["choose"]


def _rules(_: Any, __: Any, value: str | None) -> list[str] | None:
    if value is None:
        return None
    names = [name.strip() for name in value.split(",")]
    for name in names:
        if name not in RULES:
            raise click.BadParameter(f"{name!r} is no rule; choose of {', '.join(RULES)}")
        if names.count(name) > 1:
            raise click.BadParameter(f"{name!r} stands twice")
    return names


@click.command()
@files_argument
@choose_options
@click.option(
    "--rules", callback=_rules, metavar="A,B", help=f"Of {', '.join(RULES)}. All by default."
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Of rules that draw at random.",
)
@shared
def choose(
    files: tuple[str, ...],
    rules: list[str] | None,
    seed: int,
    as_json: bool,
    **options: Any,
) -> None:
    """How many components to keep of FILEs: what each rule says, and why.

    Rules that draw from the rows answer for tables that are in memory, which small files
    are; the others for any.
    """
    from princomp.documents import document, scale_hint
    from princomp.side_by_side import choices_and_model

    source = read(files, options)
    asked = estimator({"k": None, "solver": "auto", **options}).get_params(deep=False)
    del asked["n_components"], asked["random_state"]
    with bar(as_json) as tell:
        found, model = choices_and_model(source, rules, seed, tell, None, asked)
    hint = scale_hint(model)
    notes = [*source.notes, *([] if hint is None else [hint])]
    if as_json:
        print_json(document("choose", seed=seed, **found.to_dict(), notes=notes))
        return
    say(notes)
    click.echo(found)
