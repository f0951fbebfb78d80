"""``show`` and ``merge``: show the contents of a model, and merge models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from princomp import errors
from princomp.cli.actions import check_outputs, open_for_model
from princomp.cli.model_or_rows import check_plain
from princomp.cli.options import (
    PATH,
    command,
    given_parameters,
    model_argument,
    refuse_ineffective,
)
from princomp.cli.output import echo, one_line, print_json, print_notes, print_summary
from princomp.cli.read_options import read_options

# Number of column names that are listed; --json lists all.
_MAX_COLUMNS_SHOWN = 20


@command
@model_argument
@click.option(
    "--verify",
    "rows",
    metavar="FILE",
    help="Measure the residuals with the rows that the model was fitted to.",
)
@read_options
def show(model: Path, rows: str | None, as_json: bool, **_: Any) -> None:
    """Show the variances, plan and certificate of MODEL."""
    from princomp.core import PCAModel, fitted_model
    from princomp.estimators import load_model
    from princomp.reports import column_names, document, model_contents
    from princomp.rules import name_of

    notes: list[str] = []
    if not rows:
        ignored = given_parameters() - {"model", "as_json"}
        refuse_ineffective(
            dict.fromkeys(ignored, True), dict.fromkeys(ignored, (False, "--verify"))
        )
    pca: Any = load_model(model)
    fitted = fitted_model(pca)
    if rows:
        from princomp.core import verify_table

        check_plain(pca, model, "only the components of a PCA can be verified")
        source, notes = open_for_model([rows], pca, allow_unnamed=True)
        certificate: Any = verify_table(fitted, source)
    elif isinstance(fitted, PCAModel):
        certificate = fitted.result.certificate
    else:
        certificate = getattr(pca, "certificate_", None)
    plan = fitted.result.plan if isinstance(fitted, PCAModel) else getattr(pca, "plan_", None)
    if as_json:
        plain = isinstance(pca, PCAModel)
        parameters = pca.parameters._asdict() if plain else pca.get_params()
        parameters["n_components"] = name_of(parameters["n_components"])
        for name in ("scale", "landmarks"):  # may be arrays
            if not isinstance(parameters.get(name), str | None):
                parameters[name] = "given"
        contents = model_contents(pca)
        if rows:
            contents["certificate"] = certificate.to_dict()
        parameters = dict(sorted(parameters.items()))
        print_json(document("show", parameters=parameters, **contents, notes=notes))
        return
    print_notes(notes)
    print_summary(pca)
    if (names := column_names(pca)) is not None:
        shown, more = names[:_MAX_COLUMNS_SHOWN], len(names) - _MAX_COLUMNS_SHOWN
        echo(f"columns: {one_line(', '.join(shown))}{f', … {more:,} more' if more > 0 else ''}")
    if (id_column := fitted.schema.id_column) is not None:
        echo(f"id column: {id_column}")
    for part in (plan, certificate):
        if part is not None:
            echo(part)


def _load_mergeable(path: Path) -> Any:
    """Load a model that can be merged; refuse others."""
    from princomp.estimators import load
    from princomp.reports import is_kernel_pca

    model = load(path)
    if not is_kernel_pca(model):
        check_plain(model, path, "only a PCA can be merged")
    elif model.approximation is None:
        raise errors.NotAvailableError(
            f"{path} is an exact kernel PCA, which keeps rows, not sums that can be merged",
            place={"file": str(path)},
            hint="fit both with --approximation features, and the same --gamma, --landmarks and "
            "--seed",
        )
    return model


@command
@click.argument("models", metavar="MODEL MODEL...", nargs=-1, required=True, type=PATH)
@click.option("-m", "--model", "output", type=PATH, required=True, help="Model file to write.")
@click.option("--force", is_flag=True, help="Replace an existing output.")
def merge(models: tuple[Path, ...], output: Path, force: bool, as_json: bool) -> None:
    """Merge MODELs into one model of all their rows.

    The rows are not needed. The result has the parameters of the first model.
    """
    from princomp.reports import document, model_contents

    if len(models) < 2:
        raise click.UsageError("merging takes at least two models")
    # With --force, the result may replace one of the models.
    check_outputs([output], () if force else models, force=force)
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
