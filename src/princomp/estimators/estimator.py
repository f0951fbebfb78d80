"""PCA: principal component analysis in scikit-learn's conventions."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Self

from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin

from princomp import core
from princomp.core import Fitted, LazyFit, PCAModel, PCAParameters, RandomState, Request, fit_table
from princomp.engines import ProgressCallback
from princomp.errors import InUseError, warn
from princomp.estimators import base, batches, derived, notebook, results
from princomp.estimators.base import FittedAttribute, TableEstimator
from princomp.estimators.ranks import fit_on_ranks
from princomp.io import Checkpoint, PathLike, Rows
from princomp.rules import Rule
from princomp.summaries import SampleWeight

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

# Every call that scores rows reads all parameters.
_get_parameters = attrgetter(*PCAParameters._fields)


class PCA(
    TableEstimator[PCAModel], ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """Principal component analysis.

    A drop-in replacement for :class:`sklearn.decomposition.PCA`: parameters, attributes
    and methods have the same names and meanings. A fit keeps a summary of the rows, not
    the rows themselves, and every attribute is derived from the summary.

    Parameters
    ----------
    n_components : int, float, str, rule or None, default=None
        How many components to keep. A whole number; a fraction in (0, 1), for the fewest
        components whose accumulated rate exceeds it; a rule by name (``"parallel"``,
        ``"gavish-donoho"``, ``"mle"``, …, see :mod:`princomp.rules`) or as an object, which
        has options and may be your own; None for min(n, p), where a row of weight 2 counts
        twice. ``svd_solver="sketch"`` needs a whole number.
    copy : bool, default=True
        For compatibility with scikit-learn. The input is never changed.
    whiten : bool, default=False
        Scale the scores to unit variance. Components below the fit's resolution get zero
        scores, because division by their standard deviation would only amplify noise.
    svd_solver : str, default="auto"
        ``"auto"`` chooses by shape, gives its reasons in ``plan_``, and takes a more exact
        route if a wanted variance needs it. ``"covariance_eigh"``: one pass and an
        eigendecomposition. ``"full"``: QR and SVD of the rows, without forming products, so
        that small variances keep their digits. ``"arpack"``: Lanczos iterations to a
        residual, for fewer than min(n, p) components; ``"lanczos"`` is the same without
        that limit. ``"randomized"``: scikit-learn's
        algorithm, with one more product unless n < p. ``"row_gram"``: n × n products of the
        rows. ``"krylov"``: rows are read block by block, as often as needed, and p × p is
        never formed. ``"sketch"``: rows are read once, with p·l numbers in memory for a sketch
        of width l = 4k + 20, and the error is estimated.
    tol : float, default=0.0
        Residual at which Lanczos may stop, relative to the first variance; 0 means
        machine precision.
    iterated_power : int or "auto", default="auto"
        Number of power iterations of ``"randomized"``.
    n_oversamples : int, default=10
        Number of additional vectors of ``"randomized"``; other solvers ignore it, also
        ``"sketch"``.
    power_iteration_normalizer : {"auto", "QR", "LU", "none"}, default="auto"
        Normalisation between the power iterations of ``"randomized"``.
    random_state : int, RandomState, Generator or None, default=None
        Seed of ``"randomized"`` (all other solvers are deterministic), and of rules that
        use random numbers, for which None means 0.
    memory_limit : str, int or None, default=None
        How much memory a fit may take in addition to what the process already uses, such as
        ``"2GB"``, or a number of bytes. None: 60% of the free memory. A fit that would
        exceed the limit is refused before any rows are read.
    decay : float or None, default=None
        For ``partial_fit``: a row seen r rows ago has weight decayʳ. ``fit`` gives all rows
        weight 1 and warns.
    scale : None, "unit", "pareto", "range" or array of shape (p,), default=None
        Divisors of the columns: none; standard deviations (correlation PCA); their square
        roots; largest minus smallest values; or the given ones.
    constant : {"error", "zero", "drop"}, default="error"
        How a constant column is treated. Under ``scale="unit"``, ``"pareto"`` or ``"range"``,
        ``"error"`` raises an error with its name, and ``"zero"`` gives it zero loadings, with a
        note in the plan. ``"drop"`` does so, too, and leaves the column out of the count of
        columns, under any ``scale``: rules do not see it, ``noise_variance_`` is the mean over
        the other columns, and ``n_components=None`` keeps one component less. Without centring,
        no column is left out.
    center : bool, default=True
        Subtract the column means. Without centring, ``explained_variance_`` are mean squares
        about zero, still divided by n − 1.
    missing : {"error", "drop", "em", "nipals"}, default="error"
        How NaN, or a masked value, is treated in ``fit``. ``"error"`` raises an error with the
        place. ``"drop"`` leaves out such rows, counts them (``n_dropped_``) and warns if they
        are more than half. ``"em"`` (regularised EM-PCA) and ``"nipals"`` fill the cells by a
        whole number of components, with all rows in memory; ``imputed_`` describes the result.
        In ``transform``, ``"drop"`` gives NaN scores, so that rows stay aligned, and the other
        two fill the cells.
    component_names : {"PC", "sklearn"}, default="PC"
        Names of the scores in ``get_feature_names_out`` and in frames: PC1, PC2, …, or those of
        scikit-learn: pca0, pca1, ….

    Attributes
    ----------
    components_ : ndarray of shape (k, p)
        Axes of unit length, one per row, in the precision of the data. The entry of each axis
        that is largest in absolute value is positive.
    explained_variance_ : ndarray of shape (k,)
        Variances λ, in squared units. This and all statistics below are float64.
    explained_variance_ratio_, contribution_rate_ : ndarray of shape (k,)
        λ over the total variance.
    accumulated_rate_ : ndarray of shape (k,)
        Running sum of the contribution rates.
    singular_values_ : ndarray of shape (k,)
        √((n − 1) λ).
    loadings_ : ndarray of shape (p, k)
        Axes times √λ.
    mean_, var_ : ndarray of shape (p,)
        Means (zero without centring) and variances of the columns as given.
    scale_ : ndarray of shape (p,) or None
        Divisors of the columns.
    total_variance_ : float
        Sum of all p variances of the analysed columns.
    noise_variance_ : float
        Mean variance of the p − k components left out.
    n_components_, n_features_in_ : int
    decision_ : Decision or None
        Decision of the rule that chose ``n_components_``.
    n_samples_ : int
        Number of rows used.
    n_dropped_ : int
        Number of rows with a weight above zero that were left out because of missing values.
    imputed_ : Filled or None
        Record of the cells that were filled: number, share, iterations, convergence.
    feature_names_in_ : ndarray of shape (p,)
        Column names, if the input has them.
    plan_ : Plan
        Summary, solver, reasons, passes and memory.
    certificate_ : Certificate
        Residuals, orthogonality, variances below resolution, inseparable pairs.
    summary_ : Moments, Triangle, Columns or Sketch
        Summary of the rows that the fit kept.
    id_column_ : str or None
        The column with the names of the rows, for a model made by the command line.

    Examples
    --------
    >>> import numpy as np
    >>> from princomp import PCA
    >>> X = np.array([[-1, -1], [-2, -1], [-3, -2], [1, 1], [2, 1], [3, 2]])
    >>> model = PCA(n_components=2).fit(X)
    >>> print(model.explained_variance_ratio_.round(4))
    [0.9924 0.0076]
    """

    def __init__(
        self,
        n_components: int | float | str | Rule | None = None,
        *,
        copy: bool = True,
        whiten: bool = False,
        svd_solver: str = "auto",
        tol: float = 0.0,
        iterated_power: int | str = "auto",
        n_oversamples: int = 10,
        power_iteration_normalizer: str = "auto",
        random_state: RandomState = None,
        scale: str | ArrayLike | None = None,
        center: bool = True,
        missing: str = "error",
        memory_limit: int | str | None = None,
        decay: float | None = None,
        constant: str = "error",
        component_names: str = "PC",
    ) -> None:
        self.n_components = n_components
        self.copy = copy
        self.whiten = whiten
        self.svd_solver = svd_solver
        self.tol = tol
        self.iterated_power = iterated_power
        self.n_oversamples = n_oversamples
        self.power_iteration_normalizer = power_iteration_normalizer
        self.random_state = random_state
        self.scale = scale
        self.center = center
        self.missing = missing
        self.memory_limit = memory_limit
        self.decay = decay
        self.constant = constant
        self.component_names = component_names

    # Methods that are defined in other files.
    partial_fit = batches.partial_fit
    forget = batches.forget
    merge = batches.merge
    finalize = batches.finalize
    from_covariance = classmethod(derived.from_covariance)
    from_summary = classmethod(derived.from_summary)
    from_sklearn = classmethod(derived.from_sklearn)
    rescaled = derived.rescaled
    truncated = derived.truncated
    inverse_transform = results.inverse_transform
    score_samples = results.score_samples
    score = results.score
    get_covariance = results.get_covariance
    get_precision = results.get_precision
    impute = results.impute
    verify = results.verify

    # The fit of all ranks, and the checkpoint of the last fit, if any.
    _shared: Fitted | None = None
    _checkpoint: str | None = None

    # ---- fitting ---------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: object = None,
        sample_weight: SampleWeight = None,
        *,
        progress: ProgressCallback | None = None,
        checkpoint: PathLike | None = None,
        comm: object = None,
    ) -> Self:
        """Fit to rows in memory, in files, in batches or on an engine.

        Parameters
        ----------
        X : array, sparse array, frame, path, list of paths, iterator or callable
            Of shape (n, p). Any numeric dtype and layout; float32 stays float32. Frames of
            pandas, polars and pyarrow keep their column names. Large files are read block
            by block; several files, a path with wildcards or a folder form one table, whose
            columns are matched by name. An iterator yields batches: arrays, sparse matrices, frames
            or record batches. A callable that returns a new iterator can be read repeatedly.
        y : ignored
        sample_weight : array of shape (n,), optional
            Frequencies: a row of weight 2 counts twice, and the divisor is Σw − 1. With sampling
            weights w, ``w * w.sum() / (w**2).sum()`` lets the rows count as their effective number.
        progress : callable, optional
            Called from time to time with a :class:`~princomp.Progress`.
        checkpoint : path, optional
            A file that is written during the fit, at most 30 seconds apart. After an
            interruption, the same call resumes from it, and the result is the same to the
            bit. ``save`` deletes the file.
        comm : mpi4py communicator or torch.distributed group, optional
            Each rank makes this call with its own rows (if it has none, an array of shape
            (0, p) or None), and gets the model of the rows of all ranks, the same to the
            bit. An error on one rank is raised on all. ``progress`` is called on rank 0.

        Returns
        -------
        self

        Raises
        ------
        NotFiniteError
            For NaN or infinity; the message gives the first place.
        MemoryLimitError
            If no route fits in the memory limit; no rows are read then.
        CheckpointError, InUseError
            If the checkpoint belongs to another run, or is in use by another run.
        ShapeError, ConstantColumnError, ParameterError
        """
        self._fit(X, sample_weight, comm, progress, checkpoint)
        return self

    def _fit(
        self,
        X: object,
        sample_weight: SampleWeight,
        comm: object,
        progress: ProgressCallback | None = None,
        checkpoint: PathLike | None = None,
        *,
        rereads: bool = False,
    ) -> Rows:
        """Fit, and return the rows as they were read; with ``comm``, those of this rank.

        ``rereads`` says that the caller will read the rows again, so an iterator is refused.
        """
        if comm is not None:

            def check() -> int | None:
                return Request.of(self).memory

            rows = fit_on_ranks(
                self, X, sample_weight, comm, check, progress, checkpoint, rereads=rereads
            )
            self._shared, self._checkpoint = self._fitted, None
            return rows
        if rereads:
            base.refuse_reading_twice(X)
        result, schema, rows = fit_table(
            X,
            self._parameters(),
            sample_weight,
            owner=type(self).__name__,
            progress=progress,
            checkpoint=checkpoint,
        )
        saved = None if checkpoint is None else os.path.abspath(os.path.expanduser(checkpoint))
        self._schema, self._fitted, self._checkpoint = schema, result, saved
        if self.decay not in (None, 1.0):
            warn(
                f"fit gives all rows weight 1: decay={self.decay:g} applies to rows that "
                "partial_fit or merge add later. To fade the rows of this fit, too, pass them to "
                "partial_fit of a new model"
            )
        if schema.names is not None:
            self._warn_of_unequal_columns(
                X, partial(core.unequal_columns, result), core.unit_scale(result)
            )
        return rows

    def fit_transform(
        self,
        X: Any,
        y: object = None,
        sample_weight: SampleWeight = None,
        *,
        progress: ProgressCallback | None = None,
        checkpoint: PathLike | None = None,
        comm: object = None,
    ) -> Any:
        """Fit, then transform the same rows: exactly ``fit(X).transform(X)``.

        The options are those of ``fit``. With ``comm`` each rank gets the scores of its own rows.

        Raises
        ------
        ParameterError
            For an iterator, whose rows can be read only once.
        """
        data, _, origin = self._fit(X, sample_weight, comm, progress, checkpoint, rereads=True)
        return self._training_scores(X, data, origin)

    # ---- using -------------------------------------------------------------------------

    def transform(self, X: Any) -> Any:
        """Scores of rows: centre (and scale), then project.

        Parameters
        ----------
        X : array, sparse array, frame or path, of shape (n, p)

        Returns
        -------
        ndarray of shape (n, k)
            In the precision of X. A frame after ``set_output``; for rows on Dask, Spark or a
            device, a table or array there.

        Raises
        ------
        NotFiniteError
            For infinity and, with ``missing="error"``, NaN; the message gives the first place.
        ShapeError, ColumnError
            For other columns than those of the fit.
        """
        return self._scores(X)

    def save(self, path: PathLike, *, overwrite: bool = True) -> None:
        """Write the model to a file; see :func:`princomp.load`.

        Parameters that were set after the fit are saved as they are, for the next fit. A random
        number generator in ``random_state`` is not kept: it becomes None.

        Raises
        ------
        OutputExistsError
            If the file exists and ``overwrite`` is false.
        """
        super().save(path, overwrite=overwrite)
        if self._checkpoint is not None:
            # Another run may use a checkpoint of this name now.
            with suppress(InUseError, OSError), Checkpoint.locked(self._checkpoint):
                Checkpoint.remove(self._checkpoint)
            self._checkpoint = None

    def __getstate__(self) -> dict[str, Any]:
        # The checkpoint belongs to this model: a copy must not delete it.
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_checkpoint"}

    @property
    def plot(self) -> Any:
        """Figures: ``model.plot.scree()`` is ``princomp.plots.scree(model)``."""
        # Imported by name: figures belong to a higher layer and load matplotlib.
        return import_module("princomp.plots").Plots(self)

    # ---- the fitted model ----------------------------------------------------------------

    def _parameters(self) -> PCAParameters:
        return PCAParameters._make(_get_parameters(self))

    @property
    def _result(self) -> Fitted:
        """The result of the fit, solved."""
        fitted: Fitted | LazyFit = self._require_fit()
        return fitted.fitted if isinstance(fitted, LazyFit) else fitted

    def __fitted_model__(self) -> PCAModel:
        """The fitted model; see :func:`princomp.core.fitted_model`."""
        return PCAModel(self._result, self._schema, self._parameters())

    def _contents(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return core.model_to_contents(self.__fitted_model__())

    @classmethod
    def _from_contents(cls, tensors: dict[str, Any], document: dict[str, Any]) -> Self:
        """Restore a model from the contents of a file, all of which are checked."""
        saved = core.model_from_contents(tensors, document)
        model = cls(**saved.parameters._asdict())
        model._schema, model._fitted = saved.schema, saved.result
        return model

    # ---- attributes ------------------------------------------------------------------------

    components_ = FittedAttribute(lambda fit: fit.components, "Axes (k, p).")
    explained_variance_ = FittedAttribute(lambda fit: fit.variances, "Variances (k,).")
    explained_variance_ratio_ = FittedAttribute(lambda fit: fit.rates, "Contribution rates (k,).")
    contribution_rate_ = FittedAttribute(
        lambda fit: fit.rates, "Variance of each component over the total variance (k,)."
    )
    accumulated_rate_ = FittedAttribute(
        lambda fit: fit.spectrum.accumulated[: fit.k], "Running sum of the contribution rates (k,)."
    )
    singular_values_ = FittedAttribute(lambda fit: fit.singular_values, "√((n − 1) λ) (k,).")
    loadings_ = FittedAttribute(lambda fit: fit.loadings, "Axes times √λ (p, k).")
    mean_ = FittedAttribute(base.mean_of, "Column means (p,).")
    var_ = FittedAttribute(
        lambda fit: fit.column_variances, "Column variances (p,), in squared units of the data."
    )
    scale_ = FittedAttribute(lambda fit: fit.scale, "What the columns were divided by (p,).")
    total_variance_ = FittedAttribute(
        lambda fit: fit.spectrum.total, "Sum of all p variances of the analysed columns."
    )
    noise_variance_ = FittedAttribute(
        lambda fit: fit.noise_variance,
        "Mean variance of the components left out; dropped columns do not count.",
    )
    decision_ = FittedAttribute(
        lambda fit: fit.decision,
        "What the rule said that chose ``n_components_``; None where none did.",
    )
    n_samples_ = FittedAttribute(lambda fit: fit.n_samples, "Rows used.")
    n_dropped_ = FittedAttribute(lambda fit: fit.dropped, "Rows left out for missing values.")
    imputed_ = FittedAttribute(
        lambda fit: fit.filled,
        'What ``missing="em"`` or ``"nipals"`` filled in the rows of the fit; else None.',
    )
    plan_ = FittedAttribute(lambda fit: fit.plan, "How the fit ran.")
    certificate_ = FittedAttribute(lambda fit: fit.certificate, "What can be promised of it.")
    summary_ = FittedAttribute(base.summary_of, "What was kept of the rows.")

    # ---- conventions of scikit-learn ---------------------------------------------------------

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing != "error"
        return tags

    # Notebooks without MIME bundles use the first method. Both respect set_config(display="text").
    def _repr_html_inner(self) -> str:
        html: str = super()._repr_html_inner()
        return html + notebook.card(self)

    def _repr_mimebundle_(self, **options: object) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)
        if "text/html" in bundle:
            bundle["text/html"] += notebook.card(self)
        return bundle
