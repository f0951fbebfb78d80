"""Sentences of a report about the analysis, its results and their reliability."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np

from princomp.core import component_ranges, has_constant_columns, stable_spaces, unequal_columns
from princomp.diagnostics import bartlett, fitted_of, kmo, variable_names, variables
from princomp.errors import PrincompError
from princomp.estimators import PCA, choose
from princomp.io import are_dates
from princomp.reports.documents import column_names, component_names
from princomp.reports.request import Request
from princomp.reports.text import shorten

# Rules that need only the variances, and are fast.
_RULES = ("kaiser", "broken-stick", "elbow", "gavish-donoho")
# Components that are described in words, and variables that are named in each direction.
_MAX_DESCRIBED, _MAX_NAMED = 3, 6
# Variables with at least this correlation with a component are named.
_MIN_CORRELATION = 0.7

# Above this share, rows that were left out are mentioned in the summary.
_MANY_DROPPED = 0.05
# From this number of rows on, a row with over half of a component's variance is mentioned.
_MANY_ROWS = 10
# Below this residual, relative to the first variance, components are exact to rounding errors.
_EXACT_RESIDUAL = {"float64": 1e-10, "float32": 1e-4}
_NO_BREAK = "\N{NO-BREAK SPACE}"


# ---- the analysis ---------------------------------------------------------------------


def describe_analysis(request: Request) -> Iterator[str]:
    """Describe the rows, the columns and their preparation."""
    model, fitted, rows, texts = request.model, request.fitted, request.rows, request.texts
    n, names = fitted.n_samples, variable_names(model)
    total, data = request.row_total, request.data if request.training else None
    yield texts("analysed", n, fitted.p, names, data, total)
    if fitted.has_weights:
        yield texts("weights", total or f"{n:,}")
    constant: list[str] = []
    scale = model.scale if fitted.scale is not None else "none"
    if not isinstance(scale, str):
        scale = ""
    elif scale != "none" and model.constant != "error":
        # Such columns were accepted, and not divided.
        constant = list(names[fitted.column_variances == 0])
    if request.steps:
        yield texts("steps", request.steps)
    yield texts("preparation", fitted.centred, scale, bool(constant), bool(request.steps))
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
    n_below = 0 if rows is None else len(rows.scores)
    yield texts("rows_below", relation, n_below, request.data, n_below == n)


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
    if later := component_names(fitted.k)[_MAX_DESCRIBED:]:
        yield texts("later", component_ranges(later), texts.words["verdicts_caption"])
    yield from _outliers(request)


def _choice(request: Request) -> tuple[str, object]:
    n_components, decision = request.fitted.problem.n_components, request.fitted.decision
    if decision is not None:
        return "decision", (decision.rule, decision.reason)
    if isinstance(n_components, float) and 0 < n_components < 1:
        return "share", f"{n_components:.10g}"
    if n_components is None:  # some solvers then leave out the last one, as scikit-learn's do
        return "all" if request.fitted.k == request.max_components else "most", ""
    return ("rule", n_components) if isinstance(n_components, str) else ("number", "")


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
    Without centring, scores may be large because of the means, and the signs of correlations,
    which are about the means, may differ from those of the axis: correlations are left out.
    """
    table = variables(model, components=[name], form="wide", frame="listing")
    axis, share = table[f"axis_{name}"], table[f"contribution_{name}"]
    r = table[f"correlation_{name}"]
    if not fitted_of(model).centred:
        r = np.full(len(r), np.nan)
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
    if not rows.cutoffs:
        yield texts("no_limits")
        return
    order, level = rows.order, f"{100 * limits.level:.10g}%"
    beyond = order[rows.exceeded[order] != ""]
    n, n_with_scores = int(rows.tested.sum()), int((~np.isnan(rows.t2)).sum())
    if not n:
        yield texts("no_limits", of_rows=True)
    elif len(beyond):
        chance, labels = f"{100 * (1 - limits.level):.10g}%", rows.labels
        shown = [labels[i] for i in beyond]
        yield texts("beyond", len(beyond), n, level, chance, shown, n < n_with_scores)
    else:
        tested = f"{n:,} of {n_with_scores:,}" if n < n_with_scores else ""
        yield texts("none_beyond", level, list(rows.cutoffs), tested)
    if "q" in limits.reasons and request.fitted.k < request.fitted.p:
        yield texts("no_q_limit", limits.reasons["q"])
    if rows.filled.any():
        no_limit = np.isnan(rows.t2_limit) & np.isnan(rows.q_limit)
        yield texts("filled_rows", int(np.count_nonzero(rows.filled)), int(no_limit.sum()))


