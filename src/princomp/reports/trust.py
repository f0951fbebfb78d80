"""Sentences of a report about the reliability of the results."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from princomp.core import component_ranges, unequal_columns
from princomp.diagnostics import bartlett, kmo
from princomp.errors import PrincompError
from princomp.reports.documents import column_names
from princomp.reports.request import Request

# Below this residual, relative to the first variance, components are exact to rounding errors.
_EXACT_RESIDUAL = {"float64": 1e-10, "float32": 1e-4}
_NO_BREAK = "\N{NO-BREAK SPACE}"


def assess_reliability(request: Request) -> list[tuple[str, str]]:
    """Return sentences, each with "good", "plain" or "warning".

    No sentence is "good" if some component should not be interpreted.
    """
    all_interpretable = all(verdict.interpretable for verdict in request.verdicts)
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
    pairs = [(a, b) for a, b in certificate.inseparable if not noise[a]]
    if pairs:
        named = [f"PC{a + 1} from PC{b + 1}" for a, b in pairs]
        left_out = any(b >= fitted.k for _, b in pairs)
        yield "warning", texts("inseparable", named, left_out)
    unequal = unequal_columns(fitted.column_variances, column_names(model))
    if fitted.scale is None and unequal:
        yield "warning", texts("unequal", unequal)
    filled = model.imputed_
    if filled is not None and filled.cells:
        yield "warning", texts("filled_caution")
        if not filled.converged:
            yield "warning", texts("not_converged", filled)
    yield from _angles(request)
    if request.bootstrap is None:
        yield "plain", texts("no_bootstrap", request.why_no_bootstrap)
    try:
        overall, test = kmo(model, frame="listing").overall, bartlett(model)
    except PrincompError:
        return  # the model does not store what is needed
    if np.isfinite(overall):
        p = "p < 0.0001" if test.p_value < 1e-4 else f"p = {test.p_value:.2g}"
        p = p.replace(" ", _NO_BREAK)
        weak = overall < 0.5 or test.p_value > 0.05
        facts = (weak, f"{overall:.2f}", f"{test.statistic:.1f}", test.df, p)
        yield "warning" if weak else "plain", texts("adequacy", *facts)


def _angles(request: Request) -> Iterator[tuple[str, str]]:
    """Describe the angles, and the components that are unstable by their angles."""
    verdicts, texts = request.verdicts, request.texts
    known = [f"{one.component} {one.angle:.0f}°" for one in verdicts if not np.isnan(one.angle)]
    if not known:
        return
    resamples = 0 if request.bootstrap is None else request.bootstrap.n
    sentence = texts("angles", ", ".join(known), resamples)
    unstable = component_ranges([one.component for one in verdicts if one.kind == "unstable"])
    if unstable:
        yield "warning", f"{sentence} {texts('doubtful', unstable)}"
    else:
        yield "good", sentence
