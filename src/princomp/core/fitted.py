"""A finished fit: an immutable record from which everything else is derived.

The record holds the summary, the spectrum and the scaling. Attributes, scores,
reconstructions and likelihoods are functions of it, computed when they are read.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from princomp.core import likelihood, mergeable_summary
from princomp.core.certificate import Certificate, certify
from princomp.core.context import prepared
from princomp.core.missing.filled import Filled
from princomp.core.plan import Plan
from princomp.core.problem import Problem, RouteChoice
from princomp.core.routes.base import Summary
from princomp.core.weights import WEIGHT_TOLERANCE
from princomp.errors import NotAvailableError
from princomp.io import RowArray
from princomp.kernels import project
from princomp.linalg import FloatArray, cached_property, empty, for_each, frozen, one_blas_thread
from princomp.rules import Decision
from princomp.solvers import Spectrum
from princomp.summaries import Columns, Extremes, as_kind, columns_to_centre, is_sparse

# Numbers that a thread multiplies at a time, and numbers in all rows from which threads are used.
_CHUNK_SIZE, _MIN_THREADED_SIZE = 2**20, 2**19


@dataclass(frozen=True, eq=False)
class Fitted:
    """Result of a fit of k components to p columns.

    Parameters
    ----------
    summary : Moments, Triangle, Columns or Sketch
        Summary of the rows as given: about their mean and not scaled.
    spectrum : Spectrum
        Spectrum of the analysed (centred, scaled) rows.
    k : int
        Number of components kept.
    scale : ndarray of shape (p,), optional
        Divisors of the columns.
    centred : bool
    dtype : numpy dtype
        Precision of ``components``: float32 or float64.
    n_samples : int, optional
        Number of rows used; None if only a covariance was given.
    mean_known : bool
        False if a covariance was given without a mean.
    filled : Filled, optional
        Record of the missing cells, if they were filled.
    decision : Decision, optional
        Decision of the rule that chose k, if one did.
    uncounted : int
        Number of constant columns that do not count as columns (``constant="drop"``).
    faded_by : float, optional
        The decay of the stream, if rows have faded; 1 if those of a merged fit have.
    weighted : bool
        Whether weights other than 1 were given.
    """

    summary: Summary
    spectrum: Spectrum
    k: int
    scale: FloatArray | None
    centred: bool
    dtype: np.dtype[Any]
    n_samples: int | None
    problem: Problem
    route: RouteChoice
    notes: tuple[str, ...] = ()
    passes: int | None = None
    bytes_read: int = 0
    dropped: int = 0
    extremes: Extremes | None = None
    mean_known: bool = True
    filled: Filled | None = None
    decision: Decision | None = None
    uncounted: int = 0
    faded_by: float | None = None
    weighted: bool = False

    # Methods in modules of their own. The last four are those of the probabilistic model (Tipping
    # & Bishop 1999).
    mergeable_summary = mergeable_summary.mergeable_summary
    variances_left_out = likelihood.variances_left_out
    covariance = likelihood.covariance
    precision = likelihood.precision
    log_likelihood = likelihood.log_likelihood

    # ---- what was found -------------------------------------------------------------

    @property
    def p(self) -> int:
        """Number of columns."""
        return self.summary.p

    @property
    def counted(self) -> int:
        """Number of columns that count."""
        return self.p - self.uncounted

    @cached_property
    def analysed(self) -> Summary:
        """The summary that was solved: scaled, and about the origin if not centred."""
        return prepared(self.summary, self.scale, self.centred)

    @property
    def columns(self) -> Columns:
        """The summary of the columns, without products of columns."""
        return as_kind(Columns, self.summary)

    @cached_property
    def components(self) -> FloatArray:
        """Axes (k, p) in the precision of the data."""
        return frozen(np.asarray(self.spectrum.axes[: self.k], dtype=self.dtype))

    @property
    def variances(self) -> FloatArray:
        """Variances (k,) of the components."""
        return self.spectrum.variances[: self.k]  # read-only already

    @cached_property
    def rates(self) -> FloatArray:
        """Contribution rates (k,)."""
        return frozen(self.spectrum.rates[: self.k].copy())

    @property
    def total_name(self) -> str:
        """What contribution rates are shares of."""
        return "the variance" if self.centred else "the sum of squares about the origin"

    @property
    def has_weights(self) -> bool:
        """Whether any row of the fit has a weight other than 1, as far as is known.

        Summaries and older model files do not record it: the sum of the weights decides.
        """
        n = self.n_samples
        if n is None or self.weighted:
            return self.weighted
        return bool(abs(self.summary.rows - n) > WEIGHT_TOLERANCE * n)

    @cached_property
    def singular_values(self) -> FloatArray:
        """√((n−1) λ) of the components (k,).

        Raises
        ------
        NotAvailableError
            If the number of rows is not known.
        """
        rows = self.row_count("singular values")
        return frozen(np.sqrt(self.variances) * np.sqrt(rows - 1.0))

    @cached_property
    def n_resolved(self) -> int:
        """Number of components whose variance is above the resolution."""
        return int(np.sum(self.variances > self.spectrum.resolution))

    @cached_property
    def noise_variance(self) -> float:
        """Mean variance of the components left out; zero beyond the rank."""
        rank = self.analysed.rank_limit
        if self.k >= min(self.counted, rank):
            return 0.0
        return self.spectrum.left_out(self.k, rank) / (self.counted - self.k)

    @cached_property
    def mean(self) -> FloatArray:
        """What is subtracted from each column (p,): zero if not centred."""
        return frozen(np.array(self.summary.mean) if self.centred else np.zeros(self.p))

    @cached_property
    def mean_low(self) -> FloatArray:
        """The part of the mean below the last bit of :attr:`mean` (p,)."""
        return np.array(self.summary.mean_low) if self.centred else np.zeros(self.p)

    @cached_property
    def column_variances(self) -> FloatArray:
        """Variances of the columns as given (p,), in squared units."""
        return frozen(self.summary.column_scatter / (self.summary.rows - 1.0))

    @cached_property
    def loadings(self) -> FloatArray:
        """Axes times √λ (p, k)."""
        return frozen(self.spectrum.axes[: self.k].T * np.sqrt(self.variances))

    @cached_property
    def plan(self) -> Plan:
        """How the fit ran."""
        decision = () if self.decision is None else (str(self.decision),)
        return Plan.of(
            self.problem,
            self.route,
            (*self.notes, *decision),
            self.passes,
            stands_for_rows=mergeable_summary.stands_for_rows(self),
        )

    @cached_property
    def certificate(self) -> Certificate:
        """Error bounds of the result."""
        passes, read = self.plan.passes, self.bytes_read
        return certify(self.spectrum, self.analysed, self.k, passes=passes, bytes_read=read)

    def for_scoring(self) -> Fitted:
        """Return a small copy, sufficient for scores and reconstructions, to travel with rows."""
        spectrum = self.spectrum.first(self.k)
        return replace(self, summary=self.columns, spectrum=spectrum, extremes=None)

    # ---- rows in, scores out, and back ----------------------------------------------

    def scores(self, data: RowArray, *, whiten: bool = False) -> FloatArray:
        """Scores (n, k): rows centred, scaled and projected on the axes, in their precision."""
        mean, mean_low, right = self.projection_parts(data.dtype, whiten=whiten)
        if is_sparse(data):
            return np.asarray(self._sparse_scores(data, right), dtype=data.dtype)
        return _dense_scores(data, mean, mean_low, right)

    def _sparse_scores(self, rows: sp.csr_array, right: FloatArray) -> FloatArray:
        """Scores of sparse rows; columns with few zeros are made dense and centred."""
        full = columns_to_centre(self.mean, self.column_variances)
        sparse_part, sparse_mean = rows, self.mean.copy()
        if full.size:
            keep = np.ones(self.p)
            keep[full] = sparse_mean[full] = 0.0
            sparse_part = rows.copy()
            sparse_part.data = sparse_part.data * keep[sparse_part.indices]
        with np.errstate(all="ignore"):
            out: FloatArray = sparse_part @ right - (sparse_mean @ right).astype(right.dtype)
            if full.size:
                dense = (rows[:, full].toarray() - self.mean[full]) - self.mean_low[full]
                out += dense.astype(right.dtype) @ right[full]
        return out

    def reconstruction(self, scores: FloatArray, *, whiten: bool) -> FloatArray:
        """Rows (n, p) in the units of the data, from scores (n, k)."""
        high, low, axes = self.reconstruction_parts(scores.dtype, whiten=whiten)
        rows: FloatArray = scores @ axes
        rows += low
        rows += high
        return rows

    def projection_parts(
        self, precision: np.dtype[Any], *, whiten: bool
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return what maps rows to scores: the mean in two parts (p,), and a matrix (p, k).

        They have the given precision, or float64 if the matrix overflows float32.
        """
        self.require_mean()
        if self.scale is None and not whiten and precision == self.dtype:
            return *self._mean_parts(precision), self.components.T  # computed already
        matrix = self._projections.get((precision, whiten))
        if matrix is None:
            matrix = self._projection(precision, whiten)
            self._projections[precision, whiten] = matrix
        return *self._mean_parts(matrix.dtype), matrix

    def _projection(self, precision: np.dtype[Any], whiten: bool) -> FloatArray:
        """The matrix (p, k) that scales, projects and whitens centred rows."""
        axes = self.spectrum.axes[: self.k]
        if self.scale is not None:
            axes = axes / self.scale
        if whiten:
            axes = axes * self._whitening[:, None]
        if precision.itemsize == 4 and (np.abs(axes) > np.finfo(np.float32).max).any():
            precision = np.dtype(np.float64)
        return np.ascontiguousarray(axes.T, dtype=precision)

    @cached_property
    def _projections(self) -> dict[tuple[np.dtype[Any], bool], FloatArray]:
        """Results of :meth:`_projection`: for one row, they take longer than its score."""
        return {}

    @cached_property
    def _whitening(self) -> FloatArray:
        """1/√λ; zero for components of noise, which would otherwise look like data."""
        resolved = self.variances > self.spectrum.resolution
        deviations = np.sqrt(self.variances)
        return np.divide(1.0, deviations, out=np.zeros_like(deviations), where=resolved)

    def reconstruction_parts(
        self, precision: np.dtype[Any], *, whiten: bool
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return what maps scores to rows: the mean in two parts (p,), and a matrix (k, p)."""
        self.require_mean()
        axes = self.spectrum.axes[: self.k]
        if whiten:
            axes = axes * np.sqrt(self.variances)[:, None]
        if self.scale is not None:
            axes = axes * self.scale
        return *self._mean_parts(precision), np.asarray(axes, dtype=precision)

    def _mean_parts(self, precision: np.dtype[Any]) -> tuple[FloatArray, FloatArray]:
        """The mean in this precision, and the remainder."""
        if precision.itemsize == self.mean.itemsize:
            return self.mean, self.mean_low
        return self._mean_in_float32

    @cached_property
    def _mean_in_float32(self) -> tuple[FloatArray, FloatArray]:
        high = self.mean.astype(np.float32)
        return high, ((self.mean - high) + self.mean_low).astype(np.float32)

    def require_mean(self) -> None:
        """Refuse to centre rows if the mean is not known.

        Raises
        ------
        NotAvailableError
        """
        if not self.mean_known:
            raise NotAvailableError(
                "this model was made from a covariance without a mean, so rows cannot be centred",
                hint="PCA.from_covariance(C, mean=…), with mean=0 for rows already centred",
            )

    def row_count(self, what: str) -> float:
        """Return the number of rows of the fit, or Σw if they had weights.

        ``what`` depends on it, as a noun in the plural for the message: "contributions of rows".

        Raises
        ------
        NotAvailableError
            For a covariance without ``n_samples``.
        """
        if self.n_samples is None:
            raise NotAvailableError(
                f"{what} need the number of rows behind the covariance",
                place={"parameter": "n_samples"},
                hint="PCA.from_covariance(C, n_samples=…)",
            )
        return float(self.summary.rows)


def _dense_scores(
    rows: FloatArray, mean: FloatArray, mean_low: FloatArray, right: FloatArray
) -> FloatArray:
    """Scores (n, k) of dense rows (n, p), in the precision of the rows, computed on threads.

    Parameters
    ----------
    rows : ndarray of shape (n, p)
    mean, mean_low : ndarray of shape (p,)
        The mean in two parts.
    right : ndarray of shape (p, k)
        Axes, in float64 if they overflow float32.
    """
    out = empty((len(rows), right.shape[1]), dtype=rows.dtype)
    multiply = project if right.dtype == rows.dtype else _project_in_float64
    if rows.size < _MIN_THREADED_SIZE:
        multiply(rows, mean, mean_low, right, out)
        return out
    step = max(1, _CHUNK_SIZE // len(right))

    def fill(start: int) -> None:
        stop = start + step
        multiply(rows[start:stop], mean, mean_low, right, out[start:stop])

    with one_blas_thread():
        for_each(fill, range(0, len(rows), step))
    return out


def _project_in_float64(
    rows: FloatArray, mean: FloatArray, mean_low: FloatArray, right: FloatArray, out: FloatArray
) -> None:
    """Write scores of float32 rows, multiplied in float64, to ``out``."""
    product = empty(out.shape)
    project(rows.astype(np.float64), mean, mean_low, right, product)
    with np.errstate(over="ignore"):  # the caller looks for infinite scores
        out[:] = product
