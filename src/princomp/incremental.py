"""IncrementalPCA: scikit-learn's name for a PCA of rows that come in batches, here exact."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Self

import numpy as np

from princomp.arrays import FloatArray
from princomp.errors import NotAvailableError, ParameterError
from princomp.estimator import PCA
from princomp.fitting import check_rows
from princomp.model_contents import Saved
from princomp.parameters import is_a
from princomp.pending import Pending
from princomp.progress import Tell

__all__ = ["IncrementalPCA"]


class IncrementalPCA(PCA):
    """A drop-in for :class:`sklearn.decomposition.IncrementalPCA` that approximates nothing.

    It is :class:`~princomp.PCA` with the parameters and attributes of that class. The result
    of any number of ``partial_fit`` is that of one ``fit``; batches may be of any size from
    one row on, sparse too, and more components may be asked for than there are rows yet.

    Parameters
    ----------
    n_components : int or None, default=None
        None: min(n, p).
    whiten : bool, default=False
    copy : bool, default=True
        Kept for scikit-learn's sake. The input is never written to.
    batch_size : int or None, default=None
        Kept for scikit-learn's sake: rows are cut into blocks as it suits the processor.

    Attributes
    ----------
    n_samples_seen_ : int
        Rows so far.
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
    ) -> None:
        super().__init__(n_components, whiten=whiten, copy=copy)
        self.batch_size = batch_size

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
        """Fit to rows; see :meth:`princomp.PCA.fit`, which tells progress and can be resumed.

        Raises
        ------
        ParameterError
            When ``progress``, ``checkpoint`` or ``comm`` is given.
        """
        given = (("progress", progress), ("checkpoint", checkpoint), ("comm", comm))
        for name, value in given:
            if value is not None:
                raise ParameterError(
                    f"IncrementalPCA.fit takes no {name}",
                    place={"parameter": name},
                    hint=f"PCA().fit(X, {name}=…)",
                )
        before = self.__dict__.copy()
        self.__dict__.pop("_fitted", None)
        try:
            self.partial_fit(X, sample_weight=sample_weight)
            assert isinstance(self._fitted, Pending)
            check_rows(self._fitted.summary, self._fitted.n_samples, 0)
            self._state  # noqa: B018  (a fit answers, or says why it cannot)
        except BaseException:
            self.__dict__ = before
            raise
        self._tell_batch_size()
        return self

    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, check_input: bool = True
    ) -> Self:
        """Add rows; see :meth:`princomp.PCA.partial_fit`. ``check_input`` changes nothing."""
        self._check_batch_size()
        return super().partial_fit(X, y, sample_weight)

    def rescaled(self, scale: Any) -> Self:
        """Not here: scikit-learn's class has no ``scale``.

        Raises
        ------
        NotAvailableError
        """
        raise NotAvailableError(
            "IncrementalPCA has no scale",
            hint="PCA.from_summary(model.summary_, scale=…), or fit a PCA",
        )

    def _saved(self) -> Saved:
        saved = super()._saved()
        parameters = {**saved.parameters, "batch_size": self.batch_size}
        return saved._replace(estimator="IncrementalPCA", parameters=parameters)

    @classmethod
    def _restored(cls, tensors: dict[str, Any], document: dict[str, Any]) -> Self:
        model = super()._restored(tensors, document)
        model._check_batch_size()
        model._tell_batch_size()
        return model

    def _tell_batch_size(self) -> None:
        self.batch_size_ = 5 * self.n_features_in_ if self.batch_size is None else self.batch_size

    def _check_batch_size(self) -> None:
        size = self.batch_size
        if size is not None and not (is_a(size, Integral) and size >= 1):
            raise ParameterError(
                f"batch_size={size!r} is not lawful",
                place={"parameter": "batch_size"},
                hint="batch_size must be None or a whole number of at least 1",
            )

    @property
    def n_samples_seen_(self) -> int | None:
        """Rows so far."""
        fitted = self.__dict__.get("_fitted")
        return fitted.n_samples if isinstance(fitted, Pending) else self._state.n_samples

    @property
    def var_(self) -> FloatArray:
        """Variances of the columns (p,), with divisor n."""
        summary = self._state.summary
        return np.asarray(summary.column_scatter) / summary.rows
