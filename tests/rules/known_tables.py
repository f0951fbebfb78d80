"""Tables, and the facts about them that a fit passes to a rule."""

from __future__ import annotations

import numpy as np

from princomp.rules import Known


def known_of(X, scale=None, **changes):
    """The facts about these rows that a fit passes to a rule."""
    n, p = X.shape
    rows = X - X.mean(axis=0)
    if scale == "unit":
        rows = rows / rows.std(axis=0, ddof=1)
    variances = np.zeros(p)
    singular = np.linalg.svd(rows, compute_uv=False) ** 2 / (n - 1)
    variances[: len(singular)] = singular
    facts = {
        "variances": variances,
        "total": float(variances.sum()),
        "columns": p,
        "rows": float(n),
        "column_variances": rows.var(axis=0, ddof=1),
        "standardised": scale == "unit",
        "resolution": 1e-14 * variances[0],
        "table": rows.copy,
    }
    return Known(**{**facts, **changes})


def of_variances(values, rows=100.0, **changes):
    values = np.asarray(values, dtype=float)
    facts = {"column_variances": np.full(len(values), values.mean()), **changes}
    return Known(values, float(values.sum()), len(values), rows, **facts)


def ranked(seed, n=120, p=20, rank=3, noise=0.5):
    rng = np.random.default_rng(seed)
    axes = np.linalg.qr(rng.standard_normal((p, rank)))[0]
    scores = rng.standard_normal((n, rank)) * np.arange(rank + 3, 3, -1)
    return scores @ axes.T + noise * rng.standard_normal((n, p))
