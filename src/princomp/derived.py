"""The part of an estimator that needs no rows: from sums that exist, another scale, another k."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from numbers import Integral
from typing import Any, Self

import numpy as np

from princomp.attributes import FittedAttributes
from princomp.choosing import for_fraction
from princomp.errors import ParameterError, ShapeError
from princomp.fitted import Fitted
from princomp.fitting import fit_summary, truncated_to
from princomp.inputs import TableInput
from princomp.parameters import Request, checked_components, is_a
from princomp.sources.covariance import checked_covariance, checked_mean
from princomp.sources.frames import from_frame, is_frame
from princomp.summaries import Columns, Moments, Sketch, Triangle

__all__ = ["WithoutRows"]


class WithoutRows(FittedAttributes, TableInput):
    """Models made of a covariance, of a summary, or of another model."""

    # Parameters of the estimator that are looked at here.
    n_components: Any
    center: Any
    get_params: Callable[..., dict[str, Any]]

    # The command line sets it; a class attribute, so that a fit in Python costs nothing.
    id_column_: str | None = None

    @classmethod
    def from_covariance(
        cls,
        C: Any,
        *,
        mean: Any = None,
        n_samples: int | None = None,
        feature_names: Any = None,
        **parameters: Any,
    ) -> Self:
        """A fitted model from a covariance or a correlation matrix.

        Parameters
        ----------
        C : array of shape (p, p)
            Symmetric, positive semi-definite. A correlation matrix is the covariance
            of columns already scaled; ``scale="unit"`` makes one of a covariance.
        mean : array of shape (p,) or 0, optional
            Column means. Without it rows cannot be transformed.
        n_samples : int, optional
            Rows behind C; singular values and ``"mle"`` need it.
        feature_names : sequence of str, optional
        **parameters
            Of the constructor.

        Raises
        ------
        DataError
            When C is not a covariance.
        """
        model = cls(**parameters)
        if is_frame(C):
            table = from_frame(C)
            C, feature_names = table.data, table.columns if feature_names is None else feature_names
        covariance = checked_covariance(C)
        p = len(covariance)
        known = _checked_count(n_samples)
        if known is None and model.n_components == "mle":
            raise ParameterError(
                "n_components='mle' needs the number of rows behind the covariance",
                place={"parameter": "n_samples"},
                hint="PCA.from_covariance(C, n_samples=…, n_components='mle')",
            )
        centre = np.zeros(p) if mean is None else checked_mean(mean, p)
        if not model.center and (mean is None or (known is None and centre.any())):
            raise ParameterError(
                "center=False moves a covariance back to the origin, which needs the mean and the "
                "number of rows",
                place={"parameter": "mean"},
                hint="give mean=… and n_samples=…; or mean=0 where C is already about the origin",
            )
        # C may be of full rank whatever the number of rows (shrinkage): it says it all.
        rows = float(p + 1 if known is None else known)
        moments = Moments.of_covariance(covariance, centre, rows)
        return model._take(
            moments,
            n_samples=known,
            mean_known=mean is not None,
            feature_names=feature_names,
        )

    @classmethod
    def from_summary(
        cls, summary: Moments | Triangle | Sketch, *, feature_names: Any = None, **parameters: Any
    ) -> Self:
        """A fitted model from a copy of a summary, with the parameters of the constructor."""
        model, summary = cls(**parameters), deepcopy(summary)
        return model._take(summary, n_samples=summary.count, feature_names=feature_names)

    def _take(self, summary: Any, *, feature_names: Any = None, **known: Any) -> Self:
        self._fitted = fit_summary(summary, Request.of(self), **known)
        self.n_features_in_ = summary.p
        if feature_names is not None:
            if len(feature_names) != summary.p:
                raise ShapeError(
                    f"{len(feature_names)} feature names for {summary.p} columns",
                    place={"parameter": "feature_names"},
                    hint="give one name a column",
                )
            self.feature_names_in_ = np.asarray(feature_names, dtype=object)
        return self

    def rescaled(self, scale: Any) -> Self:
        """The same fit under another scale, without the data.

        Raises
        ------
        NotAvailableError
            Where the fit kept neither a scatter nor all components, or no ranges for
            ``"range"``.
        """
        return self._again(scale=scale)

    def truncated(self, n_components: Any) -> Self:
        """The same fit with another number of components, or rule for it, without the data.

        Fewer components are always to be had; more need a kept scatter.

        Raises
        ------
        NotAvailableError
            Where more components are asked for than were kept, and no scatter was.
        """
        fitted = self._state
        if isinstance(fitted.summary, Columns):
            k = checked_components(n_components)
            if isinstance(k, float):
                k = for_fraction(fitted.rates, k)
            if isinstance(k, int) and k <= fitted.k:
                return self._copy_with(truncated_to(fitted, k), n_components=n_components)
        return self._again(n_components=n_components)

    def _again(self, **changes: Any) -> Self:
        fitted = self._state
        model = self._copy_with(fitted, **changes)
        model._fitted = fit_summary(
            fitted.kept_rows(),
            Request.of(model),
            facts=fitted.facts,
            n_samples=fitted.n_samples,
            extremes=fitted.extremes,
            columns=self._names(),
            dtype=fitted.dtype,
            mean_known=fitted.mean_known,
            dropped=fitted.dropped,
        )
        if fitted.filled is not None:
            told = f"{fitted.filled}; under the first parameters"
            found = model._fitted
            model._fitted = replace(found, filled=fitted.filled, fallbacks=(told, *found.fallbacks))
        return model

    def _copy_with(self, fitted: Fitted, **changes: Any) -> Self:
        parameters = self.get_params(deep=False)
        model = type(self)(**{**parameters, **changes})
        model._fitted = fitted
        model.n_features_in_ = self.n_features_in_
        model.id_column_ = self.id_column_
        if hasattr(self, "feature_names_in_"):
            model.feature_names_in_ = self.feature_names_in_
        return model


def _checked_count(n_samples: Any) -> int | None:
    if n_samples is None:
        return None
    if not (is_a(n_samples, Integral) and n_samples >= 2):
        raise ShapeError(
            f"a covariance needs at least 2 rows, got n_samples={n_samples!r}",
            place={"parameter": "n_samples"},
            hint="give the number of rows behind the covariance, or leave it out",
        )
    return int(n_samples)
