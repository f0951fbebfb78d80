"""Functions of the compiled library and sizes of buffers: Python and C++ must agree."""

from __future__ import annotations

import re

import numpy as np
import pytest
from instruction_sets import kernels_of

from princomp.errors import MissingLibraryError
from princomp.kernels import native
from princomp.kernels.signatures import SIGNATURES, SIZES

SETS = native.instruction_sets()
pytestmark = pytest.mark.skipif(not SETS, reason="no compiled kernels: apt-get install g++")


@pytest.fixture(autouse=True)
def _newest_kernels():
    """Compare the tables again in each test, and after the last one."""
    with kernels_of(SETS[-1]):
        yield


def test_the_library_has_every_function_that_python_calls(instructions):
    for name in SIGNATURES:
        assert native.function(name) is not None


@pytest.mark.parametrize("name", SIZES)
def test_a_size_changed_in_python_is_refused(name, instructions, monkeypatch):
    monkeypatch.setitem(SIZES, name, SIZES[name] * 2)
    with pytest.raises(MissingLibraryError, match=f"another version of princomp: {name} is"):
        native.function("moments_f64")


@pytest.mark.parametrize("change", [lambda old: old + "n", lambda old: old[:-1], lambda _: "d"])
@pytest.mark.parametrize("name", SIGNATURES)
def test_arguments_changed_in_python_are_refused(name, change, monkeypatch):
    monkeypatch.setitem(SIGNATURES, name, change(SIGNATURES[name]))
    with pytest.raises(MissingLibraryError, match=f"another version of princomp: {name} is"):
        native.function("moments_f64")


def test_a_function_that_one_side_lacks_is_refused(monkeypatch):
    monkeypatch.delitem(SIGNATURES, "across_f32")
    with pytest.raises(MissingLibraryError, match="across_f32 is pnnnppppp, expected None"):
        native.function("moments_f64")


@pytest.mark.parametrize("name", [*SIZES, *SIGNATURES])
@pytest.mark.parametrize("change", ["another size", "one line less", "no table"])
def test_a_library_with_another_table_is_refused(name, change, monkeypatch):
    text = native._exported(SETS[-1])
    line = re.search(rf"^{name} (.*)\n", text, re.MULTILINE)
    assert line
    changed = {
        "another size": text.replace(line[0], f"{name} {line[1]}0\n"),
        "one line less": text.replace(line[0], ""),
        "no table": "",
    }[change]
    monkeypatch.setattr(native, "_exported", lambda instructions: changed)
    with pytest.raises(MissingLibraryError, match="another version"):
        native.function("moments_f64")


@pytest.mark.parametrize("n", [2, 31, 33, 64, 500, 513, 1025])
def test_a_reduction_stays_in_its_memory(n, instructions):
    """Guard numbers before and after it are not overwritten."""
    guard = 64
    numbers = native.function("tridiagonal_numbers")(n)
    memory = np.full(numbers + 2 * guard, -7.0)
    rows = np.random.default_rng(n).standard_normal((n, n))
    work, shared = np.zeros((n, -(-n // 8) * 8)), np.zeros(64, np.uint8)
    work[:, :n] = rows + rows.T
    diagonal, off_diagonal, factors = np.empty(n), np.empty(n - 1), np.empty(n - 1)
    lead = native.function("tridiagonal_f64")
    lead(work, n, diagonal, off_diagonal, factors, memory[guard:], shared)
    assert (memory[:guard] == -7).all()
    assert (memory[-guard:] == -7).all()
    assert not np.isnan(diagonal).any()


def test_an_interrupt_while_arguments_are_converted_is_raised_as_it_is(instructions):
    class Interrupted:
        """Stands for an array during whose conversion a signal arrives."""

        @property
        def ctypes(self):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        native.function("moments_f64")(Interrupted(), 1, 1, 1, None, None)
