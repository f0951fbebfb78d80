"""Randomized SVD with scikit-learn's name and parameters.

N. Halko, P. G. Martinsson, J. A. Tropp, "Finding structure with randomness", SIAM
Review 53 (2011), algorithms 4.3 and 4.4. The result is approximate; the residuals of the
spectrum measure its error.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import scipy.linalg

from princomp.linalg import FloatArray, binary_exponent
from princomp.solvers.ritz import project
from princomp.solvers.spectrum import Spectrum
from princomp.summaries import CentredRows, Columns

RandomState: TypeAlias = int | np.random.RandomState | np.random.Generator | None


def solve_rows(
    rows: CentredRows,
    columns: Columns,
    k: int,
    *,
    n_oversamples: int,
    iterated_power: int | str,
    power_iteration_normalizer: str,
    random_state: RandomState,
) -> tuple[Spectrum, int]:
    """Compute the top ``k`` approximately, and the number of passes.

    The last step projects the rows onto the subspace, so the variances are those of the scores.
    """
    from sklearn.utils import check_random_state

    n, p = rows.shape
    wide = n < p
    forward, backward = (rows.rmatmul, rows.matmul) if wide else (rows.matmul, rows.rmatmul)
    size = min(k + n_oversamples, n, p)
    if isinstance(iterated_power, str):  # "auto", as in scikit-learn
        iterated_power = 7 if k < 0.1 * min(n, p) else 4
    if power_iteration_normalizer == "auto":
        power_iteration_normalizer = "none" if iterated_power <= 2 else "LU"
    rng: Any = random_state
    if not isinstance(random_state, np.random.Generator):
        rng = check_random_state(random_state)
    sketch: FloatArray = rng.normal(size=(n if wide else p, size)).astype(rows.dtype)
    for _ in range(iterated_power):
        sketch = _normalized(forward(sketch), power_iteration_normalizer)
        sketch = _normalized(backward(sketch), power_iteration_normalizer)
    basis = np.linalg.qr(forward(sketch))[0]
    # Axes have an entry per column: one more product maps a basis with an entry per row to them.
    vectors = basis if wide else backward(basis)
    # After the powers: one for the basis, one more for `vectors` if not wide, two in `project`.
    passes = 2 * iterated_power + (3 if wide else 4)
    return replace(project(rows, columns, vectors, k), missed=None), passes


def _normalized(block: FloatArray, how: str) -> FloatArray:
    if how == "QR":
        return np.linalg.qr(block)[0]
    if how == "LU":
        return scipy.linalg.lu(block, permute_l=True, check_finite=False)[0]
    # Powers of large or small rows would leave the range of float32, and even of float64.
    return np.ldexp(block, -binary_exponent(block))
