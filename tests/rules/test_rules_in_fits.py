"""``n_components`` chosen by a rule: solvers, kinds of rows, and model files."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from command_line import ARRESTS
from princomp import PCA, choose, load, plan
from princomp.core import applied_rule
from princomp.errors import (
    ConstantColumnError,
    DataError,
    ModelFileError,
    NotAvailableError,
    ParameterError,
)
from princomp.rules import CV, RULES, Decision, GavishDonoho, Known, Parallel
from princomp.rules.decision import threshold_decision

SOLVERS = ["full", "covariance_eigh", "arpack", "lanczos", "randomized", "row_gram", "auto"]
BY_VARIANCES = [name for name in RULES if name not in ("bi-cv", "cv", "permutation")]


class Odd:
    """A user-defined rule: half of the components."""

    name, needs = "half", "all"

    def __init__(self, share=0.5):
        self.share = share

    def decide(self, known):
        k = np.int64(self.share * len(known.variances))
        return Decision(self.name, k, f"{k} of {len(known.variances)}")


@pytest.fixture(scope="module", name="X")
def table():
    rng = np.random.default_rng(4)
    axes = np.linalg.qr(rng.standard_normal((24, 4)))[0]
    scores = rng.standard_normal((150, 4)) * [9, 7, 6, 5]
    return scores @ axes.T + 0.5 * rng.standard_normal((150, 24)) + 100.0


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", RULES)
def test_every_rule_decides_the_same_with_every_solver(X, name, solver):
    if name == "mle" and solver in ("arpack", "lanczos", "randomized"):
        with pytest.raises(ParameterError, match="cannot be a string"):
            PCA(name, svd_solver=solver).fit(X)
        return
    expected = choose(X, name, svd_solver="full")[name]
    model = PCA(name, svd_solver=solver, random_state=0).fit(X)
    assert model.n_components_ == model.decision_.k == expected.k
    assert model.components_.shape == (expected.k, 24)
    shared = min(len(model.decision_.statistic), len(expected.statistic), 4)
    np.testing.assert_allclose(
        model.decision_.statistic[:shared], expected.statistic[:shared], rtol=1e-6
    )


@pytest.mark.parametrize("name", ["kaiser", "parallel", "gavish-donoho", "cv"])
def test_sparse_and_dense_rows_give_the_same_number(X, name):
    sparse = np.where(np.abs(X - 100) > 3, X - 100, 0.0)
    for solver in ("auto", "lanczos"):
        for scale in (None, "unit"):
            for unit in (1.0, 1e-90):
                found = PCA(name, svd_solver=solver, scale=scale).fit(sp.csr_array(sparse * unit))
                dense = PCA(name, scale=scale).fit(sparse)
                assert found.n_components_ == dense.n_components_


def test_wide_rows_have_all_possible_variances(X):
    wide = X[:20]
    for name in ("elbow", "gcv", "gavish-donoho", "marchenko-pastur"):
        model = PCA(name).fit(wide)
        assert model.n_components_ == 4, model.decision_
    assert len(PCA("gcv").fit(wide).decision_.statistic) == 19


def test_a_search_goes_on_while_a_rule_needs_more_variances(rng):
    strong = rng.standard_normal((100, 20)) @ np.linalg.qr(rng.standard_normal((40, 20)))[0].T
    rows = 20 * strong + rng.standard_normal((100, 40))
    found, expected = (PCA("kaiser", svd_solver=one).fit(rows) for one in ("lanczos", "full"))
    assert found.n_components_ == expected.n_components_ > 16  # with which it begins


@pytest.mark.parametrize(("scale", "standardised"), [("unit", True), ("pareto", False)])
def test_a_rule_is_told_whether_columns_have_unit_variance(X, scale, standardised):
    told = []

    class Listening:
        name, needs = "listening", "all"

        def decide(self, known):
            told.append(known.standardised)
            return Decision(self.name, 1, "one")

    # The constant column has no variance.
    PCA(Listening(), scale=scale, constant="zero").fit(np.c_[X, np.ones(150)])
    assert set(told) == {standardised}


def test_zero_components_are_a_valid_decision():
    noise = np.random.default_rng(0).standard_normal((100, 20))
    for solver in ("auto", "lanczos", "full", "randomized"):
        model = PCA("parallel", svd_solver=solver, random_state=0).fit(noise)
        assert (model.n_components_, model.components_.shape) == (0, (0, 20))


def test_the_plan_has_the_reason_of_a_rule(X):
    model = PCA("parallel").fit(X)
    assert model.plan_.reasons[-1] == str(model.decision_)
    assert "parallel: 4 leading variances exceed" in str(model.plan_)
    assert PCA(4).fit(X).decision_ is None
    assert model.truncated(2).decision_ is None
    assert model.truncated("kaiser").decision_.rule == "kaiser"
    assert model.rescaled("unit").decision_.rule == "parallel"
    assert plan(X, "parallel").to_dict()["n_components"] == "parallel"


def test_options_and_user_defined_rules(X):
    model = PCA(Odd()).fit(X)
    assert model.n_components_ == 12
    assert type(model.decision_.k) is int
    assert "half keeps 12 components" in str(choose(X, [Odd()]))
    assert str(model.plan_).count("half: 12 of 24") == 1
    copy = clone(PCA(GavishDonoho(noise=0.5)))
    assert copy.n_components == GavishDonoho(noise=0.5)
    assert copy.fit(X).n_components_ == 4
    strict = PCA(Parallel(draws=20, quantile=0.5)).fit(X).decision_
    assert "50% quantile of 20" in strict.reason
    with pytest.raises(ParameterError, match=r"n_components=.*Odd"):
        PCA(Odd).fit(X)


def test_the_seed_is_the_random_state(X):
    thresholds = [
        PCA("parallel", random_state=state).fit(X).decision_.threshold
        for state in (None, 0, 1, np.random.RandomState(1), np.random.RandomState(1))
    ]
    assert thresholds[0] == thresholds[1] != thresholds[2]
    assert thresholds[3] == thresholds[4] != thresholds[2]


def test_decisions_and_user_defined_rules_are_saved(X, tmp_path):
    for rule in ("cv", Parallel(draws=30), GavishDonoho(0.5)):
        model = PCA(rule).fit(X)
        model.save(tmp_path / "m.pca")
        again = load(tmp_path / "m.pca")
        assert again.decision_ == model.decision_
        assert again.n_components == rule
        assert str(again.plan_) == str(model.plan_)
    PCA(Odd()).fit(X).save(tmp_path / "m.pca")
    again = load(tmp_path / "m.pca")
    assert (again.n_components, again.decision_.rule) == (12, "half")


def test_a_decision_in_a_file_is_checked(X, tmp_path):
    from princomp.core.model_contents import model_from_contents, model_to_contents
    from princomp.io.model_file import read

    PCA("gcv").fit(X).save(tmp_path / "m.pca")
    tensors, document = model_to_contents(read(tmp_path / "m.pca", {"PCA": model_from_contents}))
    for change in (
        {"decision": {"rule": "gcv"}},
        {"parameters": {**document["parameters"], "n_components": {"rule": "os.system"}}},
        {"parameters": {**document["parameters"], "n_components": {"rule": "cv", "folds": 0}}},
    ):
        with pytest.raises(ModelFileError):
            model_from_contents(tensors, {**document, **change})


# ---- without rows -------------------------------------------------------------------------


def test_rules_of_variances_work_on_sums_and_streams(X):
    for name in BY_VARIANCES:
        whole = PCA(name).fit(X)
        stream = PCA(name)
        for rows in np.array_split(X, 7):
            stream.partial_fit(rows)
        summary = PCA.from_summary(whole.summary_, n_components=name)
        for other in (stream, summary, PCA(2).fit(X).truncated(name)):
            assert other.n_components_ == whole.n_components_
            assert other.decision_.rule == name


def test_rules_that_need_rows_are_refused_without_them(X, tmp_path):
    fitted = PCA(2).fit(X)
    np.save(tmp_path / "x.npy", X)
    for call in (
        lambda: PCA("cv").partial_fit(X),
        lambda: PCA("cv").fit(lambda: iter(np.array_split(np.tile(X, (3000, 1)), 50))),
        lambda: PCA(CV(5)).fit(X, sample_weight=np.ones(150)),
        lambda: PCA.from_summary(fitted.summary_, n_components="permutation"),
        lambda: fitted.truncated("bi-cv"),
    ):
        with pytest.raises(NotAvailableError, match="does not apply") as caught:
            call()
        assert caught.value.place == {"parameter": "n_components"}
        assert "parallel" in caught.value.hint
    # A small file is read whole, so its rows are available.
    assert PCA("cv").fit(tmp_path / "x.npy").n_components_ == PCA("cv").fit(X).n_components_


def test_a_rule_that_needs_rows_is_refused_before_a_pass(X):
    events = []
    with pytest.raises(NotAvailableError, match="they have weights"):
        PCA("cv").fit(X, sample_weight=np.ones(150), progress=events.append)
    assert not events


def test_a_variance_that_rounding_made_negative_counts_as_zero():
    model = PCA.from_covariance(np.diag([3.0, 1, -1e-17]), n_samples=50, n_components="parallel")
    assert model.decision_.threshold[2] == 0.0


def test_parallel_compares_a_correlation_matrix_with_correlations():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 8))
    X[:, :3] += 0.8 * rng.standard_normal((20, 1))
    R, deviations = np.corrcoef(X.T), X.std(axis=0, ddof=1)
    model = PCA("parallel", scale="unit").fit(X)
    for other in (
        PCA.from_covariance((R + R.T) / 2, n_samples=20, n_components="parallel"),
        PCA("parallel").fit((X - X.mean(axis=0)) / deviations),
        PCA("parallel", scale=deviations).fit(X),
    ):
        # The same tables are drawn, so only the rounding of the quantiles differs.
        quantiles = other.decision_.threshold
        np.testing.assert_allclose(quantiles, model.decision_.threshold, rtol=1e-9)
    # scikit-learn divides by n; others round.
    population = (X - X.mean(axis=0)) / X.std(axis=0)
    for table in (population, population.astype(np.float32), population.round(6)):
        for unit in (1, 1000):
            quantiles = PCA("parallel").fit(unit * table).decision_.threshold
            expected = np.multiply(model.decision_.threshold, unit**2 * 20 / 19)
            np.testing.assert_allclose(quantiles, expected, rtol=1e-5)


def test_parallel_takes_two_columns_of_equal_variances_for_standardised_ones_but_not_one():
    X = np.random.default_rng(0).standard_normal((20, 2))
    X /= X.std(axis=0, ddof=1)
    expected = PCA("parallel", scale="unit").fit(X).decision_.threshold
    np.testing.assert_allclose(PCA("parallel").fit(X).decision_.threshold, expected, rtol=1e-9)
    # The variance of one normal column differs between draws: its 95% quantile is about 1.6.
    assert PCA("parallel").fit(X[:, :1]).decision_.threshold[0] > 1.2


def test_without_a_number_of_rows_only_some_rules_answer(X):
    C = np.cov(X.T)
    assert PCA.from_covariance(C, n_components="kaiser").n_components_ == 4
    with pytest.raises(DataError, match="number of rows is not known") as caught:
        PCA.from_covariance(C, n_components="parallel")
    assert "n_samples" in caught.value.message
    assert "choose" in caught.value.hint
    found = PCA.from_covariance(C, n_samples=150, n_components="parallel").n_components_
    assert found == 4


def test_a_rule_without_an_answer_is_an_error_with_its_reason():
    with pytest.raises(DataError, match=r"'elbow' does not apply: .* no bend"):
        PCA("elbow").fit(np.vstack([np.diag([3.0, 2.9, 2.8, 1]), -np.diag([3.0, 2.9, 2.8, 1])]))
    with pytest.raises(DataError, match="no bend"):  # also without rows
        PCA.from_covariance(np.diag([3.0, 2.9, 2.8, 1]) ** 2, n_samples=8, n_components="elbow")
    # Equal variances have an answer: all of them are scree.
    model = PCA("elbow").fit(np.vstack([np.eye(4), -np.eye(4)]))
    assert model.n_components_ == 0
    assert "all variances are equal" in model.decision_.reason


def test_weights_count_as_repeated_rows(X):
    weights = np.tile([1.0, 2.0], 75)
    twice = np.repeat(X, weights.astype(int), axis=0)
    for name in BY_VARIANCES:
        found = PCA(name).fit(X, sample_weight=weights)
        assert found.n_components_ == PCA(name).fit(twice).n_components_


@pytest.mark.parametrize("weight", [0.5, 0.2, 0.09])
@pytest.mark.filterwarnings("ignore:the weights of .* rows sum to")
def test_light_weights_do_not_hide_variances(weight):
    """The sum of these weights is less than the number of variances that are positive."""
    X = np.random.default_rng(0).standard_normal((20, 15)) * np.linspace(3, 1, 15)
    names = [name for name in BY_VARIANCES if not getattr(RULES[name], "counts_rows", True)]
    assert names == ["kaiser", "broken-stick", "elbow"]
    plain, light = choose(X, names), choose(X, names, sample_weight=np.full(20, weight))
    assert light.k == plain.k
    for name in ("broken-stick", "elbow"):
        np.testing.assert_allclose(light[name].statistic, plain[name].statistic, atol=1e-12)
    counting = choose(X, BY_VARIANCES, sample_weight=np.full(20, weight))
    assert len(counting) == len(BY_VARIANCES)
    assert counting["gavish-donoho"].k in (0, None)


def test_a_stream_that_forgets_keeps_all_its_variances():
    X = np.random.default_rng(1).standard_normal((200, 15)) * np.linspace(3, 1, 15)
    model = PCA(decay=0.8).partial_fit(X)  # an effective number of 5 rows
    variances = model.explained_variance_
    assert (variances > 1e-3).all()
    found = choose(model, ["kaiser", "elbow", "gcv", "parallel"])
    drop = (variances - variances[-1]) / (variances[0] - variances[-1])
    np.testing.assert_allclose(found["elbow"].statistic, np.linspace(1, 0, 15) - drop, atol=1e-9)
    assert found.k["kaiser"] == np.sum(variances > variances.mean())
    # With N = 4 degrees of freedom: the error of q components has all of the other variances.
    n, q = 5.0, np.arange(4)
    left = [variances[one:].sum() * (n - 1) for one in q]
    expected = n * 15 * np.array(left) / ((n - 1 - q) * (15 - q)) ** 2
    np.testing.assert_allclose(found["gcv"].statistic, expected, rtol=1e-6)


def test_rows_with_missing_cells_are_not_drawn(X):
    with_nan = X.copy()
    with_nan[3, 2] = np.nan
    expected = PCA("cv").fit(np.delete(X, 3, axis=0)).decision_
    found = PCA("cv", missing="drop").fit(with_nan).decision_
    np.testing.assert_allclose(found.statistic, expected.statistic, rtol=1e-9)


def test_large_tables_are_sampled_and_the_reason_says_so(X, monkeypatch):
    monkeypatch.setattr(applied_rule, "MAX_SAMPLE_NUMBERS", 100 * 24)
    monkeypatch.setattr(applied_rule, "MIN_SAMPLE_ROWS", 100)
    decision = PCA("cv").fit(X).decision_
    assert decision.reason.endswith("on 100 of 150 rows, drawn at random")
    assert decision.k == 4
    assert "drawn" not in PCA("gcv").fit(X).decision_.reason


@pytest.mark.parametrize("scale", [None, "unit"])
def test_a_sample_is_compared_with_permutations_of_the_sample(scale, rng, monkeypatch):
    noise = rng.standard_normal((300, 12))
    table = noise @ np.linalg.cholesky(np.eye(12) * 0.75 + 0.25).T
    rule = Parallel(null="permuted", draws=30)
    monkeypatch.setattr(applied_rule, "MAX_SAMPLE_NUMBERS", 60 * 12)
    monkeypatch.setattr(applied_rule, "MIN_SAMPLE_ROWS", 60)
    chosen = np.sort(np.random.default_rng(0).permutation(300)[:60])
    analysed = table - table.mean(axis=0)
    if scale:
        analysed /= table.std(axis=0, ddof=1)
    sample = np.linalg.svd(analysed[chosen], compute_uv=False) ** 2 / 59
    found = PCA(rule, scale=scale).fit(table).decision_
    assert found.reason.endswith("on 60 of 300 rows, drawn at random")
    np.testing.assert_allclose(found.statistic, sample, rtol=1e-10)
    # Permuted tables of 60 rows have larger first variances than those of 300.
    assert found.k == 1
    if scale:  # 60 rows without correlation have a larger Ψ than 300
        psi_p = PCA("permutation", scale=scale).fit(noise).decision_.details["psi_p"]
        assert 0.01 < psi_p < 0.99


def test_the_covariance_of_few_rows_has_the_decisions_of_the_rows(rng):
    rows = rng.standard_normal((8, 2)) @ rng.standard_normal((2, 30))
    rows += 0.5 * rng.standard_normal((8, 30))
    covariance = PCA.from_covariance(np.cov(rows.T), n_samples=8)
    expected, found = choose(rows, BY_VARIANCES), choose(covariance, BY_VARIANCES)
    for name in BY_VARIANCES:
        assert found[name].k == expected[name].k
        np.testing.assert_allclose(found[name].statistic, expected[name].statistic, rtol=1e-9)
    # A covariance that was made regular has more variances than the rows.
    for added in (np.eye(30), np.diag(np.eye(30)[0])):  # added to all variances, or to one
        regular = PCA.from_covariance(np.cov(rows.T) + added, n_samples=8)
        assert len(choose(regular, "kaiser")["kaiser"].statistic) == 30


@pytest.mark.parametrize("weight", [1e19, 1e200])
def test_rules_take_any_sum_of_weights(X, weight):
    found = choose(X, BY_VARIANCES, sample_weight=np.full(len(X), weight))
    assert found.k["parallel"] == found.k["kaiser"] == 4
    assert found.k["gcv"] == 4


def test_uncentred_rows_keep_the_degree_of_freedom_of_their_mean(X):
    model = PCA("parallel", center=False).fit(X)
    assert model.n_components_ >= 1
    assert len(PCA("gcv", center=False).fit(X[:10]).decision_.statistic) == 10
    assert len(PCA("gcv").fit(X[:10]).decision_.statistic) == 9


def test_progress_counts_the_draws(X):
    events = []
    PCA("parallel").fit(X, progress=events.append)
    last = events[-1]
    assert (last.step, last.unit, last.rows, last.total_rows) == ("parallel", "draws", 100, 100)
    assert last.done


def test_a_threshold_keeps_the_leading_variances_above_it(X):
    assert PCA("kaiser", scale="unit").fit(ARRESTS).n_components_ == 1
    known = Known(np.array([3.0, 1.0]), 4.0, 2, 10.0, np.ones(2))
    for threshold, k in ((0.5, 2), (np.array([4.0, 0.5]), 0)):
        assert threshold_decision("own", known, known.possible, threshold, "a threshold").k == k


@pytest.mark.parametrize("center", [True, False])
def test_a_rule_is_given_the_rows_as_they_are_analysed(X, center):
    received = {}

    class RecordingRule:
        name, needs = "taking", "rows"

        def decide(self, known):
            received.update(rows=known.table(), variances=known.variances, d=known.column_variances)
            return Decision(self.name, 1, "one")

    far = X + 1e9
    PCA(RecordingRule(), scale="unit", center=center).fit(far)
    rows = far - far.mean(axis=0) if center else far
    expected = rows / far.std(axis=0, ddof=1)
    np.testing.assert_allclose(received["rows"], expected, atol=1e-6 * np.abs(expected).max())
    if center:  # with both parts of the mean
        np.testing.assert_allclose(received["rows"].mean(axis=0), 0.0, atol=1e-12)
    singular = np.linalg.svd(received["rows"], compute_uv=False) ** 2 / 149
    np.testing.assert_allclose(received["variances"][:4], singular[:4], rtol=1e-6)
    np.testing.assert_allclose(
        received["d"], np.sum(received["rows"] ** 2, axis=0) / 149, rtol=1e-6
    )


@pytest.mark.parametrize("power", [-300, 300])
@pytest.mark.parametrize("solver", ["lanczos", "krylov"])
def test_a_rule_is_given_variances_in_the_unit_of_the_rows(solver, power, rng):
    """Products of such rows are out of range, so they are computed of scaled rows."""

    class Threshold:
        name, needs = "threshold", "leading"

        def decide(self, known):
            limit = np.ldexp(1.0, 2 * power)
            return threshold_decision("own", known, known.possible, limit, "a threshold")

    X = rng.standard_normal((60, 30)) * 0.75 ** np.arange(30.0)
    expected = int((np.linalg.svd(X - X.mean(axis=0))[1] ** 2 > 59).sum())
    assert PCA(Threshold(), svd_solver=solver).fit(np.ldexp(X, power)).n_components_ == expected


@pytest.mark.parametrize(("needs", "k"), [("rows", 20), ("leading", 18)])
def test_a_rule_decides_again_only_if_what_it_depends_on_has_changed(needs, k, rng):
    """A search that begins with 16 components goes on until it has the 20 of the rule."""
    seen = []

    class Growing:
        name = "growing"

        def decide(self, known):
            seen.append(len(known.variances))
            return Decision(self.name, 20 if len(known.variances) < 20 else 18, "by their number")

    Growing.needs = needs
    model = PCA(Growing(), svd_solver="lanczos").fit(rng.standard_normal((100, 40)))
    assert model.n_components_ == model.decision_.k == k
    assert seen[0] == 16
    assert len(seen) == len(set(seen))
    assert (len(seen) > 1) is (needs == "leading")


@pytest.mark.parametrize("scale", ["unit", "pareto", "range"])
def test_folds_follow_the_option_for_constant_columns(scale, rng):
    """Folds consist of rows already scaled by the fit; a column may be constant in one of them."""
    X = np.c_[
        rng.standard_normal((20, 1)) @ [[3.0, 2, 1]] + rng.standard_normal((20, 3)), [0.0] * 20
    ]
    zero = PCA("cv", scale=scale, constant="zero").fit(X)
    without = PCA("cv", scale=scale).fit(X[:, :3])
    assert zero.n_components_ == without.n_components_
    assert not zero.components_[:, 3].any()
    with pytest.raises(ConstantColumnError, match="column 3"):
        PCA("cv", scale=scale).fit(X)
    X[7, 3] = 1.0  # constant in the folds without this row
    assert PCA("cv", scale=scale).fit(X).n_components_ >= 0
    names = choose(X, ["cv"], scale=scale)
    assert names["cv"].k == PCA("cv", scale=scale).fit(X).n_components_
