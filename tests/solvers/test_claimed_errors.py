"""What solvers say of their rounding, from the numbers that they have."""

import numpy as np
import pytest

from helpers import EPS
from princomp import Moments
from princomp.solvers import dense
from princomp.solvers.scatter_search import search_scatter


def test_rows_beyond_what_is_summed_at_once_cost_no_more_than_merging():
    p, full = 16, 2**18
    once, more = (dense.roundoff_of_images(p, EPS, rows) for rows in (full, 4 * full))
    assert more - once == pytest.approx(dense._MERGED * 3 * full * p * EPS, rel=1e-9)


def test_a_search_in_a_scatter_measures_its_error_by_the_first_variance(rng):
    rows = rng.standard_normal((400, 30)) * 2.0 ** -np.arange(30)
    moments = Moments.of(rows.astype(np.float32))
    found = search_scatter(moments, 3)
    first, total = found.variances[0], np.trace(moments.scatter) / 399
    expected = dense.roundoff_of_products(30, moments.effective_unit, total, first, moments.count)
    assert found.roundoff == pytest.approx(expected, rel=1e-9)
