"""Landmarks: equal for any source, order and batching of rows; k-means centres; leverage scores."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings, strategies as st
from kernel_cases import CUSTOM, RBF, kernel_matrix, missing_variance, points_of

from princomp import KernelPCA
from princomp.core import open_rows
from princomp.engines.local import fold
from princomp.errors import ColumnError, NotFiniteError, ParameterError, ShapeError
from princomp.io.readers.table_input import rows_of
from princomp.kernel_pca.feature_maps import Nystrom
from princomp.kernel_pca.feature_maps.landmarks import landmarks
from princomp.kernel_pca.feature_maps.row_samples import RowSampler, sample_rows


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(3).standard_normal((3000, 4))


def as_set(points):
    return {tuple(row) for row in np.asarray(points)}


def test_arrays_files_and_batches_give_the_same_landmarks(rows, tmp_path):
    expected = points_of(rows, 70, seed=5)
    assert expected.shape == (70, 4)
    assert len(as_set(expected)) == 70
    assert as_set(expected) <= as_set(rows)
    np.save(tmp_path / "rows.npy", rows)
    pd.DataFrame(rows, columns=list("abcd")).to_csv(tmp_path / "rows.csv", index=False)
    for origin in (
        tmp_path / "rows.npy",
        tmp_path / "rows.csv",
        rows[::-1],
        np.asfortranarray(rows),
        pd.DataFrame(rows, columns=list("abcd")),
        lambda: (part for part in np.array_split(rows, 11)),
    ):
        np.testing.assert_array_equal(points_of(origin, 70, seed=5), expected)
    assert as_set(points_of(rows, 70, seed=6)) != as_set(expected)


def test_dense_sparse_and_float32_rows_give_the_same_landmarks(rows):
    table = np.where(rows > 0.5, rows.astype(np.float32), 0.0)
    assert (table == 0).all(axis=1).any()
    expected = points_of(table, 40)
    sparse = points_of(sp.csr_array(table), 40)
    assert sp.issparse(sparse)
    np.testing.assert_array_equal(sparse.toarray(), expected)
    np.testing.assert_array_equal(points_of(table.astype(np.float32), 40), expected)
    np.testing.assert_array_equal(points_of(-table, 40), -points_of(-table, 40) * -1)


@pytest.mark.parametrize("kind", ["normal", "numbered", "bits"])
def test_every_row_is_equally_likely(kind):
    n, m, seeds = 128, 32, 600
    rng = np.random.default_rng(0)
    rows = {
        "normal": rng.standard_normal((n, 3)),
        "numbered": np.arange(n, dtype=float)[:, None],
        "bits": (np.arange(n)[:, None] >> np.arange(7) & 1).astype(float),
    }[kind]
    number = {tuple(row): i for i, row in enumerate(rows)}
    drawn = np.zeros((seeds, n), dtype=bool)
    for seed in range(seeds):
        drawn[seed, [number[tuple(row)] for row in points_of(rows, m, seed=seed)]] = True
    assert (drawn.sum(axis=1) == m).all()
    share = m / n
    sigma = np.sqrt(share * (1 - share) / seeds)
    chi2 = (((drawn.mean(axis=0) - share) / sigma) ** 2).sum() * (n - 1) / n
    # χ² with n − 1 degrees, whose deviation is √(2 (n − 1)).
    assert abs(chi2 - (n - 1)) < 5 * np.sqrt(2 * (n - 1))
    # Nor are two rows drawn together too often or too rarely: 5.5 deviations for 8,128 pairs.
    together = (drawn.T.astype(float) @ drawn) / seeds
    pair = share * (m - 1) / (n - 1)
    off = together[np.triu_indices(n, 1)]
    assert np.abs(off - pair).max() < 5.5 * np.sqrt(pair * (1 - pair) / seeds)


def test_smaller_samples_are_prefixes_of_larger_ones(rows):
    many = points_of(rows, 200)
    np.testing.assert_array_equal(points_of(rows, 50), many[:50])


def test_equal_rows_are_drawn_once():
    rows = np.repeat([[1.0, 0.0], [0.0, 0.0], [-0.0, 0.0], [2.0, 3.0]], 500, axis=0)
    points = points_of(rows, 10)
    assert len(points) == 3
    assert as_set(points) == {(1.0, 0.0), (0.0, 0.0), (2.0, 3.0)}


@settings(max_examples=30)
@given(st.lists(st.integers(0, 60), max_size=5), st.integers(1, 70), st.booleans())
def test_row_samplers_merge_like_summaries(cuts, most, sparse):
    rows = np.random.default_rng(7).integers(-2, 3, (60, 3)).astype(float)
    made = sp.csr_array if sparse else np.asarray
    kind = RowSampler(most, 1)
    whole = kind.of(made(rows))
    parts = [kind.of(made(part)) for part in np.split(rows, sorted(cuts))]
    joined = kind.empty(3)
    for part in parts[::-1]:
        joined = joined.merge(part)
    assert joined.rows == whole.rows == 60
    np.testing.assert_array_equal(joined.hashes, whole.hashes)
    dense = [t.toarray() if sp.issparse(t) else t for t in (joined.table, whole.table)]
    np.testing.assert_array_equal(*dense)


def test_rows_of_zero_weight_are_ignored(rows):
    weights = np.zeros(len(rows))
    weights[:30] = 2.0
    drawn = fold(RowSampler(100), rows, weights).summary
    assert drawn.rows == 60
    assert as_set(drawn.table) == as_set(rows[:30])


def test_single_pass_rows_are_sampled_from_the_start_and_kept(rows):
    many = np.concatenate([rows, rows + 10.0, rows + 20.0])
    batches = iter(np.array_split(many, 40))
    points, left = landmarks(open_rows(batches)[0], 50, RBF)
    assert as_set(points) <= as_set(many[:5000])
    np.testing.assert_array_equal(points, points_of(many[:5000], 50))
    again = np.concatenate([chunk.data for chunk in left.chunks()])
    np.testing.assert_array_equal(again, many)
    assert as_set(points_of(iter([rows[:7]]), 50)) == as_set(rows[:7])


def test_kmeans_centres_lie_between_the_rows():
    """Rounding must not make a centre of zeros negative, which "chi2" refuses."""
    rng = np.random.default_rng(0)
    rows = np.where(rng.random((300, 8)) < 0.7, 0.0, rng.random((300, 8)))
    model = KernelPCA(
        2, kernel="chi2", approximation="nystrom", landmarks="kmeans", n_landmarks=20
    ).fit(rows)
    assert model.landmarks_.min() >= 0.0
    assert (model.landmarks_ <= rows.max(axis=0)).all()


@pytest.mark.parametrize("rule", ["kmeans", "leverage"])
def test_other_rules_are_reproducible(rule, rows):
    one, two = (points_of(each, 40, rule=rule, seed=2) for each in (rows, rows[::-1]))
    np.testing.assert_array_equal(one, two)
    assert one.shape == (40, 4)
    assert points_of(rows[:30], 40, rule=rule).shape == (30, 4)


def test_kmeans_centres_miss_less_variance_than_rows(rows):
    def missing(rule, seed):
        map = Nystrom.of(RBF, points_of(rows, 40, rule=rule, seed=seed))
        return missing_variance(map, rows).mean()

    for seed in range(3):
        assert missing("kmeans", seed) < 0.9 * missing("uniform", seed)


def test_leverage_finds_rare_rows():
    rng = np.random.default_rng(1)
    rows = np.concatenate([0.05 * rng.standard_normal((4000, 2)), rng.uniform(20, 90, (25, 2))])

    def found(rule):
        return np.mean(
            [(points_of(rows, 60, rule=rule, seed=s) > 10).all(axis=1).sum() for s in range(4)]
        )

    assert found("uniform") < 5
    assert found("leverage") > 20


def test_leverage_prefers_rows_with_high_exact_scores():
    """With all rows to estimate from, rows are drawn as often as their exact scores say."""
    rng = np.random.default_rng(1)
    rows = np.concatenate([rng.standard_normal((300, 2)) * 0.1, rng.standard_normal((100, 2)) * 3])
    points = points_of(rows, 100, rule="leverage")
    K = kernel_matrix(RBF, rows)
    # The ridge of Musco and Musco for 100 rows: their rank is 100 / (4 log 100).
    ridge = np.linalg.eigvalsh(K)[:-5].sum() / 5
    scores = np.diag(np.linalg.solve(K + ridge * np.eye(400), K))
    number = {tuple(row): i for i, row in enumerate(rows)}
    drawn = [number[tuple(row)] for row in points]
    # A uniform draw has the mean score; a draw by scores has more.
    assert scores[drawn].mean() > 1.5 * scores.mean()


def test_landmarks_may_be_given(rows):
    np.testing.assert_array_equal(points_of(rows, 999, rule=rows[:7].tolist()), rows[:7])
    with pytest.raises(ShapeError, match="4 columns"):
        points_of(rows, 5, rule=rows[:7, :3])
    for wrong in (50, None, rows[0], rows[:0]):
        with pytest.raises(ShapeError, match="landmarks have shape"):
            points_of(rows, 5, rule=wrong)
    with pytest.raises(NotFiniteError, match="row 1, column 2"):
        points_of(rows, 5, rule=[[0.0] * 4, [0.0, 0.0, np.nan, 0.0]])


def test_landmarks_of_a_frame_are_matched_by_name(rows):
    options = {"kernel": "rbf", "gamma": 0.1, "approximation": "nystrom"}
    frame = pd.DataFrame(rows, columns=list("abcd"))
    expected = KernelPCA(2, **options, landmarks=rows[:40]).fit(frame)
    with_names = frame.assign(name=[f"row {i}" for i in range(len(rows))])[["name", *"abcd"]]
    for points in (frame[:40], with_names[:40], frame[:40].to_numpy()):
        found = KernelPCA(2, **options, landmarks=points).fit(frame)
        np.testing.assert_array_equal(found.eigenvalues_, expected.eigenvalues_)
    with pytest.raises(ColumnError, match="same order"):
        KernelPCA(2, **options, landmarks=frame[:40][list("dcba")]).fit(frame)


def test_missing_cells_are_reported_or_dropped(rows, tmp_path):
    table = rows.copy()
    table[1234, 2] = np.nan
    with pytest.raises(NotFiniteError, match="row 1,234, column 2"):
        points_of(table, 50)
    np.save(tmp_path / "rows.npy", table)
    with pytest.raises(NotFiniteError, match=r"row 1,234, column 2 of .*rows.npy"):
        points_of(tmp_path / "rows.npy", 50)
    frame = pd.DataFrame(table, columns=list("abcd"))
    with pytest.raises(NotFiniteError, match="row 1,234, column 'c'"):
        points_of(lambda: iter([frame[:2000], frame[2000:]]), 50)
    kept = np.delete(rows, 1234, axis=0)
    np.testing.assert_array_equal(points_of(table, 50, drop=True), points_of(kept, 50))


def test_centres_of_sparse_rows_are_refused(rows):
    with pytest.raises(ParameterError, match="dense"):
        points_of(sp.csr_array(rows), 9, rule="kmeans")


def test_leverage_accepts_custom_kernels(rows):
    assert points_of(np.abs(rows[:80]), 10, CUSTOM, rule="leverage").shape == (10, 4)


def test_opened_sources_are_used_as_they_are(rows, tmp_path):
    np.save(tmp_path / "rows.npy", rows)
    source = rows_of(tmp_path / "rows.npy")[0]
    points, left = sample_rows(source, 9)
    assert left is source
    np.testing.assert_array_equal(points, points_of(rows, 9))
