"""Print output for people and programs: results on stdout, notes on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from princomp.cli.hints import as_flags
from princomp.errors import counted, printable

if TYPE_CHECKING:
    from princomp.kernel_pca import KernelPCA
    from princomp.linalg import FloatArray


def echo(text: object = "", *, err: bool = False) -> None:
    """Print text on stdout or stderr, with control characters as escapes."""
    click.echo(printable(str(text)), err=err)  # noqa: TID251 - the one place


def one_line(text: str) -> str:
    """Escape line breaks in a text, which names may contain."""
    return text.replace("\n", "\\u000a")


def print_json(contents: dict[str, Any]) -> None:
    """Print one JSON document on stdout."""
    echo(json.dumps(contents, ensure_ascii=False, allow_nan=False))


def print_notes(notes: Iterable[object]) -> None:
    """Print notes on stderr."""
    for note in notes:
        echo(f"note: {one_line(as_flags(str(note)))}", err=True)


def print_result(
    contents: dict[str, Any], as_json: bool, text: object = None, *, list_files: bool = True
) -> None:
    """Print a document as JSON or, for people, its notes, ``text`` and its files."""
    if as_json:
        print_json(contents)
        return
    print_notes(contents["notes"])
    if text is not None:
        echo(text)
    if list_files:
        for name, path in contents.get("files", {}).items():
            echo(f"{name:12} {path}")


def print_summary(model: Any, angles: FloatArray | None = None) -> None:
    """Print what a model was fitted to and its variances; ``angles`` (k,) are from a bootstrap."""
    from princomp.core import PCAModel, fitted_model, verdict_lines, verdicts
    from princomp.reports import is_kernel_pca, rates_table

    if is_kernel_pca(model):
        _print_kernel_summary(model)
        return
    fitted = fitted_model(model)
    plain = isinstance(fitted, PCAModel)
    robust, scale_parameter = not plain, fitted.parameters.scale if plain else model.scale
    rows, k = fitted.n_samples, fitted.k
    scale = scale_parameter if isinstance(scale_parameter, str) else None
    scale_label = "given divisors" if fitted.result.scale is not None and scale is None else scale
    explained = float(rates_table(model)[1][:k, 1].sum())
    echo(
        f"{'unknown rows' if rows is None else counted(rows, 'row')} × "
        f"{counted(fitted.schema.p, 'column')}, "
        f"{'robust, ' * robust}scale {scale_label or 'none'}: {k} component"
        f"{' explains' if k == 1 else 's explain'} {explained:.1%} "
        f"of the variance{' of most rows' * robust}"
    )
    if not plain:
        count = int(model.outliers_.sum())
        echo(
            f"{count:,} of {counted(rows, 'row')} "
            f"{'is an outlier' if count == 1 else 'are outliers'}: "
            f"score distance above {model.score_cutoff_:.4g}, or orthogonal distance above "
            f"{model.orthogonal_cutoff_:.4g}"
        )
    elif fitted.result.decision is not None:
        echo(f"chosen by {fitted.result.decision}")
    if plain:
        for line in verdict_lines(verdicts(fitted.result, angles)):
            echo(line)
    _print_variances(model)


def _print_kernel_summary(model: KernelPCA) -> None:
    gamma, error = model.plan_.gamma, model.approximation_error_
    echo(
        f"{counted(model.n_samples_, 'row')} × {counted(model.n_features_in_, 'column')}, "
        f"kernel {model.kernel}"
        f"{'' if gamma is None else f', gamma {gamma:.6g}'}"
        f"{'' if model.scale_ is None else ', scaled columns'}: {_explained_share(model)} "
        "in its feature space"
    )
    if error > 0:  # NaN without an estimate
        if model.approximation == "nystrom":
            echo(f"nystrom: an estimated {error:.2%} of the variance is left out")
        else:
            echo(
                f"{model.approximation}: estimated relative error of the kernel matrix {error:.2%}"
            )


def _explained_share(model: KernelPCA) -> str:
    k, rate = model.n_components_, float(model.explained_variance_ratio_.sum())
    return f"{k} component{' explains' if k == 1 else 's explain'} {rate:.1%} of the variance"


def _print_variances(model: Any) -> None:
    """Print one line per component, including the first ones left out."""
    from rich.console import Console
    from rich.table import Table

    from princomp.core import FittedModel, fitted_model
    from princomp.reports import rates_table

    fitted: FittedModel[Any] = fitted_model(model)
    k, result = fitted.k, fitted.result
    # A robust fit has no spectrum.
    resolution = result.spectrum.resolution if hasattr(result, "spectrum") else 0.0
    grid = Table(box=None, pad_edge=False)
    for heading in ("component", "variance", "rate", "accumulated"):
        grid.add_column(heading, justify="left" if heading == "component" else "right")
    names, table = rates_table(model)
    shown = min(len(names), max(k, 1) + 3, 20)
    for i in range(shown):
        value, rate, accumulated = table[i]
        rounding = " (below resolution)" if value <= resolution else ""
        remark = rounding if i < k else " (left out)"
        grid.add_row(names[i] + remark, f"{value:.7g}", f"{rate:.2%}", f"{accumulated:.2%}")
    Console(highlight=False, width=None if sys.stdout.isatty() else 100).print(grid)
    if shown < len(names):
        echo(f"… {counted(len(names) - shown, 'more variance')}")
