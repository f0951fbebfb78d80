"""Leading components of a sketch: a Nyström approximation of the scatter, with an error estimate.

J. A. Tropp, A. Yurtsever, M. Udell, V. Cevher (NIPS 2017), algorithm 3. The approximation
never exceeds the scatter, so each variance is a lower bound. Some directions Θ are held out to
estimate residuals: let E be the scatter minus its approximation. The residual of an eigenpair is
E v, and the mean square of vᵀEΘ per direction is an estimate of ‖E v‖².
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.linalg

from princomp.errors import NotFiniteError
from princomp.linalg import EPS, FloatArray, binary_exponent, eigh, empty, qr_r, slices
from princomp.solvers.dense import roundoff
from princomp.solvers.ritz import without_variance
from princomp.solvers.scatter_search import trace_scale
from princomp.solvers.spectrum import Spectrum
from princomp.summaries import Sketch

# Rows of a p × l array that are processed at a time.
SKETCH_PANEL = 2**14

# Directions held out to estimate the residuals; the relative error of an estimate is about
# 1/√(2·10).
TEST_DIRECTIONS = 10


def sketch_width(k: int, p: int) -> int:
    """Number of directions for ``k`` components: 4k + 10, and those to estimate the error.

    Measured with p = 2,000, k = 20 and variances i⁻²: the first variance is 0.2% too low and the
    last 35% with 2k directions, and 0.03% and 9% with 4k. With variances i⁻¹, these are 5% and 43%
    with 4k: one pass is not enough if variances decay slowly.
    """
    return min(p, 4 * k + 10) + TEST_DIRECTIONS


def solve_sketch(sketch: Sketch, k: int) -> Spectrum:
    """Compute the top ``k`` approximately; ``residuals`` are estimates of each ‖Cv − λv‖/λ₁.

    Raises
    ------
    NotFiniteError
        If the total variance or sums of products of the columns overflowed.
    """
    with np.errstate(over="ignore"):
        total = float(sketch.column_scatter.sum())
    if not (np.isfinite(total) and np.isfinite(sketch.product).all()):
        raise NotFiniteError(
            "sums of products of the columns overflow float64",
            hint="divide the columns by a power of ten",
        )
    if total == 0.0:
        return without_variance(k, sketch.p, sketch.effective_unit)
    width = sketch.width - TEST_DIRECTIONS
    # Divide by a power of two near the total, to keep squares in range.
    scale = trace_scale(total)
    values, axes, factor = _nystrom(sketch, width, k, scale)
    diagonal = sketch.column_scatter / scale
    left_out = diagonal - np.einsum("ij,ij->i", factor, factor)
    values = np.minimum(values, total / scale)
    errors = np.zeros((len(axes), TEST_DIRECTIONS))
    for part, images, omega in _panels(sketch, scale):
        errors += axes[:, part] @ images[:, width:]
        errors -= values[: len(axes), None] * (axes[:, part] @ omega[:, width:])
    residuals = np.linalg.norm(errors, axis=1) / np.sqrt(TEST_DIRECTIONS) / values[0]
    divisor = _unit_divisor(sketch)
    if divisor is not None:
        rest = np.maximum(left_out, EPS * diagonal)
        residuals /= _lengths(divisor, rest, axes)
        # If divisors are so unequal that DΘ shows fewer than ten columns, the estimate of one axis
        # may be far too small.
        shown = rest * divisor**2
        if shown.sum() ** 2 < TEST_DIRECTIONS * (shown @ shown):
            residuals = np.maximum(residuals, np.sqrt((residuals @ residuals) / len(residuals)))
        # E has no negative eigenvalues, so its norm is at most its trace. If E is only rounding,
        # amplified by unequal divisors, it may be several times as large as its diagonal.
        bound = 16.0 * float(np.abs(left_out).sum()) + sketch.effective_unit * total / scale
        residuals = np.minimum(residuals, bound / values[0])
        # Without rounding errors, the approximation exceeds the scatter on no axis.
        excess = float(np.maximum(-left_out, 0.0).sum())
        residuals = np.maximum(residuals, excess / values[0])
        if min(sketch.p, sketch.rank_limit) <= width:
            rounding = _rounding(sketch, divisor, scale, factor, axes)
            residuals = np.maximum(residuals, rounding / values[0])
    variances = values[:k] * (scale / (sketch.rows - 1.0))
    variances[sketch.rank_limit :] = 0.0
    unit = roundoff(sketch.p, sketch.effective_unit)
    total /= sketch.rows - 1.0
    return Spectrum(variances, axes, total, unit, residuals=residuals, missed=None)


def _unit_divisor(sketch: Sketch) -> FloatArray | None:
    """The divisors (p,) over a power of two: the largest is about one, so squares are in range."""
    if sketch.divisor is None:
        return None
    return sketch.divisor * 0.5 ** binary_exponent(sketch.divisor)


def _lengths(divisor: FloatArray, left_out: FloatArray, axes: FloatArray) -> FloatArray:
    """Factor (k,) by which the directions DΘ of a scaled sketch enlarge the residual of each axis.

    With DΘ in place of Θ, the mean square per direction is ‖D E v‖² instead of ‖E v‖². Only the
    diagonal ``left_out`` (p,) of E is known. If E has low rank, entries of E v are about as large
    as the roots of this diagonal; if E is diagonal, they are its products with v. Both assumptions
    give a factor, and the smaller one is returned.
    """
    squares = divisor**2
    length = (left_out @ squares) / left_out.sum()
    weights = (left_out * axes) ** 2
    return np.sqrt(np.minimum(length, (weights @ squares) / weights.sum(axis=1)))


def _rounding(
    sketch: Sketch, divisor: FloatArray, scale: float, factor: FloatArray, axes: FloatArray
) -> FloatArray:
    """Bound ‖E v‖ (k,) if the sketch leaves nothing out: E is rounding, amplified by divisors.

    The test directions estimate lᵢ² = Σⱼ Eᵢⱼ²Dⱼ² for each row i, so |Eᵢⱼ| ≤ lᵢ/Dⱼ for every j: one
    entry may account for all of lᵢ. E is symmetric, so |Eᵢⱼ| ≤ lⱼ/Dᵢ as well, and the smaller bound
    is used. It may be √p times too large, and it also covers columns with small divisors, which
    DΘ hardly shows.
    """
    lengths = np.zeros(sketch.p)
    width = sketch.width - TEST_DIRECTIONS
    image = sum(factor[part].T @ omega[:, width:] for part, _, omega in _panels(sketch, scale))
    for part, images, _ in _panels(sketch, scale):
        lengths[part] = np.linalg.norm(images[:, width:] - factor[part] @ image, axis=1)
    lengths /= np.sqrt(TEST_DIRECTIONS)
    # Column sums of the squares of min(lᵢ/Dⱼ, lⱼ/Dᵢ), without a p × p array: the first is the
    # smaller one for rows with lᵢDᵢ ≤ lⱼDⱼ. The limit keeps squares in range.
    divisor = np.maximum(divisor, 1e-150)
    order = np.argsort(lengths * divisor)
    lengths, divisor = lengths[order], divisor[order]
    later = np.cumsum(divisor[:0:-1] ** -2)[::-1]
    squares = np.cumsum(lengths**2) / divisor**2
    squares[:-1] += lengths[:-1] ** 2 * later
    return np.sqrt(axes[:, order] ** 2 @ squares)


def _panels(sketch: Sketch, scale: float) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
    """Yield panels of rows of SΩ / scale and of Ω in float64, so that neither is copied whole.

    For a scaled sketch, both are divided by a power of two as in :func:`_unit_divisor`.
    """
    unit = 1.0 if sketch.divisor is None else 0.5 ** binary_exponent(sketch.divisor)
    for part in slices(sketch.p, SKETCH_PANEL):
        yield part, sketch.product[part] / scale * unit, sketch.directions_of(part) * unit


def _nystrom(
    sketch: Sketch, width: int, k: int, scale: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Compute eigenvalues, descending, and the first ``k`` eigenvectors, as rows, of Y (ΩᵀY)⁺ Yᵀ.

    Also return a factor H (p, l) of this approximation HHᵀ.

    With R the triangle of the QR factorisation of Ω, the directions ΩR⁻¹ are orthonormal and Y R⁻¹
    are their images. A small shift of the scatter makes ΩᵀY positive definite despite rounding; it
    is subtracted from the eigenvalues.
    """
    gram, core, norm = np.zeros((width, width)), np.zeros((width, width)), 0.0
    for _, images, omega in _panels(sketch, scale):
        gram += omega[:, :width].T @ omega[:, :width]
        core += omega[:, :width].T @ images[:, :width]
        norm += float(np.linalg.norm(images[:, :width])) ** 2
    # The p rows of Ω have unit variance, so ‖Y‖ includes a factor √p.
    shift = sketch.effective_unit * np.sqrt(norm)
    divisor = _unit_divisor(sketch)
    if divisor is not None:
        shift /= float(divisor.max())  # Ω and Y are multiplied by this factor
    triangle = root = None
    if sketch.divisor is None:  # if rows of Ω have unequal lengths, ΩᵀΩ loses twice as many digits
        triangle = _shifted_triangle(gram, core, shift)
    if triangle is None:
        root = _pseudo_inverse_root(sketch, width, scale, shift)
    factor = empty((sketch.p, width if root is None else root.shape[1]))
    for part, images, omega in _panels(sketch, scale):
        rows = images[:, :width] + shift * omega[:, :width]
        factor[part] = rows @ root if triangle is None else _solved(triangle, rows)
    values, rotation = eigh(factor.T @ factor)
    axes = np.linalg.qr(factor @ rotation[:k].T)[0].T
    return np.maximum(values - shift, 0.0), axes, factor


