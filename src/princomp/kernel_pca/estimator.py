"""KernelPCA: an estimator with scikit-learn's conventions for exact and approximate fits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from os import PathLike
from typing import Any, Self, TypeVar

import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin

from princomp.core import RandomState, attach_weights
from princomp.engines import ProgressCallback
from princomp.errors import ParameterError
from princomp.estimators import (
    ResultAttribute,
    TableEstimator,
    estimator_from_document,
    fit_on_ranks,
    refuse_reading_twice,
)
from princomp.io import Arrays, Document, RowArray, Rows
from princomp.kernel_pca import fitting, row_errors, scoring
from princomp.kernel_pca.contents import model_from_contents, model_to_contents
from princomp.kernel_pca.parameters import KernelParameters, is_precomputed
from princomp.kernel_pca.pre_images.ridge import Ridge
from princomp.kernel_pca.rows import in_memory
from princomp.kernel_pca.scoring import Inverse, KernelFit, KernelPCAModel, inverse_of
from princomp.linalg import FloatArray, byte_count, frozen, limit_threads
from princomp.summaries import SampleWeight, is_sparse

T = TypeVar("T")


class _Attribute(ResultAttribute[KernelFit, T]):
    """An attribute of KernelPCA."""


class KernelPCA(
    TableEstimator[KernelPCAModel], ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """Principal component analysis in the feature space of a kernel.

    A drop-in replacement for :class:`sklearn.decomposition.KernelPCA` (Schölkopf, Smola & Müller
    1998): its parameters, attributes and methods keep their names and meanings. For a few
    components the n × n kernel matrix need not fit in memory; with an approximation, memory does
    not grow with n.

    Parameters
    ----------
    n_components : int, float or None, default=None
        Number of components. A fraction in (0, 1) keeps the fewest components whose accumulated
        rate exceeds it; None keeps all components whose eigenvalue is not zero.
    kernel : str or callable, default="linear"
        "linear", "poly", "rbf", "sigmoid", "cosine", "laplacian", "chi2", "additive_chi2",
        "precomputed", or a function of two rows.
    gamma : float, "median" or None, default=None
        γ of the kernels that have it. None means 1/p; "median" means 1/(2 m²), where m is the
        median distance between rows, or between a sample of 1,500 of them; weights are not used.
        For "laplacian" and "chi2" it means 1/m, where m is the median of the distances that the
        kernel multiplies by γ: Σ|x − y| and Σ(x − y)²/(x + y).
    degree, coef0 : float, default=3, 1
        For "poly"; "sigmoid" also uses coef0.
    kernel_params : dict, optional
        Keyword arguments of a callable kernel.
    alpha : float, default=1.0
        Ridge penalty of the learned pre-image.
    fit_inverse_transform : bool, default=False
        Equivalent to ``pre_image="ridge"``.
    eigen_solver : {"auto", "dense", "arpack", "randomized"}, default="auto"
        "dense" uses LAPACK; "arpack" and "randomized" both mean a search that ends when each
        residual is small enough. "auto" decides by size.
    tol : float, default=0
        Residual, relative to the first eigenvalue, at which the search may stop; 0 means the
        smallest that rounding allows.
    max_iter, iterated_power
        For compatibility with scikit-learn: the search ends at a residual.
    copy_X : bool, default=True
        Keep a copy of the rows, which an exact fit needs for ``transform``. Without the copy,
        later changes to X would change the model. X itself is never modified. A kernel matrix is
        not copied: only ``X_fit_`` needs it, and is a read-only view of it.
    remove_zero_eig : bool, default=False
        Leave out components whose eigenvalue is zero, as ``n_components=None`` does.
    random_state : int, RandomState, Generator or None, default=None
        Seed of landmarks and random features; None means 0. A generator gives each fit a
        different seed. Everything else is deterministic.
    n_jobs : int, optional
        Maximum number of threads; by default all processors, or ``OMP_NUM_THREADS``.
    approximation : {None, "nystrom", "features"}, default=None
        None is exact. "nystrom": each row is represented by its kernel with some of the rows,
        the landmarks. "features": random Fourier features for "rbf" and "laplacian", sketches
        for "poly". Both map rows to images, which are summed block by block, so rows may come
        from files, streams, tables of Dask and Spark or several ranks, and ``partial_fit`` can
        add more.
    n_landmarks : int or "auto", default="auto"
        Number of landmarks or of random features. "auto" doubles it until the estimated error
        is within ``approximation_tol``.
    landmarks : {"uniform", "kmeans", "leverage"} or array of shape (m, p), default="uniform"
        How landmarks are chosen, or the landmarks themselves.
    approximation_tol : float, default=0.01
        Largest estimated error: the share of the variance that is missing (Nyström), or the
        relative error of the kernel matrix (features).
    pre_image : {None, "ridge", "fixed_point", "distance"}, default=None
        How ``inverse_transform`` finds rows: "ridge" learns a map by ridge regression (Bakır,
        Weston & Schölkopf 2004), "fixed_point" is the iteration of Mika et al. (1999), and
        "distance" uses distances to neighbours (Kwok & Tsang 2004). For the linear kernel, all
        of them are the exact inverse. "chi2" and "additive_chi2" have none.
    n_neighbors : int, default=10
        Number of nearest points for ``pre_image="distance"`` and for the start of "fixed_point".
    missing : {"error", "drop", "em", "nipals"}, default="error"
        As for :class:`PCA`; cells are filled by ``n_components`` linear components. "em" and
        "nipals" need rows in memory.
    memory_limit : str, int or None, default=None
        Maximum growth of the memory of the process during a fit.
    scale : None, "unit", "pareto", "range" or array of shape (p,), default=None
        How the columns are divided before the kernel is computed, as for :class:`PCA`; γ
        applies to the scaled rows. Everything else is in the units of the data: points,
        landmarks (including those that are passed) and pre-images.
    component_names : {"PC", "sklearn"}, default="PC"
        Names of the scores in ``get_feature_names_out`` and in frames: PC1, PC2, …, or those of
        scikit-learn: kernelpca0, ….

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (k,)
        Eigenvalues of the centred kernel matrix, n − 1 times the variances.
    eigenvectors_ : ndarray of shape (n, k)
        Unit eigenvectors; the entry of each that is largest in absolute value is positive.
        Exact fits only.
    explained_variance_, explained_variance_ratio_, accumulated_rate_ : ndarray of shape (k,)
        Variances of the images in the feature space, and their rates.
    total_variance_ : float
        Trace of the centred kernel matrix over n − 1. If the components have more variance,
        because other eigenvalues are negative, it is their sum, and depends on
        ``n_components``.
    gamma_ : float
        γ of the fit.
    X_fit_ : array of shape (n, p)
        Rows of the fit.
    landmarks_ : array of shape (m, p) or None
    approximation_error_ : float
        Estimated error of the approximation. After a fit, NaN unless ``n_landmarks="auto"``, if no
        rows were held out to estimate it, or if their variance may be rounding. After
        ``partial_fit``, ``merge`` or ``forget``, it is computed for all rows with landmarks and
        "rbf", "laplacian" or "chi2"; otherwise it is NaN.
    dual_coef_, X_transformed_fit_ : ndarray of shape (n, p), (n, k)
        Coefficients and scores of the learned pre-image.
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
        random_state: RandomState = None,
        copy_X: bool = True,
        n_jobs: int | None = None,
        approximation: str | None = None,
        n_landmarks: int | str = "auto",
        landmarks: str | npt.ArrayLike = "uniform",
        approximation_tol: float = 0.01,
        pre_image: str | None = None,
        n_neighbors: int = 10,
        missing: str = "error",
        memory_limit: int | str | None = None,
        scale: str | npt.ArrayLike | None = None,
        component_names: str = "PC",
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
        self.component_names = component_names

    # Methods with a file of their own.
    partial_fit = fitting.partial_fit
    forget = fitting.forget
    merge = fitting.merge
    inverse_transform = scoring.inverse_transform
    reconstruction_error = row_errors.reconstruction_error
    pre_image_error = row_errors.pre_image_error
    score = row_errors.score

    # The pre-images made so far.
    _inverse: Inverse | None = None
    _result: KernelFit

    # ---- fitting ---------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: object = None,
        sample_weight: SampleWeight = None,
        *,
        progress: ProgressCallback | None = None,
        comm: object = None,
    ) -> Self:
        """Fit to rows, or to a kernel matrix.

        Parameters
        ----------
        X : array, sparse array, frame, path, iterator, …
            Rows of shape (n, p), as for :meth:`PCA.fit`; an exact fit keeps them in memory.
            With ``kernel="precomputed"``, the kernel matrix (n, n).
        y : ignored
        sample_weight : array of shape (n,), optional
            Frequencies: weight 2 counts the row twice, and the divisor of variances is Σw − 1.
        progress : callable, optional
            Called repeatedly with a :class:`~princomp.Progress`, by an approximation only.
        comm : mpi4py communicator or torch.distributed group, optional
            As for :meth:`PCA.fit`; with an approximation only.

        Returns
        -------
        self

        Raises
        ------
        NotFiniteError
            For NaN or infinity, with the first place, and if a kernel is not finite.
        MemoryLimitError
            If the fit needs more memory than the limit.
        ShapeError, ParameterError, DataError
        """
        self._fit(X, sample_weight, comm, progress)
        return self

    def _fit(
        self,
        X: object,
        sample_weight: SampleWeight,
        comm: object,
        progress: ProgressCallback | None = None,
        *,
        rereads: bool = False,
    ) -> Rows:
        """Fit, and return the rows as they were read; with ``comm``, those of this rank.

        ``rereads`` says that the caller will read the rows again, so an iterator is refused where
        the fit does not keep its rows.
        """
        if comm is not None:
            check = self._check_for_ranks
            rows = fit_on_ranks(self, X, sample_weight, comm, check, progress, rereads=rereads)
            self._inverse = None
            return rows
        if rereads and self.approximation is not None:
            refuse_reading_twice(X)
        parameters, inverse = KernelParameters.of(self), None
        fitted: KernelFit
        with limit_threads(parameters.threads):
            X, sample_weight = attach_weights(X, sample_weight)
            rows, schema = self._open_table(X, first=True)
            if parameters.approximation is None:
                if isinstance(X, Iterator):  # fit_transform may need the rows again
                    rows = (in_memory(rows[0], parameters.limit), *rows[1:])
                fitted = fitting.fit_exact(rows, sample_weight, parameters)
            else:
                fitted = fitting.fit_images(rows, sample_weight, parameters, progress)
            if parameters.pre_image is not None:
                inverse = inverse_of(fitted, parameters, None)
        self._schema, self._fitted, self._inverse = schema, fitted, inverse
        return rows

    def _check_for_ranks(self) -> int | None:
        """Check the parameters of a fit over ranks; return the memory limit in bytes, or None."""
        if KernelParameters.of(self).approximation is None:
            raise ParameterError(
                "comm needs an approximation",
                place={"parameter": "comm"},
                hint="use approximation='nystrom' or 'features', or leave it out",
            )
        return None if self.memory_limit is None else byte_count(self.memory_limit)

    def fit_transform(
        self,
        X: Any,
        y: object = None,
        sample_weight: SampleWeight = None,
        *,
        progress: ProgressCallback | None = None,
        comm: object = None,
    ) -> Any:
        """Fit, and return the scores of the same rows. The options are those of ``fit``.

        Raises
        ------
        ParameterError
            For an iterator, with an approximation: its rows can be read only once.
        """
        data, _, origin = self._fit(X, sample_weight, comm, progress, rereads=True)
        if self._result.complete:
            return self._result.training_scores
        return self._training_scores(X, data, origin)

    @property
    def plot(self) -> Any:
        """Figures: ``model.plot.scree()`` is ``princomp.plots.scree(model)``."""
        # Imported here, because the figures import this class and load matplotlib.
        return import_module("princomp.plots").Plots(self)

    # ---- scores and files ----------------------------------------------------------------

    def transform(self, X: Any) -> Any:
        """Compute scores of rows: their centred images on the axes.

        Parameters
        ----------
        X : array, sparse array, frame or path, of shape (n, p)
            With ``kernel="precomputed"`` the kernel of each row with each row of the fit.

        Returns
        -------
        ndarray of shape (n, k)
            In the precision of X.

        Raises
        ------
        NotFiniteError
            For NaN or infinity, with the first place, and for a row whose scores overflow.
        ShapeError, ColumnError
        """
        return self._scores(X)

    def save(self, path: str | PathLike[str], *, overwrite: bool = True) -> None:
        """Write the model to a file; see :func:`princomp.load`.

        An exact fit keeps its rows, so the file contains them. A precomputed kernel matrix is not
        saved: a loaded model then has no ``X_fit_``. Parameters that were set after the fit are
        saved as they are, for the next fit.

        Raises
        ------
        ParameterError
            For a kernel that is a Python function, for a kernel other than that of the fit, and
            for invalid parameters.
        OutputExistsError
            If the file exists and ``overwrite`` is false.
        OutputError
            If the file cannot be written.
        """
        super().save(path, overwrite=overwrite)

    def _contents(self) -> tuple[Arrays, Document]:
        fitted, inverse, ridge = self._result, self._inverse, None
        parameters = KernelParameters.of(self)  # a file with invalid ones could not be read
        if inverse is not None and inverse.belongs_to(fitted, parameters):
            # Other pre-images are not saved: they are computed from the fit.
            ridge = inverse.pre_images if isinstance(inverse.pre_images, Ridge) else None
        return model_to_contents(fitted, ridge, self.get_params(deep=False), self._schema)

    @classmethod
    def _from_contents(cls, tensors: Arrays, document: Document) -> Self:
        """Create the model from the contents of a file, all of them checked."""
        fitted, ridge, values = model_from_contents(tensors, document)
        model = estimator_from_document(cls, values, document["features"], document)
        parameters = KernelParameters.of(model)
        model._fitted = fitted
        if ridge is not None:
            model._inverse = Inverse(fitted.spectrum, parameters.pre_image_settings, ridge)
        return model

    # ---- attributes ----------------------------------------------------------------------

    explained_variance_ = _Attribute(
        lambda fit: fit.spectrum.variances[: fit.k],
        "Variances of the components (k,) in the feature space, with n − 1.",
    )
    explained_variance_ratio_ = _Attribute(
        lambda fit: fit.spectrum.rates[: fit.k], "Contribution rates (k,)."
    )
    contribution_rate_ = explained_variance_ratio_

    accumulated_rate_ = _Attribute(
        lambda fit: fit.spectrum.accumulated[: fit.k], "Running sum of the contribution rates (k,)."
    )
    total_variance_ = _Attribute(
        lambda fit: float(fit.spectrum.total),
        "Total variance in the feature space; for an approximation, that of the images. The sum of "
        "``explained_variance_`` if this is larger, because other eigenvalues are negative.",
    )

    eigenvalues_ = _Attribute(
        lambda fit: (fit.spectrum.variances[: fit.k] * fit.divisor).astype(fit.dtype),
        "Eigenvalues of the centred kernel matrix (k,): n − 1 times the variances.",
    )
    eigenvectors_ = _Attribute(
        lambda fit: fit.eigenvectors,
        "Unit eigenvectors of the centred kernel matrix (n, k); not available for an "
        "approximation, which keeps nothing of order n.",
    )

    @property
    def X_fit_(self) -> RowArray:  # noqa: N802  (scikit-learn's name)
        """Rows of the fit (n, p), its kernel matrix (n, n), or the landmarks (m, p).

        Raises
        ------
        NotAvailableError
            If none of these was kept.
        """
        return _frozen_rows(self._result.points)

    @property
    def landmarks_(self) -> RowArray | None:
        """Landmarks (m, p) of ``approximation="nystrom"``, else None."""
        return _frozen_rows(self._result.landmarks)

    scale_ = _Attribute(lambda fit: fit.kernel.divisors, "Divisors of the columns (p,), or None.")

    @property
    def gamma_(self) -> float:
        """γ of the kernel; for a kernel without γ the parameter, or 1/p (1/n if precomputed)."""
        gamma = self._result.plan.gamma if self._result.kernel.takes_gamma else self.gamma
        if gamma is None or isinstance(gamma, str):
            return 1.0 / self.n_features_in_
        return float(gamma)

    @property
    def approximation_error_(self) -> float:
        """Estimated error of an approximation; 0 for an exact fit, NaN without an estimate.

        It is the share of the variance in the feature space that is missing (Nyström), or the
        relative error of the kernel matrix (random features). After ``partial_fit``, ``forget`` or
        ``merge``, it is the share that all rows together lose with landmarks and "rbf",
        "laplacian" or "chi2", where k(x, x) is 1; NaN otherwise, because sums of images do not
        contain it.
        """
        return float(self._result.approximation_error)

    n_samples_ = _Attribute(lambda fit: int(fit.n_samples), "Number of rows used.")
    n_dropped_ = _Attribute(
        lambda fit: int(fit.dropped), "Number of rows left out for missing values."
    )
    plan_ = _Attribute(lambda fit: fit.plan, "How the fit ran.")
    certificate_ = _Attribute(
        lambda fit: fit.certificate,
        "Residuals, orthogonality and what they imply; for an approximation, of the images.",
    )

    @property
    def dual_coef_(self) -> FloatArray:
        """Coefficients (n, p) of the learned pre-image."""
        ridge = scoring.learned_pre_image(self, "dual_coef_")
        return frozen(ridge.coefficients.astype(self._result.dtype))

    @property
    def X_transformed_fit_(self) -> FloatArray:  # noqa: N802  (scikit-learn's name)
        """Scores (n, k) that the pre-image was learned from."""
        return frozen(scoring.learned_pre_image(self, "X_transformed_fit_").scores)

    # ---- conventions ---------------------------------------------------------------------

    def __fitted_model__(self) -> KernelPCAModel:
        return KernelPCAModel(self._result, self._schema, self.missing)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Pre-images of sparse rows would be dense.
        tags.input_tags.sparse = not (self.fit_inverse_transform or self.pre_image)
        tags.input_tags.allow_nan = self.missing != "error"
        tags.input_tags.pairwise = is_precomputed(self)
        return tags


def _frozen_rows(rows: RowArray | None) -> RowArray | None:
    """Return a read-only view of dense or CSR rows, which may be the caller's."""
    if rows is None:
        return None
    if not is_sparse(rows):
        return frozen(rows.view())
    values = frozen(rows.data.view())
    return sp.csr_array((values, rows.indices, rows.indptr), shape=rows.shape)
