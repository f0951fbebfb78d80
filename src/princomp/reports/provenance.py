"""How a model was computed: plan, certificate, parameters and versions."""

from __future__ import annotations

import platform

import numpy as np
import scipy
import sklearn

from princomp import __version__
from princomp.core import ADDRESS
from princomp.linalg import format_bytes
from princomp.reports.request import Request
from princomp.rules import name_of


def _in_words(value: object) -> str:
    """Return the repr of a parameter, or its type if the repr has an address, which varies."""
    words = repr(value)
    return type(value).__name__ if ADDRESS.search(words) else words


def provenance(request: Request) -> dict[str, list[tuple[str, str]]]:
    """Return the names and values of each topic."""
    model, fitted, bootstrap = request.model, request.fitted, request.bootstrap
    defaults, scale = type(model)(), getattr(model, "scale", None)
    plan, certificate = fitted.plan, fitted.certificate
    known = certificate.residuals[~np.isnan(certificate.residuals)]
    worst = f"{known.max():.1e}" if known.size else "not measured"
    passes = "until the residual was small enough" if plan.passes is None else f"{plan.passes}"
    pairs = ", ".join(f"PC{a + 1} and PC{b + 1}" for a, b in certificate.inseparable[:8])
    noise = ", ".join(f"PC{i + 1}" for i in np.flatnonzero(certificate.below_resolution)[:8])
    return {
        "Plan": [
            ("summary of the rows", plan.summary),
            ("solver", plan.solver),
            *[("why" if i == 0 else "then", reason) for i, reason in enumerate(plan.reasons)],
            ("passes over the rows", passes),
            ("memory beyond the data", format_bytes(plan.memory)),
        ],
        "Certificate": [
            ("largest residual, relative to the first variance", worst),
            ("loss of orthogonality", f"{certificate.orthogonality:.1e}"),
            ("components below resolution", noise or "none"),
            ("components that cannot be separated", pairs or "none"),
            ("a larger component may be missing", certificate.missed_in_words),
            ("bytes read", f"{certificate.bytes_read:,}"),
        ],
        "Parameters": [
            ("n_components", str(name_of(model.n_components))),
            ("scale", str(scale) if isinstance(scale, str | None) else "given divisors"),
            *[
                (name, _in_words(value))
                for name, value in model.get_params(deep=False).items()
                if name not in ("n_components", "scale") and value != getattr(defaults, name)
            ],
            ("precision of the rows", str(request.fitted.dtype)),
            ("level of the limits of T² and Q", f"{request.level:.4g}"),
            ("bootstrap", "none" if bootstrap is None else f"{bootstrap.n:,} resamples, seed 0"),
        ],
        "Versions": [
            ("princomp", __version__),
            ("NumPy", np.__version__),
            ("SciPy", scipy.__version__),
            ("scikit-learn", sklearn.__version__),
            ("Python", platform.python_version()),
        ],
    }
