"""Sentences of a report about the reliability of the results."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from princomp.core import Fitted, Verdict, component_ranges, unequal_columns, verdicts
from princomp.diagnostics import Bootstrap, bartlett, fitted_of, kmo
from princomp.errors import PrincompError
from princomp.estimators import PCA
from princomp.reports.documents import column_names
from princomp.reports.text import Texts

# Below this residual, relative to the first variance, components are exact to rounding errors.
_EXACT_RESIDUAL = {"float64": 1e-10, "float32": 1e-4}
_NO_BREAK = "\N{NO-BREAK SPACE}"


def report_verdicts(model: PCA, bootstrap: Bootstrap | None) -> tuple[Verdict, ...]:
    """Return the verdicts of a report: by the bootstrap if there is one."""
    angles = None if bootstrap is None else bootstrap.angle_quantiles((0.95,))[0]
    return verdicts(fitted_of(model), angles)


def assess_reliability(
    model: PCA, bootstrap: Bootstrap | None, why_no_bootstrap: str, texts: Texts
) -> list[tuple[str, str]]:
    """Return sentences, each with "good", "plain" or "warning".

    No sentence is "good" if some component should not be interpreted. ``why_no_bootstrap`` is
    the reason if there is no bootstrap.
    """
    fitted, component_verdicts = fitted_of(model), report_verdicts(model, bootstrap)
    sentences = [_residual(fitted, texts), *_noise(fitted, texts), *_inseparable(fitted, texts)]
    unequal = unequal_columns(fitted.column_variances, column_names(model))
    if fitted.scale is None and unequal:
        sentences.append(("warning", texts("unequal", unequal)))
    filled = model.imputed_
    if filled is not None and filled.cells:
        sentences.append(("warning", texts("filled_caution")))
        if not filled.converged:
            sentences.append(("warning", texts("not_converged", filled)))
    sentences += _angles(component_verdicts, bootstrap, texts)
    if bootstrap is None:
        sentences.append(("plain", texts("no_bootstrap", why_no_bootstrap)))
    sentences += _adequacy(model, texts)
    if all(verdict.interpretable for verdict in component_verdicts):
        return sentences
    return [("plain" if kind == "good" else kind, sentence) for kind, sentence in sentences]


def _residual(fitted: Fitted, texts: Texts) -> tuple[str, str]:
    residuals = fitted.certificate.residuals
    known = residuals[~np.isnan(residuals)]
    if not known.size:
        return "plain", texts("residual", "unknown", "")
    worst = float(known.max())
    exact = worst <= _EXACT_RESIDUAL[str(fitted.dtype)]
    kind = "exact" if exact else "approximate"
    return "good" if exact else "warning", texts("residual", kind, f"{worst:.1e}")


def _noise(fitted: Fitted, texts: Texts) -> list[tuple[str, str]]:
    noise = np.flatnonzero(fitted.certificate.below_resolution)
    names = [f"PC{i + 1}" for i in noise]
    return [("warning", texts("noise", names))] if names else []


def _inseparable(fitted: Fitted, texts: Texts) -> list[tuple[str, str]]:
    noise = fitted.certificate.below_resolution
    pairs = [(a, b) for a, b in fitted.certificate.inseparable if not noise[a]]
    if not pairs:
        return []
    named = [f"PC{a + 1} from PC{b + 1}" for a, b in pairs]
    return [("warning", texts("inseparable", named, any(b >= fitted.k for _, b in pairs)))]


def _angles(
    component_verdicts: Sequence[Verdict], bootstrap: Bootstrap | None, texts: Texts
) -> list[tuple[str, str]]:
    """Describe the angles, and the components that are unstable by their angles."""
    known = [
        f"{verdict.component} {verdict.angle:.0f}°"
        for verdict in component_verdicts
        if not np.isnan(verdict.angle)
    ]
    if not known:
        return []
    sentence = texts("angles", ", ".join(known), 0 if bootstrap is None else bootstrap.n)
    unstable = component_ranges(
        [verdict.component for verdict in component_verdicts if verdict.kind == "unstable"]
    )
    if not unstable:
        all_interpretable = all(verdict.interpretable for verdict in component_verdicts)
        return [("good" if all_interpretable else "plain", sentence)]
    return [("warning", f"{sentence} {texts('doubtful', unstable)}")]


def _adequacy(model: PCA, texts: Texts) -> list[tuple[str, str]]:
    """Assess whether columns are correlated, where the model stores what is needed."""
    try:
        overall, test = kmo(model, frame="listing").overall, bartlett(model)
    except PrincompError:
        return []
    if not np.isfinite(overall):
        return []
    p = "p < 0.0001" if test.p_value < 1e-4 else f"p = {test.p_value:.2g}"
    p = p.replace(" ", _NO_BREAK)
    weak = overall < 0.5 or test.p_value > 0.05
    facts = (weak, f"{overall:.2f}", f"{test.statistic:.1f}", test.df, p)
    return [("warning" if weak else "plain", texts("adequacy", *facts))]
