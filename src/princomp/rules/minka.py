"""Minka's maximum likelihood choice of dimension.

T. P. Minka, "Automatic choice of dimensionality for PCA", NIPS 2000: the Laplace
approximation of the evidence of probabilistic PCA with k components.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from princomp.linalg import EPS, FloatArray
from princomp.rules.decision import Decision, Known, component_count, floats


@dataclass(frozen=True)
class Minka:
    """Maximise the evidence over 1 to p − 1 components (Minka 2000).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from princomp import PCA, rules
    >>> print(PCA(rules.Minka(), scale="unit").fit(load_wine().data).decision_)
    mle: the evidence is largest with 12 components
    """

    name = "mle"
    needs = "all"

    def decide(self, known: Known) -> Decision | None:
        """Compare the evidence of 1, 2, … components."""
        n, p = known.rows, known.columns
        assert n is not None
        if n < p:
            return Decision.none(self.name, f"{n:g} rows are fewer than {p} columns")
        resolved = known.variances[known.variances > known.resolution]
        # The others are zero: rounding errors, or variances that n − 1 rows do not have.
        variances = np.append(resolved, np.zeros(p - len(resolved)))
        if variances[0] > 0:  # this changes the evidence of all k by the same constant
            variances = variances / variances[0]
        evidence = log_evidence(variances, n)
        k = 1 + int(np.argmax(evidence)) if len(evidence) else p
        reason = f"the evidence is largest with {component_count(k)}"
        return Decision(self.name, k, reason, "log evidence", floats(evidence))


def log_evidence(variances: FloatArray, rows: float) -> FloatArray:
    """Logarithm of the evidence for 1 to p − 1 components (Minka's equation 30, up to a constant).

    −inf where the last variance kept is a rounding error.
    """
    p = len(variances)
    floor = p * EPS * float(variances[0])
    evidence = np.full(p - 1, -np.inf)
    n_valid = int(np.count_nonzero(variances[:-1] > floor))
    if not n_valid:
        return evidence
    k = np.arange(1, n_valid + 1)
    noise = np.maximum([variances[j:].mean() for j in k], floor)
    half_dimensions = (p - k + 1) / 2.0  # of the Stiefel manifold that the axes lie on
    log_prior = -k * np.log(2.0) + np.cumsum(
        gammaln(half_dimensions) - half_dimensions * np.log(np.pi)
    )
    log_signal = -0.5 * rows * np.cumsum(np.log(variances[:n_valid]))
    log_noise = -0.5 * rows * (p - k) * np.log(noise)
    dimension = p * k - k * (k + 1) / 2.0  # dimension of the manifold
    log_occam = 0.5 * (dimension + k) * np.log(2.0 * np.pi) - 0.5 * k * np.log(rows)
    # Determinant of the Hessian: pairs (i ≤ k, j > i), with the noise in place of λ_j beyond k.
    # Each pair has the factor curvature × gap, at least EPS: equal variances would make the
    # integral diverge, and give no evidence either way.
    log_hessian = np.log(rows) * dimension
    for i in range(n_valid):
        gaps = variances[i] - variances[i + 1 :]  # ascending
        kept = variances[i + 1 : n_valid]
        terms = (1.0 / kept - 1.0 / variances[i]) * gaps[: len(kept)]
        log_hessian[i + 1 :] += np.cumsum(np.log(np.maximum(terms, EPS)))
        # The curvature is the same for all j > k: sum the gaps from the first that is large enough.
        curvature = np.maximum(1.0 / noise[i:] - 1.0 / variances[i], np.finfo(float).tiny)
        first = np.arange(len(curvature))
        large = np.maximum(np.searchsorted(gaps, EPS / curvature), first)
        log_gaps = np.log(np.maximum(gaps, np.finfo(float).tiny))
        sums = np.append(np.cumsum(log_gaps[::-1])[::-1], 0.0)
        log_hessian[i:] += sums[large] + (len(gaps) - large) * np.log(curvature)
        log_hessian[i:] += (large - first) * np.log(EPS)
    evidence[:n_valid] = log_prior + log_signal + log_noise + log_occam - 0.5 * log_hessian
    return evidence