def _shifted_triangle(gram: FloatArray, core: FloatArray, shift: float) -> FloatArray | None:
    """Return the triangle by which Y + shift · Ω is divided, or None if a product is singular.

    Parameters are ΩᵀΩ, ΩᵀY and the shift.
    """
    try:
        triangle = scipy.linalg.cholesky(gram)
        core = _solved(triangle, _solved(triangle, core).T)
        factor = scipy.linalg.cholesky((core + core.T) / 2 + shift * np.eye(len(core)))
    except np.linalg.LinAlgError:
        return None
    return np.ascontiguousarray(scipy.linalg.blas.dtrmm(1.0, factor, triangle))


def _pseudo_inverse_root(sketch: Sketch, width: int, scale: float, shift: float) -> FloatArray:
    """Return the matrix to multiply Y + shift · Ω by if a triangle of Ω or of ΩᵀY is singular.

    The scatter may have a lower rank than the sketch, and directions that were scaled by very
    unequal divisors are nearly dependent. The matrix keeps only the directions above the noise.
    """
    triangle = np.empty((0, width))
    for _, _, omega in _panels(sketch, scale):
        triangle = qr_r(np.vstack([triangle, omega[:, :width]]))
    _, lengths, rotation = np.linalg.svd(triangle)
    kept = lengths > width * EPS * lengths[0]
    orthonormaliser = rotation[: len(lengths)][kept].T / lengths[kept]
    core = np.zeros((orthonormaliser.shape[1], orthonormaliser.shape[1]))
    for _, images, omega in _panels(sketch, scale):
        core += (omega[:, :width] @ orthonormaliser).T @ (images[:, :width] @ orthonormaliser)
    core = (core + core.T) / 2
    roots, rotation = np.linalg.eigh(core + shift * np.eye(len(core)))
    kept = roots > shift
    return orthonormaliser @ (rotation[:, kept] / np.sqrt(roots[kept]))


def _solved(triangle: FloatArray, rows: FloatArray) -> FloatArray:
    """``rows @ triangle⁻¹`` for an upper triangle."""
    return scipy.linalg.solve_triangular(triangle, rows.T, trans="T").T
