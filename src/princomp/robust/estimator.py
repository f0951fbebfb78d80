"""RobustPCA: ROBPCA in scikit-learn's conventions."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.stats import chi2
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin

from princomp.arrays import fix_signs, one_blas_thread
from princomp.robust.asked import check_asked, count_of, divisors_of
from princomp.robust.contents import Robustly, restored
from princomp.robust.outliers import mapped
from princomp.robust.robpca import robpca
from princomp.robust.using import UsesRobustFit, about
from princomp.seeds import seed_of

__all__ = ["RobustPCA"]

_LEVEL = 0.975


class RobustPCA(UsesRobustFit, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Principal components of most rows, whatever the others do: ROBPCA.

    Up to a share of 1 − ``support`` of the rows may be anything. Hubert, Rousseeuw & Vanden
    Branden (2005): the rows that are least outlying over many directions tell the space, the
    minimum covariance determinant centre and axes in it. It takes dense rows in memory, also
    with more columns than rows.

    Parameters
    ----------
    n_components : int, float or None, default=None
        A number; a share in (0, 1) of the variance of the inner rows; None for 80% of it, at
        most 10 components.
    support : float, default=0.75
        Share of the rows that are surely no outliers, from 0.5 (most robust) to 1 (most
        efficient).
    n_directions : int, default=250
        Directions over which outlyingness is looked for.
    scale : None, "mad" or array of shape (p,), default=None
        What columns are divided by: nothing; 1.4826 times their median absolute deviation;
        given divisors. (A standard deviation is what outliers change first.)
    random_state : int, RandomState, Generator or None, default=0
        Seed of directions and starts: the same one gives the same bits.

    Attributes
    ----------
    components_ : ndarray of shape (k, p)
        Axes, unit length, the largest |entry| of each positive.
    explained_variance_ : ndarray of shape (k,)
        Robust variances, made right for normal rows.
    explained_variance_ratio_ : ndarray of shape (k,)
        Over ``total_variance_``.
    total_variance_ : float
        These and, of what was left out, the variances of the rows near the space.
    loadings_ : ndarray of shape (p, k)
        Axes times √λ.
    mean_ : ndarray of shape (p,)
        Robust centre, in the units of the data.
    scale_ : ndarray of shape (p,) or None
    score_distances_, orthogonal_distances_ : ndarray of shape (n,)
        Of the rows of the fit; see :class:`OutlierMap`.
    score_cutoff_ : float
        √ of the 97.5% quantile of χ² with k degrees of freedom.
    orthogonal_cutoff_ : float
        (m + z s)^{3/2}, with m and s the median and the scaled MAD of the distances to the
        power 2/3, z the 97.5% quantile of the normal distribution.
    outliers_ : ndarray of bool of shape (n,)
        Rows beyond either cut-off: about 5% of normal rows are.
    n_components_, n_samples_, n_features_in_, n_support_ : int
        ``n_support_``: rows of the inner half or more, h.
    feature_names_in_ : ndarray of shape (p,)
    id_column_ : str or None
        Of a model that the command line made: the column that named the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from princomp import RobustPCA
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 4)) * [5, 3, 0.1, 0.1]
    >>> X[:20, 3] += 50
    >>> model = RobustPCA(2).fit(X)
    >>> print(np.abs(model.components_).round(), model.outliers_[:20].all())
    [[1. 0. 0. 0.]
     [0. 1. 0. 0.]] True
    """

    def __init__(
        self,
        n_components: int | float | None = None,
        *,
        support: float = 0.75,
        n_directions: int = 250,
        scale: Any = None,
        random_state: Any = 0,
    ) -> None:
        self.n_components = n_components
        self.support = support
        self.n_directions = n_directions
        self.scale = scale
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit to rows.

        Parameters
        ----------
        X : array, frame or path, of shape (n, p)
            Dense, without missing values.
        y : ignored

        Raises
        ------
        NotFiniteError, ParameterError, DataError
        ShapeError
            For fewer than two rows, or more components than half the rows can tell.
        """
        check_asked(self)
        before = self.__dict__.copy()
        try:
            self._fit(X)
        except BaseException:
            self.__dict__ = before
            raise
        return self

    def _fit(self, X: Any) -> None:
        data, columns = self._dense(X, reset=True)
        wanted = count_of(self.n_components, *data.shape)
        rows = data.astype(np.float64)
        scale = divisors_of(self.scale, rows, columns)
        state = self.random_state
        rng = np.random.default_rng(
            seed_of(state) if isinstance(state, np.random.RandomState) else state
        )
        with one_blas_thread():
            found = robpca(
                rows if scale is None else rows / scale,
                wanted,
                support=float(self.support),
                directions=int(self.n_directions),
                rng=rng,
            )
        axes = found.axes * fix_signs(found.axes)[:, None]
        mean = found.centre if scale is None else found.centre * scale
        inside = float(np.sqrt(chi2.ppf(_LEVEL, max(len(axes), 1))))
        where = mapped(about(data, mean, scale), axes, found.variances, inside, found.cutoff)
        self._keep(
            Robustly(
                mean,
                scale,
                axes,
                found.variances,
                found.total,
                where.score_distances,
                where.orthogonal_distances,
                inside,
                found.cutoff,
                found.h,
                data.dtype,
            )
        )

    def transform(self, X: Any) -> Any:
        """Scores of rows (n, k), in the precision of X."""
        return self._scores(X)

    @classmethod
    def _restored(cls, tensors: dict[str, Any], document: dict[str, Any]) -> Self:
        """The model of a file's contents, all of them checked."""
        found, parameters = restored(tensors, document)
        # A newer minor version may have added parameters, which may be ignored.
        known = cls._get_param_names()
        model = cls(**{name: value for name, value in parameters.items() if name in known})
        check_asked(model)
        model.n_features_in_ = len(found.mean)
        if document["columns"] is not None:
            model.feature_names_in_ = np.asarray(document["columns"], dtype=object)
        model.id_column_ = document["id_column"]
        model._keep(found)
        return model

    def _asked(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in RobustPCA._get_param_names()}

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.sparse = False
        return tags
