"""Properties of every rule for the number of components, and of their common interface."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from known_tables import known_of, of_variances, ranked

from princomp import PCA, load
from princomp.errors import ParameterError
from princomp.rules import (
    CV,
    RULES,
    BiCV,
    Decision,
    GavishDonoho,
    Kaiser,
    Known,
    Parallel,
    Permutation,
    apply_rule,
    rule_of,
    rule_of_dict,
    rule_to_dict,
)

ROWS_NEEDED = {"bi-cv", "cv", "permutation"}


# ---- all rules ---------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(120, 20), (25, 60)])
@pytest.mark.parametrize("name", RULES)
def test_three_clear_components_are_found(name, shape):
    X = ranked(8, *shape, noise=0.1)
    if name == "mle" and shape[0] < shape[1]:
        assert apply_rule(rule_of(name), known_of(X)).k is None
        return
    found = apply_rule(rule_of(name), known_of(X))
    # These rules tend to one more on small tables, and a permutation test errs at its level.
    assert found.k in ((3, 4) if name in ("gcv", "bi-cv", "cv", "permutation") else (3,)), found
    assert found.at(found.k) is not None or found.k == 0


@pytest.mark.parametrize("name", ["parallel", "gavish-donoho", "gcv", "bi-cv", "cv", "permutation"])
def test_noise_alone_has_no_component(name):
    X = np.random.default_rng(3).standard_normal((150, 30))
    assert apply_rule(rule_of(name), known_of(X)).k == 0


def test_a_permutation_test_errs_no_more_often_than_its_level():
    # 40 tables at 5%: more than 6 too many have a probability of 0.3%. There are few
    # columns, so that directions not removed from the permuted tables would be missed.
    found = [Permutation().decide(known_of(ranked(seed, 60, 8, 3))).k for seed in range(40)]
    assert min(found) == 3
    assert sum(k > 3 for k in found) <= 6


@settings(max_examples=15)
@given(
    seed=st.integers(0, 10**6), power=st.integers(-300, 300), name=st.sampled_from(sorted(RULES))
)
def test_units_do_not_matter(seed, power, name):
    X = ranked(seed, n=30, p=6, rank=2)
    rule = rule_of(name)
    found, other = (apply_rule(rule, known_of(X * unit)) for unit in (1.0, 2.0**power))
    assert found.k == other.k


@pytest.mark.parametrize("name", RULES)
def test_rows_near_the_largest_float_have_the_same_answer_or_none(name):
    X = ranked(0, n=30, p=6, rank=2)
    found, other = (apply_rule(rule_of(name), known_of(X * unit)) for unit in (1.0, 1e152))
    assert other.k == found.k or (other.k is None and "divide the columns" in other.reason)


@pytest.mark.parametrize("name", RULES)
def test_constant_tables_and_missing_facts_have_no_answer(name):
    constant = of_variances(np.zeros(4))
    assert "constant" in apply_rule(rule_of(name), constant).reason
    unknown = apply_rule(rule_of(name), of_variances([4, 3, 1, 0.5], rows=None))
    if name in ("kaiser", "broken-stick", "elbow"):
        assert unknown.k is not None
    else:
        assert unknown.k is None
    without_rows = apply_rule(rule_of(name), of_variances([8, 1, 0.5, 0.4], table=None))
    assert (without_rows.k is None) == (name in ROWS_NEEDED)


@pytest.mark.parametrize("name", ["kaiser", "broken-stick", "parallel"])
def test_leading_rules_ask_for_more_variances_only_if_needed(name):
    whole = known_of(ranked(8, noise=0.1))
    expected = apply_rule(rule_of(name), whole).k

    def first(q):
        return Known(
            **{
                **{part: getattr(whole, part) for part in whole.__dataclass_fields__},
                "variances": whole.variances[:q],
                "complete": False,
            }
        )

    assert expected == 3
    assert apply_rule(rule_of(name), first(3)) is None
    assert apply_rule(rule_of(name), first(4)).k == 3
    assert apply_rule(rule_of("gcv"), first(10)) is None


def test_exact_rank_is_not_taken_for_noise(rng):
    X = rng.standard_normal((40, 2)) @ rng.standard_normal((2, 8))
    for name in ("parallel", "gcv", "cv", "bi-cv", "permutation", "kaiser"):
        assert apply_rule(rule_of(name), known_of(X)).k <= 2, name
    assert apply_rule(rule_of("gcv"), known_of(X)).k == 2
    assert apply_rule(rule_of("bi-cv"), known_of(X)).k == 2
    assert apply_rule(rule_of("gavish-donoho"), known_of(X)).k is None


@pytest.mark.parametrize("shape", [(2, 2), (2, 5), (5, 1), (3, 3)])
@pytest.mark.parametrize("name", RULES)
def test_the_smallest_tables_have_an_answer_or_a_reason(name, shape):
    X = np.random.default_rng(0).standard_normal(shape)
    found = apply_rule(rule_of(name), known_of(X))
    assert found.k is None or 0 <= found.k <= min(shape)
    assert found.reason
    json.dumps(found.to_dict(), allow_nan=False)


def test_a_seed_gives_the_same_answer_and_another_seed_other_numbers():
    X = ranked(1, n=40, p=8)
    for name in ("parallel", "cv", "bi-cv"):
        first, again, other = (apply_rule(rule_of(name), known_of(X, seed=s)) for s in (1, 1, 2))
        assert first == again
        assert (first.statistic, first.threshold) != (other.statistic, other.threshold)


# ---- the interface -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Parallel(draws=0), "draws must be .* got 0"),
        (lambda: Parallel(quantile=1.5), "quantile must be .* got 1.5"),
        (lambda: Parallel(null="rows"), "null must be .* got 'rows'"),
        (lambda: Parallel(quantile="0.95"), "quantile must be .* got '0.95'"),
        (lambda: Permutation(level=None), "level must be .* got None"),
        (lambda: GavishDonoho("1"), "noise must be .* got '1'"),
        (lambda: GavishDonoho([1, 2]), r"noise must be .* got \[1, 2\]"),
        (lambda: GavishDonoho(True), "noise must be .* got True"),
        (lambda: Permutation(draws=10), "draws must be .* got 10"),
        (lambda: Permutation(level=0), "level must be .* got 0"),
        (lambda: GavishDonoho(-1.0), r"noise must be .* got -1\.0"),
        (lambda: CV(folds=1), "folds must be .* got 1"),
        (lambda: BiCV(repeats=0), "repeats must be .* got 0"),
        (lambda: rule_of("kayser"), "kayser"),
        (lambda: rule_of(Kaiser), "not a rule"),
        (lambda: PCA("kayser").fit(np.eye(4)), "kayser"),
    ],
)
def test_invalid_options_are_refused_with_their_value(make, message):
    with pytest.raises(ParameterError, match=message) as caught:
        make()
    assert caught.value.hint


@pytest.mark.parametrize("name", RULES)
def test_rules_and_decisions_survive_serialization(name):
    rule = rule_of(name)
    assert rule_of_dict(json.loads(json.dumps(rule_to_dict(rule)))) == rule
    assert pickle.loads(pickle.dumps(rule)) == rule
    found = apply_rule(rule, known_of(ranked(1)))
    again = Decision.of_dict(json.loads(json.dumps(found.to_dict())))
    assert again == found
    assert str(found).startswith(f"{name}: ")


@pytest.mark.parametrize("rule", [Parallel(draws=np.int64(20)), GavishDonoho(np.float32(0.5))])
def test_options_may_be_numpy_numbers_in_a_model_file(rule, rng, tmp_path):
    PCA(rule).fit(rng.standard_normal((20, 3))).save(tmp_path / "model.pca")
    assert load(tmp_path / "model.pca").n_components == rule


def test_decisions_with_invalid_values_are_refused():
    valid = Decision("mine", 2, "so").to_dict()
    for change in ({"k": -1}, {"k": 1.5}, {"first": "0"}, {"reason": 3}, {"statistic": ["x"]}):
        with pytest.raises((TypeError, ValueError)):
            Decision.of_dict({**valid, **change})


class FixedAnswer:
    name, needs = "answering", "all"

    def __init__(self, answer):
        self.answer = answer

    def decide(self, known):
        return self.answer


@pytest.mark.parametrize("answer", [None, 3, Decision("answering", -1, ""), Decision("a", 99, "")])
def test_an_invalid_answer_of_a_user_defined_rule_is_refused(answer):
    with pytest.raises(ParameterError, match="answering"):
        apply_rule(FixedAnswer(answer), known_of(ranked(1)))


@pytest.mark.parametrize("kind", [list, tuple, np.array])
def test_the_statistic_of_a_decision_may_be_any_sequence(kind):
    found = Decision("mine", 2, "so", statistic=kind([1.0, np.nan])).to_dict()
    assert found["statistic"] == [1.0, None]
