"""Reference solutions: extended precision for up to some tens of columns, else LAPACK's SVD.

Extended precision is longdouble, 64 bits or more on x86 and on 64-bit Linux. Householder's QR
and one-sided Jacobi rotations (Hestenes 1958) find singular values to a few of its units of the
first one; nothing is squared.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

LONG = np.longdouble
LONG_EPS = float(np.finfo(LONG).eps)
EPS = float(np.finfo(np.float64).eps)
# Largest shorter side and number of multiplications for which extended precision is quick enough.
_SIDE, _WORK = 64, 2e7


@dataclass
class Truth:
    """True values for centred and scaled rows.

    ``rows`` (n, p) are √w (x − μ)/d, with μ = ``near`` + ``offset`` and d the ``divisor``.
    ``variances`` are all min(n, p), descending, with an error of at most ``slack`` · σ₁ in σ;
    ``axes`` are their axes as rows, or None where only variances were computed.
    """

    rows: np.ndarray
    near: np.ndarray
    offset: np.ndarray
    divisor: np.ndarray
    degrees: float
    column_variances: np.ndarray
    variances: np.ndarray
    axes: np.ndarray | None
    slack: float
    # Error of the total variance, if that of the first variance does not bound it.
    total_error = 0.0

    @property
    def total(self):
        return float((self.rows**2).sum() / self.degrees)

    def image(self, axes):
        """Covariance times axes: (k, p), for axes given as rows."""
        images = self.rows @ np.asarray(axes, dtype=self.rows.dtype).T
        return (self.rows.T @ images / self.degrees).T


def truth(rows, weights=None, *, scale=None, center=True):
    """The Truth of rows (n, p) with weights (n,)."""
    return truths([(rows, weights, scale, center)])[0]


def truths(cases):
    """The Truth of many cases (rows, weights, scale, center), solved together by shape."""
    found, groups = [prepared(*case) for case in cases], {}
    for one in found:
        side = min(one.rows.shape)
        if side <= _SIDE and one.rows.size * side <= _WORK:
            groups.setdefault(one.rows.shape, []).append(one)
            continue
        one.rows = one.rows.astype(np.float64)
        one.variances = scipy.linalg.svdvals(one.rows) ** 2 / one.degrees
        one.slack = max(side, 16) * EPS
    for group in groups.values():
        for one, (sigma, axes) in zip(group, svd_of([one.rows for one in group]), strict=True):
            one.variances, one.axes = sigma**2 / one.degrees, axes
    return found


def prepared(rows, weights, scale, center):
    """The Truth of rows (n, p), without variances and axes."""
    rows = np.asarray(rows)
    if weights is not None:
        rows, weights = rows[weights > 0], weights[weights > 0].astype(LONG)
    wide = rows.astype(LONG)
    weight = np.ones(len(wide), LONG) if weights is None else weights
    degrees = weight.sum() - 1
    # About the value nearest to the mean first: differences of doubles are exact or nearly so, and
    # those of a constant column are zero, with any weights. Twice, as large numbers round in their
    # mean, too.
    shares = weight[:, None] / weight.sum()
    deviations, near = wide, np.zeros(wide.shape[1])
    for _ in range(2):
        place = np.abs(deviations - (shares * deviations).sum(axis=0)).argmin(axis=0)
        near = np.take_along_axis(wide, place[None], axis=0)[0].astype(np.float64)
        deviations = wide - near
    offset = (shares * deviations).sum(axis=0)
    deviations -= offset
    spread = (weight[:, None] * deviations**2).sum(axis=0) / degrees
    divisor = divisor_of(scale, spread, rows)
    analysed = deviations if center else wide
    with np.errstate(divide="ignore", invalid="ignore"):
        analysed = analysed / divisor
    if weights is not None:
        analysed = analysed * np.sqrt(weight)[:, None]
    if not np.isfinite(analysed).all():  # divided by the spread of a constant column
        analysed = np.zeros_like(analysed)
    slack = 64 * LONG_EPS
    unknown = np.zeros(0, LONG), None
    return Truth(analysed, near, offset, divisor, float(degrees), spread, *unknown, slack)


def divisor_of(scale, spread, rows):
    """Divisors (p,) of columns with variances ``spread``, as ``scale`` of a PCA says."""
    if scale is None:
        return np.ones(len(spread), LONG)
    if not isinstance(scale, str):
        return np.asarray(scale, dtype=LONG)
    if scale == "unit":
        return np.sqrt(spread)
    if scale == "pareto":
        return np.sqrt(np.sqrt(spread))
    return rows.max(axis=0).astype(LONG) - rows.min(axis=0).astype(LONG)


def svd_of(matrices):
    """Singular values, descending, and right singular vectors as rows, of each of equal shapes.

    The vectors are None for wide matrices and for zeros.
    """
    stack = np.stack(matrices)
    wide = stack.shape[1] < stack.shape[2]
    columns = np.ascontiguousarray(stack if wide else stack.swapaxes(1, 2))  # stored as rows
    size = np.abs(columns).max(axis=(1, 2), initial=LONG(0))
    found, turn = _orthogonalized(_triangle(columns / np.where(size > 0, size, 1)[:, None, None]))
    sigma = np.sqrt((found**2).sum(axis=2)) * size[:, None]
    order = np.argsort(-sigma, axis=1, kind="stable")
    known = (size > 0) if not wide else np.zeros(len(size), bool)
    each = zip(sigma, turn, order, known, strict=True)
    return [(s[o], t[o] if has_vectors else None) for s, t, o, has_vectors in each]


def _triangle(columns):
    """R of QR decompositions, columns as rows (b, q, q), of columns (b, q, m) with m ≥ q."""
    left = columns.copy()
    q = left.shape[1]
    for j in range(q):
        v = left[:, j, j:].copy()
        alpha = np.sqrt((v**2).sum(axis=1)) * np.where(v[:, 0] > 0, LONG(-1), LONG(1))
        v[:, 0] -= alpha
        square = (v**2).sum(axis=1)
        factor = np.where(square > 0, 2 / np.where(square > 0, square, 1), 0)
        rest = left[:, j + 1 :, j:]
        rest -= ((rest * v[:, None]).sum(axis=2) * factor[:, None])[..., None] * v[:, None]
        left[:, j, j], left[:, j, j + 1 :] = alpha, 0
    return left[..., :q]


def _orthogonalized(columns):
    """Columns (b, q, q) rotated until they are orthogonal, and the rotations as rows."""
    b, q, _ = columns.shape
    turn = np.tile(np.eye(q, dtype=LONG), (b, 1, 1))
    both = np.concatenate([columns, turn], axis=2)
    players = np.arange(q + q % 2)
    for _ in range(60):
        worst = 0.0
        for _ in range(len(players) - 1):
            half = len(players) // 2
            i, j = players[:half], players[half:][::-1]
            real = (i < q) & (j < q)
            worst = max(worst, _rotate_pairs(both, i[real], j[real], q))
            players = np.concatenate([players[:1], players[-1:], players[1:-1]])
        if worst <= 8 * LONG_EPS:
            break
    return both[..., :q], both[..., q:]


def _rotate_pairs(both, i, j, q):
    """Make columns i and j orthogonal, in place; return the largest cosine before."""
    one, other = both[:, i], both[:, j]
    a, b = one[..., :q], other[..., :q]
    aa, bb, ab = (a * a).sum(axis=2), (b * b).sum(axis=2), (a * b).sum(axis=2)
    size = np.sqrt(aa * bb)
    cosines = np.where(size > 0, np.abs(ab) / np.where(size > 0, size, 1), 0)
    some = cosines > LONG_EPS
    if some.any():
        zeta = (bb - aa) / np.where(some, 2 * ab, 1)
        sign = np.where(zeta >= 0, LONG(1), LONG(-1))
        tangent = np.where(some, sign / (np.abs(zeta) + np.sqrt(1 + zeta**2)), 0)
        cosine = (1 / np.sqrt(1 + tangent**2))[..., None]
        sine = tangent[..., None] * cosine
        both[:, i], both[:, j] = cosine * one - sine * other, sine * one + cosine * other
    return float(cosines.max(initial=0))
