"""Fits of a summary, without reading rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from princomp.core.context import FitContext, check_rows
from princomp.core.fit import solve
from princomp.core.fitted import Fitted
from princomp.core.problem import Problem, RouteChoice
from princomp.core.request import Request
from princomp.core.routes.base import Summary
from princomp.core.routes.given import GIVEN
from princomp.errors import NotAvailableError
from princomp.linalg import EPS, FloatArray
from princomp.solvers import Spectrum
from princomp.summaries import Columns, Extremes, Names, Sketch, Triangle


def fit_summary(
    summary: Summary,
    request: Request,
    *,
    problem: Problem | None = None,
    n_samples: int | None = None,
    extremes: Extremes | None = None,
    columns: Names = None,
    dtype: np.dtype[Any] | type[np.floating[Any]] = np.float64,
    mean_known: bool = True,
    dropped: int = 0,
    passes: int = 0,
    bytes_read: int = 0,
    reason: str = "solved from a kept summary",
    notes: tuple[str, ...] = (),
) -> Fitted:
    """Fit a summary without reading rows. The plan gives ``reason``, then ``notes``.

    Raises
    ------
    NotAvailableError
        If it is a summary of columns only, or if extremes are needed that were not kept.
    """
    if isinstance(summary, Columns):
        raise NotAvailableError(
            "a summary of columns says nothing of how they vary together, so it has no components",
            hint="give a summary that does: Moments, Triangle or Sketch",
        )
    check_rows(summary, summary.count, 0)
    if problem is None:
        problem = Problem(n_samples or 0, summary.p, request.plain_n_components)
    problem = problem._replace(n_components=request.plain_n_components)
    fit = FitContext(request, problem._replace(in_memory=True), names=columns)
    fit.n, fit.summary, fit.extremes = n_samples, summary, extremes
    if isinstance(summary, Sketch):
        choice = RouteChoice("sketch", "nystrom", reason)
    elif isinstance(summary, Triangle):
        choice = RouteChoice("triangle", "svd", reason)
    else:
        choice = RouteChoice("moments", "eigh", reason)
    solution, choice, solver_notes = solve(fit, choice)
    return Fitted(
        summary=summary,
        spectrum=solution.spectrum,
        k=solution.k,
        scale=solution.scale,
        centred=request.center,
        dtype=np.dtype(dtype),
        n_samples=n_samples,
        problem=problem,
        route=choice,
        notes=(*notes, *solver_notes),
        passes=passes,
        bytes_read=bytes_read,
        dropped=dropped,
        extremes=extremes,
        mean_known=mean_known,
        decision=solution.decision,
    )


def fit_of_components(
    axes: FloatArray,
    variances: FloatArray,
    total: float,
    *,
    mean: FloatArray,
    column_variances: FloatArray,
    n_samples: int,
    reason: str,
) -> Fitted:
    """Return the result for components (k, p) that another library computed.

    Unknown ``column_variances`` (p,) are NaN.
    """
    k, p = axes.shape
    scatter = column_variances * (n_samples - 1.0)
    return Fitted(
        summary=Columns(float(n_samples), n_samples, mean, np.zeros(p), scatter),
        spectrum=Spectrum(variances, axes, total, p * EPS, missed=None),
        k=k,
        scale=None,
        centred=True,
        dtype=np.dtype(np.float64),
        n_samples=n_samples,
        problem=Problem(n_samples, p, k),
        route=RouteChoice(GIVEN.summary, GIVEN.solver, reason),
    )


def truncated_to(fitted: Fitted, k: int) -> Fitted:
    """A fit with only its first ``k`` components."""
    return replace(fitted, k=k, spectrum=fitted.spectrum.first(k), decision=None)
