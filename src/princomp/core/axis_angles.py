"""How far axes turn from sample to sample, by the variances and the number of rows alone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, chdtr, chdtri, gammaincinv

from princomp.core.fitted import Fitted
from princomp.linalg import FloatArray

# Sampling pushes equal variances apart, so the gap between them is overestimated, and the variances
# of the entries in `axis_angles` are too small. Let v be that of one axis along the other, in a
# plane. If both axes have equal variances, 1/(4 v) is χ² with two degrees of freedom. With this
# correction, the angle is below 45° exactly where a test that compares 1/(4 v) with the 95%
# quantile rejects equal variances.
_GAP_CORRECTION = 4.0 * float(chdtri(2, 0.05)) - float(chdtri(1, 0.05))
# Probability (0.92) above which tests for few rows reject equal variances: the one at which the
# corrected angle reaches 90°.
_LEVEL = float(chdtr(2, _GAP_CORRECTION / 4.0))


def axis_angles(fitted: Fitted) -> FloatArray:
    """Angles (k,) in degrees that axes exceed in 5% of samples of normal rows; NaN if unknown.

    The entry of axis i along axis j has the asymptotic variance λᵢλⱼ / ((n − 1)(λᵢ − λⱼ)²)
    (Anderson 1963). Since the variances are those of the sample, a constant is subtracted from the
    reciprocal of this number (``_GAP_CORRECTION``); if nothing is left, the angle is 90. The
    quantile of the sum of squares is that of a scaled χ² with the same mean and variance. The angle
    is also 90 if the variance may be equal to that of a neighbour, by a test for few rows.
    Variances that the fit did not compute are replaced by their mean. The angle of the last
    computed component is then NaN, as is that of a fit of two rows.
    """
    angles = np.full(fitted.k, np.nan)
    spectrum = known_spectrum(fitted)
    if spectrum is not None:
        for i in range(min(fitted.k, spectrum.separated)):
            angles[i] = spectrum.angle(i, i + 1)
    return angles


class KnownSpectrum(NamedTuple):
    """Shares of the total variance: of each axis computed, and of all directions, with counts."""

    known: FloatArray
    others: FloatArray
    counts: FloatArray
    n_minus_1: float
    # Whether the variances on both sides of a boundary between neighbours (0 before the first axis)
    # may be equal; see :func:`_possibly_equal`.
    equal: NDArray[np.bool_]

    @property
    def separated(self) -> int:
        """Number of axes whose next variance is known, too."""
        return len(self.known) - (len(self.others) > len(self.known))

    def angle(self, first: int, stop: int) -> float:
        """Return the angle in degrees that the space of some axes exceeds in 5% of samples."""
        known = self.known[first:stop, None]
        gaps = known - self.others
        gaps[:, first:stop] = np.inf
        if not known.min() > 0 or not gaps.all() or self.equal[[first, stop]].any():
            return 90.0
        # Divided before they are multiplied, and relative to the largest: squares of shares of
        # 1e-180 would underflow.
        entries = known / gaps * (self.others / gaps) / self.n_minus_1
        if entries.max() * _GAP_CORRECTION >= 1.0:
            return 90.0
        entries /= 1.0 - _GAP_CORRECTION * entries
        largest = float(entries.max())
        if not largest > 0:
            return 0.0
        entries /= largest
        mean = float((entries @ self.counts).sum())
        square_sum = float((entries**2 @ self.counts).sum())
        quantile = 2.0 * square_sum / mean * float(gammaincinv(mean**2 / square_sum / 2.0, 0.95))
        return float(np.degrees(np.arctan(np.sqrt(largest) * np.sqrt(quantile))))


def known_spectrum(fitted: Fitted) -> KnownSpectrum | None:
    """Return what is known of all variances, or None if it says nothing about other samples."""
    spectrum = fitted.spectrum
    if fitted.n_samples is None or not spectrum.total > 0:
        return None
    rank = int(min(fitted.p, fitted.analysed.rank_limit))
    if rank == 1 < fitted.p:  # two rows show no variance in any other direction
        return None
    known = spectrum.variances[:rank] / spectrum.total
    others, counts = known, np.ones(len(known))
    if len(known) < rank:
        rest = max(0.0, 1.0 - float(known.sum())) / (rank - len(known))
        others, counts = np.append(known, rest), np.append(counts, rank - len(known))
    n = fitted.summary.rows
    unseen = fitted.p - rank if len(known) == rank else None
    equal = _possibly_equal(known, unseen, n - fitted.centred)
    return KnownSpectrum(known, others, counts, n - 1.0, equal)


def _possibly_equal(known: FloatArray, unseen: int | None, freedom: float) -> NDArray[np.bool_]:
    """Find neighbours whose variances may be equal.

    With nearly as many columns as rows, equal variances are so different in a sample that each pair
    of neighbours seems distinct: the smallest is close to zero. So two hypotheses are tested for
    each axis: it and the next have equal variances; it and all later directions have. If the second
    may be true, none of these axes is distinct. The tests of axis a have ``freedom − a`` degrees of
    freedom.

    Parameters
    ----------
    known : ndarray of shape (r,)
        Variances, descending.
    unseen : int or None
        Number of directions in which the rows do not vary because they are too few; None if the
        variances of other directions are not known.
    freedom : float
        n − 1, or n without centring.

    Returns
    -------
    ndarray of shape (r + 1,)
        Entry c: whether the axes of index c − 1 and c may have equal variances. For c = r, the last
        axis and an unseen direction.
    """
    r = len(known)
    freedoms = freedom - np.arange(r)
    equal = np.zeros(r + 1, dtype=np.bool_)
    sums, squares = known[:-1] + known[1:], known[:-1] ** 2 + known[1:] ** 2
    with np.errstate(invalid="ignore"):  # NaN for variances of zero
        shares = squares / sums**2
    equal[1:r] = _may_be_equal(shares, np.full(r - 1, 2.0), freedoms[:-1])
    if unseen is not None:
        sums, squares = (np.cumsum(part[::-1])[::-1] for part in (known, known**2))
        with np.errstate(invalid="ignore"):
            shares = squares / sums**2
        with_smaller = _may_be_equal(shares, np.arange(r, 0.0, -1.0) + unseen, freedoms)
        equal[1:] |= np.logical_or.accumulate(with_smaller)
        equal[r] &= unseen > 0
    return equal


def _may_be_equal(shares: FloatArray, sizes: FloatArray, freedoms: FloatArray) -> NDArray[np.bool_]:
    """Whether all variances of a group may be equal, by John's test.

    ``shares`` are Σλ² / (Σλ)² of groups of these sizes, with these degrees of freedom. If the
    variances of normal rows are equal, the share has a beta distribution for two axes (John 1972).
    For more axes, a beta distribution with the same mean, variance and minimum is a close
    approximation, even with fewer rows than columns.
    """
    may_be_equal = freedoms <= 1.0
    tested = (sizes > 1.0) & ~may_be_equal
    share, m, n = shares[tested], sizes[tested], freedoms[tested]
    rank, total = np.minimum(m, n), m * n + 2.0
    minimum, width = 1.0 / rank, 1.0 - 1.0 / rank
    mean = (rank - 1.0) * (rank + 2.0) / (rank * total) / width  # above the minimum
    variance = (m - 1.0) * (m + 2.0) / total * ((n - 1.0) * (n + 2.0) / total)
    variance *= 4.0 / ((total + 2.0) * (total + 4.0)) / width**2
    scale = mean * (1.0 - mean) / variance - 1.0
    position = np.clip((share - minimum) / width, 0.0, 1.0)
    # NaN for variances of zero, and for little more than one degree of freedom (of weighted rows):
    # then there is no such distribution.
    probability = betainc(mean * scale, (1.0 - mean) * scale, position)
    may_be_equal[tested] = ~(probability > _LEVEL)
    return may_be_equal
