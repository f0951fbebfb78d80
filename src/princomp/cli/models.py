"""``show`` and ``merge``: what models hold, and models put together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from princomp import errors
from princomp.cli.calls import bound, refuse_inputs
from princomp.cli.model_or_rows import check_plain, refuse_exact
from princomp.cli.options import PATH, model_argument, shared
from princomp.cli.printed import print_json, print_summary, say

__all__ = ["merge", "show"]


# Names of columns that are listed; --json has all.
_SHOWN = 20


@click.command()
@model_argument
@click.option(
    "--verify",
    "rows",
    metavar="FILE",
    help="Measure the residuals with the rows that the model was fitted to.",
)
@shared
def show(model: Path, rows: str | None, as_json: bool) -> None:
    """What MODEL holds: variances, plan and certificate."""
    from princomp.choosing import name_of
    from princomp.documents import column_names, document, of_model
    from princomp.functions import load

    pca = load(model)
    found: Any = _verified(pca, model, rows) if rows else getattr(pca, "certificate_", None)
    if as_json:
        # Divisors and landmarks may be arrays.
        parameters = {
            k: "given" if k in ("scale", "landmarks") and not isinstance(v, str | None) else v
            for k, v in pca.get_params().items()
        }
        parameters["n_components"] = name_of(pca.n_components)
        contents = of_model(pca)
        if rows:
            contents["certificate"] = found.to_dict()
        print_json(document("show", parameters=parameters, **contents))
        return
    print_summary(pca)
    if (names := column_names(pca)) is not None:
        rest = f", … {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
        click.echo(f"columns: {', '.join(names[:_SHOWN])}{rest}")
    if pca.id_column_ is not None:
        click.echo(f"id column: {pca.id_column_}")
    if hasattr(pca, "plan_"):
        click.echo(pca.plan_)
    if found is not None:
        click.echo(found)


def _verified(pca: Any, path: Path, rows: str) -> Any:
    """The certificate of a model, measured with its rows."""
    check_plain(pca, path, "only the components of a PCA can be verified")
    known = pca.__dict__.get("feature_names_in_")
    source, notes = bound([rows], None if known is None else list(known), pca, numbered=True)
    say(notes)
    return pca.verify(source)


def _summed(path: Path) -> Any:
    """A model whose sums can be added to."""
    from princomp.documents import has_kernel
    from princomp.functions import load

    model = load(path)
    if has_kernel(model):
        refuse_exact(model, path)
    else:
        check_plain(model, path, "what can be merged are the sums of a PCA")
    return model


@click.command()
@click.argument("models", metavar="MODEL MODEL...", nargs=-1, required=True, type=PATH)
@click.option("-m", "--model", "output", type=PATH, required=True, help="Model file to write.")
@click.option("--force", is_flag=True, help="Replace an existing output.")
@shared
def merge(models: tuple[Path, ...], output: Path, force: bool, as_json: bool) -> None:
    """One model of all rows behind several MODELs, without the rows.

    It has the parameters of the first.
    """
    from princomp.atomic import check_writable
    from princomp.documents import document, of_model

    if len(models) < 2:
        raise click.UsageError("merging takes at least two models")
    if not force:
        refuse_inputs([output], models)
    check_writable([output], force=force)
    merged = _summed(models[0])
    for path in models[1:]:
        other = _summed(path)
        try:
            merged.merge(other)
        except (errors.DataError, errors.NotAvailableError, errors.ParameterError) as error:
            raise type(error)(
                f"{path} does not go with {models[0]}: {error.message}",
                place={"file": str(path), **error.place},
                hint=error.hint,
            ) from None
    merged.save(output, overwrite=force)
    if as_json:
        print_json(document("merge", **of_model(merged), files={"model": str(output)}))
        return
    print_summary(merged)
    click.echo(f"{'model':12} {output}")
