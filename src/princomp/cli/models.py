"""``show`` and ``merge``: show the contents of a model, and merge models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from princomp import errors
from princomp.cli.actions import open_for_model, refuse_overwriting_inputs
from princomp.cli.model_or_rows import check_plain, refuse_exact_kernel_pca
from princomp.cli.options import PATH, common_options, model_argument
from princomp.cli.output import echo, one_line, print_json, print_notes, print_summary

if TYPE_CHECKING:
    from princomp.core import Certificate, PCAModel

# Number of column names that are listed; --json lists all.
_MAX_COLUMNS_SHOWN = 20


@click.command()
@model_argument
@click.option(
    "--verify",
    "rows",
    metavar="FILE",
    help="Measure the residuals with the rows that the model was fitted to.",
)
@common_options
def show(model: Path, rows: str | None, as_json: bool) -> None:
    """Show the variances, plan and certificate of MODEL."""
    from princomp.core import PCAModel, fitted_model
    from princomp.estimators import load_model
    from princomp.reports import column_names, document, model_contents
    from princomp.rules import name_of

    pca: Any = load_model(model)
    fitted = fitted_model(pca)
    if rows:
        check_plain(pca, model, "only the components of a PCA can be verified")
    if isinstance(fitted, PCAModel):
        plan: Any = fitted.result.plan
        certificate: Any = _verify(fitted, rows) if rows else fitted.result.certificate
    else:
        plan, certificate = getattr(pca, "plan_", None), getattr(pca, "certificate_", None)
    if as_json:
        # Divisors and landmarks may be arrays.
        plain = isinstance(pca, PCAModel)
        model_parameters = (
            dict(sorted(pca.parameters._asdict().items())) if plain else pca.get_params()
        )
        parameters = {
            name: "given"
            if name in ("scale", "landmarks") and not isinstance(value, str | None)
            else value
            for name, value in model_parameters.items()
        }
        parameters["n_components"] = name_of(model_parameters["n_components"])
        contents = model_contents(pca)
        if rows:
            contents["certificate"] = certificate.to_dict()
        print_json(document("show", parameters=parameters, **contents))
        return
    print_summary(pca)
    if (names := column_names(pca)) is not None:
        remaining = (
            f", … {len(names) - _MAX_COLUMNS_SHOWN:,} more"
            if len(names) > _MAX_COLUMNS_SHOWN
            else ""
        )
        echo(f"columns: {one_line(', '.join(names[:_MAX_COLUMNS_SHOWN]))}{remaining}")
    if (id_column := fitted.schema.id_column) is not None:
        echo(f"id column: {id_column}")
    if plan is not None:
        echo(plan)
    if certificate is not None:
        echo(certificate)


def _verify(model: PCAModel, rows: str) -> Certificate:
    """Compute the certificate of a model from its rows."""
    from princomp.core import verify_table
    from princomp.reports import column_names

    source, notes = open_for_model([rows], column_names(model), model, allow_unnamed=True)
    print_notes(notes)
    return verify_table(model, source)


def _load_mergeable(path: Path) -> Any:
    """Load a model that can be merged; refuse others."""
    from princomp.estimators import load
    from princomp.reports import is_kernel_pca

    model = load(path)
    if is_kernel_pca(model):
        refuse_exact_kernel_pca(model, path)
    else:
        check_plain(model, path, "only a PCA can be merged")
    return model


@click.command()
@click.argument("models", metavar="MODEL MODEL...", nargs=-1, required=True, type=PATH)
@click.option("-m", "--model", "output", type=PATH, required=True, help="Model file to write.")
@click.option("--force", is_flag=True, help="Replace an existing output.")
@common_options
def merge(models: tuple[Path, ...], output: Path, force: bool, as_json: bool) -> None:
    """Merge MODELs into one model of all their rows.

    The rows are not needed. The result has the parameters of the first model.
    """
    from princomp.io import check_writable
    from princomp.reports import document, model_contents

    if len(models) < 2:
        raise click.UsageError("merging takes at least two models")
    if not force:
        refuse_overwriting_inputs([output], models)
    check_writable([output], force=force)
    merged = _load_mergeable(models[0])
    for path in models[1:]:
        other = _load_mergeable(path)
        try:
            merged.merge(other)
        except (errors.DataError, errors.NotAvailableError, errors.ParameterError) as error:
            raise type(error)(
                f"{path} cannot be merged with {models[0]}: {error.message}",
                place={"file": str(path), **error.place},
                hint=error.hint,
            ) from None
    merged.save(output, overwrite=force)
    if as_json:
        print_json(document("merge", **model_contents(merged), files={"model": str(output)}))
        return
    print_summary(merged)
    echo(f"{'model':12} {output}")
