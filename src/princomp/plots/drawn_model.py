"""What figures of variances and of scores ask of a model: a PCA, or a kernel PCA."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from princomp.arrays import FloatArray
from princomp.diagnostics.given import state_of
from princomp.diagnostics.row_blocks import Given
from princomp.kernel_pca import KernelPCA
from princomp.spectrum import Spectrum

__all__ = ["drawn_state", "kernel_scores", "most_components"]

# Rates that add up to 1 but for this leave nothing for a further component.
_NOTHING = 1e-9


class _DrawnKernel(NamedTuple):
    """Of a kernel PCA, no component of which a rule chose.

    ``p`` are the components that there are; None where only some were looked for.
    """

    spectrum: Spectrum
    k: int
    p: int | None
    decision: None = None

    @property
    def rates(self) -> FloatArray:
        """Contribution rates (k,)."""
        return self.spectrum.rates[: self.k]


def drawn_state(model: Any) -> Any:
    """The record of a fitted model, or as much of one as a kernel PCA has.

    Raises
    ------
    ParameterError
        For anything that is no PCA of this package.
    """
    if not isinstance(model, KernelPCA):
        return state_of(model)
    spectrum, k = model._state.spectrum, model.n_components_
    known = len(spectrum.variances) > k or float(spectrum.rates.sum()) > 1.0 - _NOTHING
    return _DrawnKernel(spectrum, k, int((spectrum.variances > 0).sum()) if known else None)


def most_components(fitted: Any) -> int | None:
    """How many components there are; None where nobody knows."""
    if isinstance(fitted, _DrawnKernel):
        return fitted.p
    return int(min(fitted.p, fitted.analysed.rank_limit))


def kernel_scores(model: KernelPCA, X: Any, ids: Any) -> tuple[FloatArray, Any]:
    """Scores (n, k) of rows in float64, and their names.

    Raises
    ------
    ShapeError, ColumnError, NotFiniteError
    """
    given = Given.opened(model, X, ids=ids)
    parts, named, at = [], [], 0
    for chunk, names in given.chunks():
        parts.append(model._chunk_scores(chunk, given.data, at, given.file).astype(np.float64))
        named.append(names)
        at += chunk.shape[0]
    if given.ids is not None:
        return np.concatenate(parts), given.ids
    return np.concatenate(parts), np.arange(at) if named[0] is None else np.concatenate(named)
