"""Loading of models from files, and plans; without scikit-learn if no estimator is needed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from princomp.core import PCAModel, PCAParameters, Plan, model_from_contents, plan_table
from princomp.io import PathLike, read
from princomp.rules import Rule

if TYPE_CHECKING:
    from princomp import PCA, IncrementalPCA, KernelPCA, RobustPCA


def plan(X: Any, n_components: int | float | str | Rule | None = None, **parameters: Any) -> Plan:
    """Plan a fit of ``X``: the route that it would take, and its cost, without fitting.

    Parameters
    ----------
    X : array, sparse array, frame, path or source, of shape (n, p)
        Of a file, only enough is read to determine its shape.
    n_components : as for :class:`~princomp.PCA`
    **parameters
        Other parameters of :class:`~princomp.PCA` that affect the plan, such as ``svd_solver``.

    Returns
    -------
    Plan
        Print it, or use ``to_dict`` or ``to_json``. It does not include fallbacks that depend
        on the values of the data; these are in the model's ``plan_``.

    Examples
    --------
    >>> import numpy as np
    >>> from princomp import plan
    >>> print(plan(np.zeros((1000, 20)), n_components=3).solver)
    eigh
    """
    return plan_table(X, PCAParameters(n_components, **parameters))


def load(path: PathLike) -> PCA | IncrementalPCA | RobustPCA | KernelPCA:
    """Read a model from a file written by ``save``, after checking all of its contents.

    Parameters
    ----------
    path : path

    Returns
    -------
    PCA, IncrementalPCA, RobustPCA or KernelPCA
        The fitted model. Its scores are the same to the bit as those of the saved model.

    Raises
    ------
    InputNotFoundError
        If the file does not exist.
    ModelFileError
        If the file is truncated, changed, of a newer major version, of an unknown kind of model,
        or not a model file.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from princomp import PCA, load
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     PCA(1).fit(np.eye(4)).save(f"{folder}/model.pca")
    ...     print(load(f"{folder}/model.pca").n_components_)
    1
    """
    return read(path, _KINDS)


def load_model(path: PathLike) -> PCAModel | IncrementalPCA | RobustPCA | KernelPCA:
    """Read a model file as :func:`load` does, but return a PCA without its estimator."""
    return read(path, {**_KINDS, "PCA": model_from_contents})


def _restore(name: str, tensors: dict[str, Any], document: dict[str, Any]) -> Any:
    """Restore an estimator; its class is imported only here, since some need more libraries."""
    return getattr(import_module("princomp"), name)._from_contents(tensors, document)


# The estimators that a model file may hold.
_KINDS: dict[str, Callable[[dict[str, Any], dict[str, Any]], Any]] = {
    name: partial(_restore, name) for name in ("PCA", "IncrementalPCA", "RobustPCA", "KernelPCA")
}
