"""MPI: four ranks that mpiexec has started."""

from __future__ import annotations

from importlib.util import find_spec

from on_local import table
from ranks_server import Server, mpiexec

SERVER = Server("mpi", 4)


def missing():
    if find_spec("mpi4py") is None:
        return "mpi4py is not installed: pip install 'princomp[mpi]'"
    return None if mpiexec() else "no mpiexec: pip install mpich"


def fit(parts, **parameters):
    return SERVER.call("fit", parts, **parameters)[-1]


def transform(model, parts):
    # Rows of a rank are rows in memory: no rank needs another one for their scores.
    return model.transform(table(parts))
