"""Sentences of a report about the analysis and its results."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from princomp.core import component_ranges
from princomp.diagnostics import variable_names, variables
from princomp.errors import PrincompError
from princomp.estimators import PCA, choose
from princomp.reports.documents import component_names
from princomp.reports.request import Request
from princomp.reports.text import shorten
from princomp.rules import name_of

# Rules that need only the variances, and are fast.
_RULES = ("kaiser", "broken-stick", "elbow", "gavish-donoho")
# Components that are described in words, and variables that are named in each direction.
_MAX_DESCRIBED, _MAX_NAMED = 3, 6
# Variables with at least this correlation with a component are named.
_MIN_CORRELATION = 0.7


# ---- the analysis ---------------------------------------------------------------------


def describe_analysis(request: Request) -> Iterator[str]:
    """Describe the rows, the columns and their preparation."""
    model, fitted, rows, texts = request.model, request.fitted, request.rows, request.texts
    n, names = fitted.n_samples, variable_names(model)
    yield texts("analysed", n, fitted.p, names, request.data if request.training else None)
    if n is not None and fitted.summary.rows != n:
        yield texts("weights", f"{fitted.summary.rows:,g}")
    constant: list[str] = []
    scale = model.scale if fitted.scale is not None else "none"
    if not isinstance(scale, str):
        scale = ""
    elif scale != "none" and model.constant != "error":
        # Such columns were accepted, and not divided.
        constant = list(names[fitted.column_variances == 0])
    yield texts("preparation", fitted.centred, scale, bool(constant))
    if constant:
        yield texts("constant", constant, fitted.centred)
    filled = model.imputed_
    if filled is not None and filled.cells:
        yield texts("filled", filled.cells, filled.share, filled.rows, filled.method)
    elif fitted.dropped:
        yield texts("dropped", fitted.dropped)
    if rows is None:
        relation = "no rows"
    elif rows.training:
        relation = "stated" if rows.training_given else "matched"
    else:
        relation = "no weights" if rows.weights_missing else "other"
    yield texts("rows_below", relation, 0 if rows is None else len(rows.scores), request.data)


# ---- the results ----------------------------------------------------------------------


def describe_results(request: Request) -> Iterator[str]:
    """Describe the components, and rows beyond the limits."""
    model, fitted, texts = request.model, request.fitted, request.texts
    share, rates = float(fitted.rates.sum()), fitted.rates[:6].tolist()
    yield texts("explained", fitted.k, request.max_components, share, rates)
    yield texts("choice", *_choice(request), fitted.k)
    yield from _other_rules(request)
    for i, name in enumerate(component_names(min(fitted.k, _MAX_DESCRIBED))):
        if fitted.variances[i] > fitted.spectrum.resolution:
            yield texts("meaning", name, fitted.rates[i], *variables_by_direction(model, name))
    yield from _outliers(request)


def _choice(request: Request) -> tuple[str, object]:
    n_components, decision = request.model.n_components, request.fitted.decision
    if decision is not None:
        return "decision", (decision.rule, decision.reason)
    if isinstance(n_components, float) and 0 < n_components < 1:
        return "share", f"{n_components:.4g}"
    if n_components is None:
        return "all", ""
    name = name_of(n_components)
    return ("rule", name) if isinstance(name, str) else ("number", "")


def _other_rules(request: Request) -> Iterator[str]:
    """Describe the results of rules that need only the variances, if these are known."""
    fitted = request.fitted
    if fitted.filled is not None or type(request.model) is not PCA:
        return
    try:
        choices = choose(request.model, _RULES)
    except PrincompError:
        return
    own_rule = "" if fitted.decision is None else fitted.decision.rule
    numbers = [
        (name, choice.k)
        for name, choice in choices.items()
        if choice.k is not None and name != own_rule
    ]
    if numbers:
        yield request.texts("other_rules", numbers)


NamedVariables = list[tuple[str, str | None]]


def variables_by_direction(
    model: PCA, name: str
) -> tuple[NamedVariables, NamedVariables, int, int]:
    """Return the variables in the two directions of a component, with their correlations.

    Named are variables with a correlation of at least 0.7 in absolute value, or an above-average
    contribution. The last two values are the numbers of further variables in each direction.
    """
    table = variables(model, components=[name], form="wide", frame="listing")
    axis, share = table[f"axis_{name}"], table[f"contribution_{name}"]
    r = table[f"correlation_{name}"]
    equal_share = 100.0 / len(share) - 1e-9
    named = (np.abs(np.nan_to_num(r)) >= _MIN_CORRELATION) | (share >= equal_share)
    order = np.argsort(-share, kind="stable")
    high, low = (
        [
            (
                shorten(table["variable"][j]),
                None if np.isnan(r[j]) else f"{r[j]:.2f}".replace("-", "−"),
            )
            for j in order[named[order] & (sign * axis[order] > 0)]
        ]
        for sign in (1, -1)
    )
    more_high, more_low = (max(0, len(side) - _MAX_NAMED) for side in (high, low))
    return high[:_MAX_NAMED], low[:_MAX_NAMED], more_high, more_low


def _outliers(request: Request) -> Iterator[str]:
    rows, texts = request.rows, request.texts
    if rows is None:
        return
    limits = rows.limits
    if limits.t2(rows.training) is None and limits.q is None:
        yield texts("no_limits")
        return
    order, level = rows.order, f"{100 * limits.level:.4g}%"
    names = rows.names[order[rows.exceeded[order] != ""]]
    if not len(names):
        yield texts("none_beyond", level)
        return
    n, chance = int(np.isfinite(rows.t2).sum()), f"{100 * (1 - limits.level):.4g}%"
    shown = list(names if rows.named else [f"row {name}" for name in names])
    yield texts("beyond", len(names), n, level, chance, shown)


# ---- three sentences for everybody ----------------------------------------------------


def describe_briefly(request: Request) -> Iterator[str]:
    """Describe without formulas how much is explained, by which variables, and how reliably."""
    fitted, verdicts, texts = request.fitted, request.verdicts, request.texts
    yield texts("short_size", fitted.n_samples, fitted.p, fitted.k, float(fitted.rates.sum()))
    if verdicts[0].interpretable:
        high, low, _, _ = variables_by_direction(request.model, "PC1")
        names = ([name for name, _ in side] for side in (high, low))
        yield texts("short_meaning", "PC1", fitted.rates[0], *names)
    if any(verdict.kind == "untested" for verdict in verdicts):
        yield texts("short_untested")
        return
    sound, doubtful = (
        component_ranges([one.component for one in verdicts if one.interpretable == wanted])
        for wanted in (True, False)
    )
    yield texts("short_trust", fitted.k, sound, doubtful)