# ---- how reliable they are ------------------------------------------------------------


def assess_reliability(request: Request) -> list[tuple[str, str]]:
    """Return sentences, each with "good", "plain" or "warning".

    No sentence is "good" if some component should not be interpreted, or filling the missing cells
    did not converge.
    """
    all_interpretable = all(verdict.interpretable for verdict in request.verdicts)
    all_interpretable &= _converged(request)
    return [
        ("plain" if kind == "good" and not all_interpretable else kind, sentence)
        for kind, sentence in _sentences(request)
    ]


def _sentences(request: Request) -> Iterator[tuple[str, str]]:
    model, fitted, texts = request.model, request.fitted, request.texts
    certificate = fitted.certificate
    known = certificate.residuals[~np.isnan(certificate.residuals)]
    if not known.size:
        yield "plain", texts("residual", "unknown", "")
    elif (worst := float(known.max())) <= _EXACT_RESIDUAL[str(fitted.dtype)]:
        yield "good", texts("residual", "exact", f"{worst:.1e}")
    else:
        yield "warning", texts("residual", "approximate", f"{worst:.1e}")
    noise = certificate.below_resolution
    if noise.any():
        yield "warning", texts("noise", [f"PC{i + 1}" for i in np.flatnonzero(noise)])
    close = [
        (verdict.component, f"PC{i + 2}")
        for i, verdict in enumerate(request.verdicts)
        if verdict.kind == "inseparable" and f"PC{i + 2}" in verdict.partners
    ]
    if close:
        left_out = close[-1][1] == f"PC{fitted.k + 1}"
        yield "warning", texts("inseparable", [f"{a} from {b}" for a, b in close], left_out)
    if inaccurate := _inaccurate(request):
        yield "warning", texts("inaccurate", inaccurate)
    if unequal := unequal_columns(fitted, column_names(model)):
        yield "warning", texts("unequal", unequal, has_constant_columns(fitted))
    if not request.has_frequencies:
        yield "warning", _weight_note(request)
    filled = model.imputed_
    if filled is not None and filled.cells:
        yield "warning", texts("filled_caution")
        if not filled.converged:
            yield "warning", texts("not_converged", filled)
    if dominated := _dominated(request):
        yield "warning", texts("dominated", dominated)
    yield from _angles(request)
    if request.bootstrap is None:
        yield "plain", texts("no_bootstrap", request.why_no_bootstrap)
    yield from _adequacy(request)


def _weight_note(request: Request) -> str:
    return request.texts("fractional_weights", request.row_total or f"{request.fitted.n_samples:,}")


def _adequacy(request: Request) -> Iterator[tuple[str, str]]:
    """Say whether the columns are correlated enough; filled cells only exaggerate this."""
    model, texts, filled = request.model, request.texts, request.fitted.filled
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the page says that cells were filled
            test, found = bartlett(model), kmo(model, frame="listing")
    except PrincompError as error:
        if request.fitted.p > 1:
            yield "plain", texts("untested", error.message)
        return
    p = "p < 0.0001" if test.p_value < 1e-4 else f"p = {test.p_value:.2g}"
    p = p.replace(" ", _NO_BREAK)
    # For two columns, the measure is always 0.5.
    two = request.fitted.p == 2
    weak = test.p_value > 0.05 or not (two or found.overall >= 0.5)
    if filled is not None and filled.cells and not weak:
        yield "plain", texts("no_adequacy")
        return
    # Without any correlation, the measure is NaN.
    measure = f"{found.overall:.2f}" if np.isfinite(found.overall) else "undefined"
    facts = (weak, "" if two else measure, f"{test.statistic:.1f}", test.df, p)
    yield "warning" if weak else "plain", texts("adequacy", *facts)


