"""Sentences of a report about the analysis and its results."""

from __future__ import annotations

import numpy as np

from princomp.core import Fitted, Verdict, component_ranges
from princomp.diagnostics import fitted_of, variable_names, variables
from princomp.errors import PrincompError
from princomp.estimators import PCA, choose
from princomp.reports.documents import component_names
from princomp.reports.rows import ReportedRows
from princomp.reports.text import Texts, cut
from princomp.rules import name_of

# Rules that need only the variances, and are fast.
_RULES = ("kaiser", "broken-stick", "elbow", "gavish-donoho")
# Components that are described in words, and variables that are named in each direction.
_DESCRIBED, _NAMED = 3, 6
# Variables with at least this correlation with a component are named.
_STRONG = 0.7


# ---- the analysis ---------------------------------------------------------------------


def describe_analysis(
    model: PCA, rows: ReportedRows | None, data: str | None, say: Texts
) -> list[str]:
    """Describe the rows, the columns and their preparation."""
    fitted, n = fitted_of(model), fitted_of(model).n_samples
    own = data if rows is not None and rows.training else None
    sentences = [say("analysed", n, fitted.p, variable_names(model), own)]
    if n is not None and fitted.summary.rows != n:
        sentences.append(say("weights", f"{fitted.summary.rows:,g}"))
    scale = model.scale if fitted.scale is not None else "none"
    scale, constant = (scale, _constant(model)) if isinstance(scale, str) else ("", [])
    sentences.append(say("preparation", fitted.centred, scale, bool(constant)))
    if constant:
        sentences.append(say("constant", constant, fitted.centred))
    filled = model.imputed_
    if filled is not None and filled.cells:
        sentences.append(say("filled", filled.cells, filled.share, filled.rows, filled.method))
    elif fitted.dropped:
        sentences.append(say("dropped", fitted.dropped))
    if rows is None:
        return [*sentences, say("rows_below", False, False, False, 0, data)]
    facts = (rows.training, rows.stated, len(rows.scores), data)
    return [*sentences, say("rows_below", True, *facts)]


def _constant(model: PCA) -> list[str]:
    """Return the constant columns of a scaled fit that were accepted and not divided."""
    fitted = fitted_of(model)
    if model.constant == "error" or fitted.scale is None:
        return []
    return list(variable_names(model)[fitted.column_variances == 0])


# ---- the results ----------------------------------------------------------------------


def describe_results(model: PCA, rows: ReportedRows | None, say: Texts) -> list[str]:
    """Describe the components, and rows beyond the limits."""
    fitted = fitted_of(model)
    most = int(min(fitted.p, fitted.analysed.rank_limit))
    sentences = [
        say("explained", fitted.k, most, float(fitted.rates.sum()), fitted.rates[:6].tolist()),
        say("choice", *_choice(model, fitted), fitted.k),
        *_other_rules(model, fitted, say),
        *(
            say("meaning", name, fitted.rates[i], *directions(model, name))
            for i, name in enumerate(component_names(min(fitted.k, _DESCRIBED)))
            if fitted.variances[i] > fitted.spectrum.resolution
        ),
    ]
    return [*sentences, *_outliers(rows, say)]


def _choice(model: PCA, fitted: Fitted) -> tuple[str, object]:
    wanted, decision = model.n_components, fitted.decision
    if decision is not None:
        return "decision", (decision.rule, decision.reason)
    if isinstance(wanted, float) and 0 < wanted < 1:
        return "share", f"{wanted:.4g}"
    if wanted is None:
        return "all", ""
    name = name_of(wanted)
    return ("rule", name) if isinstance(name, str) else ("number", "")


def _other_rules(model: PCA, fitted: Fitted, say: Texts) -> list[str]:
    """Describe the results of rules that need only the variances, if these are known."""
    if fitted.filled is not None or type(model) is not PCA:
        return []
    try:
        answers = choose(model, _RULES)
    except PrincompError:
        return []
    own = "" if fitted.decision is None else fitted.decision.rule
    kept = [(name, one.k) for name, one in answers.items() if one.k is not None and name != own]
    return [say("other_rules", kept)] if kept else []


Named = list[tuple[str, str | None]]


def directions(model: PCA, name: str) -> tuple[Named, Named, int, int]:
    """Return the variables in the two directions of a component, with their correlations.

    Named are variables with a correlation of at least 0.7 in absolute value, or an above-average
    contribution. The last two values are the numbers of further variables in each direction.
    """
    table = variables(model, components=[name], form="wide", frame="listing")
    axis, share = table[f"axis_{name}"], table[f"contribution_{name}"]
    r = table[f"correlation_{name}"]
    even = 100.0 / len(share) - 1e-9
    named = (np.abs(np.nan_to_num(r)) >= _STRONG) | (share >= even)
    order = np.argsort(-share, kind="stable")
    found: list[Named] = []
    for sign in (1, -1):
        chosen = order[named[order] & (sign * axis[order] > 0)]
        found.append(
            [
                (cut(table["variable"][j]), None if np.isnan(r[j]) else _correlation(r[j]))
                for j in chosen
            ]
        )
    high, low = found
    return high[:_NAMED], low[:_NAMED], max(0, len(high) - _NAMED), max(0, len(low) - _NAMED)


def _correlation(r: float) -> str:
    return f"{r:.2f}".replace("-", "−")


def _outliers(rows: ReportedRows | None, say: Texts) -> list[str]:
    if rows is None:
        return []
    limits = rows.limits
    if limits.t2(rows.training) is None and limits.q is None:
        return [say("no_limits")]
    beyond = np.flatnonzero(rows.beyond[rows.order] != "")
    n = int(np.isfinite(rows.t2).sum())
    level, chance = f"{100 * limits.level:.4g}%", f"{100 * (1 - limits.level):.4g}%"
    if not len(beyond):
        return [say("none_beyond", level)]
    names = rows.names[rows.order][beyond]
    shown = list(names if rows.named else [f"row {name}" for name in names])
    return [say("beyond", len(beyond), n, level, chance, shown)]


# ---- three sentences for everybody ----------------------------------------------------


def describe_briefly(model: PCA, judged: tuple[Verdict, ...], say: Texts) -> list[str]:
    """Describe without formulas how much is explained, by which variables, and how reliably."""
    fitted = fitted_of(model)
    sentences = [say("short_size", fitted.n_samples, fitted.p, fitted.k, float(fitted.rates.sum()))]
    if judged[0].interpretable:
        high, low, _, _ = directions(model, "PC1")
        names = ([name for name, _ in high], [name for name, _ in low])
        sentences.append(say("short_meaning", "PC1", fitted.rates[0], *names))
    if any(one.kind == "untested" for one in judged):
        return [*sentences, say("short_untested")]
    sound = component_ranges([one.component for one in judged if one.interpretable])
    doubtful = component_ranges([one.component for one in judged if not one.interpretable])
    return [*sentences, say("short_trust", fitted.k, sound, doubtful, judged[0].bootstrapped)]
