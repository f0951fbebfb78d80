"""Rows in memory, as one table: the reference for every engine."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from princomp import PCA


def table(parts):
    return sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.concatenate(parts)


def fit(parts, **parameters):
    return PCA(**parameters).fit(table(parts))


def transform(model, parts):
    return model.transform(table(parts))
