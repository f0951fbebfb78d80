"""Models from files, and plans: without scikit-learn where an estimator is not needed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from princomp.core import PCAModel, PCAParameters, Plan, plan_table, restored
from princomp.io import PathLike, read
from princomp.rules import Rule

if TYPE_CHECKING:
    from princomp import PCA, IncrementalPCA, KernelPCA, RobustPCA

# The estimators that a model file may hold.
_ESTIMATORS = ("PCA", "IncrementalPCA", "RobustPCA", "KernelPCA")


def plan(X: Any, n_components: int | float | str | Rule | None = None, **parameters: Any) -> Plan:
    """What a fit of ``X`` would do and cost, without doing it.

    Parameters
    ----------
    X : array, sparse array, frame, path or source, of shape (n, p)
        Of a file only what tells its shape is read.
    n_components : as for :class:`~princomp.PCA`
    **parameters
        Others of :class:`~princomp.PCA` that shape the plan, such as ``svd_solver``.

    Returns
    -------
    Plan
        Prints well; ``to_dict`` and ``to_json`` for programs. A fallback that only the
        data can ask for is not in it; it is in the model's ``plan_``.

    Examples
    --------
    >>> import numpy as np
    >>> from princomp import plan
    >>> print(plan(np.zeros((1000, 20)), n_components=3).solver)
    eigh
    """
    return plan_table(X, PCAParameters(n_components, **parameters))


def load(path: PathLike) -> PCA | IncrementalPCA | RobustPCA | KernelPCA:
    """Read a model that its method ``save`` wrote, after checking all of it.

    Parameters
    ----------
    path : path

    Returns
    -------
    PCA, IncrementalPCA, RobustPCA or KernelPCA
        What was saved, fitted; it transforms to the same bits.

    Raises
    ------
    InputNotFoundError
        When there is no such file.
    ModelFileError
        When the file is cut short, changed, of a newer major version or a kind of model that
        is not known, or no model.

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
    return read(path, {name: partial(_restored, name) for name in _ESTIMATORS})


def load_model(path: PathLike) -> PCAModel | IncrementalPCA | RobustPCA | KernelPCA:
    """Read a model file as :func:`load` does, but a PCA without its estimator."""
    kinds: dict[str, Callable[[dict[str, Any], dict[str, Any]], Any]]
    kinds = {name: partial(_restored, name) for name in _ESTIMATORS}
    return read(path, {**kinds, "PCA": restored})


def _restored(name: str, tensors: dict[str, Any], document: dict[str, Any]) -> Any:
    """The estimator of a file; its class is imported only here, since some need more libraries."""
    estimator = getattr(import_module("princomp"), name)
    return estimator._restored(tensors, document)
