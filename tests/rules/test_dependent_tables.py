"""Rules for tables whose columns or rows depend on each other exactly."""

from __future__ import annotations

import numpy as np
import pytest
from known_tables import known_of, ranked

from princomp import PCA, choose
from princomp.rules import rule_of

OF_DIMENSIONS = ("gcv", "gavish-donoho", "marchenko-pastur")


def anomalies(seed, noise=1.0):
    """Monthly anomalies of ten years (120, 400): three components, and 12 rows that depend."""
    rng = np.random.default_rng(seed)
    X = 2 * rng.standard_normal((120, 3)) @ rng.standard_normal((3, 400))
    X = (X + noise * rng.standard_normal(X.shape)).reshape(10, 12, 400)
    return (X - X.mean(axis=0)).reshape(120, 400)


@pytest.mark.parametrize("name", OF_DIMENSIONS)
def test_dependent_columns_do_not_count(name):
    """Coordinates in a space of more dimensions are those of the same table."""
    X = ranked(1, noise=1.0)
    wider = X @ np.linalg.qr(np.random.default_rng(2).standard_normal((23, 20)))[0].T
    expected, found = (rule_of(name).decide(known_of(Y)) for Y in (X, wider))
    assert found.k == expected.k == 3
    ratio = 23 / 20 if name == "gcv" else 1.0  # its factor n p is that of the table
    # The evidence is a sum of terms of up to 1e4, and 1e-13 of it is rounding.
    np.testing.assert_allclose(
        found.statistic[:19], ratio * np.array(expected.statistic[:19]), rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("name", ["gcv", "gavish-donoho", "marchenko-pastur"])
@pytest.mark.parametrize("seed", range(3))
def test_anomalies_have_as_many_dimensions_as_their_rank(name, seed):
    model = PCA(name).fit(anomalies(seed))
    assert model.n_components_ == 3
    if name == "gcv":
        assert len(model.decision_.statistic) == 108
        assert "in the 108 dimensions that vary" in model.decision_.reason


@pytest.mark.parametrize("name", ["gcv", "cv"])
def test_a_column_that_completes_the_others_to_a_constant(name):
    X = ranked(3, n=200, p=12)
    closed = np.column_stack([X, 10 - X.sum(axis=1)])
    found = choose(closed, name)[name]
    assert found.k in (3, 4)  # the noise of the last column is the sum of that of the others
    assert found.k < PCA().fit(closed).n_components_ - 2


def test_tables_of_full_rank_have_all_dimensions():
    X = ranked(4)
    assert len(rule_of("gcv").decide(known_of(X)).statistic) == 20
    assert len(rule_of("cv").decide(known_of(X)).statistic) == 20
