"""``inverse_transform`` refuses infinite scores with their place, as ``transform`` does rows."""

from __future__ import annotations

import numpy as np
import pytest

from princomp import PCA, IncrementalPCA, KernelPCA, RobustPCA
from princomp.errors import NotFiniteError

X = np.random.default_rng(0).standard_normal((40, 4))
MODELS = [
    PCA(2),
    PCA(2, whiten=True),
    IncrementalPCA(2),
    RobustPCA(2),
    KernelPCA(2, kernel="rbf", pre_image="ridge"),
]


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("value", [np.inf, -np.inf])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_infinite_scores_are_refused(model, value, dtype):
    scores = np.array([[1.0, 2.0], [0.5, value], [value, 0.0]], dtype)
    with pytest.raises(NotFiniteError, match=f"score 1 of row 1 is {value}") as caught:
        model.fit(X).inverse_transform(scores)
    assert caught.value.place == {"row": 1, "column": 1}
    assert caught.value.hint


def test_rows_are_counted_over_batches():
    model = PCA(2).fit(X)
    scores = model.transform(X)
    scores[25, 0] = np.inf
    with pytest.raises(NotFiniteError, match="score 0 of row 25 is inf"):
        model.inverse_transform(iter([scores[:20], scores[20:]]))


def test_missing_scores_give_missing_rows():
    scores = np.array([[1.0, np.nan], [1.0, 2.0]])
    for model in MODELS[:4]:
        rows = model.fit(X).inverse_transform(scores)
        assert np.isnan(rows[0]).all()
        assert np.isfinite(rows[1]).all()
