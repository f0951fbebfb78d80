"""Rows in one torch tensor, on the CPU: the same code as for GPUs."""

from __future__ import annotations

import warnings
from importlib.util import find_spec

import numpy as np
import scipy.sparse as sp

from princomp import PCA

NAME = "torch"


def missing():
    return None if find_spec("torch") else "torch is not installed: make test-engines"


def to_device(rows):
    import torch

    return torch.from_numpy(np.array(rows))


def to_host(tensor):
    return tensor.numpy()


def tensor(parts):
    import torch

    if not sp.issparse(parts[0]):
        return torch.from_numpy(np.concatenate(parts))
    rows = sp.vstack(parts, format="csr")
    parts = (torch.from_numpy(part) for part in (rows.indptr, rows.indices, rows.data))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta")
        return torch.sparse_csr_tensor(*parts, size=rows.shape, check_invariants=True)


def fit(parts, **parameters):
    return PCA(**parameters).fit(tensor(parts))


def transform(model, parts):
    scores = model.transform(tensor(parts))
    return scores.numpy()
