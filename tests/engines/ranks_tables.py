"""Rows, models and checks that the tests in this folder share."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np


def rows_of(rng, n, p=6, dtype=np.float64):
    spread = 2.0 ** -np.arange(p)
    turn = np.linalg.qr(rng.standard_normal((p, p)))[0]
    return ((rng.standard_normal((n, p)) * spread) @ turn + 5.0).astype(dtype)


def saved_bytes(model):
    """The bytes of the model file, and the plan, which a file does not hold."""
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "m.pca")
        return (Path(folder) / "m.pca").read_bytes(), str(model.plan_)


def assert_same_on_all_ranks(models):
    """Assert that the models are bitwise equal, and return the first."""
    first = saved_bytes(models[0])
    for model in models[1:]:
        assert saved_bytes(model) == first
    return models[0]


def assert_close(model, expected, bound=1e-12):
    scale = expected.explained_variance_[0]
    np.testing.assert_allclose(
        model.explained_variance_, expected.explained_variance_, rtol=0, atol=bound * scale
    )
    np.testing.assert_allclose(model.mean_, expected.mean_, rtol=bound)
    np.testing.assert_allclose(model.components_, expected.components_, rtol=0, atol=1e3 * bound)
    assert model.n_samples_ == expected.n_samples_


def assert_refused(ranks, kind, case, *args, **kwargs):
    """Assert that all ranks raise the same error, and return the errors."""
    errors = ranks.outcomes(case, *args, **kwargs)
    assert [type(error) for error in errors] == [kind] * ranks.size
    assert len({str(error) for error in errors}) == 1
    return errors


RANK_NAMES = {"mpi": "MPI ranks", "gloo": "torch.distributed ranks"}
