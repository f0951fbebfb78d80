"""The part of a KernelPCA that is written to files and read from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from princomp.kernel_pca.asked import Asked
from princomp.kernel_pca.contents import Kept, described, restored
from princomp.kernel_pca.inverse import Inverts
from princomp.model_file import write
from princomp.pre_images import Ridge

__all__ = ["Saves"]


class Saves(Inverts):
    """A fit in a model file."""

    # The command line sets it.
    id_column_: str | None = None

    # Of the estimator.
    get_params: Callable[..., dict[str, Any]]
    n_features_in_: int

    def save(self, path: Any, *, overwrite: bool = True) -> None:
        """Write the model to a file; see :func:`princomp.load`.

        An exact fit keeps its rows, so the file does, too; a kernel matrix that was given is left
        out, so that a model from a file has no ``X_fit_`` then.

        Raises
        ------
        ParameterError
            For a kernel that is a Python function: no file holds it.
        OutputExistsError
            When the file exists and ``overwrite`` is false.
        OutputError
            When it cannot be written.
        """
        fitted, asked = self._state, Asked.of(self)
        wanted = asked.pre_image, int(self.n_neighbors)
        of_fit, found, way = self.__dict__.get("_learned", (None, None, None))
        # Other pre-images are made of the fit itself.
        current = isinstance(way, Ridge) and of_fit is fitted.spectrum and found == wanted
        kept = Kept(fitted, way if current else None, self.__dict__.get("_filler"))
        contents = described(
            kept, self.get_params(deep=False), self.n_features_in_, self._names(), self.id_column_
        )
        write(path, *contents, overwrite=overwrite)

    @classmethod
    def _restored(cls, tensors: dict[str, Any], document: dict[str, Any]) -> Self:
        """The model of a file's contents, all of them checked."""
        kept, parameters = restored(tensors, document)
        # A newer minor version may have added parameters, which may be ignored.
        known = cls._get_param_names()  # type: ignore[attr-defined]
        model: Any = cls(**{name: value for name, value in parameters.items() if name in known})
        asked = Asked.of(model)
        model._fitted = kept.fitted
        model.n_features_in_ = document["features"]
        if document["columns"] is not None:
            model.feature_names_in_ = np.asarray(document["columns"], dtype=object)
        model.id_column_ = document["id_column"]
        if kept.filler is not None:
            model._filler = kept.filler
        if kept.learned is not None:
            wanted = asked.pre_image, int(model.n_neighbors)
            model._learned = kept.fitted.spectrum, wanted, kept.learned
        found: Self = model
        return found
