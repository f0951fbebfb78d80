"""What a report says in words: what was analysed, and what was found."""

from __future__ import annotations

from typing import Any

import numpy as np

from princomp.choosing import name_of
from princomp.diagnostics import variables
from princomp.diagnostics.given import variable_names
from princomp.documents import component_names
from princomp.errors import PrincompError
from princomp.estimator import PCA
from princomp.fitted import Fitted
from princomp.reports.rows import ReportedRows
from princomp.reports.words import counted, listed
from princomp.side_by_side import choose

__all__ = ["analysed", "found"]

# Rules that ask for the variances alone, and are quick.
_RULES = ("kaiser", "broken-stick", "elbow", "gavish-donoho")

_SCALES = {
    None: "were not scaled: a column weighs as much as its variance is large, so the unit that it "
    "is measured in matters",
    "unit": "were divided by their standard deviations, so that each counts alike, whatever its "
    "unit (a PCA of correlations)",
    "pareto": "were divided by the roots of their standard deviations (Pareto scaling): columns "
    "of large variance weigh more, but less than without scaling",
    "range": "were divided by their ranges, largest minus smallest value",
}


# ---- what was analysed ----------------------------------------------------------------


def analysed(model: Any, rows: ReportedRows | None, data: str | None) -> list[str]:
    """Sentences about the rows, the columns and what was done to them before the fit."""
    fitted: Fitted = model._state
    names = variable_names(model)
    columns = f"{counted(fitted.p, 'column')}: {listed(names)}."
    if fitted.n_samples is None:
        first = f"A covariance of {columns} How many rows are behind it is not known."
    else:
        first = f"{counted(fitted.n_samples, 'row')} in {columns}"
    if rows is not None and rows.training and data:
        first = f"The table {data}: {first[0].lower() + first[1:]}"
    told = [first, *_weights(fitted), _prepared(model, fitted), *_holes(model, fitted)]
    return [*told, _shown(rows, data)]


def _weights(fitted: Fitted) -> list[str]:
    if fitted.n_samples is None or fitted.summary.rows == fitted.n_samples:
        return []
    total = f"{fitted.summary.rows:,g}"
    return [f"Rows have weights, which count as frequencies; their sum is {total}."]


def _prepared(model: Any, fitted: Fitted) -> str:
    centred = "Column means were subtracted" if fitted.centred else "Means were not subtracted"
    scale = model.scale if fitted.scale is not None else None
    how = _SCALES.get(scale) if isinstance(scale, str | None) else None
    return f"{centred}; columns {how or 'were divided by numbers that were given'}."


def _holes(model: Any, fitted: Fitted) -> list[str]:
    filled = model.imputed_
    if filled is not None and filled.cells:
        method = {"em": "regularised EM-PCA", "nipals": "NIPALS"}[filled.method]
        return [
            f"{counted(filled.cells, 'cell')} ({filled.share:.2%}) in "
            f"{counted(filled.rows, 'row')} were missing and were filled by {method}."
        ]
    if fitted.dropped:
        return [f"{counted(fitted.dropped, 'row')} with missing values took no part in the fit."]
    return []


def _shown(rows: ReportedRows | None, data: str | None) -> str:
    if rows is None:
        return "No rows were given to this report: it shows what the model alone knows."
    if rows.training:
        if rows.told:
            return "The rows shown below are those of the fit."
        return (
            "The rows shown below are taken for those of the fit: they are as many and have the "
            "same means and variances."
        )
    count = counted(len(rows.t), "row")
    return (
        f"The rows shown below ({count}{f' of {data}' if data else ''}) are not those of the fit: "
        "they are measured against it, and do not move it."
    )


# ---- what was found -------------------------------------------------------------------


