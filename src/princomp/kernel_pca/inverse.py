"""The pre-images of a fit, computed once and reused."""

from __future__ import annotations

from typing import NamedTuple

from princomp.errors import NotAvailableError
from princomp.kernel_pca.fit import KernelFit
from princomp.kernel_pca.parameters import KernelParameters
from princomp.kernel_pca.pre_images import PreImages, pre_images
from princomp.solvers import Spectrum


class Inverse(NamedTuple):
    """Pre-images, and the fit and parameters that they were computed from."""

    spectrum: Spectrum
    method: str | None
    n_neighbors: int
    pre_images: PreImages

    def belongs_to(self, fit: KernelFit, parameters: KernelParameters) -> bool:
        """Whether these are the pre-images of this fit with these parameters."""
        requested = parameters.pre_image, parameters.n_neighbors
        return self.spectrum is fit.spectrum and (self.method, self.n_neighbors) == requested


def inverse_of(fit: KernelFit, parameters: KernelParameters, previous: Inverse | None) -> Inverse:
    """Return the pre-images of a fit: ``previous`` if they belong to it, otherwise new ones.

    Raises
    ------
    NotAvailableError
        For random features.
    """
    if previous is not None and previous.belongs_to(fit, parameters):
        return previous
    if fit.expansion is None:
        raise NotAvailableError(
            "random features keep no rows, and pre-images are computed from rows",
            place={"parameter": "pre_image"},
            hint="use approximation='nystrom', whose landmarks are rows",
        )
    assert parameters.pre_image is not None
    computed = pre_images(
        parameters.pre_image,
        fit.expansion,
        scores=fit.training_scores,
        alpha=parameters.alpha,
        n_neighbors=parameters.n_neighbors,
        memory=parameters.limit,
    )
    return Inverse(fit.spectrum, parameters.pre_image, parameters.n_neighbors, computed)
