"""Run by mpiexec: a fit of one rank that is killed, or slow, in mid-pass.

mpiexec -n 3 python lost_rank.py killed|slow MODEL
"""

import os
import signal
import sys
import time
from pathlib import Path

import numpy as np
from mpi4py import MPI

from princomp import PCA

what, path = sys.argv[1:]
rank = MPI.COMM_WORLD.rank


def batches():
    rng = np.random.default_rng(rank)
    for i in range(6):
        if rank == 1 and i == 3:
            if what == "killed":
                Path(path).with_name("killed").touch()
                os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(1.0)
        yield rng.standard_normal((5000, 20)) * np.linspace(3, 1, 20)


model = PCA(3, svd_solver="covariance_eigh").fit(batches(), comm=MPI.COMM_WORLD)
if rank == 0:
    model.save(path)
