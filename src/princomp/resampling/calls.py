"""What people call: a bootstrap of a PCA."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

from princomp.arrays import FloatArray, one_blas_thread
from princomp.engines.distributed import Distributed
from princomp.engines.local import complete
from princomp.errors import NotAvailableError, ParameterError, ShapeError
from princomp.estimator import PCA
from princomp.inputs import checked_weights
from princomp.parameters import is_a
from princomp.progress import Tell, Teller
from princomp.resampling.drawn import Drawn, Table, resampled
from princomp.resampling.intervals import Bootstrap
from princomp.sources.holding import whole
from princomp.sources.source import Source
from princomp.summaries.blocks import is_sparse

__all__ = ["bootstrap"]

_ALIGNMENTS = ("signs", "procrustes")
# Loadings of all resamples that are held, 1 GB.
_MOST_NUMBERS = 2**27


def bootstrap(
    X: Any,
    model: PCA | None = None,
    *,
    n: int = 1000,
    seed: int | None = 0,
    level: float = 0.95,
    align: str = "signs",
    sample_weight: Any = None,
    progress: Tell | None = None,
    **parameters: Any,
) -> Bootstrap:
    """Intervals of variances, rates and loadings, and how far axes turn, by resampling rows.

    Each resample draws as many rows as there are, with replacement, and is analysed as the
    table was: its own means and, where the scale is a word, its own divisors. Intervals are
    quantiles of what the resamples give (Efron 1979; of eigenvectors, Diaconis & Efron 1983).

    Parameters
    ----------
    X : array, frame or path, of shape (n, p)
        Dense rows, in memory or files that fit there.
    model : PCA, optional
        Fitted to these rows. By default one is fitted, with ``parameters``.
    n : int, default=1000
        Resamples.
    seed : int or None, default=0
        The same seed gives the same intervals; None another one each time.
    level : float, default=0.95
        Of the intervals, in (0, 1).
    align : {"signs", "procrustes"}, default="signs"
        Axes have no sign, and those of close variances have no order. ``"signs"``: each axis
        of a resample points to the side of the table's; where components are exchanged,
        loadings have wide intervals, as they should. ``"procrustes"``: the loadings of a
        resample are turned towards those of the table (Schönemann 1966), which asks how
        stable the space of k components is. Angles are always those of ``"signs"``.
    sample_weight : array of shape (n,), optional
        Frequencies: Σw rows are drawn, rounded, each by its weight.
    progress : callable, optional
        Called now and then with a :class:`~princomp.Progress` whose rows are resamples.
    **parameters
        Of :class:`~princomp.PCA`, where no model is given.

    Returns
    -------
    Bootstrap

    Raises
    ------
    ParameterError
        For an unlawful argument, sparse rows, and a model of other rows.
    NotAvailableError
        For rows with missing cells that the model filled: resampled as if they had been seen,
        they would make intervals too narrow.
    ConstantColumnError
        Where a column is constant in a resample and was to be scaled.

    Examples
    --------
    >>> import numpy as np
    >>> from princomp import bootstrap
    >>> X = np.random.default_rng(0).standard_normal((100, 3)) * [5, 1, 1]
    >>> found = bootstrap(X, n=200, n_components=2)
    >>> low, high = found.variance_interval[:, 0]
    >>> print(low < found.variances[0] < high, found.angle_quantiles()[0, 0] < 5)
    True True
    """
    _check(n, seed, level, align)
    model, rows, weights = _model_and_rows(X, model, sample_weight, parameters)
    table = _table(model, rows, weights)
    k, p = table.k, rows.shape[1]
    if n * p * max(k, 1) > _MOST_NUMBERS:
        raise ParameterError(
            f"the loadings of {n:,} resamples, {p:,} columns and {k:,} components are more than "
            f"{_MOST_NUMBERS:,} numbers",
            place={"parameter": "n"},
            hint="ask for fewer resamples, or for fewer components (model.truncated(k))",
        )
    axes = np.asarray(model._state.spectrum.axes[:k], dtype=np.float64)
    parts, done = [], 0
    teller = Teller(progress)
    teller.begin("bootstrap", n, 0.0, unit="resamples")
    with one_blas_thread():
        for drawn in resampled(table, n, np.random.default_rng(seed)):
            parts.append(_beside(drawn, axes, np.asarray(model.loadings_), align))
            done += len(drawn.totals)
            teller.advance(done, done=done == n)
    variances, rates, loadings, angles, space = (
        np.concatenate(part) for part in zip(*parts, strict=True)
    )
    ends = ((1.0 - level) / 2.0, (1.0 + level) / 2.0)
    names = model._names()
    return Bootstrap(
        int(n),
        float(level),
        align,
        np.asarray(model.explained_variance_),
        np.asarray(model.explained_variance_ratio_),
        np.asarray(model.loadings_),
        np.quantile(variances, ends, axis=0),
        np.quantile(rates, ends, axis=0),
        np.quantile(loadings, ends, axis=0),
        variances.std(axis=0, ddof=1),
        rates.std(axis=0, ddof=1),
        loadings.std(axis=0, ddof=1),
        angles,
        space,
        None if names is None else tuple(map(str, names)),
    )


def _check(n: Any, seed: Any, level: Any, align: Any) -> None:
    for name, value, lawful, hint in (
        ("n", n, is_a(n, Integral) and n >= 2, "a whole number of at least 2, such as 1000"),
        ("seed", seed, seed is None or (is_a(seed, Integral) and seed >= 0), "a whole number"),
        ("level", level, is_a(level, Real) and 0 < level < 1, "a share in (0, 1), such as 0.95"),
        ("align", align, align in _ALIGNMENTS, "'signs' or 'procrustes'"),
    ):
        if not lawful:
            raise ParameterError(
                f"{name}={value!r} is not lawful",
                place={"parameter": name},
                hint=f"{name} must be {hint}",
            )


def _model_and_rows(
    X: Any, model: Any, sample_weight: Any, parameters: dict[str, Any]
) -> tuple[PCA, FloatArray, FloatArray | None]:
    """The model, and the rows that it was fitted to, complete ones only."""
    if model is None:
        model = PCA(**parameters).fit(X, sample_weight=sample_weight)
    elif not isinstance(model, PCA):
        raise ParameterError(
            f"bootstrap takes a fitted PCA, got {type(model).__name__}",
            place={"parameter": "model"},
            hint="bootstrap(X, PCA(2).fit(X)), or bootstrap(X, n_components=2)",
        )
    elif parameters:
        raise ParameterError(
            f"{', '.join(parameters)} and a model: which of them decides?",
            place={"parameter": next(iter(parameters))},
            hint="leave out the model or the parameters",
        )
    data, _, _ = model._rows(X, reset=False)
    if isinstance(data, Source) and not isinstance(data, Distributed):
        data = whole(data)
    if is_sparse(data) or isinstance(data, Source):
        raise ParameterError(
            "bootstrap takes dense rows in memory",
            place={"parameter": "X"},
            hint="give X.toarray(), or a sample of the rows",
        )
    weights = checked_weights(sample_weight, len(data))
    if np.isnan(data).any():
        if model.missing != "drop":
            raise NotAvailableError(
                "cells that were filled cannot be resampled as if they had been seen: intervals "
                "would be too narrow",
                hint="fit with missing='drop', or give complete rows",
            )
        data, weights, _ = complete(data, weights)
    if weights is not None:
        data, weights = data[weights > 0], weights[weights > 0]
    return model, data.astype(np.float64), weights


def _table(model: PCA, rows: FloatArray, weights: FloatArray | None) -> Table:
    """What is drawn from; rows that are not the model's are refused."""
    state = model._state
    total = float(len(rows)) if weights is None else float(weights.sum())
    mean = np.average(rows, axis=0, weights=weights)
    spread = np.sqrt(state.column_variances) + np.abs(mean)
    near = np.all(np.abs(mean - state.summary.mean) <= 1e-4 * spread)
    if abs(total - state.summary.rows) > 1e-6 * total or not near:
        raise ParameterError(
            f"these {total:g} rows are not the {state.summary.rows:g} that the model was fitted to",
            place={"parameter": "X"},
            hint="give the rows and weights of the fit, or leave out the model",
        )
    size = round(total)
    if size < 2:
        raise ShapeError(f"a resample needs at least 2 rows, and the weights sum to {total:g}")
    shares = np.full(len(rows), 1.0 / len(rows)) if weights is None else weights / total
    scale, around = model.scale, rows - mean
    if scale is not None and not isinstance(scale, str):
        around, mean, scale = around / state.scale, mean / state.scale, None
    return Table(around, mean, shares, size, state.k, scale, state.centred, model._names())


