"""Rows in one torch tensor on a GPU."""

from __future__ import annotations

import on_torch
import scipy.sparse as sp

from princomp import PCA

NAME = "cuda"


def missing():
    if reason := on_torch.missing():
        return reason
    import torch

    return None if torch.cuda.is_available() else "there is no CUDA device"


def to_device(rows):
    return on_torch.to_device(rows).cuda()


def to_host(tensor):
    assert tensor.device.type == "cuda"
    return tensor.cpu().numpy()


def tensor(parts):
    # Sparse rows stay on the CPU: on a GPU they are refused.
    rows = on_torch.tensor(parts)
    return rows if sp.issparse(parts[0]) else rows.cuda()


def fit(parts, **parameters):
    return PCA(**parameters).fit(tensor(parts))


def transform(model, parts):
    return model.transform(tensor(parts)).cpu().numpy()
