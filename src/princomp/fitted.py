"""A finished fit: an immutable record from which everything else is derived.

The record holds the summary, the spectrum and the scaling. Attributes, scores,
reconstructions and likelihoods are functions of it, computed when they are read.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from princomp.arrays import FloatArray, empty, frozen, one_blas_thread
from princomp.certificate import Certificate, certify
from princomp.choosing import Decision
from princomp.errors import NotAvailableError
from princomp.kernels.scores import scores
from princomp.memory import in_words, memory_limit
from princomp.missing import Filled
from princomp.planning import Choice, Facts, Plan, memory_to_add
from princomp.solvers.dense import unit_of
from princomp.spectrum import Spectrum
from princomp.summaries import Columns, Extremes, Moments, Sketch, Triangle
from princomp.summaries.blocks import is_sparse
from princomp.summaries.sparse_rows import full_columns
from princomp.threads import in_order

__all__ = ["Fitted"]

# Rows of a likelihood that are centred at a time: the copy stays in the cache.
_CHUNK_NUMBERS = 2**17
# Numbers of a transform that a thread takes at a time, and from how many on there are threads.
_PIECE_NUMBERS, _THREADS_PAY = 2**20, 2**19
# How far, in units of the resolution, a row may stand off a degenerate model.
_OFF_SUPPORT = 100.0


@dataclass(frozen=True, eq=False)
class Fitted:
    """Result of a fit of k components to p columns.

    Parameters
    ----------
    summary : Moments, Triangle, Columns or Sketch
        Of the rows as they were given, neither scaled nor uncentred.
    spectrum : Spectrum
        Of the analysed (centred, scaled) rows.
    k : int
        Components kept.
    scale : ndarray of shape (p,), optional
        What the columns were divided by.
    centred : bool
    dtype : numpy dtype
        Of ``components``: float32 or float64.
    n_samples : int, optional
        Rows used; None where only a covariance was given.
    mean_known : bool
        False where a covariance came without a mean.
    filled : Filled, optional
        The missing cells, where they were filled.
    decision : Decision, optional
        Of the rule that chose k, where one did.
    """

    summary: Moments | Triangle | Columns | Sketch
    spectrum: Spectrum
    k: int
    scale: FloatArray | None
    centred: bool
    dtype: np.dtype[Any]
    n_samples: int | None
    facts: Facts
    choice: Choice
    fallbacks: tuple[str, ...] = ()
    passes: int | None = None
    bytes_read: int = 0
    dropped: int = 0
    extremes: Extremes | None = None
    mean_known: bool = True
    filled: Filled | None = None
    decision: Decision | None = None

    # ---- what was kept of the rows --------------------------------------------------

    def kept_rows(self) -> Moments | Triangle | Sketch:
        """A summary that stands for all rows: others can be added to it, or it can be rescaled.

        A fit that kept only columns still has one where it kept all components.

        Raises
        ------
        NotAvailableError
            Where it kept some of the components alone; the hint says what would keep more.
        """
        if not isinstance(self.summary, Columns):
            return self.summary
        if self.spectrum.k < self.analysed.rank_limit:
            raise NotAvailableError(
                f"this fit kept no scatter, and {self.spectrum.k:,} of "
                f"{self.analysed.rank_limit:,} components: it cannot be merged, rescaled or given "
                "more rows or components",
                hint=self._what_keeps_rows(),
            )
        return self._from_all_components(self.summary)

    def _what_keeps_rows(self) -> str:
        """What to fit with, so that the summary stands for all rows within the memory limit."""
        p, rank = self.p, self.analysed.rank_limit
        room = memory_limit(None) if self.facts.limit is None else self.facts.limit
        if memory_to_add(p) <= room:
            return (
                "fit with svd_solver='covariance_eigh', which keeps a scatter of "
                f"{in_words(8 * p * p)}"
            )
        if rank < p and 3 * 8 * rank * p <= room:
            if self.facts.wanted is None:  # weights below 1 leave fewer components than rows
                return "fit with svd_solver='full', which keeps a triangle"
            return (
                f"fit with n_components=None: all {rank:,} components stand for the rows "
                "(then truncated(k) keeps k of them)"
            )
        return (
            "fit with svd_solver='sketch' and a whole number of components: a sketch can be "
            "merged and knows its error"
        )

    def _from_all_components(self, columns: Columns) -> Triangle:
        """All components as a factor of the scatter; its error is that of the spectrum."""
        spectrum, rows = self.spectrum, columns.rows
        sizes = np.sqrt(spectrum.variances[: spectrum.k] * (rows - 1.0))
        factor = spectrum.axes * sizes[:, None]
        error = spectrum.roundoff
        if spectrum.residuals is not None:
            error = max(error, float(spectrum.residuals.max(initial=0.0)))
        if not self.centred:
            # With Rᵀa = √n μ, the factor about the mean is (I − aaᵀ)^½ R.
            sound = spectrum.variances[: spectrum.k] > spectrum.resolution
            along = spectrum.axes @ (np.sqrt(rows) * prepared(columns, self.scale, True).mean)
            a = np.where(sound, along / np.where(sound, sizes, 1.0), 0.0)
            length = min(float(a @ a), 1.0)
            if length:
                factor = factor - ((1.0 - np.sqrt(1.0 - length)) / length) * np.outer(a, a @ factor)
            left = float(np.sum(prepared(columns, self.scale, True).column_scatter))
            was = float(np.sum(self.analysed.column_scatter))
            error = min(error * was / left, 1.0) if left > error * was else 1.0
        if self.scale is not None:
            factor = factor * self.scale
        factor[:, columns.column_scatter == 0.0] = 0.0
        return Triangle(
            rows,
            columns.count,
            columns.mean,
            columns.mean_low,
            np.asarray(factor, dtype=np.float64),
            columns.centred,
            unit_of(error),
        )

    # ---- what was found -------------------------------------------------------------

    @property
    def p(self) -> int:
        """Number of columns."""
        return self.summary.p

    @cached_property
    def analysed(self) -> Moments | Triangle | Columns | Sketch:
        """The summary as it was solved: scaled, and about the origin where not centred."""
        return prepared(self.summary, self.scale, self.centred)

    @property
    def components(self) -> FloatArray:
        """Axes (k, p) in the precision of the data."""
        axes = self.spectrum.axes
        if axes.dtype == self.dtype and len(axes) == self.k:
            return axes  # read-only already
        return self._components

    @cached_property
    def _components(self) -> FloatArray:
        return frozen(self.spectrum.axes[: self.k].astype(self.dtype))

    @property
    def variances(self) -> FloatArray:
        """Variances (k,) of the components."""
        return self.spectrum.variances[: self.k]  # read-only, as they are

    @cached_property
    def rates(self) -> FloatArray:
        """Contribution rates (k,)."""
        return frozen(self.spectrum.rates[: self.k].copy())

    @cached_property
    def singular_values(self) -> FloatArray:
        """√((n−1) λ) of the components (k,).

        Raises
        ------
        NotAvailableError
            Where the number of rows is not known.
        """
        if self.n_samples is None:
            raise NotAvailableError(
                "singular values need the number of rows",
                hint="PCA.from_covariance(C, n_samples=…)",
            )
        return frozen(np.sqrt(self.variances) * np.sqrt(self.summary.rows - 1.0))

    @cached_property
    def noise_variance(self) -> float:
        """Mean variance of the p − k components left out; zero beyond the rank."""
        rank = self.analysed.rank_limit
        if self.k >= min(self.p, rank):
            return 0.0
        return self.spectrum.left_out(self.k, rank) / (self.p - self.k)

    @cached_property
    def mean(self) -> FloatArray:
        """What is subtracted from each column (p,): zero where not centred."""
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
        told = () if self.decision is None else (str(self.decision),)
        return Plan.of(self.facts, self.choice, (*self.fallbacks, *told), self.passes)

    @cached_property
    def certificate(self) -> Certificate:
        """What can be promised of it."""
        return certify(
            self.spectrum,
            self.analysed,
            self.k,
            passes=self.plan.passes,
            bytes_read=self.bytes_read,
        )

    def light(self) -> Fitted:
        """What scores and reconstructions need and no more, to travel with rows."""
        kept, k = self.summary, self.k
        columns = Columns(
            kept.rows, kept.count, kept.mean, kept.mean_low, kept.column_scatter, kept.centred
        )
        return replace(self, summary=columns, spectrum=self.spectrum.first(k), extremes=None)

    # ---- rows in, scores out, and back ----------------------------------------------

    def scores(self, data: Any, *, whiten: bool = False) -> FloatArray:
        """Centred (scaled) rows on the axes: (n, k), in the precision of the data."""
        high, low, right = self.towards_axes(data.dtype, whiten=whiten)
        if is_sparse(data):
            return self._sparse_scores(data, right).astype(data.dtype, copy=False)
        out = empty((len(data), self.k), dtype=data.dtype)

        def multiply(rows: FloatArray, into: FloatArray) -> None:
            if right.dtype == rows.dtype:
                scores(rows, high, low, right, into)
                return
            found = empty(into.shape)
            scores(rows.astype(np.float64), high, low, right, found)
            with np.errstate(over="ignore"):  # the caller looks for infinite scores
                into[:] = found

        if data.size < _THREADS_PAY:
            multiply(data, out)
            return out
        step = max(1, _PIECE_NUMBERS // self.p)

        def fill(start: int) -> None:
            stop = start + step
            multiply(data[start:stop], out[start:stop])

        with one_blas_thread():
            for _ in in_order(fill, range(0, len(data), step)):
                pass
        return out

    def _projection(self, precision: np.dtype[Any], whiten: bool) -> FloatArray:
        """What centred rows are multiplied with (p, k).

        In this precision, or in float64 where its numbers overflow float32.
        """
        if self.scale is None and not whiten and precision == self.dtype:
            return self.components.T  # kept already
        axes = self.spectrum.axes[: self.k]
        if self.scale is not None:
            axes = axes / self.scale
        if whiten:
            axes = axes * self._whitening[:, None]
        fits = precision.itemsize == 8 or not self._overflows_float32[whiten]
        return np.ascontiguousarray(axes.T, dtype=precision if fits else np.float64)

    @cached_property
    def _overflows_float32(self) -> tuple[bool, bool]:
        """Whether what rows are multiplied with overflows float32: plain, and whitened."""
        axes, largest = np.abs(self.spectrum.axes[: self.k]), np.finfo(np.float32).max
        if self.scale is not None:
            axes = axes / self.scale
        whitened = axes * self._whitening[:, None]
        return bool((axes > largest).any()), bool((whitened > largest).any())

    def _sparse_scores(self, data: Any, right: FloatArray) -> FloatArray:
        full = full_columns(self.mean, self.column_variances)
        light, mean = data, self.mean.copy()
        if full.size:
            kept = np.ones(self.p)
            kept[full] = mean[full] = 0.0
            light = data.copy()
            light.data = light.data * kept[light.indices]
        with np.errstate(all="ignore"):
            out: FloatArray = light @ right - (mean @ right).astype(right.dtype)
            if full.size:
                dense = (data[:, full].toarray() - self.mean[full]) - self.mean_low[full]
                out += dense.astype(right.dtype) @ right[full]
        return out

    def reconstruction(self, scores: FloatArray, *, whiten: bool = False) -> FloatArray:
        """Rows (n, p) in the units of the data, from scores (n, k)."""
        high, low, axes = self.from_axes(scores.dtype, whiten=whiten)
        rows: FloatArray = scores @ axes
        rows += low
        rows += high
        return rows

    def towards_axes(
        self, precision: np.dtype[Any], *, whiten: bool = False
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """What scores are made with: the mean in two parts (p,), and axes (p, k).

        In this precision, or in float64 where the axes overflow float32.
        """
        self._need_mean()
        right = self._projection(precision, whiten)
        return *self._mean_parts(right.dtype), right

    def from_axes(
        self, precision: np.dtype[Any], *, whiten: bool = False
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """What rows are made with, from scores: the mean in two parts (p,), and axes (k, p)."""
        self._need_mean()
        axes = self.spectrum.axes[: self.k]
        if whiten:
            axes = axes * np.sqrt(self.variances)[:, None]
        if self.scale is not None:
            axes = axes * self.scale
        return *self._mean_parts(precision), axes.astype(precision)

    @cached_property
    def _whitening(self) -> FloatArray:
        """1/√λ, and zero for what is noise: dividing by it would make noise look like data."""
        sound = self.variances > self.spectrum.resolution
        return np.where(sound, 1.0 / np.sqrt(np.where(sound, self.variances, 1.0)), 0.0)

    def _mean_parts(self, precision: np.dtype[Any]) -> tuple[FloatArray, FloatArray]:
        """The mean in this precision, and what it leaves over."""
        if precision.itemsize == self.mean.itemsize:
            return self.mean, self.mean_low
        return self._mean_in_float32

    @cached_property
    def _mean_in_float32(self) -> tuple[FloatArray, FloatArray]:
        high = self.mean.astype(np.float32)
        return high, ((self.mean - high) + self.mean_low).astype(np.float32)

    def _need_mean(self) -> None:
        if not self.mean_known:
            raise NotAvailableError(
                "this model was made from a covariance without a mean, so rows cannot be centred",
                hint="PCA.from_covariance(C, mean=…), with mean=0 for rows already centred",
            )

    # ---- the probabilistic model (Tipping & Bishop 1999) -----------------------------

    @cached_property
    def _sound_noise(self) -> float:
        noise = self.noise_variance
        return noise if noise > self.spectrum.resolution else 0.0

    @cached_property
    def _sound(self) -> int:
        """Components whose variance is above the resolution."""
        return int(np.sum(self.variances > self.spectrum.resolution))

    def covariance(self) -> FloatArray:
        """Model covariance (p, p) in squared units: kept components, the rest as even noise."""
        axes, noise = self.spectrum.axes[: self.k], self._sound_noise
        model = (axes.T * (self.variances - noise)) @ axes
        model.flat[:: self.p + 1] += noise
        if self.scale is not None:
            model *= self.scale[:, None]
            model *= self.scale
        return model

    def precision(self) -> FloatArray:
        """Inverse of the model covariance (p, p); its pseudo-inverse where it has none."""
        noise = self._sound_noise
        axes = self.spectrum.axes[: self.k if noise else self._sound]
        inverse = 1.0 / self.variances[: len(axes)] - (1.0 / noise if noise else 0.0)
        model = (axes.T * inverse) @ axes
        if noise:
            model.flat[:: self.p + 1] += 1.0 / noise
        if self.scale is not None:
            model /= self.scale[:, None]
            model /= self.scale
        return model

    def log_likelihood(self, data: Any) -> FloatArray:
        """Log density of each row (n,) under the model.

        Where the model has no noise and fewer than p sound components, its density
        lives on their span: the value is the density there, −inf for a row off it.
        """
        self._need_mean()
        out = empty(data.shape[0])
        step = max(1, _CHUNK_NUMBERS // self.p)
        for start in range(0, len(out), step):
            rows = data[start : start + step]
            if is_sparse(rows):
                rows = rows.toarray()
            rows = (rows.astype(np.float64) - self.mean) - self.mean_low
            if self.scale is not None:
                rows /= self.scale
            out[start : start + step] = self._log_density(rows)
        if self.scale is not None:
            out -= float(np.sum(np.log(self.scale)))
        return out

    def _log_density(self, rows: FloatArray) -> FloatArray:
        noise = self._sound_noise
        kept = self.k if noise else self._sound
        axes, variances = self.spectrum.axes[:kept], self.variances[:kept]
        scores = rows @ axes.T
        off = rows - scores @ axes
        distance = np.einsum("ij,ij->i", off, off)
        squares = np.sum(scores**2 / variances, axis=1)
        logs = float(np.sum(np.log(variances)))
        if noise:
            squares = squares + distance / noise
            logs += (self.p - kept) * np.log(noise)
            return -0.5 * (squares + logs + self.p * np.log(2 * np.pi))
        density = -0.5 * (squares + logs + kept * np.log(2 * np.pi))
        if kept == self.p:
            return density
        rounding = (np.finfo(np.float64).eps * np.abs(self.analysed_mean)).max() ** 2 * self.p
        allowed = _OFF_SUPPORT * max(self.spectrum.resolution, rounding)
        return np.where(distance <= allowed, density, -np.inf)

    @cached_property
    def analysed_mean(self) -> FloatArray:
        """Mean in the units of the analysis (p,)."""
        return self.mean if self.scale is None else self.mean / self.scale


def prepared(summary: Any, scale: FloatArray | None, centred: bool) -> Any:
    """A summary as it is solved: about the origin where not centred, then scaled."""
    if not centred:
        summary = summary.about_origin()
    return summary if scale is None else summary.scaled(scale)
