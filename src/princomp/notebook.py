"""A fitted model in a notebook: scikit-learn's diagram, and under it what was found."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from princomp.errors import PrincompError
from princomp.fitted import Fitted

__all__ = ["ShownInNotebooks", "card"]

# Components with a bar of their own.
_BARS = 10
# Products that measuring the residuals may take unasked; the certificate says them when read.
_QUICK = 1e9
# Words take the colour of the notebook, light or dark; bars have a contrast of 3 to both.
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


class ShownInNotebooks:
    """The part of an estimator that a notebook shows."""

    # Of scikit-learn: the first is for whoever knows no bundles, and both heed
    # set_config(display="text").

    def _repr_html_inner(self) -> str:
        html: str = super()._repr_html_inner()  # type: ignore[misc]
        return html + card(self)

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] += card(self)
        return bundle


def card(model: Any) -> str:
    """What a fitted model found, as HTML; nothing of one that is not fitted.

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
        fitted: Fitted = model._state
    except PrincompError:
        return ""  # rows came, and are too few yet for an answer
    told = [escape(_head(model, fitted)), *map(escape, _rule(fitted))]
    lines = "".join(f"<p>{line}</p>" for line in told)
    return f'{_STYLE}<div class="princomp-card">{lines}{_bars(fitted)}{_certificate(fitted)}</div>'


def _head(model: Any, fitted: Fitted) -> str:
    rows = "unknown" if fitted.n_samples is None else f"{fitted.n_samples:,}"
    scale = model.scale if isinstance(model.scale, str) else None
    given = "given divisors" if fitted.scale is not None and scale is None else scale
    hold = "component holds" if fitted.k == 1 else "components hold"
    dropped = f" ({fitted.dropped:,} with missing values left out)" if fitted.dropped else ""
    filled = fitted.filled
    cells = f", {filled.cells:,} missing cells filled" if filled and filled.cells else ""
    return (
        f"{rows} rows{dropped} × {fitted.p:,} columns{cells}, scale {given or 'none'}: "
        f"{fitted.k:,} {hold} {float(fitted.rates.sum()):.1%} of the variance"
    )


def _rule(fitted: Fitted) -> list[str]:
    return [] if fitted.decision is None else [f"chosen by {fitted.decision}"]


def _bars(fitted: Fitted) -> str:
    """A line for each of the first components, and one for the rest."""
    if not fitted.k:
        return ""
    rates, accumulated = fitted.rates, fitted.spectrum.accumulated
    longest = max(float(rates.max()), 1e-300)
    lines = [
        _line(f"PC{i + 1}", 100.0 * rates[i] / longest, rates[i], f"{accumulated[i]:.1%}")
        for i in range(min(fitted.k, _BARS))
    ]
    if fitted.k > _BARS:
        name = f"PC{_BARS + 1}" + (f" to PC{fitted.k:,}" if fitted.k > _BARS + 1 else "")
        rest = float(rates[_BARS:].sum())
        lines.append(_line(name, 0.0, rest, f"{accumulated[fitted.k - 1]:.1%}"))
    return (
        "<table><caption>Share of the total variance</caption><thead><tr><th scope='col'></th>"
        "<th scope='col'></th><th scope='col'>share</th><th scope='col'>accumulated</th></tr>"
        f"</thead><tbody>{''.join(lines)}</tbody></table>"
    )


def _line(name: str, wide: float, rate: float, accumulated: str) -> str:
    bar = f'<div style="width: {wide:.1f}%"></div>' if wide else ""
    return (
        f'<tr><th scope="row">{name}</th><td class="princomp-bar">{bar}</td>'
        f"<td>{rate:.1%}</td><td>{accumulated}</td></tr>"
    )


def _certificate(fitted: Fitted) -> str:
    """How exact it is, in a line, and a line for each doubt."""
    known = "certificate" in fitted.__dict__ or fitted.spectrum.residuals is not None
    if not known and float(fitted.p) ** 2 * fitted.k > _QUICK:
        return "<p>certificate_ measures how exact this is when it is read</p>"
    found = fitted.certificate
    residuals = found.residuals[~np.isnan(found.residuals)]
    worst = f"largest residual {residuals.max():.1e}" if residuals.size else "residuals not known"
    doubts = []
    if found.below_resolution.any():
        names = [f"PC{i + 1}" for i in np.flatnonzero(found.below_resolution)]
        doubts.append(f"{_some(names)}: variance not told from zero")
    if found.inseparable:
        pairs = [f"PC{a + 1} and PC{b + 1}" for a, b in found.inseparable]
        doubts.append(f"{_some(pairs)}: cannot be told apart")
    filled = fitted.filled
    if filled is not None and filled.cells and not filled.converged:
        doubts.append("filling the missing cells did not converge")
    end = "" if doubts else "; all variances above rounding, all axes determined"
    told = "".join(f'<p class="princomp-warning">{escape(doubt)}</p>' for doubt in doubts)
    return f"<p>certificate: {escape(worst + end)}</p>{told}"


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 4:,} more" if len(names) > 4 else ""
    return ", ".join(names[:4]) + more
