"""Kinds of cases: values of a recipe that were wrong together more often than others.

Each kind gives values to choose from, or functions of a random generator; the other values of the
recipe stay as drawn. A kind finds in minutes what a search of all cases finds in hours.
"""

from __future__ import annotations

from patterns import PATTERNS
from tables import DTYPES, WEIGHTS, log_uniform, one_of

_STEEP = ("hilbert", "falling", "low rank", "repeated eigenvalues", "clusters")
_SOLVERS = (
    "auto",
    "covariance_eigh",
    "full",
    "row_gram",
    "lanczos",
    "arpack",
    "krylov",
    "randomized",
    "sketch",
)
_WEIGHTS = tuple(WEIGHTS)
_FAR_WEIGHTS = ("beyond float32", "below float32", "wide spread", "spread", "one heavy")
_SCALES = ("unit", "range", "pareto")
_PERHAPS_SCALED = (None, None, "unit", "range")
_ONLINE = ("partial_fit", "merge", "forget", "decay", "rescaled")
_SEQUENCES = (
    "fit",
    *_ONLINE,
    "truncated",
    "saved",
    "kernel",
    "any kernel",
    "nystrom",
    "features",
    "robust",
    "missing",
    "diagnosed",
    "bootstrapped",
    "incremental",
    "engine",
)


def _up_to(high):
    return lambda rng: log_uniform(rng, 2, high)


def _components(rng):
    kind = one_of(rng, {"all": 0.25, "number": 0.5, "share": 0.25})
    number, share = log_uniform(rng, 1, 30), round(float(rng.uniform(0.1, 0.999999)), 6)
    return {"all": None, "number": number, "share": share}[kind]


def _sometimes(low, high):
    """0 or a number whose logarithm is uniform."""
    return lambda rng: float(f"{log_uniform(rng, low, high):.3g}") if rng.random() < 0.5 else 0


def _decades(high):
    return lambda rng: round(rng.uniform(0, high), 2) if rng.random() < 0.5 else 0


def _far_power(rng):
    """A power of ten near an end of float64, or of float32."""
    ends = ((-165, -140), (-165, -60), (60, 150), (130, 153), (-45, -30), (28, 39))
    return int(rng.integers(*one_of(rng, ends)))


_ANY = {"n": _up_to(300), "p": _up_to(200), "k": _components}
_SMALL = {"n": _up_to(100), "p": _up_to(20), "k": _components}

KINDS = {
    "scaled": {
        **_ANY,
        "scale": _SCALES,
        "column_decades": _decades(14),
        "pattern": _STEEP,
        "solver": _SOLVERS,
    },
    "scaled-weighted": {
        **_ANY,
        "scale": _SCALES,
        "column_decades": _decades(14),
        "weights": _WEIGHTS,
        "solver": _SOLVERS,
        "sequence": ("fit", *_ONLINE),
    },
    "not-centred": {
        **_ANY,
        "center": (False,),
        "mean": _sometimes(1.0, 1e8),
        "solver": _SOLVERS,
        "pattern": _STEEP,
    },
    "float32": {
        **_ANY,
        "dtype": ("float32",),
        "solver": _SOLVERS,
        "scale": _PERHAPS_SCALED,
        "pattern": (*_STEEP, *PATTERNS),
        "column_decades": _decades(10),
        "mean": _sometimes(1.0, 1e6),
    },
    "long-first-row": {
        **_ANY,
        "first": lambda rng: float(f"{log_uniform(rng, 10.0, 1e12):.3g}"),
        "solver": _SOLVERS,
        "sequence": ("fit", *_ONLINE, "truncated"),
    },
    "kernel": {
        "n": _up_to(250),
        "p": _up_to(60),
        "k": _components,
        "sequence": ("kernel", "any kernel", "any kernel", "nystrom", "features"),
    },
    "kernel-weighted": {
        "n": _up_to(250),
        "p": _up_to(60),
        "k": _components,
        "sequence": ("any kernel", "nystrom", "features"),
        "weights": _WEIGHTS,
        "dtype": ("float64", "float32"),
        "pattern": _STEEP,
    },
    "sparse": {
        **_ANY,
        "source": ("csr", "csc"),
        "density": lambda rng: round(rng.uniform(0.01, 0.9), 3),
        "solver": _SOLVERS,
        "weights": ("none", *_WEIGHTS),
        "scale": (None, *_SCALES),
    },
    "iterative": {
        **_ANY,
        "k": _up_to(60),
        "solver": ("krylov", "lanczos", "randomized", "arpack"),
        "pattern": _STEEP,
        "scale": _PERHAPS_SCALED,
    },
    "sketch": {
        **_ANY,
        "k": _up_to(30),
        "solver": ("sketch",),
        "sequence": ("fit", "partial_fit", "merge", "rescaled", "decay", "saved"),
        "scale": _PERHAPS_SCALED,
    },
    "missing": {
        "n": _up_to(60),
        "p": _up_to(12),
        "k": _components,
        "sequence": ("missing",),
        "pattern": (*_STEEP, *PATTERNS),
    },
    "diagnosed": {
        **_SMALL,
        "sequence": ("diagnosed", "bootstrapped"),
        "weights": _WEIGHTS,
        "scale": (None, "unit", "range"),
    },
    "robust": {
        **_SMALL,
        "sequence": ("robust",),
        "weights": ("none", *_WEIGHTS),
        "scale": (None, "unit"),
    },
    "engine": {
        "n": _up_to(200),
        "p": _up_to(20),
        "k": _components,
        "sequence": ("engine", "incremental"),
        "dtype": tuple(DTYPES),
    },
    "online": {
        **_ANY,
        "sequence": (*_ONLINE, "forget", "truncated", "fit, then partial_fit", "incremental"),
        "weights": ("none", *_WEIGHTS),
        "first": _sometimes(10.0, 1e12),
        "dtype": ("float64", "float64", "float32"),
    },
    "extreme": {
        **_SMALL,
        "sequence": _SEQUENCES,
        "power": _far_power,
        "column_decades": lambda rng: round(rng.uniform(12, 200), 2) if rng.random() < 0.2 else 0,
        "first": lambda rng: 10.0 ** int(rng.integers(12, 100)) if rng.random() < 0.2 else 0,
        "weights": ("none", "none", "none", *_FAR_WEIGHTS),
        "dtype": ("float64", "float64", "float32"),
        "solver": _SOLVERS,
        "scale": _PERHAPS_SCALED,
    },
}


def values_of(kind, rng):
    """Random values of a recipe of this kind."""
    return {
        name: value(rng) if callable(value) else one_of(rng, value)
        for name, value in KINDS[kind].items()
    }
