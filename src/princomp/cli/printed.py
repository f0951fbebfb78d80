"""What a person reads: data and documents on stdout, notes on stderr."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from princomp.estimator import PCA
    from princomp.kernel_pca import KernelPCA
    from princomp.robust import RobustPCA

__all__ = ["print_json", "print_summary", "say"]


def print_json(contents: dict[str, Any]) -> None:
    """One document on stdout."""
    click.echo(json.dumps(contents, ensure_ascii=False, allow_nan=False))


def say(notes: Any) -> None:
    """Notes on stderr."""
    for note in notes:
        click.echo(f"note: {note}", err=True)


def print_summary(model: PCA | RobustPCA | KernelPCA) -> None:
    """What a model is of, and its variances as a table."""
    from princomp.documents import has_kernel
    from princomp.estimator import PCA

    if has_kernel(model):
        _print_kernel(model)
        return
    robust = not isinstance(model, PCA)
    rows, k = model.n_samples_, model.n_components_
    scale = model.scale if isinstance(model.scale, str) else None
    given = "given divisors" if model.scale_ is not None and scale is None else scale
    click.echo(
        f"{'unknown' if rows is None else f'{rows:,}'} rows × {model.n_features_in_:,} columns, "
        f"{'robust, ' * robust}scale {given or 'none'}: {k} component"
        f"{' holds' if k == 1 else 's hold'} {float(model.explained_variance_ratio_.sum()):.1%} "
        f"of the variance{' of most rows' * robust}"
    )
    if not isinstance(model, PCA):
        count = int(model.outliers_.sum())
        click.echo(
            f"{count:,} of {rows:,} rows {'is an outlier' if count == 1 else 'are outliers'}: "
            f"farther than {model.score_cutoff_:.4g} within the components, or "
            f"{model.orthogonal_cutoff_:.4g} off them"
        )
    elif model.decision_ is not None:
        click.echo(f"chosen by {model.decision_}")
    _print_variances(model)


def _print_kernel(model: KernelPCA) -> None:
    k, gamma, error = model.n_components_, model.plan_.gamma, model.approximation_error_
    click.echo(
        f"{model.n_samples_:,} rows × {model.n_features_in_:,} columns, kernel {model.kernel}"
        f"{'' if gamma is None else f', gamma {gamma:.6g}'}"
        f"{'' if model.scale_ is None else ', scaled columns'}: {k} component"
        f"{' holds' if k == 1 else 's hold'} {float(model.explained_variance_ratio_.sum()):.1%} "
        "of the variance in its feature space"
    )
    if error > 0:  # NaN where nothing was held out
        what = "the variance" if model.approximation == "nystrom" else "the kernel matrix"
        click.echo(f"{model.approximation}: an estimated {error:.2%} of {what} is left out")
    _print_variances(model)


def _print_variances(model: PCA | RobustPCA | KernelPCA) -> None:
    """A line a component, the first of those left out among them."""
    from rich.console import Console
    from rich.table import Table as Grid

    from princomp.documents import rates_table

    k = model.n_components_
    state = getattr(model, "_state", None)  # a robust fit has none
    resolution = 0.0 if state is None else state.spectrum.resolution
    grid = Grid(box=None, pad_edge=False)
    for heading in ("component", "variance", "rate", "accumulated"):
        grid.add_column(heading, justify="left" if heading == "component" else "right")
    names, table = rates_table(model)
    shown = min(len(names), max(k, 1) + 3, 20)
    for i in range(shown):
        value, rate, accumulated = table[i]
        noise = value <= resolution
        left = " (noise)" if noise else "" if i < k else " (left out)"
        grid.add_row(names[i] + left, f"{value:.7g}", f"{rate:.2%}", f"{accumulated:.2%}")
    Console(highlight=False, width=None if sys.stdout.isatty() else 100).print(grid)
    if shown < len(names):
        click.echo(f"… {len(names) - shown} more variances")