def _beside(
    drawn: Drawn, axes: FloatArray, loadings: FloatArray, align: str
) -> tuple[FloatArray, ...]:
    """Variances, rates, loadings (b, p, k), angles (b, k) and those of the space (b,)."""
    variances, totals, others = drawn
    rates = variances / np.where(totals > 0, totals, 1.0)[:, None]
    toward = np.einsum("bap,ap->ba", others, axes)
    others = others * np.where(toward < 0, -1.0, 1.0)[:, :, None]
    # Half the chord is the sine of half the angle: small angles keep their digits.
    chord = np.linalg.norm(others - axes, axis=2)
    lengths = np.linalg.norm(others, axis=2)
    angles = np.where(lengths > 0.5, 2.0 * np.arcsin(np.minimum(chord / 2.0, 1.0)), np.pi / 2)
    off = axes - (axes @ others.transpose(0, 2, 1)) @ others
    k = len(axes)
    sine = np.linalg.norm(off, 2, axis=(1, 2)) if k else np.zeros(len(others))
    space = np.arcsin(np.minimum(sine, 1.0))
    found = others.transpose(0, 2, 1) * np.sqrt(variances)[:, None, :]
    if align == "procrustes" and k:
        left, _, right = np.linalg.svd(found.transpose(0, 2, 1) @ loadings)
        found = found @ (left @ right)
    return variances, rates, found, np.degrees(angles), np.degrees(space)
