"""A minimal engine: partitions in a list, merged in pairs in the order of the rows."""

from __future__ import annotations

import pickle
from dataclasses import dataclass

import numpy as np

from princomp import PCA
from princomp.engines.distributed import DistributedRows, PartialResult
from princomp.engines.local import reduce_partition


@dataclass(kw_only=True, eq=False)
class Partitions(DistributedRows):
    parts: list

    def reduce(self, kind, *, drop, precise):
        # Everything sent to a worker must survive pickling.
        kind = pickle.loads(pickle.dumps(kind))
        shares = [reduce_partition(kind, part, drop=drop, precise=precise) for part in self.parts]
        shares = [pickle.loads(pickle.dumps(share)) for share in shares]
        while len(shares) > 1:
            pairs = zip(shares[::2], shares[1::2], strict=False)
            shares = [PartialResult.merge(*pair) for pair in pairs] + shares[len(shares) // 2 * 2 :]
        return shares[0]

    def map_rows(self, function, names, dtype):
        function = pickle.loads(pickle.dumps(function))
        return [function(part) for part in self.parts if part.shape[0]]


def partitions(parts):
    rows = sum(part.shape[0] for part in parts)
    p, dtype = parts[0].shape[1], parts[0].dtype
    stored = sum(part.nnz for part in parts) if hasattr(parts[0], "nnz") else None
    return Partitions(
        engine="partitions", rows=rows, p=p, dtype=np.dtype(dtype), parts=parts, stored=stored
    )


def fit(parts, **parameters):
    return PCA(**parameters).fit(partitions(parts))


def transform(model, parts):
    return np.concatenate(model.transform(partitions(parts)))
