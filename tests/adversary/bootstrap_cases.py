"""The bootstrap: its intervals against a simple implementation with the same draws."""

from __future__ import annotations

import numpy as np
from claims import Finding, compare
from oracle import EPS, LONG, divisor_of

from princomp import bootstrap
from princomp.core import fitted_model

_ROWS, _COLUMNS, _RESAMPLES = 80, 12, 24


def bootstrapped(calls):
    """A fit of a few rows, and its bootstrap."""
    rows = calls.rows[:_ROWS, :_COLUMNS]
    weights = None if calls.weights is None else calls.weights[:_ROWS]
    calls.rows, calls.weights = rows, weights
    model = calls.model().fit(rows, sample_weight=weights)
    seed, level = int(calls.rng.integers(1000)), 0.9
    options = {"n": _RESAMPLES, "seed": seed, "level": level}
    found = bootstrap(model, rows, sample_weight=weights, **options)
    calls.fit_another_model()
    return model, lambda: check_bootstrap(model, rows, weights, found, seed)


def check_bootstrap(model, rows, weights, found, seed):
    """All Findings on a bootstrap."""
    fitted = fitted_model(model).result
    if not fitted.k or not fitted.variances[0] > 0:
        return [Finding("bootstrap", 0.0)]
    if weights is not None:
        rows, weights = rows[weights > 0], weights[weights > 0]
    variances, totals, gaps, axes, error = _plain_bootstrap(model, rows, weights, fitted.k, seed)
    limits = (1 - found.level) / 2, (1 + found.level) / 2
    expected = np.quantile(variances, limits, axis=0)
    claim = error.max()
    out = [compare("interval of a variance", found.variance_interval - expected, claim, _no_detail)]
    expected = variances.astype(LONG).std(axis=0, ddof=1)
    out.append(compare("error of a variance", found.variance_error - expected, claim, _no_detail))
    ok = totals > 0
    if ok.all():
        relative = (2 * error / totals).max()
        expected = np.quantile(variances / totals[:, None], limits, axis=0)
        out.append(
            compare("interval of a rate", found.rate_interval - expected, relative, _no_detail)
        )
    # The error of an axis is that of the covariance divided by its gap.
    turn = np.where(gaps > 0, error[:, None] / np.where(gaps > 0, gaps, 1), np.inf).max(axis=0)
    sound = turn < 1e-6
    if found.align == "signs" and sound.any():
        own = fitted.spectrum.axes[: fitted.k].astype(np.float64)
        inner = (axes * own).sum(axis=2)
        sound &= np.abs(inner).min(axis=0) > 1e-3
        loadings = axes * np.where(inner < 0, -1, 1)[..., None] * np.sqrt(variances)[..., None]
        expected = np.quantile(loadings, limits, axis=0).swapaxes(1, 2)
        size = np.sqrt(variances.max(axis=0))
        # The error of the root of a variance near zero is the root of the error.
        roots = np.sqrt(np.maximum(variances, error[:, None])).min(axis=0)
        claim = np.where(sound, size * turn * 4 + claim / roots, np.inf)
        deviation = np.where(sound, found.loading_interval - expected, 0)
        out.append(compare("interval of a loading", deviation, claim, _no_detail))
    return out


def _plain_bootstrap(model, rows, weights, k, seed):
    """Variances (b, k), totals, gaps, axes and errors (b,) of resamples, one by one.

    Rows are moved to the one that is drawn most often before they are centred: their spread may be
    only a few units of their mean, and a row that is not drawn may be far from the others.
    Scatters are sums of products about the mean of all rows, so their errors are n + p units of the
    mean squares about it, also where a resample spreads less; and divided by its divisors.
    """
    wide = rows.astype(np.float64).astype(LONG)
    total = len(rows) if weights is None else float(weights.sum())
    # Bitwise the same shares give the same draws.
    shares = np.full(len(rows), 1.0 / len(rows)) if weights is None else weights / total
    near_heaviest = wide - wide[shares.argmax()]
    size = round(total)
    draws = np.random.default_rng(seed).multinomial(size, shares, size=_RESAMPLES)
    centre = shares.astype(LONG) @ wide
    centred = near_heaviest - shares.astype(LONG) @ near_heaviest
    out = []
    for count in draws:
        weight = count.astype(LONG)
        near = wide - wide[count.argmax()]
        about_mean = near - weight @ near / size
        about = about_mean if model.center else wide
        spread = weight @ about_mean**2 / (size - 1)
        if isinstance(model.scale, str):
            divisor = divisor_of(model.scale, spread, rows[count > 0])
        else:
            divisor = divisor_of(model.scale, spread, rows)
        with np.errstate(all="ignore"):
            about = about / divisor
        scatter = (about * weight[:, None]).T @ about / (size - 1)
        reach = (weight @ (centred / divisor) ** 2).sum() / (size - 1)
        reach += 0 if model.center else (size / (size - 1)) * ((centre / divisor) ** 2).sum()
        moved = EPS * np.abs(centre / divisor).max() * np.sqrt(reach) * 2
        values, vectors = np.linalg.eigh(scatter.astype(np.float64))
        values, vectors = np.maximum(values[::-1], 0), vectors.T[::-1]
        error = float(EPS * (sum(rows.shape) + 16) * reach + moved)
        if isinstance(model.scale, str):
            # A divisor has the relative error of its column's scatter.
            lost = EPS * (sum(rows.shape) + 16) * (weight @ centred**2) / spread / (size - 1)
            error *= 1 + float(lost.max() / EPS / 16)
        gap = np.minimum(-np.diff(values, prepend=np.inf), -np.diff(values, append=0))
        gap[-1] = values[-2] - values[-1] if len(values) > 1 else values[-1]
        out.append((values[:k], values.sum(), gap[:k], vectors[:k], error))
    return tuple(np.array(one) for one in zip(*out, strict=True))


def _no_detail(_):
    return ""
