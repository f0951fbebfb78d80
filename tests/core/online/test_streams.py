"""The rows so far as a value: what it keeps of fits, of other rows and of components."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from online_cases import fit_in_batches

from princomp import PCA
from princomp.core.mergeable_summary import mergeable_summary
from princomp.core.request import Request
from princomp.core.stream import Stream
from princomp.errors import NotAvailableError
from princomp.solvers import unit_for_error


def test_a_stream_knows_which_fits_it_continues(table):
    """Two processes that have loaded the same fit must not add its rows twice."""
    fits = [PCA(2).fit(rows)._result for rows in (table, table[1:], table + 1.0, -table)]
    streams = [Stream.from_fit(fit, Request()) for fit in fits]
    assert [stream.continued_fits for stream in streams] == [
        {Stream.fit_identity(fit)} for fit in fits
    ]
    again = Stream.from_fit(PCA(2).fit(table.copy())._result, Request())
    assert again.continued_fits == streams[0].continued_fits
    assert len({stream.continued_fits for stream in streams}) == len(streams)
    again.merge(streams[1])
    assert again.continued_fits == streams[0].continued_fits | streams[1].continued_fits


def test_an_empty_copy_of_a_stream_has_seen_no_rows(table):
    table[7, 2] = np.nan
    options = {"missing": "drop", "decay": 0.99, "n_components": 3}
    stream = fit_in_batches(PCA(**options), table, 64)._fitted.stream
    stream.weighted = True
    copied = stream.empty_copy()
    new = Stream(Request.of(PCA(**options)), 5)
    names = "rows_seen dropped bytes_read dtype continued_fits faded weighted p"
    for name in names.split():
        assert getattr(copied, name) == getattr(new, name)
    copied.merge(stream)
    assert (copied.rows_seen, copied.dropped) == (200, 1)
    assert copied.bytes_read == table.nbytes
    fitted = PCA(missing="drop").fit(table)._result
    continued = Stream.from_fit(fitted, Request(drop=True))
    assert (continued.rows_seen, continued.dropped) == (200, 1)
    (one, dropped), (other, _) = copied.summary_and_dropped(), stream.summary_and_dropped()
    assert dropped == 1
    np.testing.assert_allclose(one.scatter, other.scatter, rtol=1e-12)


@pytest.mark.parametrize(
    ("weight", "limit", "hint"),
    [
        (1.0, "10MB", "n_components=None: all 60 components"),
        (0.9, "10MB", "svd_solver='full', which keeps a triangle"),
        (0.9, "1GB", "svd_solver='covariance_eigh', which keeps a scatter"),
    ],
)
def test_all_components_stand_for_rows_whose_weights_sum_to_as_many(weight, limit, hint, rng):
    X, weights = rng.standard_normal((60, 500)), np.full(60, weight)
    model = PCA(2, center=False, svd_solver="arpack", memory_limit=limit)
    model.fit(X, sample_weight=weights)
    with pytest.raises(NotAvailableError, match="only 2 of 60 components") as caught:
        model.merge(model)
    assert hint in caught.value.hint


@pytest.mark.parametrize("options", [{"svd_solver": "row_gram"}, {"svd_solver": "krylov"}])
@pytest.mark.parametrize("scale", [None, "pareto"])
def test_all_components_stand_for_their_rows_to_the_error_of_the_spectrum(scale, options, rng):
    X = rng.standard_normal((9, 12))
    X[:, 3] = 2.5
    model = PCA(8, scale=scale, constant="zero", **options).fit(X)
    summary, spectrum = mergeable_summary(model._result), model._result.spectrum
    largest, divisor = spectrum.largest * 8, 1.0 if scale is None else model.scale_
    for residuals, error in ((None, spectrum.roundoff), (np.full(8, 1e-3), 1e-3)):
        fitted = replace(model._result, spectrum=replace(spectrum, residuals=residuals))
        lost = np.full(12, unit_for_error(error) * largest * divisor**2)
        np.testing.assert_allclose(mergeable_summary(fitted).lost, lost, rtol=1e-12)
    assert not summary.factor[:, 3].any()
    expected = np.cov(X.T) * 8
    bound = 64 * summary.lost.max()
    np.testing.assert_allclose(summary.factor.T @ summary.factor, expected, rtol=0, atol=bound)
