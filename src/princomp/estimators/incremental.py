"""IncrementalPCA: a PCA of rows in batches, with the interface of scikit-learn's class."""

from __future__ import annotations

from copy import copy
from functools import partial
from typing import Any, Self

import numpy as np

from princomp import core
from princomp.errors import NotAvailableError
from princomp.estimators.base import FittedAttribute, estimator_from_document, refuse_reading_twice
from princomp.estimators.estimator import PCA
from princomp.summaries import SampleWeight


class IncrementalPCA(PCA):
    """A drop-in replacement for :class:`sklearn.decomposition.IncrementalPCA`.

    It is :class:`~princomp.PCA` with the parameters and attributes of that class. Several calls
    of ``partial_fit`` give the result of one ``fit``. It is exact for up to 10,000 columns, if
    their scatter fits in memory. Otherwise ``partial_fit`` adds the rows to a sketch, which is
    approximate, and warns; so does ``fit`` for files and iterators. For arrays, sparse matrices and
    frames, ``fit`` is exact, but no rows can be added afterwards: begin with ``partial_fit`` for
    that. Batches can be sparse and of any size from one row on, and more components can be
    requested than there are rows so far.

    Parameters
    ----------
    n_components : int or None, default=None
        None: min(n, p).
    whiten : bool, default=False
    copy : bool, default=True
        For compatibility with scikit-learn. The input is never changed.
    batch_size : int or None, default=None
        For compatibility with scikit-learn. Block sizes are chosen for the processor instead.
    component_names : {"PC", "sklearn"}, default="PC"
        Names of the scores in ``get_feature_names_out`` and in frames: PC1, PC2, …, or those of
        scikit-learn: incrementalpca0, ….

    Attributes
    ----------
    n_samples_seen_ : int
        Number of rows so far.
    var_ : ndarray of shape (p,)
        Variances of the columns with divisor n, as in scikit-learn's class.
    batch_size_ : int
        ``batch_size``, or scikit-learn's default of 5·p.

    Examples
    --------
    >>> import numpy as np
    >>> from princomp import IncrementalPCA
    >>> X = np.array([[-1, -1], [-2, -1], [-3, -2], [1, 1], [2, 1], [3, 2]])
    >>> model = IncrementalPCA(n_components=2)
    >>> for row in X:
    ...     model = model.partial_fit(row.reshape(1, -1))
    >>> print(model.explained_variance_ratio_.round(4))
    [0.9924 0.0076]
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        whiten: bool = False,
        copy: bool = True,
        batch_size: int | None = None,
        component_names: str = "PC",
    ) -> None:
        super().__init__(n_components, whiten=whiten, copy=copy, component_names=component_names)
        self.batch_size = batch_size

    def fit(  # type: ignore[override]
        self, X: Any, y: object = None, sample_weight: SampleWeight = None
    ) -> Self:
        """Fit to rows as :meth:`princomp.PCA.fit` does, without ``progress`` and ``checkpoint``."""
        self._check_batch_size()
        shape = getattr(X, "shape", ())
        if shape and not core.scatter_fits(core.Request.of(self), shape[-1]):
            super().fit(X, y, sample_weight)
            self.batch_size_ = self._used_batch_size(self._schema.p)
            return self
        model = copy(self)
        for name in ("_fitted", "_schema"):
            model.__dict__.pop(name, None)
        model.partial_fit(X, sample_weight=sample_weight)
        lazy_fit = model._fitted
        core.check_rows(lazy_fit.summary, lazy_fit.n_samples)
        model._result  # noqa: B018  (solves, or says why that is impossible)
        batch_size = self._used_batch_size(model._schema.p)
        self._schema, self._fitted, self.batch_size_ = model._schema, lazy_fit, batch_size
        remedy = f"PCA({core.unit_scale(self._result)}), which also has partial_fit,"
        self._warn_of_unequal_columns(X, partial(core.unequal_columns, self._result), remedy)
        return self

    def fit_transform(  # type: ignore[override]
        self, X: Any, y: object = None, sample_weight: SampleWeight = None
    ) -> Any:
        """Fit, then transform the same rows: ``fit(X).transform(X)``.

        Raises
        ------
        ParameterError
            For an iterator, whose rows can be read only once.
        """
        refuse_reading_twice(X)
        X, sample_weight = core.attach_weights(X, sample_weight, by_chunks=True)
        return self.fit(X, y, sample_weight).transform(X)

    def partial_fit(
        self, X: Any, y: object = None, sample_weight: SampleWeight = None, check_input: bool = True
    ) -> Self:
        """Add rows; see :meth:`princomp.PCA.partial_fit`. ``check_input`` is ignored.

        It is the third argument in scikit-learn, so a third argument that is true or false is
        ignored as well.
        """
        self._check_batch_size()
        if isinstance(sample_weight, bool | np.bool_):
            sample_weight = None
        return super().partial_fit(X, y, sample_weight)

    def rescaled(self, scale: Any) -> Self:
        """Not available: scikit-learn's class has no ``scale``.

        Raises
        ------
        NotAvailableError
        """
        raise NotAvailableError(
            "IncrementalPCA has no scale",
            hint="PCA.from_summary(model.summary_, scale=…), or fit a PCA",
        )

    def _contents(self) -> tuple[dict[str, Any], dict[str, Any]]:
        model = self.__fitted_model__()
        self._check_batch_size()
        return core.model_to_contents(model, "IncrementalPCA", batch_size=self.batch_size)

    @classmethod
    def _from_contents(cls, tensors: dict[str, Any], document: dict[str, Any]) -> Self:
        saved = core.model_from_contents(tensors, document)
        parameters = saved.parameters._asdict()
        parameters["batch_size"] = document["parameters"].get("batch_size")
        model = estimator_from_document(cls, parameters, saved.schema.p, document)
        model._check_batch_size()
        model._fitted = saved.result
        model.batch_size_ = model._used_batch_size(saved.schema.p)
        return model

    def _used_batch_size(self, p: int) -> int:
        return 5 * p if self.batch_size is None else self.batch_size

    def _check_batch_size(self) -> None:
        allowed = core.one_of(None) | core.whole_number(1)
        core.check_parameter("batch_size", self.batch_size, allowed)

    @property
    def n_samples_seen_(self) -> int | None:
        """Number of rows so far."""
        return self._require_fit().n_samples

    var_ = FittedAttribute(
        lambda fit: fit.summary.column_scatter / fit.summary.rows,
        "Variances of the columns (p,), with divisor n.",
    )