def found(model: Any, rows: ReportedRows | None) -> list[str]:
    """Sentences about the components, and about rows beyond the limits."""
    fitted: Fitted = model._state
    held = float(fitted.rates.sum())
    some = [f"PC{i + 1} {rate:.1%}" for i, rate in enumerate(fitted.rates[:6])]
    if fitted.k == 1:
        first = f"One component of {_possible(fitted)} holds {held:.1%} of the total variance."
    else:
        first = (
            f"{fitted.k:,} components of {_possible(fitted)} hold {held:.1%} of the total "
            f"variance: {', '.join(some)}{', …' if fitted.k > len(some) else ''}."
        )
    chosen = _chosen(model, fitted) + _other_rules(model, fitted)
    return [first, chosen, *_meanings(model, fitted), *_outliers(rows)]


def _possible(fitted: Fitted) -> str:
    return f"{int(min(fitted.p, fitted.analysed.rank_limit)):,}"


def _chosen(model: Any, fitted: Fitted) -> str:
    asked, decision = model.n_components, fitted.decision
    if decision is not None:
        return f"Their number was chosen by the rule “{decision.rule}”: {decision.reason}."
    if isinstance(asked, float) and 0 < asked < 1:
        return f"They are the fewest that together exceed {asked:.4g} of the total variance."
    if asked is None:
        return "All components were kept."
    name = name_of(asked)
    if isinstance(name, str):
        return f"Their number was chosen by the rule “{name}”."
    return "Their number was asked for; no rule chose it."


def _other_rules(model: Any, fitted: Fitted) -> str:
    """What rules that need the variances alone would keep; nothing where these are not known."""
    if fitted.filled is not None or type(model) is not PCA:
        return ""
    try:
        answers = choose(model, _RULES)
    except PrincompError:
        return ""
    own = "" if fitted.decision is None else fitted.decision.rule
    said = [
        f"“{name}” {answer.k}"
        for name, answer in answers.items()
        if answer.k is not None and name != own
    ]
    return f" Other rules would keep: {', '.join(said)}." if said else ""


def _meanings(model: Any, fitted: Fitted) -> list[str]:
    """What the first components rise and fall with: variables above their even share."""
    names = component_names(min(fitted.k, 3))
    table = variables(model, components=names, form="wide", frame="listing")
    told = []
    for i, name in enumerate(names):
        if fitted.variances[i] <= fitted.spectrum.resolution:
            continue
        axis, share = table[f"axis_{name}"], table[f"contribution_{name}"]
        order = np.argsort(-share, kind="stable")
        large = order[share[order] >= 100.0 / fitted.p - 1e-9]
        up, down = (table["variable"][large[sign * axis[large] > 0]] for sign in (1, -1))
        words = [f"rises with {listed(up, 4)}"] if len(up) else []
        words += [f"falls with {listed(down, 4)}"] if len(down) else []
        share_said = f"{share[large].sum():.0f}% of the component"
        told.append(f"{name} ({fitted.rates[i]:.1%}) {' and '.join(words)} ({share_said}).")
    return told


def _outliers(rows: ReportedRows | None) -> list[str]:
    if rows is None:
        return []
    limits = rows.limits
    if limits.t2(rows.training) is None and limits.q is None:
        return ["Neither T² nor Q has a limit here, so no row is called an outlier."]
    beyond = np.flatnonzero(rows.beyond[rows.order] != "")
    n = int(np.isfinite(rows.t2).sum())
    level = f"{100 * limits.level:.4g}%"
    by_chance = f"{100 * (1 - limits.level):.4g}%"
    if not len(beyond):
        return [f"No row is beyond the {level} limits of T² and Q."]
    names = rows.names[rows.order][beyond]
    said = listed(names if rows.named else [f"row {name}" for name in names], 8)
    return [
        f"{len(beyond):,} of {counted(n, 'row')} ({len(beyond) / n:.1%}) "
        f"{'is' if len(beyond) == 1 else 'are'} beyond a {level} limit: {said}. Of normal rows "
        f"about {by_chance} are beyond each limit by chance."
    ]
