"""Fixtures of the tests in this folder."""

from __future__ import annotations

import on_gloo
import on_mpi
import on_strict  # noqa: F401  (enters the library)
import pytest


@pytest.fixture(scope="module", params=[on_mpi, on_gloo], ids=["mpi", "gloo"])
def ranks(request):
    if request.param.missing():
        pytest.skip(request.param.missing())
    return request.param.SERVER


@pytest.fixture(scope="module")
def mpi():
    if on_mpi.missing():
        pytest.skip(on_mpi.missing())
    return on_mpi.SERVER
