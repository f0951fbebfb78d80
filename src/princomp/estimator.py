"""PCA: parameters in, sources → plan → engine → summary → spectrum, attributes out."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib import import_module
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin

from princomp.adding import RowsOverTime
from princomp.certificate import Certificate
from princomp.checkpoint import Checkpoint
from princomp.choosing import Rule
from princomp.derived import WithoutRows
from princomp.engines.distributed import Distributed
from princomp.errors import NotFiniteError, ParameterError
from princomp.fitting import checked_against_rows, fit_rows
from princomp.inputs import checked_weights, with_weights
from princomp.model_contents import Saved, described, restored
from princomp.model_file import write
from princomp.notebook import ShownInNotebooks
from princomp.parameters import Request
from princomp.progress import Tell
from princomp.runs import passes_of
from princomp.scoring import ScoresRows
from princomp.sources.any import Rows
from princomp.sources.memory import refuse_not_finite
from princomp.sources.source import Source
from princomp.together import OverRanks

__all__ = ["PCA"]


class PCA(
    ShownInNotebooks,
    OverRanks,
    RowsOverTime,
    WithoutRows,
    ScoresRows,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    BaseEstimator,
):
    """Principal component analysis.

    A drop-in for :class:`sklearn.decomposition.PCA`: its parameters, attributes and
    methods keep their names and meanings. A fit keeps a summary of the rows, not the
    rows, and every attribute is derived from it.

    Parameters
    ----------
    n_components : int, float, str, rule or None, default=None
        How many components to keep. A number; a fraction in (0, 1): the fewest whose
        accumulated rate exceeds it, with any solver; the name of a rule (``"parallel"``,
        ``"gavish-donoho"``, ``"mle"``, … see :mod:`princomp.choosing`), or a rule with
        options, or one of your own; None: min(n, p), and min(⌊Σw⌋, p) with weights.
    copy : bool, default=True
        Kept for scikit-learn's sake. The input is never written to.
    whiten : bool, default=False
        Scores with unit variance. Components below the fit's resolution get zeros,
        where dividing by their standard deviation would only enlarge noise.
    svd_solver : str, default="auto"
        ``"auto"`` decides by shape, prints its reasons in ``plan_`` and takes a more
        exact route where a wanted variance asks for it. ``"covariance_eigh"``: one
        pass and an eigendecomposition. ``"full"``: QR and SVD, nothing squared.
        ``"arpack"``: Lanczos to a residual, fewer than min(n, p) components;
        ``"lanczos"`` is the same without that limit. ``"randomized"``: scikit-learn's.
        ``"row_gram"``: n × n products of the rows. ``"krylov"``: rows are read block by
        block, as often as it takes, p × p never formed. ``"sketch"``: rows are read once,
        in memory p·l, with an estimate of the error.
    tol : float, default=0.0
        Residual at which Lanczos may stop, relative to the first variance; 0 is
        machine precision.
    iterated_power : int or "auto", default="auto"
        Power iterations of ``"randomized"``.
    n_oversamples : int, default=10
        Additional vectors of ``"randomized"``.
    power_iteration_normalizer : {"auto", "QR", "LU", "none"}, default="auto"
        Of ``"randomized"``.
    random_state : int, RandomState, Generator or None, default=None
        Of ``"randomized"``, every other solver is deterministic; and of rules that draw,
        where None is 0.
    memory_limit : str, int or None, default=None
        By how much a fit may make the process grow: ``"2GB"``, or bytes. None: 60% of
        the memory that is free. A fit that cannot keep it is refused before it reads.
    decay : float or None, default=None
        Of ``partial_fit``: a row seen r rows ago has weight decayʳ.
    scale : None, "unit", "pareto", "range" or array of shape (p,), default=None
        What columns are divided by: nothing; their standard deviation (correlation
        PCA); its square root; largest minus smallest value; given divisors.
    center : bool, default=True
        Subtract the column means. Without it, ``explained_variance_`` are mean squares
        about zero, still divided by n − 1.
    missing : {"error", "drop", "em", "nipals"}, default="error"
        What to do with NaN in ``fit``: refuse with the place; leave such rows out
        and count them (``n_dropped_``); or fill the cells by a whole number of components
        (``imputed_``), regularised EM-PCA or NIPALS, with all rows in memory.
        ``transform`` gives NaN scores with ``"drop"``, so that rows stay aligned, and fills
        the cells with the other two.

    Attributes
    ----------
    components_ : ndarray of shape (k, p)
        Axes, unit length, one a row; the largest |entry| of each is positive. In the
        precision of the data.
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
        What the columns were divided by.
    total_variance_ : float
        Sum of all p variances of the analysed columns.
    noise_variance_ : float
        Mean variance of the p − k components left out.
    n_components_, n_features_in_ : int
    decision_ : Decision or None
        What the rule said that chose ``n_components_``.
    n_samples_ : int
        Rows used.
    n_dropped_ : int
        Rows left out for missing values.
    imputed_ : Filled or None
        Cells that were filled, their share, iterations, convergence.
    feature_names_in_ : ndarray of shape (p,)
        Column names, where the input has them.
    plan_ : Plan
        Summary, solver, reasons, passes and memory.
    certificate_ : Certificate
        Residuals, orthogonality, variances below resolution, inseparable pairs.
    summary_ : Moments, Triangle, Columns or Sketch
        What was kept of the rows.
    id_column_ : str or None
        Of a model that the command line made: the column that named the rows.

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
        random_state: Any = None,
        scale: Any = None,
        center: bool = True,
        missing: str = "error",
        memory_limit: int | str | None = None,
        decay: float | None = None,
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

    # ---- fitting ---------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        progress: Tell | None = None,
        checkpoint: Any = None,
        comm: Any = None,
    ) -> Self:
        """Fit to rows, in memory or not.

        Parameters
        ----------
        X : array, sparse array, frame, path, list of paths, iterator or callable
            Of shape (n, p). Any numeric dtype and layout; float32 stays float32. Frames of
            pandas, polars and pyarrow keep their column names. Files (a wildcard among
            them, several as one table bound by column name) are read block by block where
            they are large. An iterator gives batches: arrays, sparse matrices, frames or
            record batches; a callable that returns a new iterator can be read again.
        y : ignored
        sample_weight : array of shape (n,), optional
            Frequencies: weight 2 is the row twice; the divisor is Σw − 1.
        progress : callable, optional
            Called now and then with a :class:`~princomp.Progress`.
        checkpoint : path, optional
            A file that is written on the way, at most 30 seconds apart. The same call
            goes on from it, with the bits of a run that was not interrupted. ``save``
            deletes it.
        comm : mpi4py communicator or torch.distributed group, optional
            Each of its ranks makes this call with its own rows (none: an array of shape
            (0, p), or None), and gets the model of the rows of all, the same to the bit.
            What is raised on one is raised on all. ``progress`` is called on rank 0.

        Returns
        -------
        self

        Raises
        ------
        NotFiniteError
            At NaN or infinity, with the first place.
        MemoryLimitError
            When no route fits in the memory limit; nothing was read then.
        CheckpointError, InUseError
            When the checkpoint belongs to another run, or another run holds it.
        ShapeError, ConstantColumnError, ParameterError
        """
        if comm is not None:
            self._fit_on_ranks(X, sample_weight, comm, progress, checkpoint)
            return self
        self._fit(X, sample_weight, progress, checkpoint)
        return self

    def _fit(
        self,
        X: Any,
        sample_weight: Any,
        progress: Tell | None,
        checkpoint: Any,
        command: dict[str, Any] | None = None,
    ) -> Rows:
        """Fit, and the rows as they were read; ``command`` is what a checkpoint says resumes it."""
        request = Request.of(self)
        before = self.__dict__.copy()
        passes = None
        try:
            X, sample_weight = with_weights(X, sample_weight)
            data, columns, file = self._rows(X, reset=True)
            weights = checked_weights(sample_weight, data.shape[0])
            if progress is not None or checkpoint is not None:
                passes = passes_of(
                    data, weights, request, columns, progress, checkpoint, command, file
                )
            try:
                self._fitted = fit_rows(data, weights, request, columns, passes)
            except NotFiniteError as error:
                raise refuse_not_finite(data, error, columns=columns, file=file) from None
            self.__dict__.pop("_checkpoint", None)
            if checkpoint is not None:
                self._checkpoint = os.path.abspath(checkpoint)
        except BaseException:
            self.__dict__ = before  # a fit that fails leaves the earlier one as it was
            raise
        finally:
            if passes is not None:
                passes.close()
        return data, columns, file

    def fit_transform(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, comm: Any = None
    ) -> Any:
        """Fit, then transform the same rows: exactly ``fit(X).transform(X)``.

        With ``comm`` each rank gets the scores of its own rows.

        Raises
        ------
        ParameterError
            For an iterator, which gives its rows once.
        """
        if comm is not None:
            return self._scores_here(X, self._fit_on_ranks(X, sample_weight, comm, again=True))
        if isinstance(X, Iterator):
            raise ParameterError(
                "fit_transform reads the rows twice, and an iterator gives them once",
                place={"parameter": "X"},
                hint="give a function that makes a new iterator: fit_transform(lambda: batches())",
            )
        rows = self._fit(X, sample_weight, None, None)
        # What had to be opened is opened again: it may be a function that gives the rows anew.
        again = isinstance(rows[0], Source) and not isinstance(rows[0], Distributed)
        return self._scores(X) if again else self._scores_of(*rows)

    # ---- using -------------------------------------------------------------------------

    def transform(self, X: Any) -> Any:
        """Scores of rows: centre (and scale), then project.

        Parameters
        ----------
        X : array, sparse array, frame or path, of shape (n, p)

        Returns
        -------
        ndarray of shape (n, k)
            In the precision of X.
        """
        return self._scores(X)

    def verify(self, X: Any, sample_weight: Any = None) -> Certificate:
        """Check the fit against its rows, with one more pass over them.

        ``certificate_`` measures residuals with the summary that the fit kept, so it cannot show
        what the summary lost. Here each block of rows is centred, scaled and multiplied with the
        components in float64 (on a device: in its precision).

        Parameters
        ----------
        X : array, sparse array, frame, path, list of paths or callable, of shape (n, p)
            The rows that the model was fitted to.
        sample_weight : array of shape (n,), optional
            Their weights.

        Returns
        -------
        Certificate
            With ``residuals`` measured with the rows: ‖Cv − λv‖ / λ₁ of each component.

        Raises
        ------
        ShapeError
            When the number of rows, or the sum of their weights, is not that of the fit.
        NotFiniteError
        NotAvailableError
            When missing cells were filled, or the model knows no mean.

        Examples
        --------
        >>> import numpy as np
        >>> from princomp import PCA
        >>> X = np.random.default_rng(0).normal(size=(1000, 5)) + 1e8
        >>> bool(PCA().fit(X).verify(X).residuals.max() < 1e-13)
        True
        """
        fitted = self._state
        X, sample_weight = with_weights(X, sample_weight)
        data, columns, file = self._rows(X, reset=False)
        weights = checked_weights(sample_weight, data.shape[0])
        try:
            return checked_against_rows(fitted, data, weights, Request.of(self), columns)
        except NotFiniteError as error:
            raise refuse_not_finite(data, error, columns=columns, file=file) from None

    def save(self, path: Any, *, overwrite: bool = True) -> None:
        """Write the model to a file; see :func:`princomp.load`.

        Raises
        ------
        OutputExistsError
            When the file exists and ``overwrite`` is false.
        """
        write(path, *described(self._saved()), overwrite=overwrite)
        if (checkpoint := self.__dict__.pop("_checkpoint", None)) is not None:
            Checkpoint.remove(checkpoint)

    def _saved(self) -> Saved:
        names = self._names()
        return Saved(
            "PCA",
            self._state,
            {name: getattr(self, name) for name in PCA._get_param_names()},
            None if names is None else tuple(map(str, names)),
            self.id_column_,
        )

    @property
    def plot(self) -> Any:
        """Figures: ``model.plot.scree()`` is ``princomp.plots.scree(model)``."""
        # Found by name, since figures lie above the estimator and load matplotlib.
        return import_module("princomp.plots").Plots(self)

    @classmethod
    def _restored(cls, tensors: dict[str, Any], document: dict[str, Any]) -> Self:
        """The model of a file's contents, all of them checked."""
        saved = restored(tensors, document)
        # A newer minor version may have added parameters, which may be ignored.
        known = cls._get_param_names()
        model = cls(**{name: value for name, value in saved.parameters.items() if name in known})
        model._fitted = saved.fitted
        model.n_features_in_ = saved.fitted.p
        if saved.columns is not None:
            model.feature_names_in_ = np.asarray(saved.columns, dtype=object)
        model.id_column_ = saved.id_column
        return model

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing != "error"
        return tags
