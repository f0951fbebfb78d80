"""Sizes of buffers that Python makes and compiled kernels fill: both sides must agree."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from princomp.errors import MissingLibraryError
from princomp.kernels import dense, native, row_images, tridiagonal, wide

SETS = native.instruction_sets()
pytestmark = pytest.mark.skipif(not SETS, reason="nothing was compiled")


@pytest.fixture(autouse=True)
def _checked_again():
    """What was found to agree before is compared again, here and in the tests that follow."""
    modules = (wide, dense, row_images, tridiagonal)
    for cached in (native.check_sizes, *(module._function for module in modules)):
        cached.cache_clear()
    yield
    for cached in (native.check_sizes, *(module._function for module in modules)):
        cached.cache_clear()


def kernels(instructions):
    """A call that gets each kernel whose buffers have a size of their own."""
    return {
        "wide_sizes": lambda: wide._function("wide_add_f64", wide._ADD, instructions),
        "dense_sizes": lambda: dense._function("dense_pass_f64", instructions),
        "row images": lambda: row_images._function("row_pass_f64", instructions),
    }


@pytest.mark.parametrize("instructions", SETS)
def test_both_sides_agree(instructions):
    for get in kernels(instructions).values():
        assert get() is not None


@pytest.mark.parametrize("instructions", SETS)
@pytest.mark.parametrize(
    ("module", "name", "value", "kernel"),
    [
        (wide, "_CHUNK_BYTES", {8: 2**14, 4: 2**11}, "wide_sizes"),
        (wide, "_CHUNK_BYTES", {8: 2**13, 4: 2**13}, "wide_sizes"),
        (wide, "_PANEL", 24, "wide_sizes"),
        (wide, "_SQUARE", 32, "wide_sizes"),
        (dense, "_STRIP", 4, "dense_sizes"),
        (dense, "_ROOM", 2**18, "dense_sizes"),
        (dense, "TILE", 2**9, "dense_sizes"),
        (dense, "_STRIP", 4, "row images"),
        (dense, "TILE", 2**9, "row images"),
    ],
)
def test_a_size_changed_in_python_is_refused(
    module, name, value, kernel, instructions, monkeypatch
):
    monkeypatch.setattr(module, name, value)
    with pytest.raises(MissingLibraryError, match="another version"):
        kernels(instructions)[kernel]()


@pytest.mark.parametrize("kernel", ["wide_sizes", "dense_sizes", "row images"])
@pytest.mark.parametrize("change", ["another size", "one size less", "no sizes"])
def test_a_library_with_other_sizes_is_refused(kernel, change, monkeypatch):
    function = native.function

    def changed(name, *types, instructions=""):
        real = function(name, *types, instructions=instructions)
        if not name.endswith("_sizes"):
            return real
        if change == "no sizes":
            raise AttributeError(name)

        def sizes(to, room):
            count = real(to, room)
            if change == "one size less":
                return count - 1
            ctypes.c_ssize_t.from_address(to).value *= 2
            return count

        return sizes

    monkeypatch.setattr(native, "function", changed)
    with pytest.raises(MissingLibraryError, match="another version"):
        kernels(SETS[-1])[kernel]()


@pytest.mark.parametrize("instructions", SETS)
@pytest.mark.parametrize("n", [2, 31, 33, 64, 500, 513, 1025])
def test_a_reduction_stays_in_the_memory_that_it_asks_for(n, instructions):
    """A guard of a few lines before and after it is left as it was."""
    guard = 64
    numbers = native.function("tridiagonal_numbers", ctypes.c_ssize_t, instructions=instructions)(n)
    memory = np.full(numbers + 2 * guard, -7.0)
    rows = np.random.default_rng(n).standard_normal((n, n))
    work, shared = rows + rows.T, np.zeros(64, np.uint8)
    diagonal, beside, factors = np.empty(n), np.empty(n - 1), np.empty(n - 1)
    lead = native.function("tridiagonal_f64", *tridiagonal._LEAD, instructions=instructions)
    at = [native.address(one) for one in (diagonal, beside, factors)]
    lead(native.address(work), n, *at, native.address(memory[guard:]), native.address(shared))
    assert (memory[:guard] == -7).all()
    assert (memory[-guard:] == -7).all()
    assert not np.isnan(diagonal).any()