def _angles(request: Request) -> Iterator[tuple[str, str]]:
    """Describe the angles, and the components that are unstable by their angles."""
    verdicts, texts = request.verdicts, request.texts
    turning = [
        f"{one.component} {one.angle:.0f}°"
        for one in verdicts
        if one.bootstrapped or one.angle < 90.0
    ]
    free = component_ranges([one.component for one in verdicts if one.may_be_equal])
    if not (turning or free):
        return
    resamples = 0 if request.bootstrap is None else request.bootstrap.n
    sentence = texts("angles", turning, free, resamples)
    unstable = component_ranges([one.component for one in verdicts if one.kind == "unstable"])
    if unstable:
        yield "warning", f"{sentence} {texts('doubtful', unstable)}"
        for space, angle in stable_spaces(verdicts).items():
            yield "plain", texts("stable_space", space, angle)
    else:
        yield "good", sentence
    rows = request.rows
    if rows is not None and rows.training and rows.named and are_dates(rows.names[:100]):
        yield "plain", texts("rows_are_dates")


def _dominated(request: Request) -> list[str]:
    """Components to which one row contributes more than half of the variance, with that row."""
    rows = request.rows
    if rows is None or len(rows.scores) < _MANY_ROWS:
        return []
    # Contributions are NaN for rows that did not take part in the fit.
    largest, labels = np.nan_to_num(rows.contribution).argmax(axis=0), rows.labels
    shares = rows.contribution[largest, range(len(largest))]
    return [
        f"{name} ({labels[i]}: {share:.0f}%)"
        for name, i, share in zip(component_names(len(largest)), largest, shares, strict=True)
        if share > 50.0
    ]


def _inaccurate(request: Request) -> str:
    """Components whose residuals are large; empty if there are none."""
    return component_ranges([one.component for one in request.verdicts if one.kind == "inaccurate"])


def _converged(request: Request) -> bool:
    """Whether filling the missing cells converged, if there were any."""
    filled = request.fitted.filled
    return filled is None or filled.converged


# ---- three sentences for everybody ----------------------------------------------------


def describe_briefly(request: Request) -> Iterator[str]:
    """Describe without formulas how much is explained, by which variables, and how reliably."""
    fitted, verdicts, texts = request.fitted, request.verdicts, request.texts
    size = (fitted.n_samples, fitted.p, fitted.k)
    yield texts("short_size", *size, float(fitted.rates.sum()), request.row_total)
    n_all = fitted.dropped + (fitted.n_samples or 0)
    if fitted.dropped > _MANY_DROPPED * n_all:
        yield texts("short_dropped", fitted.dropped, n_all)
    if not _converged(request):
        yield texts("short_not_converged")
    elif not fitted.centred:
        yield texts("short_uncentred")
    elif verdicts[0].interpretable:
        high, low, *more = variables_by_direction(request.model, "PC1")
        names = ([name for name, _ in side] for side in (high, low))
        yield texts("short_meaning", "PC1", fitted.rates[0], *names, *more)
    sound, doubtful = (
        component_ranges([one.component for one in verdicts if one.interpretable == wanted])
        for wanted in (True, False)
    )
    untested = [one.component for one in verdicts if one.kind == "untested"]
    if untested:
        some = component_ranges(untested) if len(untested) < fitted.k else "the components"
        yield texts("short_untested", some)
        if doubtful:
            yield texts("doubtful", doubtful)
        return
    inaccurate = _inaccurate(request)
    if inaccurate:
        yield texts("inaccurate", inaccurate)
    yield texts("short_trust", fitted.k, sound, doubtful, bool(inaccurate))
    if dominated := _dominated(request):
        yield texts("dominated", dominated)
    filled = fitted.filled
    if sound and filled is not None and filled.cells:
        yield texts("short_filled", filled.cells, filled.share)
    if sound and not request.has_frequencies:
        yield _weight_note(request)
    for space, angle in stable_spaces(verdicts).items():
        yield texts("stable_space", space, angle)
