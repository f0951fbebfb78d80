"""Missing cells: the model is the PCA of its own filled table, which is a fixed point."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from claims import Finding, check_pca, compare
from oracle import EPS, LONG, LONG_EPS, divisor_of, svd_of, truth

from princomp import PCA
from princomp.core.missing.filled import fill_table
from princomp.core.missing.methods import TOLERANCE
from princomp.core.request import Request

# Largest table for which a step of EM in extended precision is quick.
_ROWS, _COLUMNS = 120, 24


def missing(calls):
    """A fit of rows with missing cells."""
    recipe, rng = calls.recipe, calls.rng
    rows = calls.rows[:_ROWS, :_COLUMNS]
    rows = rows if rows.dtype in (np.float32, np.float64) else rows.astype(np.float64)
    weights = None if calls.weights is None else calls.weights[:_ROWS]
    is_missing = rng.random(rows.shape) < recipe["holes"]
    rows = np.where(is_missing, rows.dtype.type(np.nan), rows)
    calls.rows = rows
    k = recipe["k"] if isinstance(recipe["k"], int) else 1
    k = min(k, *(side - 1 for side in rows.shape), 6)
    options = {"missing": recipe["method"], "scale": recipe["scale"], "center": recipe["center"]}
    model = PCA(max(k, 0), **options).fit(rows, sample_weight=weights)
    calls.fit_another_model()
    return model, lambda: check_missing(model, rows, weights)


def check_missing(model, rows, weights):
    """All Findings on a fit whose missing cells were filled."""
    from runs import Fit

    request = Request(model.n_components, model.scale, model.center, fill=model.missing)
    filled = fill_table(rows, weights, request)[0]
    # Rows without any cell are left out, and those of weight zero do not count.
    known, counts = ~np.isnan(rows), np.ones(len(rows), bool) if weights is None else weights > 0
    kept = known.any(axis=1) & counts
    table, known = filled[kept[known.any(axis=1) | ~counts]], known[kept]
    share = None if weights is None else weights[kept]
    changed = (table != rows[kept]) & known
    out = [Finding("a known cell was changed", np.inf if changed.any() else 0.0)]
    expected = truth(table, share, scale=model.scale, center=model.center)
    if not (expected.divisor > 0).all():
        return [Finding("a constant column was scaled", np.inf)]
    out += check_pca(Fit(model, table, share), expected)
    out.append(_check_counts(model, known))
    if model.missing == "em" and model.imputed_.converged and not known.all():
        out += _check_fixed_point(model, table, share, known, rows[kept])
    return out


def _check_counts(model, known):
    filled = model.imputed_
    expected = int((~known).sum()), int((~known).any(axis=1).sum())
    same = (filled.cells, filled.rows) == expected
    return Finding("cells that were filled", 0.0 if same else np.inf, f"{filled}")


def _check_fixed_point(model, table, weights, known, rows):
    """One more step of EM moves no cell by more than the limit of convergence.

    The table is stored in the precision of the rows, and a step squares its singular values: so
    there is rounding of n units of both, relative to the size of a cell and of the table. A step
    carries the rounding of one analysed column into all others, and turns the first axis by its
    share of the deviation along it, which moves the rows far from the mean most.
    """
    step = _step(model, table, weights)
    moved = np.where(known, 0, step.fit - table) / step.divisor
    stored = float(np.finfo(table.dtype).eps)
    tiny = LONG(np.finfo(table.dtype).smallest_subnormal)
    size = np.abs(table.astype(LONG)).max(axis=0)
    rounding = ((stored + EPS * max(table.shape)) * size + tiny) / step.divisor
    rounding = np.sqrt((rounding**2).sum()) * _gap(model)
    first = max(step.spread, np.sqrt(LONG(model.explained_variance_.max(initial=0))))
    rotation = rounding / max(first, tiny) * step.lengths
    claim = (TOLERANCE * step.spread + rounding + rotation)[:, None] * np.ones(table.shape[1])
    out = [compare("a step of EM", moved, claim, lambda _: f"{float(np.abs(moved).max()):.1e}")]
    again = np.where(known, 0, model.impute(rows) - table) / step.divisor
    # A row whose steps shrink by a rate is its last step divided by 1 − rate from its limit.
    left = np.array([1 - step.rate(row) for row in known])
    far = np.where(left > 1e-9, claim.max() * np.sqrt(len(claim)) / np.maximum(left, 1e-9), np.inf)
    text = "a cell filled again"
    out.append(compare(text, again, far[:, None], lambda _: f"{np.abs(again).max():.1e}"))
    return out


def _gap(model):
    """Factor by which changes of cells move the space of the components: one over its gap."""
    k = model.n_components_
    found = model.explained_variance_
    if not k or not found[0] > 0:
        return 1.0
    next_one = model.noise_variance_
    return float(found[0] / max(found[k - 1] - next_one, 1e-12 * found[0]))


class _Step(NamedTuple):
    """The fit of shrunk components to a table, and the spread of its analysed columns.

    ``lengths`` are those of its analysed rows.
    """

    fit: np.ndarray
    spread: float
    divisor: np.ndarray
    axes: np.ndarray
    factors: np.ndarray
    lengths: np.ndarray

    def rate(self, known):
        """The share of a change of the missing cells of a row that is left after a step."""
        inside = self.axes[:, ~known] * np.sqrt(self.factors)[:, None]
        products = (inside @ inside.T).astype(np.float64)
        return float(np.linalg.eigvalsh(products).max(initial=0)) if len(products) else 0.0


def _step(model, table, weights):
    """One step, in extended precision."""
    wide, k = table.astype(LONG), model.n_components
    weight = np.ones(len(wide), LONG) if weights is None else weights.astype(LONG)
    total = weight.sum()
    centre = weight @ wide / total
    mean = centre if model.center else np.zeros(wide.shape[1], LONG)
    columns = weight @ (wide - centre) ** 2 / (total - 1)
    divisor = divisor_of(model.scale, columns, table)
    about = (wide - mean) / divisor
    spread = np.sqrt((weight @ (about**2)).sum() / total / wide.shape[1])
    lengths = np.sqrt((about**2).sum(axis=1))
    if not k or not spread > 0:
        none = np.zeros((0, wide.shape[1]), LONG)
        return _Step(np.broadcast_to(mean, wide.shape), spread, divisor, none, none[:, 0], lengths)
    matrix = about * np.sqrt(weight)[:, None]
    ((sigma, axes),) = svd_of([matrix])
    if axes is None:
        ((_, left),) = svd_of([np.ascontiguousarray(matrix.T)])
        axes = left @ matrix
        sizes = np.sqrt((axes**2).sum(axis=1))[:, None]
        axes = axes / np.where(sizes > 0, sizes, 1)
    factors = _factors(sigma**2, k, total, wide.shape[1], model.center)
    factors = np.where(
        sigma[:k] > 1e3 * LONG_EPS * sigma[0], factors, 0
    )  # smaller ones are rounding
    fit = ((about @ axes[:k].T) * factors) @ axes[:k] * divisor + mean
    return _Step(fit, spread, divisor, axes[:k], factors, lengths)


def _factors(squares, k, total, p, centred):
    """Shrinkage 1 − σ²/d² of the first k, as docs/howto/missing.md has it."""
    free = total - 1 if centred else total
    freedom, left = (free - k) * (p - k), squares[k:].sum()
    if freedom <= 0 or left <= 0:
        return (squares[:k] > 0).astype(LONG)
    noise = total * p / min(p, free) * left / freedom
    noise = min(noise, squares[k] if len(squares) > k else noise, squares[k - 1])
    return np.where(squares[:k] > 0, np.maximum(1 - noise / squares[:k], 0), 0)
