"""The right answers: in extended precision for up to some tens of columns, else by LAPACK's SVD.

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
# Up to this shorter side, and so many multiplications, extended precision is quick enough.
_SIDE, _WORK = 64, 2e7


@dataclass
class Truth:
    """What is true of some rows, centred and scaled.

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

    @property
    def total(self):
        return float((self.rows**2).sum() / self.degrees)

    def image(self, axes):
        """Covariance times axes: (k, p), for axes given as rows."""
        images = self.rows @ np.asarray(axes, dtype=self.rows.dtype).T
        return (self.rows.T @ images / self.degrees).T


def truth(rows, weights=None, *, scale=None, center=True):
    """The Truth of rows (n, p) with weights (n,)."""
    rows = np.asarray(rows)
    if weights is not None:
        rows, weights = rows[weights > 0], weights[weights > 0].astype(LONG)
    wide = rows.astype(LONG)
    weight = np.ones(len(wide), LONG) if weights is None else weights
    degrees = weight.sum() - 1
    # About the value nearest to the mean first: differences of doubles are exact or nearly so, and
    # those of a constant column are zero, with any weights.
    mean = (weight[:, None] * wide).sum(axis=0) / weight.sum()
    near = np.take_along_axis(wide, np.abs(wide - mean).argmin(axis=0)[None], axis=0)[0]
    near = near.astype(np.float64)
    away = wide - near
    offset = (weight[:, None] * away).sum(axis=0) / weight.sum()
    away -= offset
    spread = (weight[:, None] * away**2).sum(axis=0) / degrees
    divisor = _divisor(scale, spread, rows)
    analysed = away if center else wide
    with np.errstate(divide="ignore", invalid="ignore"):
        analysed = analysed / divisor
    if weights is not None:
        analysed = analysed * np.sqrt(weight)[:, None]
    side = min(analysed.shape)
    exact = side <= _SIDE and analysed.size * side <= _WORK
    if not np.isfinite(analysed).all():  # divided by the spread of a constant column
        analysed = np.zeros_like(analysed)
    if not exact:
        analysed = analysed.astype(np.float64)
    sigma, axes = _svd(analysed) if exact else (scipy.linalg.svdvals(analysed), None)
    slack = 64 * LONG_EPS if exact else max(side, 16) * EPS
    return Truth(
        analysed,
        near,
        offset,
        divisor,
        float(degrees),
        spread,
        sigma**2 / degrees,
        axes,
        slack,
    )


def _divisor(scale, spread, rows):
    if scale is None:
        return np.ones(len(spread), LONG)
    if scale == "unit":
        return np.sqrt(spread)
    if scale == "pareto":
        return np.sqrt(np.sqrt(spread))
    if scale == "range":
        return rows.max(axis=0).astype(LONG) - rows.min(axis=0).astype(LONG)
    return np.asarray(scale, dtype=LONG)


def _svd(matrix):
    """Singular values, descending, and right singular vectors as rows (None for wide matrices)."""
    wide = matrix.shape[0] < matrix.shape[1]
    columns = np.ascontiguousarray(matrix if wide else matrix.T)  # each column is a row here
    size = np.abs(columns).max(initial=LONG(0))
    if not size > 0:
        return np.zeros(len(columns), LONG), None
    found, turn = _rotated(_triangle(columns / size))
    sigma = np.sqrt((found**2).sum(axis=1))
    order = np.argsort(-sigma, kind="stable")
    return sigma[order] * size, None if wide else turn[order]


def _triangle(columns):
    """R of a QR decomposition, its columns as rows (q, q), of columns (q, m) with m ≥ q."""
    left = columns.copy()
    q = len(left)
    for j in range(q):
        v = left[j, j:].copy()
        length = np.sqrt((v**2).sum())
        if length == 0:
            continue
        alpha = -length if v[0] > 0 else length
        v[0] -= alpha
        square = (v**2).sum()
        rest = left[j + 1 :, j:]
        rest -= ((rest * v).sum(axis=1) * (2 / square))[:, None] * v
        left[j, j], left[j, j + 1 :] = alpha, 0
    return left[:, :q]


def _rotated(columns):
    """Columns (q, q) turned until they are orthogonal, and the rows of the turn."""
    q = len(columns)
    turn = np.eye(q, dtype=LONG)
    players = np.arange(q + q % 2)
    for _ in range(60):
        worst = 0.0
        for _ in range(len(players) - 1):
            half = len(players) // 2
            i, j = players[:half], players[half:][::-1]
            real = (i < q) & (j < q)
            i, j = i[real], j[real]
            a, b = columns[i], columns[j]
            aa, bb, ab = (a * a).sum(axis=1), (b * b).sum(axis=1), (a * b).sum(axis=1)
            size = np.sqrt(aa * bb)
            away = np.where(size > 0, np.abs(ab) / np.where(size > 0, size, 1), 0)
            worst = max(worst, float(away.max(initial=0)))
            some = away > LONG_EPS
            if some.any():
                i, j, aa, bb, ab = i[some], j[some], aa[some], bb[some], ab[some]
                zeta = (bb - aa) / (2 * ab)
                sign = np.where(zeta >= 0, LONG(1), LONG(-1))
                tangent = sign / (np.abs(zeta) + np.sqrt(1 + zeta**2))
                cosine = (1 / np.sqrt(1 + tangent**2))[:, None]
                sine = tangent[:, None] * cosine
                for rows in (columns, turn):
                    a, b = rows[i], rows[j]
                    rows[i], rows[j] = cosine * a - sine * b, sine * a + cosine * b
            players = np.concatenate([players[:1], players[-1:], players[1:-1]])
        if worst <= 8 * LONG_EPS:
            break
    return columns, turn
