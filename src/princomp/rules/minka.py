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
        # A summary of n − 1 components may lack the last variances, which are zero.
        variances = np.append(known.variances, np.zeros(p - len(known.variances)))
        if variances[0] > 0:  # this changes the evidence of all k by the same constant
            variances = variances / variances[0]
        evidence = [log_evidence(variances, k, n) for k in range(1, len(variances))]
        k = 1 + int(np.argmax(evidence)) if evidence else p
        reason = f"the evidence is largest with {component_count(k)}"
        return Decision(self.name, k, reason, "log evidence", floats(evidence))


def log_evidence(variances: FloatArray, k: int, rows: float) -> float:
    """Logarithm of the evidence for ``k`` components (Minka's equation 30, up to a constant).

    −inf where the k-th variance is a rounding error.
    """
    p = len(variances)
    floor = p * EPS * float(variances[0])
    if variances[k - 1] <= floor or variances[0] == 0:
        return -np.inf
    noise = max(float(variances[k:].mean()), floor)
    i = np.arange(1, k + 1)
    half_dimensions = (p - i + 1) / 2.0  # of the Stiefel manifold that the axes lie on
    log_prior = -k * np.log(2.0) + float(
        np.sum(gammaln(half_dimensions) - half_dimensions * np.log(np.pi))
    )
    log_signal = -0.5 * rows * float(np.sum(np.log(variances[:k])))
    log_noise = -0.5 * rows * (p - k) * np.log(noise)
    dimension = p * k - k * (k + 1) / 2.0  # dimension of the manifold
    log_occam = 0.5 * (dimension + k) * np.log(2.0 * np.pi) - 0.5 * k * np.log(rows)
    # Determinant of the Hessian: pairs (i ≤ k, j > i), with the noise in place of λ_j beyond k.
    model = np.concatenate([variances[:k], np.full(p - k, noise)])
    log_hessian = 0.0
    for a in range(k):
        curvature = 1.0 / model[a + 1 :] - 1.0 / model[a]
        gap = variances[a] - variances[a + 1 :]
        terms = curvature * gap
        # Equal variances would make the integral diverge, and give no evidence either way.
        log_hessian += float(np.sum(np.log(np.maximum(terms, EPS)))) + np.log(rows) * len(terms)
    return log_prior + log_signal + log_noise + log_occam - 0.5 * log_hessian
