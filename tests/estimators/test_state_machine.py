"""A PCA as a state machine: any order of calls ends with the model of the remaining rows.

After every call the model is compared with NumPy in longdouble on the multiset of rows that
remain after the calls.
"""

from __future__ import annotations

import copy
import os
import pickle
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import princomp
from helpers import EPS, EPS32
from princomp import PCA
from princomp.errors import (
    ConstantColumnError,
    NotAvailableError,
    NotFiniteError,
    ParameterError,
    PrincompError,
    ShapeError,
)

SCALES = (None, "unit", "pareto")


@dataclass
class Batch:
    """Rows, as they are given and as float64, with their weights."""

    given: object
    rows: np.ndarray
    weights: np.ndarray | None

    @property
    def counts(self) -> np.ndarray:
        return np.ones(len(self.rows)) if self.weights is None else self.weights


@dataclass
class Expected:
    """The multiset of rows that a model stands for, and a bound on the rounding so far."""

    p: int
    batches: list[Batch] = field(default_factory=list)
    started: bool = False
    # Rows that were ever added, and Σ w ‖x − c‖² of all of them about one centre c.
    seen: int = 0
    squares: float = 0.0
    centre: np.ndarray | None = None

    def add(self, batch: Batch) -> None:
        self.started = True
        if len(batch.rows) and self.centre is None:
            self.centre = batch.rows[0]
        self.batches.append(batch)
        self._count(batch)

    def remove(self, index: int) -> Batch:
        batch = self.batches.pop(index)
        self._count(batch)
        return batch

    def join(self, other: Expected) -> None:
        for batch in other.batches:
            self.add(batch)
        self.seen += other.seen
        self.squares += other.squares

    def _count(self, batch: Batch) -> None:
        if len(batch.rows):
            self.seen += len(batch.rows)
            self.squares += float(batch.counts @ ((batch.rows - self.centre) ** 2).sum(axis=1))

    def table(self) -> tuple[np.ndarray, np.ndarray]:
        rows = [np.empty((0, self.p)), *(batch.rows for batch in self.batches)]
        weights = [np.empty(0), *(batch.counts for batch in self.batches)]
        return (
            np.concatenate(rows).astype(np.longdouble),
            np.concatenate(weights).astype(np.longdouble),
        )


