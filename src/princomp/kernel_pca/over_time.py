"""Rows of a KernelPCA that come and go: sums of their images, by an approximation."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any, Self, TypeVar, cast

from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from princomp.errors import NotAvailableError, ParameterError, ShapeError
from princomp.estimator import PCA
from princomp.feature_maps import mapped
from princomp.inputs import TableInput, checked_weights, with_weights
from princomp.kernel_pca.asked import Asked
from princomp.kernel_pca.fits import ExactFit, ImageFit
from princomp.kernel_pca.images import made_map
from princomp.kernel_pca.scaled import with_divisors
from princomp.missing import METHODS

__all__ = ["ImagesOverTime"]

M = TypeVar("M")


def _sums(model: Any) -> bool:
    """Whether rows can be added to a model: scikit-learn hides these methods where not."""
    if model.approximation is None:
        raise _not_summed("this")
    return True


def _where_summed(method: M) -> M:
    return cast(M, available_if(_sums)(method))


class ImagesOverTime(TableInput):
    """Rows added, taken out and merged; their map is made of the first."""

    # Of the estimator.
    missing: str
    memory_limit: Any
    _fitted: ExactFit | ImageFit

    @_where_summed
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Add rows. The map and the divisors of ``scale`` are made of the first ones, and kept.

        So the landmarks are some of the first rows: give many at first, or ``landmarks`` as an
        array. Nothing is solved here; reading an attribute does that.

        Parameters
        ----------
        X : as for ``fit``
        y : ignored
        sample_weight : array of shape (n,), optional

        Returns
        -------
        self

        Raises
        ------
        NotAvailableError
            Without an approximation: an exact fit has no sums that rows could be added to.
        ShapeError
            When the first rows are fewer than the landmarks that were asked for.
        NotFiniteError, ParameterError
            Nothing was added then.
        """
        asked = self._summed("partial_fit")
        before = self.__dict__.copy()
        try:
            fitted = self.__dict__.get("_fitted")
            if fitted is not None and self._has_no_rows(X, reset=False):
                checked_weights(sample_weight, 0)
                return self
            X, sample_weight = with_weights(X, sample_weight, by_chunks=True)
            data, columns, file = self._rows(X, reset=fitted is None)
            if fitted is None:
                _check_enough(data, asked)
                weights = checked_weights(sample_weight, data.shape[0])
                asked = with_divisors(asked.seeded(), data, weights, columns, file)
                made = made_map(data, asked)
                fitted = ImageFit(made.map, self._images_model(asked), made.error, made.notes)
                data = made.rows
            model = copy(fitted.images)
            images = mapped(data, fitted.map, holes=self.missing == "drop")
            model.partial_fit(images, sample_weight=sample_weight)
            self._fitted = replace(fitted, images=model)
        except BaseException:
            self.__dict__ = before
            raise
        return self

    @_where_summed
    def forget(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Take rows out that were added before; the map stays.

        Parameters
        ----------
        X, y, sample_weight
            As they were given to ``fit`` or ``partial_fit``.

        Returns
        -------
        self

        Raises
        ------
        NotAvailableError
            Without an approximation.
        ShapeError
            When more is removed than was there.
        """
        self._summed("forget")
        check_is_fitted(self)
        fitted = self._fitted
        assert isinstance(fitted, ImageFit)
        if self._has_no_rows(X, reset=False):
            checked_weights(sample_weight, 0)
            return self
        X, sample_weight = with_weights(X, sample_weight, by_chunks=True)
        data, _, _ = self._rows(X, reset=False)
        model = copy(fitted.images)
        images = mapped(data, fitted.map, holes=self.missing == "drop")
        model.forget(images, sample_weight=sample_weight)
        self._fitted = replace(fitted, images=model)
        return self

    @_where_summed
    def merge(self, other: ImagesOverTime) -> Self:
        """Add all rows of another fit with the same map, as if they had been given to this one.

        Parameters
        ----------
        other : KernelPCA
            Made with the same landmarks (``landmarks=model.landmarks_``), or the same random
            features; it is not changed.

        Raises
        ------
        ParameterError
            Of another map: its images are other coordinates.
        NotAvailableError
            Without an approximation.
        """
        if not isinstance(other, ImagesOverTime):
            raise ParameterError(
                f"merge takes a fitted KernelPCA, got {type(other).__name__}",
                place={"parameter": "other"},
                hint="model.merge(other), or model.partial_fit(rows)",
            )
        self._summed("merge")
        check_is_fitted(self)
        check_is_fitted(other)
        self._check_same_columns(other)
        mine, theirs = self._fitted, other._fitted
        if not isinstance(mine, ImageFit) or not isinstance(theirs, ImageFit):
            raise _not_summed("merge")
        if not mine.map.same_as(theirs.map):
            raise ParameterError(
                "the two fits have other maps, so their images are other coordinates",
                place={"parameter": "other"},
                hint="fit the second with the landmarks (landmarks=model.landmarks_) and the gamma "
                "of the first, or with the same random_state and n_landmarks",
            )
        model = copy(mine.images)
        model.merge(theirs.images)
        self._fitted = replace(mine, images=model)
        return self

    def _summed(self, name: str) -> Asked:
        asked = Asked.of(self)
        if asked.approximation is None or isinstance(self.__dict__.get("_fitted"), ExactFit):
            raise _not_summed(name)
        if asked.missing in METHODS:
            raise NotAvailableError(
                f"missing={asked.missing!r} fills cells where all rows are given to fit at once",
                place={"parameter": "missing"},
                hint="missing='drop' leaves such rows out as they come",
            )
        return asked

    def _images_model(self, asked: Asked) -> PCA:
        """The PCA of images, not yet fitted."""
        return PCA(
            asked.n_components,
            tol=asked.tol,
            missing="drop" if asked.missing == "drop" else "error",
            memory_limit=self.memory_limit,
            random_state=asked.seed,
        )


def _not_summed(name: str) -> NotAvailableError:
    return NotAvailableError(
        f"{name} needs sums of rows, and an exact kernel PCA keeps the rows themselves",
        place={"parameter": "approximation"},
        hint="approximation='nystrom' or 'features' sums the images of rows",
    )


def _check_enough(data: Any, asked: Asked) -> None:
    """Refuse to choose many landmarks of few rows, for good."""
    count, n = asked.n_landmarks, data.shape[0]
    if asked.approximation != "nystrom" or not isinstance(asked.landmarks, str) or n is None:
        return
    if isinstance(count, int) and n < count:
        raise ShapeError(
            f"the first {n} rows are fewer than n_landmarks={count}, which are chosen of them",
            place={"parameter": "n_landmarks"},
            hint="give more rows at first, fewer landmarks, or landmarks as an array",
        )
