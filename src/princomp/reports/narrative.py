"""Sentences of a report about the analysis and its results."""

from __future__ import annotations

import numpy as np

from princomp.core import Fitted, Verdict, component_ranges
from princomp.diagnostics import fitted_of, variable_names, variables
from princomp.errors import PrincompError
from princomp.estimators import PCA, choose
from princomp.reports.documents import component_names
from princomp.reports.rows import ReportedRows
from princomp.reports.text import Texts, shorten
from princomp.rules import name_of

# Rules that need only the variances, and are fast.
_RULES = ("kaiser", "broken-stick", "elbow", "gavish-donoho")
# Components that are described in words, and variables that are named in each direction.
_MAX_DESCRIBED, _MAX_NAMED = 3, 6
# Variables with at least this correlation with a component are named.
_MIN_CORRELATION = 0.7


# ---- the analysis ---------------------------------------------------------------------


def describe_analysis(
    model: PCA, rows: ReportedRows | None, data: str | None, texts: Texts
) -> list[str]:
    """Describe the rows, the columns and their preparation."""
    fitted, n = fitted_of(model), fitted_of(model).n_samples
    name_of_rows = data if rows is not None and rows.training else None
    sentences = [texts("analysed", n, fitted.p, variable_names(model), name_of_rows)]
    if n is not None and fitted.summary.rows != n:
        sentences.append(texts("weights", f"{fitted.summary.rows:,g}"))
    scale = model.scale if fitted.scale is not None else "none"
    scale, constant = (scale, _constant(model)) if isinstance(scale, str) else ("", [])
    sentences.append(texts("preparation", fitted.centred, scale, bool(constant)))
    if constant:
        sentences.append(texts("constant", constant, fitted.centred))
    filled = model.imputed_
    if filled is not None and filled.cells:
        sentences.append(texts("filled", filled.cells, filled.share, filled.rows, filled.method))
    elif fitted.dropped:
        sentences.append(texts("dropped", fitted.dropped))
    if rows is None:
        return [*sentences, texts("rows_below", False, False, False, 0, data)]
    facts = (rows.training, rows.training_given, len(rows.scores), data)
    return [*sentences, texts("rows_below", True, *facts)]


def _constant(model: PCA) -> list[str]:
    """Return the constant columns of a scaled fit that were accepted and not divided."""
    fitted = fitted_of(model)
    if model.constant == "error" or fitted.scale is None:
        return []
    return list(variable_names(model)[fitted.column_variances == 0])


# ---- the results ----------------------------------------------------------------------


def describe_results(model: PCA, rows: ReportedRows | None, texts: Texts) -> list[str]:
    """Describe the components, and rows beyond the limits."""
    fitted = fitted_of(model)
    max_components = int(min(fitted.p, fitted.analysed.rank_limit))
    sentences = [
        texts(
            "explained",
            fitted.k,
            max_components,
            float(fitted.rates.sum()),
            fitted.rates[:6].tolist(),
        ),
        texts("choice", *_choice(model, fitted), fitted.k),
        *_other_rules(model, fitted, texts),
        *(
            texts("meaning", name, fitted.rates[i], *variables_by_direction(model, name))
            for i, name in enumerate(component_names(min(fitted.k, _MAX_DESCRIBED)))
            if fitted.variances[i] > fitted.spectrum.resolution
        ),
    ]
    return [*sentences, *_outliers(rows, texts)]


def _choice(model: PCA, fitted: Fitted) -> tuple[str, object]:
    n_components, decision = model.n_components, fitted.decision
    if decision is not None:
        return "decision", (decision.rule, decision.reason)
    if isinstance(n_components, float) and 0 < n_components < 1:
        return "share", f"{n_components:.4g}"
    if n_components is None:
        return "all", ""
    name = name_of(n_components)
    return ("rule", name) if isinstance(name, str) else ("number", "")


def _other_rules(model: PCA, fitted: Fitted, texts: Texts) -> list[str]:
    """Describe the results of rules that need only the variances, if these are known."""
    if fitted.filled is not None or type(model) is not PCA:
        return []
    try:
        choices = choose(model, _RULES)
    except PrincompError:
        return []
    own_rule = "" if fitted.decision is None else fitted.decision.rule
    numbers = [
        (name, choice.k)
        for name, choice in choices.items()
        if choice.k is not None and name != own_rule
    ]
    return [texts("other_rules", numbers)] if numbers else []


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
    by_direction: list[NamedVariables] = []
    for sign in (1, -1):
        chosen = order[named[order] & (sign * axis[order] > 0)]
        by_direction.append(
            [
                (shorten(table["variable"][j]), None if np.isnan(r[j]) else _correlation(r[j]))
                for j in chosen
            ]
        )
    high, low = by_direction
    return (
        high[:_MAX_NAMED],
        low[:_MAX_NAMED],
        max(0, len(high) - _MAX_NAMED),
        max(0, len(low) - _MAX_NAMED),
    )


def _correlation(r: float) -> str:
    return f"{r:.2f}".replace("-", "−")


def _outliers(rows: ReportedRows | None, texts: Texts) -> list[str]:
    if rows is None:
        return []
    limits = rows.limits
    if limits.t2(rows.training) is None and limits.q is None:
        return [texts("no_limits")]
    outlying = np.flatnonzero(rows.exceeded[rows.order] != "")
    n = int(np.isfinite(rows.t2).sum())
    level, chance = f"{100 * limits.level:.4g}%", f"{100 * (1 - limits.level):.4g}%"
    if not len(outlying):
        return [texts("none_beyond", level)]
    names = rows.names[rows.order][outlying]
    shown = list(names if rows.named else [f"row {name}" for name in names])
    return [texts("beyond", len(outlying), n, level, chance, shown)]


# ---- three sentences for everybody ----------------------------------------------------


def describe_briefly(
    model: PCA, component_verdicts: tuple[Verdict, ...], texts: Texts
) -> list[str]:
    """Describe without formulas how much is explained, by which variables, and how reliably."""
    fitted = fitted_of(model)
    sentences = [
        texts("short_size", fitted.n_samples, fitted.p, fitted.k, float(fitted.rates.sum()))
    ]
    if component_verdicts[0].interpretable:
        high, low, _, _ = variables_by_direction(model, "PC1")
        names = ([name for name, _ in high], [name for name, _ in low])
        sentences.append(texts("short_meaning", "PC1", fitted.rates[0], *names))
    if any(verdict.kind == "untested" for verdict in component_verdicts):
        return [*sentences, texts("short_untested")]
    interpretable = component_ranges(
        [verdict.component for verdict in component_verdicts if verdict.interpretable]
    )
    doubtful = component_ranges(
        [verdict.component for verdict in component_verdicts if not verdict.interpretable]
    )
    return [
        *sentences,
        texts("short_trust", fitted.k, interpretable, doubtful, component_verdicts[0].bootstrapped),
    ]
