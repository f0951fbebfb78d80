"""Patterns of tables, before means, scales and data types are applied.

Each function takes a random generator, n, p and the recipe, and returns rows (n, p).
"""

from __future__ import annotations

import numpy as np


def _falling(rng, n, p, recipe):
    spectrum = 10.0 ** (-recipe["decades"] * np.arange(p) / max(p - 1, 1))
    turn = np.linalg.qr(rng.standard_normal((p, p)))[0] if p <= 300 else np.eye(p)
    return (rng.standard_normal((n, p)) * spectrum) @ turn


def _repeated(rng, n, p, recipe):
    """Exact multiplicities: levels of equal eigenvalues above a floor."""
    q = min(n - 1, p)
    level = np.arange(q) // max(recipe["multiplicity"], 1)
    spectrum = np.where(level < recipe["levels"], 10.0 * recipe["ratio"] ** -level.astype(float), 1)
    left = rng.standard_normal((n, q))
    left = np.linalg.qr(left - left.mean(axis=0))[0]
    return (left * spectrum) @ np.linalg.qr(rng.standard_normal((p, q)))[0].T


def _periodic(rng, n, p, recipe):
    """A marker every so many rows, in all columns, and a little noise in all but the first."""
    marker = np.zeros(n)
    marker[int(rng.integers(2)) :: max(recipe["period"], 1)] = np.pi * recipe["height"]
    rows = marker[:, None] * (1 + 0.1 * np.arange(p))
    rows[:, 1:] += recipe["noise"] * marker.std() * rng.standard_normal((n, p - 1))
    return rows


def _clusters(rng, n, p, recipe):
    centres = rng.standard_normal((max(recipe["levels"], 1), p)) * recipe["height"]
    rows = centres[rng.integers(len(centres), size=n)]
    return rows + recipe["noise"] * rng.standard_normal((n, p))


def _few_values(rng, n, p, recipe):
    values = np.array([0.0, 1.0, np.pi, -1 / 3, 1e-3])[: max(recipe["levels"], 2)]
    return values[rng.integers(len(values), size=(n, p))] * recipe["height"]


def _low_rank(rng, n, p, recipe):
    rank = max(1, min(recipe["levels"], p))
    rows = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, p))
    return rows * recipe["height"]


def _spikes(rng, n, p, recipe):
    rows = rng.standard_normal((n, p))
    places = rng.integers(n * p, size=max(recipe["levels"], 1))
    rows.flat[places] *= 10.0 ** min(recipe["decades"], 12)
    return rows


def _drift(rng, n, p, recipe):
    steps = rng.standard_normal((n, p)) * recipe["noise"]
    steps[n // 2] += recipe["height"]
    return np.cumsum(steps, axis=0)


def _hilbert(rng, n, p, recipe):
    return recipe["height"] / (1.0 + np.arange(n)[:, None] + np.arange(p))


def _one_row(rng, n, p, recipe):
    rows = np.tile(rng.standard_normal(p), (n, 1))
    rows[int(rng.integers(n))] += recipe["height"]
    return rows


PATTERNS = {
    "falling": _falling,
    "repeated eigenvalues": _repeated,
    "periodic": _periodic,
    "clusters": _clusters,
    "few values": _few_values,
    "low rank": _low_rank,
    "spikes": _spikes,
    "drift": _drift,
    "hilbert": _hilbert,
    "one row differs": _one_row,
}
