"""All engines give the same results and errors for the same tables.

An engine is a module ``on_<name>`` in this folder with ``fit(parts, **parameters)``, which
fits partitions (arrays or CSR arrays, some perhaps without rows) on the real engine, and
``transform(model, parts)``, which returns an array. An optional ``missing()`` returns why the
engine cannot run on this machine, or None.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from on_local import fit as fit_locally, table

from princomp.errors import NotFiniteError

NAMES = sorted(path.stem for path in Path(__file__).parent.glob("on_*.py"))
# Relative to the largest variance; axes are compared where gaps are wide.
BOUND = {np.float64: 1e-12, np.float32: 1e-5}
ROUTES = {
    "auto": {},
    "unit": {"scale": "unit"},
    "range": {"scale": "range"},
    "uncentred": {"center": False},
    "full": {"svd_solver": "full"},
    "fraction": {"n_components": 0.9},
    "whitened": {"whiten": True},
}


@pytest.fixture(scope="module", params=NAMES)
def engine(request):
    module = import_module(request.param)
    reason = getattr(module, "missing", lambda: None)()
    if reason:
        pytest.skip(reason)
    return module


def parts_of(rng, sizes, p=7, dtype=np.float64):
    spread = 3.0 ** -np.arange(p)
    turn = np.linalg.qr(rng.standard_normal((p, p)))[0]
    rows = (rng.standard_normal((sum(sizes), p)) * spread) @ turn + 3.0
    return np.split(rows.astype(dtype), np.cumsum(sizes)[:-1])


def compare(model, expected, bound):
    scale = expected.explained_variance_[0]
    np.testing.assert_allclose(
        model.explained_variance_, expected.explained_variance_, rtol=0, atol=bound * scale
    )
    np.testing.assert_allclose(model.mean_, expected.mean_, rtol=bound, atol=bound)
    np.testing.assert_allclose(model.components_, expected.components_, rtol=0, atol=1e3 * bound)
    assert model.n_samples_ == expected.n_samples_
    assert model.total_variance_ == pytest.approx(expected.total_variance_, rel=bound)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("route", ROUTES)
def test_engines_match_the_local_fit(engine, route, dtype, rng):
    parts = parts_of(rng, [40, 0, 1, 70, 9], dtype=dtype)
    parameters = {"n_components": 4, **ROUTES[route]}
    expected = fit_locally(parts, **parameters)
    model = engine.fit(parts, **parameters)
    compare(model, expected, BOUND[dtype])
    assert model.components_.dtype == dtype
    scores = engine.transform(model, parts)
    atol = 1e3 * BOUND[dtype] * np.abs(scores).max()
    np.testing.assert_allclose(scores, expected.transform(table(parts)), rtol=0, atol=atol)


@pytest.mark.filterwarnings("ignore:the variances of the columns differ:UserWarning")
def test_krylov_matches_over_several_passes(engine, rng):
    parts = parts_of(rng, [60, 1, 0, 90], p=40)
    expected = fit_locally(parts, n_components=3, svd_solver="covariance_eigh")
    model = engine.fit(parts, n_components=3, svd_solver="krylov")
    compare(model, expected, 1e-9)
    assert model.plan_.solver == "krylov"


def test_sparse_rows_stay_sparse(engine, rng):
    rows = sp.random_array((150, 30), density=0.1, rng=rng, format="csr")
    parts = [rows[:40], rows[40:41], rows[41:]]
    expected = fit_locally([table(parts).toarray()], n_components=3)
    model = engine.fit(parts, n_components=3)
    compare(model, expected, 1e-12)


def test_engines_report_the_same_place_of_missing_values(engine, rng):
    parts = parts_of(rng, [40, 0, 1, 70, 9])
    parts[3][12, 5] = np.nan
    with pytest.raises(NotFiniteError) as caught:
        engine.fit(parts, n_components=2)
    assert caught.value.place["column"] in (5, "x5")
    assert "NaN" in str(caught.value)
    assert caught.value.place["row"] == 40 + 1 + 12
    assert "row 53" in str(caught.value)


def test_rows_with_missing_values_can_be_left_out(engine, rng):
    parts = parts_of(rng, [40, 0, 1, 70, 9])
    parts[3][12, 5] = np.nan
    expected = fit_locally(parts, n_components=2, missing="drop")
    model = engine.fit(parts, n_components=2, missing="drop")
    compare(model, expected, 1e-12)
    assert model.n_dropped_ == 1
