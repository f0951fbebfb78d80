"""KernelPCA: parameters in, a kernel matrix or images of rows, a spectrum, scores out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Self

from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin

from princomp.engines.distributed import Distributed
from princomp.errors import ParameterError
from princomp.inputs import checked_weights, with_weights
from princomp.kernel_pca.asked import Asked
from princomp.kernel_pca.errors import MeasuresErrors
from princomp.kernel_pca.fits import ExactFit, fit_exact, fit_given
from princomp.kernel_pca.images import fit_images, made_map
from princomp.kernel_pca.over_time import ImagesOverTime
from princomp.kernel_pca.rows import complete_rows, counted, filler_for, held, part, square
from princomp.kernel_pca.saving import Saves
from princomp.kernel_pca.scaled import with_divisors
from princomp.missing import METHODS
from princomp.progress import Tell
from princomp.sources.any import Rows
from princomp.sources.source import Source
from princomp.threads import at_most
from princomp.together import FitsOverRanks

__all__ = ["KernelPCA"]


class KernelPCA(
    ImagesOverTime,
    Saves,
    MeasuresErrors,
    FitsOverRanks,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    BaseEstimator,
):
    """Principal component analysis in the feature space of a kernel.

    A drop-in for :class:`sklearn.decomposition.KernelPCA` (Schölkopf, Smola & Müller 1998): its
    parameters, attributes and methods keep their names and meanings. The n × n kernel matrix is
    never needed whole, and with an approximation nothing of order n is.

    Parameters
    ----------
    n_components : int, float or None, default=None
        How many components; a fraction in (0, 1): the fewest whose accumulated rate exceeds
        it; None: all whose eigenvalue is not zero.
    kernel : str or callable, default="linear"
        "linear", "poly", "rbf", "sigmoid", "cosine", "laplacian", "chi2", "additive_chi2",
        "precomputed", or a function of two rows.
    gamma : float, "median" or None, default=None
        Of kernels that have it; None is 1/p, "median" 1/(2 m²) with the median distance m
        between rows.
    degree, coef0 : float, default=3, 1
        Of "poly"; "sigmoid" takes coef0.
    kernel_params : dict, optional
        Keyword arguments of a callable kernel.
    alpha : float, default=1.0
        Ridge of the learned pre-image.
    fit_inverse_transform : bool, default=False
        The same as ``pre_image="ridge"``.
    eigen_solver : {"auto", "dense", "arpack", "randomized"}, default="auto"
        "dense" is LAPACK; the other names all mean a search that goes on until each residual
        is met. "auto" decides by size.
    tol : float, default=0
        Residual, relative to the first eigenvalue, at which the search may stop; 0 is what
        rounding allows.
    max_iter, iterated_power
        Kept for scikit-learn's sake: the search ends at a residual.
    copy_X : bool, default=True
        Keep a copy of the rows: an exact fit needs them for ``transform``, and changes to X
        would reach it. X itself is never written to.
    remove_zero_eig : bool, default=False
        Leave out components whose eigenvalue is zero, as ``n_components=None`` does.
    random_state : int, RandomState, Generator or None, default=None
        Seed of landmarks and random features; None is 0. A generator gives another seed to
        each fit. All else is deterministic.
    n_jobs : int, optional
        Threads at most; all processors by default.
    approximation : {None, "nystrom", "features"}, default=None
        None is exact. "nystrom": rows by their kernel with some of them, the landmarks.
        "features": random Fourier features for "rbf" and "laplacian", sketches for "poly".
        Either way rows become images, which are summed as any rows are: they may be files,
        streams, tables of Dask and Spark or rows of ranks, and come by ``partial_fit``.
    n_landmarks : int or "auto", default="auto"
        Landmarks, or random features. "auto" doubles them until the estimated error is
        within ``approximation_tol``.
    landmarks : {"uniform", "kmeans", "leverage"} or array of shape (m, p), default="uniform"
        How they are chosen, or which they are.
    approximation_tol : float, default=0.01
        Share of the variance that may be missing (Nyström), or relative error of the kernel
        matrix (features), by estimate.
    pre_image : {None, "ridge", "fixed_point", "distance"}, default=None
        How ``inverse_transform`` finds rows: the map that ridge regression learns (Bakır,
        Weston & Schölkopf 2004), Mika et al.'s (1999) iteration, or Kwok and Tsang's (2004)
        distances to neighbours. For the linear kernel all are the exact inverse.
    n_neighbors : int, default=10
        Nearest points of ``pre_image="distance"``, and where "fixed_point" begins.
    missing : {"error", "drop", "em", "nipals"}, default="error"
        As for :class:`PCA`; cells are filled by ``n_components`` linear components. "em" and
        "nipals" take rows in memory.
    memory_limit : str, int or None, default=None
        By how much a fit may make the process grow.
    scale : None, "unit", "pareto", "range" or array of shape (p,), default=None
        What the columns are divided by before the kernel, as for :class:`PCA`; γ is of the
        scaled rows. Everything else stays in the units of the data: points, landmarks (also
        those that are given) and pre-images.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (k,)
        Of the centred kernel matrix, n − 1 times the variances.
    eigenvectors_ : ndarray of shape (n, k)
        Of length one, the largest |entry| of each positive. Exact fits only.
    explained_variance_, explained_variance_ratio_, accumulated_rate_ : ndarray of shape (k,)
        Of the images in the feature space.
    total_variance_ : float
        Of all their directions: the trace of the centred kernel matrix over n − 1.
    gamma_ : float
        As it was used.
    X_fit_ : array of shape (n, p)
        Rows of the fit.
    landmarks_ : array of shape (m, p) or None
    approximation_error_ : float
        Estimate, NaN where nothing was held out for it.
    dual_coef_, X_transformed_fit_ : ndarray of shape (n, p), (n, k)
        Of the learned pre-image.
    plan_ : KernelPlan
        Route, solver, reasons, passes and memory.
    certificate_ : Certificate
        Residuals, orthogonality, variances below resolution, inseparable pairs.
    n_components_, n_samples_, n_dropped_, n_features_in_ : int
    feature_names_in_ : ndarray of shape (p,)

    Examples
    --------
    >>> import numpy as np
    >>> from princomp import KernelPCA
    >>> X = np.array([[-1, -1], [-2, -1], [-3, -2], [1, 1], [2, 1], [3, 2]])
    >>> model = KernelPCA(2, kernel="rbf", gamma=0.04).fit(X)
    >>> print(model.explained_variance_ratio_.round(3))
    [0.843 0.127]
    """

    def __init__(
        self,
        n_components: int | float | None = None,
        *,
        kernel: str | Callable[..., Any] = "linear",
        gamma: float | str | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        alpha: float = 1.0,
        fit_inverse_transform: bool = False,
        eigen_solver: str = "auto",
        tol: float = 0,
        max_iter: int | None = None,
        iterated_power: int | str = "auto",
        remove_zero_eig: bool = False,
        random_state: Any = None,
        copy_X: bool = True,
        n_jobs: int | None = None,
        approximation: str | None = None,
        n_landmarks: int | str = "auto",
        landmarks: Any = "uniform",
        approximation_tol: float = 0.01,
        pre_image: str | None = None,
        n_neighbors: int = 10,
        missing: str = "error",
        memory_limit: int | str | None = None,
        scale: Any = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.alpha = alpha
        self.fit_inverse_transform = fit_inverse_transform
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.max_iter = max_iter
        self.iterated_power = iterated_power
        self.remove_zero_eig = remove_zero_eig
        self.random_state = random_state
        self.copy_X = copy_X
        self.n_jobs = n_jobs
        self.approximation = approximation
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.approximation_tol = approximation_tol
        self.pre_image = pre_image
        self.n_neighbors = n_neighbors
        self.missing = missing
        self.memory_limit = memory_limit
        self.scale = scale

    # ---- fitting ---------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        progress: Tell | None = None,
        comm: Any = None,
    ) -> Self:
        """Fit to rows, or to a kernel matrix.

        Parameters
        ----------
        X : array, sparse array, frame, path, iterator, …
            Of shape (n, p), as for :meth:`PCA.fit`; an exact fit holds them in memory. With
            ``kernel="precomputed"`` the kernel matrix (n, n).
        y : ignored
        sample_weight : array of shape (n,), optional
            Frequencies: weight 2 is the row twice; the divisor is Σw − 1.
        progress : callable, optional
            Called now and then with a :class:`~princomp.Progress`, by an approximation.
        comm : mpi4py communicator or torch.distributed group, optional
            As for :meth:`PCA.fit`; with an approximation only.

        Returns
        -------
        self

        Raises
        ------
        NotFiniteError
            At NaN or infinity, with the first place, and where a kernel is not finite.
        MemoryLimitError
            When the route does not fit in the memory limit.
        ShapeError, ParameterError, DataError
        """
        if comm is not None:
            self._fit_on_ranks(X, sample_weight, comm, progress)
            return self
        self._fit(X, sample_weight, progress, None)
        return self

    def _check_parameters(self) -> int | None:
        return self._approximated(Asked.of(self), "comm").memory

    def _approximated(self, asked: Asked, name: str) -> Asked:
        """Refuse what only approximations take."""
        if asked.approximation is None:
            raise ParameterError(
                f"{name} goes with an approximation only",
                place={"parameter": name},
                hint="give approximation='nystrom' or 'features', or leave it out",
            )
        return asked

    def _fit(self, X: Any, sample_weight: Any, progress: Tell | None, checkpoint: Any) -> Rows:
        asked = Asked.of(self)
        before = self.__dict__.copy()
        try:
            for name in ("_fitted", "_given", "_filler", "_learned"):
                self.__dict__.pop(name, None)
            with at_most(asked.threads):
                X, sample_weight = with_weights(X, sample_weight)
                data, columns, file = self._rows(X, reset=True)
                if asked.approximation is not None:
                    data = self._fit_images(data, sample_weight, asked, columns, file, progress)
                else:
                    data = self._fit_exactly(data, sample_weight, asked, columns, file)
                if asked.pre_image is not None:
                    self._learn(asked)
        except BaseException:
            self.__dict__ = before  # a fit that fails leaves the earlier one as it was
            raise
        return data, columns, file

    def _fit_exactly(
        self, data: Any, weights: Any, asked: Asked, columns: Any, file: str | None
    ) -> Any:
        rows = held(data, asked.limit)
        n = rows.shape[0]
        weights = checked_weights(weights, n)
        if asked.precomputed:
            rows, _ = complete_rows(square(rows), asked, columns, file, None)
            counted(rows, weights)  # refuses weights that are all zero
            self._given = rows
            self._fitted = fit_given(rows, weights, asked)
        else:
            self._filler = filler_for(asked, rows, weights, self.memory_limit)
            rows, kept = complete_rows(rows, asked, columns, file, self._filler)
            dropped = n - rows.shape[0]
            rows, weights = counted(rows, weights if kept is None else part(weights, kept))
            if self.copy_X and rows is data:
                rows = rows.copy()  # the model keeps them, whatever becomes of the caller's
            asked = with_divisors(asked, rows, weights, columns, file)
            fitted = fit_exact(asked.function(rows), rows, weights, asked, dropped=dropped)
            self._fitted = replace(fitted, complete=len(fitted.spectrum.axes.T) == n)
        if self.remove_zero_eig:
            self._fitted = self._fitted.without_zeros()
        return rows

    def _fit_images(
        self,
        data: Any,
        weights: Any,
        asked: Asked,
        columns: Any,
        file: str | None,
        progress: Tell | None,
    ) -> Any:
        weights = checked_weights(weights, data.shape[0])
        if asked.missing in METHODS:
            data = held(data, asked.limit)
            self._filler = filler_for(asked, data, weights, self.memory_limit)
            data, _ = complete_rows(data, asked, columns, file, self._filler)
        if not isinstance(data, Source):
            # A row that does not count is no landmark.
            data, weights = counted(data, weights)
        asked = with_divisors(asked.seeded(), data, weights, columns, file)
        made = made_map(data, asked)
        self._fitted = fit_images(made, self._images_model(asked), asked, weights, progress)
        return data

    def fit_transform(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, comm: Any = None
    ) -> Any:
        """Fit, and the scores of the same rows.

        Raises
        ------
        ParameterError
            For an iterator, which gives its rows once.
        """
        if comm is not None:
            return self._scores_here(X, self._fit_on_ranks(X, sample_weight, comm, again=True))
        if isinstance(X, Iterator) and self.approximation is not None:
            raise ParameterError(
                "fit_transform reads the rows twice, and an iterator gives them once",
                place={"parameter": "X"},
                hint="give a function that makes a new iterator: fit_transform(lambda: batches())",
            )
        rows = self._fit(X, sample_weight, None, None)
        fitted = self._fitted
        if isinstance(fitted, ExactFit) and fitted.complete:
            return fitted.training_scores
        # A column of weights is not among the columns of the fit.
        return self._scores_of(*rows) if isinstance(rows[0], Distributed) else self._scores(X)

    # ---- using -------------------------------------------------------------------------

    def transform(self, X: Any) -> Any:
        """Scores of rows: their centred images on the axes.

        Parameters
        ----------
        X : array, sparse array, frame or path, of shape (n, p)
            With ``kernel="precomputed"`` the kernel of each row with each row of the fit.

        Returns
        -------
        ndarray of shape (n, k)
            In the precision of X.
        """
        return self._scores(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        # A pre-image has no zeros to leave out.
        tags.input_tags.sparse = not (self.fit_inverse_transform or self.pre_image)
        tags.input_tags.allow_nan = self.missing != "error"
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags
