"""What a report says of how far a fit can be trusted."""

from __future__ import annotations

from typing import Any

import numpy as np

from princomp.diagnostics import bartlett, kmo
from princomp.documents import scale_hint
from princomp.errors import PrincompError
from princomp.fitted import Fitted
from princomp.reports.words import listed
from princomp.resampling import Bootstrap

__all__ = ["trusted"]

# Below this residual, relative to the first variance, a component is as exact as its digits.
_EXACT = {"float64": 1e-10, "float32": 1e-4}
# Axes that turn further, in degrees, are not the same axes in another sample.
_LOOSE = 45.0
_JOINED = "\N{NO-BREAK SPACE}"


def trusted(model: Any, bootstrap: Bootstrap | None) -> list[tuple[str, str]]:
    """Sentences, each with "good", "plain" or "warning"."""
    fitted: Fitted = model._state
    told = [_residual(fitted), *_noise(fitted), *_close(fitted)]
    if hint := scale_hint(model):
        words = hint.replace("--scale unit", "unit scale (--scale unit, scale='unit')")
        told.append(("warning", f"{words[0].upper()}{words[1:]}."))
    filled = model.imputed_
    if filled is not None and filled.cells and not filled.converged:
        told.append(("warning", f"Filling the missing cells did not converge ({filled})."))
    return [*told, *_stability(fitted, bootstrap), *_adequacy(model)]


def _residual(fitted: Fitted) -> tuple[str, str]:
    residuals = fitted.certificate.residuals
    known = residuals[~np.isnan(residuals)]
    if not known.size:
        return (
            "plain",
            "The fit kept nothing by which the error of its components could be measured.",
        )
    worst = float(known.max())
    limit = _EXACT[str(fitted.dtype)]
    how = f"largest residual {worst:.1e} of the first variance"
    if worst <= limit:
        return ("good", f"The components are computed to the precision of the numbers ({how}).")
    return (
        "warning",
        f"The components are approximations: {how}. A solver such as “full” or "
        "“covariance_eigh” is exact.",
    )


def _noise(fitted: Fitted) -> list[tuple[str, str]]:
    noise = np.flatnonzero(fitted.certificate.below_resolution)
    if not noise.size:
        return []
    names = listed([f"PC{i + 1}" for i in noise], 6)
    verb = "has a variance" if noise.size == 1 else "have variances"
    return [
        (
            "warning",
            f"{names} {verb} that cannot be told from zero at this precision: what they show is "
            "rounding, not data.",
        )
    ]


def _close(fitted: Fitted) -> list[tuple[str, str]]:
    pairs = [
        (a, b)
        for a, b in fitted.certificate.inseparable
        if not fitted.certificate.below_resolution[a]
    ]
    if not pairs:
        return [
            (
                "good",
                "The variances of neighbouring components are apart: each axis is "
                "determined by the data.",
            )
        ]
    named = listed([f"PC{a + 1} from PC{b + 1}" for a, b in pairs], 6)
    told = (
        f"Computation cannot tell {named}: their variances are equal to the precision of the "
        "numbers. The space they span is right, the axes within it are arbitrary."
    )
    if any(b >= fitted.k for _, b in pairs):
        told += " One of them was not kept, so even the space that is kept is arbitrary there."
    return [("warning", told)]


def _stability(fitted: Fitted, bootstrap: Bootstrap | None) -> list[tuple[str, str]]:
    if bootstrap is None:
        return []
    angles = bootstrap.angle_quantiles((0.95,))[0]
    some = ", ".join(f"PC{i + 1} {angle:.0f}°" for i, angle in enumerate(angles[:6]))
    loose = [f"PC{i + 1}" for i, angle in enumerate(angles) if angle > _LOOSE]
    told = (
        f"Another sample would turn the axes: in 95% of {bootstrap.n:,} bootstrap resamples by no "
        f"more than {some}{', …' if len(angles) > 6 else ''}."
    )
    if not loose:
        return [("plain", told)]
    return [("warning", f"{told} Do not interpret {listed(loose, 6)} by itself.")]


def _adequacy(model: Any) -> list[tuple[str, str]]:
    """Whether columns have anything in common; nothing where the fit cannot say."""
    try:
        overall, test = kmo(model, frame="listing").overall, bartlett(model)
    except PrincompError:
        return []
    if not np.isfinite(overall):
        return []
    p = "p < 0.0001" if test.p_value < 1e-4 else f"p = {test.p_value:.2g}"
    p = p.replace(" ", _JOINED)
    weak = overall < 0.5 or test.p_value > 0.05
    told = (
        f"The columns have {'little' if weak else 'enough'} in common for a PCA: "
        f"Kaiser–Meyer–Olkin measure {overall:.2f} (0.5 is the least that is called acceptable), "
        f"Bartlett’s test χ² = {test.statistic:.1f} on {test.df} degrees of freedom, {p}."
    )
    return [("warning" if weak else "plain", told)]
