"""The function ``bootstrap``: arguments, and the rows and the model that it resamples."""

from __future__ import annotations

from typing import Any

import numpy as np

from princomp import core
from princomp.diagnostics.arguments import check_repeatable, checked_level
from princomp.diagnostics.bootstrap_result import Bootstrap
from princomp.diagnostics.models import not_a_pca
from princomp.diagnostics.resampling import bootstrap_rows
from princomp.engines import DistributedRows, ProgressCallback, drop_incomplete
from princomp.errors import NotAvailableError, ParameterError, warn
from princomp.estimators import PCA
from princomp.io import Source, read_whole
from princomp.linalg import FloatArray
from princomp.summaries import SampleWeight, is_sparse


@core.renamed_parameters(seed="random_state")
def bootstrap(
    model: PCA | object = None,
    X: object = None,
    *,
    n: int = 1000,
    random_state: int | None = 0,
    level: float = 0.95,
    align: str = "signs",
    sample_weight: SampleWeight = None,
    progress: ProgressCallback | None = None,
    **parameters: Any,
) -> Bootstrap:
    """Bootstrap a PCA: intervals of variances, rates and loadings, and angles of the axes.

    Each resample draws as many rows as there are, with replacement, and is analysed like the
    table, with its own means and, if ``scale`` is a name, its own divisors. Intervals are
    quantiles over the resamples (Efron 1979; for eigenvectors, Diaconis & Efron 1983). They are
    not corrected for bias: in resamples the first variances tend to be too large and the last ones
    too small, so an interval need not contain its variance.

    Parameters
    ----------
    model : PCA
        Fitted to these rows. Without one, ``bootstrap(X, **parameters)`` fits one.
    X : array, frame or path, of shape (n, p)
        Dense rows, in memory or in files that fit in memory.
    n : int, default=1000
        Number of resamples.
    random_state : int or None, default=0
        The same number gives the same intervals; None gives different ones each time.
    level : float, default=0.95
        Level of the intervals, between 0 and 1.
    align : {"signs", "procrustes"}, default="signs"
        Axes have no sign, and those with close variances have no order. ``"signs"``: each axis
        of a resample gets the sign of the table's; where components are exchanged, loadings
        have wide intervals, as they should. ``"procrustes"``: the loadings of a resample are
        rotated towards those of the table (Schönemann 1966), which measures the stability of
        the space of k components. Angles are always those of ``"signs"``.
    sample_weight : array of shape (n,), optional
        Frequencies: Σw rows (rounded) are drawn, each with a probability proportional to its
        weight.
    progress : callable, optional
        Called with a :class:`~princomp.Progress` that counts resamples.
    **parameters
        Parameters of :class:`~princomp.PCA`, if no model is given.

    Returns
    -------
    Bootstrap
        ``variances``, ``rates`` and ``loadings`` of the model, each with its interval
        (``variance_interval``) and standard error (``variance_error``); ``angles`` of each axis
        and ``space_angles``, in degrees, by resample, with ``angle_quantiles()`` and
        ``space_quantiles()``; ``to_frame()`` and ``to_dict()``. It prints as a summary.

    Raises
    ------
    ParameterError
        For an invalid argument, sparse rows, rows other than those of the model, weights whose
        sum exceeds 10¹⁵, or rows that can be read only once without a model.
    NotAvailableError
        For rows with missing values that the model filled: resampling filled values would make
        intervals too narrow. Also for a model of a covariance without a mean or the number of its
        rows.
    ShapeError
        For fewer than two rows.
    ConstantColumnError
        If a column to be scaled is constant in a resample.
    NotFiniteError
        If sums of squares overflow in a resample.

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
    core.check_parameter("n", n, core.whole_number(2))
    core.check_parameter("random_state", random_state, core.whole_number(0) | core.one_of(None))
    level = checked_level(level)
    core.check_parameter("align", align, core.one_of("signs", "procrustes"))
    given_model, given_rows = _in_order(model, X)
    pca, rows, weights = _model_and_rows(given_model, given_rows, sample_weight, parameters)
    return bootstrap_rows(
        core.fitted_model(pca),
        rows,
        weights,
        n=int(n),
        seed=random_state,
        level=level,
        align=align,
        progress=progress,
    )


def _in_order(model: object, X: object) -> tuple[PCA | None, object]:
    """Return the model and the rows, which were given in the reverse order before version 0.2."""
    if isinstance(X, PCA):
        warn(
            "bootstrap(X, model) is now bootstrap(model, X); the old order ends with version 0.3",
            FutureWarning,
        )
        return X, model
    if isinstance(model, PCA) or model is None:
        return model, X
    if X is not None:
        hint = "bootstrap(princomp.PCA(2).fit(X), X), or bootstrap(X, n_components=2)"
        raise not_a_pca(model, hint, hint)  # scikit-learn's does not store variances of columns
    return None, model


def _model_and_rows(
    model: PCA | None, X: object, sample_weight: SampleWeight, parameters: dict[str, Any]
) -> tuple[PCA, FloatArray, FloatArray | None]:
    """Return the model and the complete rows that it was fitted to, with their weights."""
    if model is None:
        check_repeatable(X, "bootstrap")
        model = PCA(**parameters).fit(X, sample_weight=sample_weight)
    elif X is None:
        raise ParameterError(
            "bootstrap draws from the rows of the fit, and none are given",
            place={"parameter": "X"},
            hint="bootstrap(model, X)",
        )
    elif parameters:
        raise ParameterError(
            f"{', '.join(parameters)} cannot be combined with a fitted model",
            place={"parameter": next(iter(parameters))},
            hint="leave out the model or the parameters",
        )
    data = core.fitted_model(model).schema.open(X)[0]
    if isinstance(data, Source) and (not isinstance(data, DistributedRows) or data.resident):
        data = read_whole(data)
    if is_sparse(data) or isinstance(data, Source):
        raise ParameterError(
            "bootstrap needs dense rows in memory",
            place={"parameter": "X"},
            hint="give all rows or a sample as a dense array: X.toarray(), or X.compute() for "
            "Dask; in a file, store the matrix dense",
        )
    core.check_index(X, sample_weight)
    weights = core.checked_weights(sample_weight, len(data))
    if np.isnan(data).any():
        if model.missing != "drop":
            raise NotAvailableError(
                "filled values cannot be resampled as if they were observed: intervals would be "
                "too narrow",
                hint="fit with missing='drop', or give complete rows",
            )
        data, weights, _ = drop_incomplete(data, weights)
    if weights is not None:
        core.warn_of_fractional_weights(weights)
        data, weights = data[weights > 0], weights[weights > 0]
    return model, data.astype(np.float64), weights
