"""A fitted model in a notebook: scikit-learn's diagram, and below it a summary of the result."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from princomp import core
from princomp.core import Fitted
from princomp.errors import PrincompError, counted, percent

if TYPE_CHECKING:
    from princomp.estimators.estimator import PCA

# Components with a bar of their own.
_BARS = 10
# Multiplications that may be spent on residuals for the card. Reading certificate_ measures them
# in any case.
_MAX_MULTIPLICATIONS = 1e9
# Text has the colour of the notebook, light or dark; bars have a contrast of 3:1 to both.
_STYLE = """<style>
.princomp-card { font: 0.875rem/1.5 system-ui, sans-serif; margin: 0.6rem 0; max-width: 36rem; }
.princomp-card p { margin: 0.25rem 0; }
.princomp-card table { border-collapse: collapse; width: 100%; margin: 0.4rem 0;
  font-variant-numeric: tabular-nums; background: none; }
.princomp-card caption { text-align: left; font-weight: 600; color: inherit; padding: 0.2rem 0; }
.princomp-card :is(th, td) { padding: 0.1rem 0.5rem 0.1rem 0; text-align: right; border: 0;
  font-weight: 400; white-space: nowrap; color: inherit; background: none; }
.princomp-card th[scope="row"] { text-align: left; }
.princomp-card td.princomp-bar { width: 100%; text-align: left; }
.princomp-card .princomp-bar div { background: #1583c4; height: 0.7rem; min-width: 1px; }
.princomp-card .princomp-warning { border-left: 3px solid #d55e00; padding-left: 0.6rem; }
</style>"""


def card(model: PCA) -> str:
    """Summary of a fitted model as HTML; empty for one that is not fitted.

    Parameters
    ----------
    model : PCA

    Returns
    -------
    str
    """
    if not model.__sklearn_is_fitted__():
        return ""
    try:
        fitted: Fitted = model._result
    except PrincompError:
        return ""  # too few rows so far
    sentences = [_head(model, fitted)]
    if fitted.decision is not None:
        sentences.append(f"chosen by {fitted.decision}")
    lines = "".join(f"<p>{escape(sentence)}</p>" for sentence in sentences)
    names = model._schema.names
    components = list(model.get_feature_names_out())
    certificate = _certificate(fitted, None if names is None else list(map(str, names)), components)
    bars = _bars(fitted, components)
    return f'{_STYLE}<div class="princomp-card">{lines}{bars}{certificate}</div>'


def _head(model: PCA, fitted: Fitted) -> str:
    rows = "unknown rows" if fitted.n_samples is None else counted(fitted.n_samples, "row")
    scale = "none" if fitted.scale is None else model.scale
    scale = scale if isinstance(scale, str) else "given divisors"
    centred = "" if fitted.centred else "not centred, "
    explain = "component explains" if fitted.k == 1 else "components explain"
    dropped = f" ({fitted.dropped:,} with missing values left out)" if fitted.dropped else ""
    filled = fitted.filled
    cells = f", {counted(filled.cells, 'missing cell')} filled" if filled and filled.cells else ""
    return (
        f"{rows}{dropped} × {counted(fitted.p, 'column')}{cells}, {centred}scale {scale}: "
        f"{fitted.k:,} {explain} {percent(float(fitted.rates.sum()))} of {fitted.total_name}"
    )


def _bars(fitted: Fitted, names: Sequence[str]) -> str:
    """Table with a line for each of the first components, and one for the rest."""
    if not fitted.k:
        return ""
    rates, accumulated = fitted.rates, fitted.spectrum.accumulated
    longest = max(float(rates.max()), 1e-300)
    lines = [
        _line(names[i], 100.0 * rates[i] / longest, rates[i], f"{accumulated[i]:.1%}")
        for i in range(min(fitted.k, _BARS))
    ]
    if fitted.k > _BARS:
        name = names[_BARS] + (f" to {names[-1]}" if fitted.k > _BARS + 1 else "")
        rest = float(rates[_BARS:].sum())
        lines.append(_line(name, 0.0, rest, f"{accumulated[fitted.k - 1]:.1%}"))
    return (
        "<table><caption>Share of the total variance</caption><thead><tr><th scope='col'></th>"
        "<th scope='col'></th><th scope='col'>share</th><th scope='col'>accumulated</th></tr>"
        f"</thead><tbody>{''.join(lines)}</tbody></table>"
    )


def _line(name: str, width: float, rate: float, accumulated: str) -> str:
    bar = f'<div style="width: {width:.1f}%"></div>' if width else ""
    return (
        f'<tr><th scope="row">{name}</th><td class="princomp-bar">{bar}</td>'
        f"<td>{rate:.1%}</td><td>{accumulated}</td></tr>"
    )


def _certificate(fitted: Fitted, names: list[str] | None, components: Sequence[str]) -> str:
    """A line on the accuracy of the fit, and a line for each doubt."""
    is_measured = "certificate" in fitted.__dict__ or fitted.spectrum.residuals is not None
    if not is_measured and float(fitted.p) ** 2 * fitted.k > _MAX_MULTIPLICATIONS:
        return "<p>read certificate_ to measure how exact this is: it takes a while</p>"
    certificate = fitted.certificate
    residuals = certificate.residuals[~np.isnan(certificate.residuals)]
    accuracy = (
        f"largest residual {residuals.max():.1e}" if residuals.size else "residuals not known"
    )
    all_verdicts = core.verdicts(fitted)
    doubts = _verdict_lines([one for one in all_verdicts if not one.interpretable], components)
    if note := core.sketch_note(fitted):
        doubts.insert(0, note)
    if unequal := core.unequal_columns(fitted, names):
        remedy = f"{core.unit_scale(fitted)} gives each column the same weight"
        doubts.append(f"{unequal}; if their units differ, {remedy}")
    filled = fitted.filled
    if filled is not None and filled.cells and not filled.converged:
        doubts.append("filling the missing cells did not converge")
    sound = [one for one in all_verdicts if one.interpretable]
    interpretable = "; ".join(_verdict_lines(sound, components))
    warnings = "".join(f'<p class="princomp-warning">{escape(doubt)}</p>' for doubt in doubts)
    return (
        f"<p>certificate: {escape(accuracy)}</p>"
        + (f"<p>{escape(interpretable)}</p>" if interpretable else "")
        + warnings
    )


def _verdict_lines(judged: Sequence[core.Verdict], components: Sequence[str]) -> list[str]:
    """The lines of verdicts, with the model's own names of its components."""
    names = {f"PC{i}": name for i, name in enumerate(components, 1)}
    return [
        re.sub(r"\bPC\d+", lambda match: names.get(match[0], match[0]), line)
        for line in core.verdict_lines(judged)
    ]
