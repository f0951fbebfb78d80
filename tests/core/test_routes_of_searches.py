"""Routes that search: how rows are centred for products, and where a search begins."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from helpers import EPS
from princomp import PCA
from princomp.core.routes.krylov import _start_block
from princomp.summaries import SketchOf


def test_columns_whose_mean_dominates_are_exact_in_a_search(rng):
    """Such columns of sparse rows are centred before they are multiplied."""
    n = 200_000
    rest = sp.random_array((n, 9), density=0.02, rng=rng, format="csr")
    X = sp.hstack([5e5 + rng.standard_normal((n, 1)), rest], format="csr")
    found, expected = PCA(2, svd_solver="lanczos").fit(X), PCA(2).fit(X.toarray())
    np.testing.assert_allclose(
        found.explained_variance_, expected.explained_variance_, rtol=1000 * EPS
    )


def test_a_search_begins_with_directions_if_their_product_is_out_of_range():
    sketch = SketchOf(2).of(np.array([[1.0, 2.0, 3.0], [2.0, 0.0, 1.0], [0.0, 1.0, 7.0]]))
    for factor, safe in ((1.0, True), (2.0**-1000, False), (np.inf, False)):
        product = sketch.product * factor
        found = _start_block(replace(sketch, product=product), product, False)
        np.testing.assert_array_equal(found, product if safe else sketch.directions)
    product = sketch.product * 2.0**-110
    found = _start_block(replace(sketch, product=product), product, True)
    np.testing.assert_array_equal(found, sketch.directions)