@st.composite
def batches(draw, p, dtype, *, least=0):
    """Rows of one of several kinds, weighted or not; the numbers come from a seed."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(least, 12))
    kind = draw(st.sampled_from(["dense", "dense", "fortran", "list", "sparse"]))
    shift = draw(st.sampled_from([0.0, 0.0, 100.0]))
    spread = 2.0 ** rng.integers(-3, 4, size=p)
    rows = spread * rng.standard_normal((n, p)) + shift
    if kind == "sparse":
        rows[rng.random((n, p)) < 0.5] = 0.0
    rows = rows.astype(dtype)
    given = {
        "dense": rows,
        "fortran": np.asfortranarray(rows),
        "list": rows.tolist() if n and dtype == "f8" else rows,
        "sparse": sp.csr_array(rows),
    }[kind]
    weights = None
    if draw(st.booleans()):
        weights = rng.integers(0, 4, size=n) / 2.0
    return Batch(given, rows.astype("f8"), weights)


class Calls(RuleBasedStateMachine):
    """Every public call that changes a model or makes another one of it."""

    @initialize(
        p=st.integers(1, 5),
        center=st.booleans(),
        scale=st.sampled_from(SCALES),
        solver=st.sampled_from(["auto", "auto", "covariance_eigh", "full"]),
        dtype=st.sampled_from(["f8", "f8", "f4"]),
    )
    def begin(self, p, center, scale, solver, dtype):
        self.p, self.dtype = p, dtype
        self.model = PCA(center=center, scale=scale, svd_solver=solver)
        self.expected = Expected(p)
        # The scale of the fit: a changed parameter counts from the next rows or refit on.
        self.scale = scale

    # ---- rows in and out ---------------------------------------------------------------

    @rule(data=st.data())
    def partial_fit(self, data):
        batch = data.draw(batches(self.p, self.dtype))
        assert self.model.partial_fit(batch.given, sample_weight=batch.weights) is self.model
        if len(batch.rows) or not self.started:
            self.scale = self.model.scale
        self.expected.add(batch)

    @rule(data=st.data())
    def fit(self, data):
        batch = data.draw(batches(self.p, self.dtype, least=2))
        before = self.bits()
        try:
            self.model.fit(batch.given, sample_weight=batch.weights)
        except (ShapeError, ConstantColumnError):
            # Less than two rows of weight, or a constant column.
            weight = batch.counts.sum()
            few = weight <= 1 or np.count_nonzero(batch.counts) < 2
            assert few or self.model.scale is not None
            assert self.bits() == before
            return
        self.scale, self.expected = self.model.scale, Expected(self.p)
        self.expected.add(batch)

    @precondition(lambda self: self.rows_left > 0 and self.model.svd_solver != "full")
    @rule(data=st.data())
    def forget(self, data):
        index = data.draw(st.integers(0, len(self.expected.batches) - 1))
        batch = self.expected.batches[index]
        before = self.bits()
        try:
            self.model.forget(batch.given, sample_weight=batch.weights)
        except NotAvailableError:
            assert self.bits() == before
            return
        if len(batch.rows):
            self.scale = self.model.scale
        self.expected.remove(index)

    @rule(data=st.data())
    def merge(self, data):
        batch = data.draw(batches(self.p, self.dtype))
        other = clone(self.model).set_params(
            svd_solver=data.draw(st.sampled_from(["auto", "covariance_eigh", "full"]))
        )
        other.partial_fit(batch.given, sample_weight=batch.weights)
        rows = Expected(self.p)
        rows.add(batch)
        if not self.started:
            with pytest.raises(NotFittedError):
                self.model.merge(other)
            none = np.empty((0, self.p), self.dtype)
            self.model.partial_fit(none)
            self.expected.add(Batch(none, none, None))
        self.model.merge(other)
        self.scale = self.model.scale
        self.expected.join(rows)

    # ---- the model as another object -----------------------------------------------------

    @precondition(lambda self: self.started)
    @rule(way=st.sampled_from(["pickle", "copy", "deepcopy"]))
    def copied(self, way):
        before = self.bits()
        ways = {
            "pickle": lambda model: pickle.loads(pickle.dumps(model)),
            "copy": copy.copy,
            "deepcopy": copy.deepcopy,
        }
        original, self.model = self.model, ways[way](self.model)
        assert self.bits() == before
        # Changes to the original must not reach its copy.
        original.partial_fit(np.full((3, self.p), 1e3))
        assert self.bits() == before

    @precondition(lambda self: self.solvable)
    @rule()
    def saved_and_loaded(self):
        before = self.bits()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.pca"
            self.model.save(path)
            self.model = princomp.load(path)
        assert self.bits() == before

    @rule(scale=st.sampled_from(SCALES))
    def set_scale(self, scale):
        before = self.bits()
        self.model.set_params(scale=scale)
        assert self.bits() == before

    @precondition(lambda self: self.solvable)
    @rule(scale=st.sampled_from(SCALES))
    def rescaled(self, scale):
        try:
            self.model = self.model.rescaled(scale)
            self.scale = scale
        except ConstantColumnError:
            assert scale is not None

    @precondition(lambda self: self.solvable and self.scale == self.model.scale)
    @rule(data=st.data())
    def truncated(self, data):
        k = data.draw(st.integers(1, self.model.n_components_))
        fewer = self.model.truncated(k)
        assert fewer.n_components_ == k
        np.testing.assert_array_equal(fewer.explained_variance_, self.model.explained_variance_[:k])

    # ---- calls that fail -----------------------------------------------------------------

    @precondition(lambda self: self.started)
    @rule(data=st.data())
    def refused(self, data):
        before = self.bits()
        rows = data.draw(batches(self.p, self.dtype, least=2)).rows
        wrong = data.draw(st.sampled_from(["nan", "columns", "weights", "text", "parameter"]))
        weights, expected = None, PrincompError
        if wrong == "nan":
            rows[1, -1], expected = np.nan, NotFiniteError
        elif wrong == "columns":
            rows, expected = np.ones((3, self.p + 1)), (PrincompError, ValueError)
        elif wrong == "weights":
            weights, expected = np.full(len(rows), -1.0), PrincompError
        elif wrong == "text":
            rows, expected = np.array([["a"] * self.p] * 2), (PrincompError, ValueError)
        calls = [self.model.partial_fit]
        if self.model.svd_solver != "full":
            calls.append(self.model.forget)
        call = data.draw(st.sampled_from(calls))
        if wrong == "parameter":
            solver = self.model.svd_solver
            self.model.svd_solver, expected = "no such solver", ParameterError
            with pytest.raises(expected):
                call(rows)
            self.model.svd_solver = solver
        else:
            with pytest.raises(expected):
                call(rows, sample_weight=weights)
        assert self.bits() == before

    # ---- invariants ------------------------------------------------------------------

    @property
    def started(self) -> bool:
        return self.expected.started

    @property
    def rows_left(self) -> int:
        return sum(len(batch.rows) for batch in self.expected.batches)

    @property
    def solvable(self) -> bool:
        """Whether the remaining rows clearly have a PCA, not just barely."""
        if self.rows_left < 2:
            return False
        rows, weights = self.expected.table()
        if weights.sum() <= 1.25 or np.count_nonzero(weights) < 2:
            return False
        if self.scale is None:
            return True
        variances = np.diag(self.covariance(rows, weights, center=True))
        return bool((variances > 1e6 * self.bound(weights)).all())

    def bits(self):
        """The model's arrays as bytes, the name of its error, or None before the first call."""
        if not self.started:
            return None
        model = copy.deepcopy(self.model)
        try:
            arrays = [model.explained_variance_, model.components_, model.mean_]
        except (PrincompError, NotFittedError) as error:
            return type(error).__name__
        return model.n_samples_, [np.asarray(one).tobytes() for one in arrays]

    def covariance(self, rows, weights, *, center):
        """The covariance about the mean, or about zero without centring."""
        n = weights.sum()
        mean = weights @ rows / n if center else np.zeros(self.p, rows.dtype)
        centred = rows - mean
        return (centred * weights[:, None]).T @ centred / (n - 1)

    def bound(self, weights):
        """Rounding of sums of all rows that were ever added or removed."""
        squares = self.expected.squares
        if not self.model.center:
            seen, centre = self.expected.seen, self.expected.centre
            squares += 4.0 * seen * float(centre @ centre)
        eps = EPS if self.dtype == "f8" else EPS32
        return 8 * eps * (self.expected.seen + self.p) * squares / float(weights.sum() - 1)

    @invariant()
    def the_model_is_that_of_the_rows(self):
        if not hasattr(self, "model") or not self.started or not self.solvable:
            return
        rows, weights = self.expected.table()
        model = copy.deepcopy(self.model)
        assert model.n_samples_ == len(rows)
        bound = self.bound(weights)
        covariance = self.covariance(rows, weights, center=model.center)
        variances = np.diag(self.covariance(rows, weights, center=True))
        power = {None: 0.0, "unit": 0.5, "pareto": 0.25}[self.scale]
        divisors = variances**power
        scaled = np.asarray(covariance / np.outer(divisors, divisors), dtype="f8")
        # Errors of the divisors are relative ones of the columns.
        relative = float((bound / variances).max()) if self.scale is not None else 0.0
        smallest = float(divisors.min())
        error = bound / smallest**2 + relative * np.trace(scaled)
        eps = EPS if self.dtype == "f8" else EPS32
        error += 64 * eps * self.p * np.trace(scaled)
        # Axes whose variance is below the resolution, as the certificate says, are not known.
        error += float(model.explained_variance_[model.certificate_.below_resolution].sum())
        found = (model.components_.T * model.explained_variance_) @ model.components_
        np.testing.assert_allclose(found, scaled, rtol=0, atol=error)
        assert model.total_variance_ == pytest.approx(np.trace(scaled), abs=self.p * error)
        gram = model.components_ @ model.components_.T
        np.testing.assert_allclose(gram, np.eye(len(gram)), rtol=0, atol=64 * eps * self.p)


def run(examples, steps):
    run_state_machine_as_test(
        Calls,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_any_order_of_calls_leaves_the_model_of_the_rows():
    run(60, 20)


@pytest.mark.soak
def test_ten_thousand_runs_of_fifty_calls():
    run(int(os.environ.get("PRINCOMP_SOAK_RUNS", "10_000")), 50)
