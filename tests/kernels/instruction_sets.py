"""Choose the instruction set of the kernels, as the environment variable does."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from princomp.kernels import native


@contextmanager
def kernels_of(kind):
    """Compute with the kernels of an instruction set, or with "numpy"."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PRINCOMP_KERNEL", kind)
        _choose_again()
        yield
    _choose_again()


def _choose_again():
    native.instruction_set_in_use.cache_clear()
    native.function.cache_clear()
