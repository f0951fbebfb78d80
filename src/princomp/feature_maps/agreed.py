"""Landmarks that the ranks of a communicator agree on."""

from __future__ import annotations

from typing import Any

from princomp.feature_maps.landmarks import landmarks
from princomp.sources.any import rows_of

__all__ = ["agreed_landmarks"]


def agreed_landmarks(comm: Any, rows: Any, count: int, *, seed: int = 0, **options: Any) -> Any:
    """The same landmarks on every rank, drawn from the rows of all.

    Every rank makes this call. It makes no difference to the landmarks which rank has which rows.

    Parameters
    ----------
    comm : mpi4py communicator or torch.distributed group
    rows : as for :meth:`princomp.PCA.fit`
        Of this rank; None, or an array of shape (0, p), where it has none.
    count : int
    seed : int
    **options
        ``rule``, ``kernel`` and ``drop`` of :func:`landmarks`.

    Returns
    -------
    ndarray or CSR array of shape (m, p)

    Raises
    ------
    BaseException
        What any rank raised, on all of them.
    """
    # An engine is imported where it is used.
    from princomp.engines.agreement import Here
    from princomp.engines.ranks import Ranks, fit_together, no_rows

    def read() -> Here:
        empty = no_rows(rows)
        if empty is not None:
            return empty
        data, columns, file = rows_of(rows)
        names = None if columns is None else tuple(map(str, columns))
        return Here(data, data.shape[1], None, names, file)

    def lead(everywhere: Ranks) -> Any:
        return landmarks(everywhere, count, seed=seed, **options).points

    rule = options.get("rule", "uniform")
    settings = {"call": "agreed_landmarks", "count": count, "seed": seed, "rule": rule}
    return fit_together(comm, settings, read, lead)[1]
