"""Fixtures that run a test with each instruction set of this machine."""

from __future__ import annotations

import pytest
from instruction_sets import kernels_of

from princomp.kernels import native


@pytest.fixture(params=["numpy", *native.instruction_sets()])
def kind(request):
    """Each instruction set of this machine, and NumPy."""
    with kernels_of(request.param):
        yield request.param


@pytest.fixture(params=native.instruction_sets())
def instructions(request):
    """Each instruction set of this machine."""
    with kernels_of(request.param):
        yield request.param
