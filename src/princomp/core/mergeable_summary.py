"""A summary that represents all rows of a fit: the one it kept, or all of its components."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from princomp.core.context import prepared
from princomp.core.routes.moments import memory_to_add
from princomp.errors import NotAvailableError
from princomp.linalg import FloatArray, eigh, format_bytes, memory_limit
from princomp.solvers import unit_for_error
from princomp.summaries import Columns, Moments, Sketch, Triangle

if TYPE_CHECKING:
    from princomp.core.fitted import Fitted


def mergeable_summary(fitted: Fitted) -> Moments | Triangle | Sketch:
    """Return a summary that represents all rows, to be rescaled or merged with others.

    A fit that kept only a summary of columns has one if it kept all components.

    Raises
    ------
    NotAvailableError
        If only some of the components were kept; the hint says which fit keeps more.
    """
    if not isinstance(fitted.summary, Columns):
        return fitted.summary
    if not stands_for_rows(fitted):
        k, rank = fitted.spectrum.k, _largest_rank(fitted)
        raise NotAvailableError(
            f"this fit kept no scatter and only {k:,} of {rank:,} components: it cannot be merged, "
            "rescaled or extended",
            hint=_hint_for_mergeable(fitted, rank),
        )
    return _from_all_components(fitted, fitted.summary)


def stands_for_rows(fitted: Fitted) -> bool:
    """Whether a fit kept a summary that represents all rows, or all of its components."""
    if not isinstance(fitted.summary, Columns):
        return True
    return fitted.spectrum.k >= _largest_rank(fitted)


def _largest_rank(fitted: Fitted) -> int:
    """Upper bound of the number of components with a variance: constant columns add none."""
    # A scatter that is not known is NaN, which counts.
    varying = np.count_nonzero(fitted.analysed.column_scatter)
    return min(fitted.analysed.rank_limit, int(varying))


def _hint_for_mergeable(fitted: Fitted, rank: int) -> str:
    """Hint at a fit within the memory limit whose summary represents all rows."""
    p, limit = fitted.p, fitted.problem.memory_limit
    available = memory_limit(None) if limit is None else limit
    if memory_to_add(p) <= available:
        scatter = format_bytes(8 * p * p)
        return f"fit with svd_solver='covariance_eigh', which keeps a scatter of {scatter}"
    if rank < p and 3 * 8 * rank * p <= available:
        if fitted.problem.n_components is None:  # weights below 1 leave fewer components than rows
            return "fit with svd_solver='full', which keeps a triangle"
        return (
            f"fit with n_components=None: all {rank:,} components stand for the rows "
            "(then truncated(k) keeps k of them)"
        )
    return (
        "fit with svd_solver='sketch' and a whole number of components: a sketch can be "
        "merged, and its error is estimated"
    )


def _from_all_components(fitted: Fitted, columns: Columns) -> Triangle:
    """Make a triangle of all components, with the error of the spectrum."""
    spectrum, rows, scale = fitted.spectrum, columns.rows, fitted.scale
    singular_values = np.sqrt(spectrum.variances[: spectrum.k] * (rows - 1.0))
    largest = spectrum.largest * (rows - 1.0)
    factor = spectrum.axes * singular_values[:, None]
    error = spectrum.roundoff
    if spectrum.residuals is not None:
        error = max(error, float(spectrum.residuals.max(initial=0.0)))
    if not fitted.centred:
        # The error stays that of products about the origin, even if the scatter about the mean
        # is much smaller.
        offset = np.sqrt(rows) * prepared(columns, scale, True).mean
        factor = _about_mean(spectrum.axes, singular_values, offset)
    # The error of the products, the same in all directions.
    lost = np.full(columns.p, unit_for_error(error) * largest)
    if scale is not None:
        factor, lost = factor * scale, lost * scale * scale
    factor[:, columns.column_scatter == 0.0] = 0.0
    return Triangle(
        rows,
        columns.count,
        columns.mean,
        columns.mean_low,
        np.asarray(factor, dtype=np.float64),
        columns.centred,
        lost=lost,
    )


def _about_mean(axes: FloatArray, singular_values: FloatArray, offset: FloatArray) -> FloatArray:
    """A factor of the scatter about the mean, from axes (k, p) of rows about the origin.

    ``singular_values`` (k,) are their singular values, ``offset`` (p,) is √n times the mean. The
    scatter about the mean is Aᵀ(diag(singular_values²) − bbᵀ)A, where b are the coordinates of
    ``offset``. Coordinates along axes of noise are included, since they may be as large as the
    noise. So is the part of ``offset`` outside the space of the axes, since axes with small
    variances have few correct digits.
    """
    if len(axes) < axes.shape[1]:
        once = offset - (axes @ offset) @ axes
        outside = once - (axes @ once) @ axes
        length = float(np.linalg.norm(outside))
        # If the second projection removes most of what the first has left, the rest is rounding
        # error, which need not be orthogonal to the axes (Parlett 1998, "twice is enough").
        if length > 0.5 * float(np.linalg.norm(once)):
            axes = np.vstack([axes, outside / length])
            singular_values = np.append(singular_values, 0.0)
    coordinates = axes @ offset
    squares, rotation = eigh(
        np.diag(singular_values**2) - np.multiply.outer(coordinates, coordinates)
    )
    return (np.sqrt(np.maximum(squares, 0.0))[:, None] * rotation) @ axes
