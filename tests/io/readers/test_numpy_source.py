"""Chunks of .npy files equal the whole file, from any row and in any thread."""

from __future__ import annotations

import copy
import gc
import os
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from helpers import read_whole
from princomp.errors import (
    ColumnError,
    InputNotFoundError,
    MalformedFileError,
    NotNumericError,
    ParameterError,
    PrincompError,
    ShapeError,
)
from princomp.io.readers import numpy_file
from princomp.io.readers.columns import Origin, Selection, choose_columns
from princomp.io.readers.numpy_file import open_npy
from princomp.io.readers.source import FileState

DTYPES = ["f2", "f4", ">f4", "f8", ">f8", "i1", "u2", "i4", ">i8", "i8", "u8", "?", "longdouble"]


@pytest.fixture
def save(tmp_path):
    def save(array):
        path = tmp_path / "t.npy"
        np.save(path, array)
        return path

    return save


def opened(path, columns=None, exclude=()):
    return open_npy(path, Selection(columns, exclude))


def numbers(n=300, p=7, dtype="f8", order="C"):
    x = np.random.default_rng(0).integers(0, 100, (n, p)) + 0.25
    return np.asarray(x.astype(dtype), order=order)


def read_all(source, start=0):
    chunks = [chunk.data for chunk in source.chunks(start)]
    for data in chunks:
        assert data.flags.c_contiguous
        assert data.flags.owndata
        assert data.dtype == source.dtype
        assert data.dtype.isnative
        assert len(data)
    return np.vstack(chunks)


def open_count(path):
    if not os.path.exists("/proc/self/fd"):
        pytest.skip("this system does not list open files")
    names = (f"/proc/self/fd/{i}" for i in os.listdir("/proc/self/fd"))
    return [os.readlink(name) for name in names if os.path.lexists(name)].count(str(path))


@pytest.fixture
def small_pieces(monkeypatch):
    """Chunks of 16 numbers, so that a small file has many."""
    monkeypatch.setattr(numpy_file, "NUMBERS_PER_CHUNK", 16)
    monkeypatch.setattr(numpy_file, "NUMBERS_PER_FORTRAN_CHUNK", 16)


# What is read


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("columns", "exclude"), [(None, ()), (["5", "0", "2"], ()), (None, ("0", "6")), (["3"], ())]
)
@pytest.mark.usefixtures("small_pieces")
def test_chunks_give_the_saved_numbers(save, dtype, order, columns, exclude):
    x = numbers(dtype=dtype, order=order)
    source = opened(save(x), columns, exclude)
    chosen = [int(name) for name in columns or "0123456" if name not in exclude]
    assert source.shape == (300, len(chosen))
    assert source.dtype == (np.float32 if dtype.endswith("f4") else np.float64)
    np.testing.assert_array_equal(read_all(source), x[:, chosen].astype(source.dtype))
    assert bool(source.notes) == (np.dtype(dtype).itemsize > 8)
    assert source.columns is None
    assert source.stored is None


@pytest.mark.parametrize("order", ["C", "F"])
def test_any_range_of_rows_can_be_read(save, order):
    x = numbers(order=order)
    source = opened(save(x))
    for start, stop in [(0, 0), (0, 1), (0, 300), (17, 18), (299, 300), (250, 900), (300, 310)]:
        np.testing.assert_array_equal(source.read(start, stop).data, x[start:stop])
    for start in (0, 1, 150, 299):
        np.testing.assert_array_equal(read_all(source, start), x[start:])
    assert list(source.chunks(300)) == []
    assert list(source.chunks(1000)) == []


def test_chunks_are_of_moderate_size(save):
    for order in "CF":
        source = opened(save(numbers(40_000, 20, order=order)))
        sizes = [chunk.data.size for chunk in source.chunks()]
        assert len(sizes) > 1 or order == "F"
        assert max(sizes) <= 2**20


def test_the_whole_file_equals_its_chunks(save):
    for dtype in DTYPES:
        for order in "CF":
            path = save(numbers(dtype=dtype, order=order))
            whole = read_whole(path, columns=["4", "1"])
            source = opened(path, ["4", "1"])
            np.testing.assert_array_equal(read_all(source), whole.data)
            assert (source.notes, source.file) == (whole.notes, whole.file)
            assert source.dtype == whole.data.dtype


def test_missing_and_infinite_numbers_stay(save):
    x = np.array([[np.nan, 1], [np.inf, -np.inf]])
    np.testing.assert_array_equal(read_all(opened(save(x))), x)


def test_odd_nans_are_read_as_nan_and_overflow_as_infinity(save):
    odd = np.array([[0x7C01, 0xFE00]], np.uint16).view(np.float16)
    assert np.isnan(read_all(opened(save(odd)))).all()
    large = np.array([["1e4000", "-1e4000"]], np.longdouble)
    np.testing.assert_array_equal(read_all(opened(save(large))), [[np.inf, -np.inf]])


def test_nbytes_counts_only_the_bytes_read(save):
    x = numbers(dtype="f4")
    assert opened(save(x), ["1", "3"]).nbytes == x.nbytes
    assert opened(save(np.asfortranarray(x)), ["1", "3"]).nbytes == x.nbytes * 2 // 7


def test_single_rows_and_columns_are_read_in_either_order(save):
    for shape in ((1, 5), (5, 1), (1, 1)):
        for order in "CF":
            x = numbers(*shape, order=order)
            np.testing.assert_array_equal(read_all(opened(save(x))), x)


def test_bytes_after_the_array_are_ignored(save):
    x = numbers()
    path = save(x)
    path.write_bytes(path.read_bytes() + b"more")
    np.testing.assert_array_equal(read_all(opened(path)), x)


def test_long_headers_of_the_second_version_are_read(tmp_path):
    x = numbers()
    path = tmp_path / "t.npy"
    with path.open("wb") as file:
        np.lib.format.write_array(file, x, version=(2, 0))
    np.testing.assert_array_equal(read_all(opened(path)), x)


# Integers


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(
    ("dtype", "value"),
    [("i8", 2**53 + 1), (">i8", -(2**53) - 1), ("i8", -(2**63)), ("u8", 2**64 - 1)],
)
@pytest.mark.usefixtures("small_pieces")
def test_integers_that_would_lose_digits_are_refused_with_row_and_column(save, dtype, value, order):
    x = np.ones((100, 3), dtype, order=order)
    x[77, 2] = value
    x[78, 0] = value
    source = opened(save(x), ["0", "2"])
    assert len(source.read(0, 77).data) == 77
    for read in (lambda: source.read(50, 90), lambda: list(source.chunks())):
        with pytest.raises(NotNumericError, match="beyond 2\\*\\*53") as caught:
            read()
        assert caught.value.place == {"file": source.file, "column": "2", "row": 77}
        assert str(value) in str(caught.value)
    np.testing.assert_array_equal(opened(save(x), ["1"]).read(0, 100).data, 1)


def test_the_largest_exact_integers_are_read(save):
    x = np.array([[2**53, -(2**53)]])
    assert read_all(opened(save(x))).tolist() == [[2.0**53, -(2.0**53)]]


# Threads, copies, descriptors


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("by_position", [True, False])
def test_threads_read_the_same_source_at_once(save, monkeypatch, order, by_position):
    if not by_position:  # as on systems without os.preadv
        monkeypatch.delattr(os, "preadv")
    x = numbers(5000, 11, "i4", order)
    path = save(x)
    source = opened(path)
    starts = np.random.default_rng(1).integers(0, 4990, 500).tolist()
    with ThreadPoolExecutor(8) as pool:
        for start, chunk in zip(
            starts, pool.map(lambda i: source.read(i, i + 10), starts), strict=True
        ):
            np.testing.assert_array_equal(chunk.data, x[start : start + 10])
    assert open_count(path) == 1


def test_one_file_is_opened_at_the_first_read_and_closed_with_the_source(save):
    path = save(numbers())
    source = opened(path)
    assert open_count(path) == 0
    source.read(0, 1)
    source.read(1, 2)
    assert open_count(path) == 1
    del source
    gc.collect()
    assert open_count(path) == 0


def test_copies_open_their_own_file(save):
    x = numbers()
    source = opened(save(x), ["2", "1"])
    source.read(0, 1)
    for other in (pickle.loads(pickle.dumps(source)), copy.deepcopy(source), copy.copy(source)):
        assert other.shape == source.shape
        np.testing.assert_array_equal(read_all(other), x[:, [2, 1]])
    np.testing.assert_array_equal(read_all(source), x[:, [2, 1]])


def test_short_reads_are_continued(save, monkeypatch):
    x = numbers(dtype="f4")
    source = opened(save(x))
    preadv, sizes_requested = os.preadv, []

    def short_preadv(descriptor, buffers, offset):
        sizes_requested.append(len(buffers[0]))
        return preadv(descriptor, [buffers[0][:1000]], offset)

    monkeypatch.setattr(os, "preadv", short_preadv)
    np.testing.assert_array_equal(source.read(0, 300).data, x)
    assert sizes_requested == list(range(8400, 0, -1000))


def test_file_states_describe_the_current_file(save):
    path = save(numbers())
    source = opened(path)
    assert source.file_states() == (FileState.of(path),)
    os.utime(path, ns=(1, 1))
    assert source.file_states()[0].modified_ns == 1
    path.unlink()
    with pytest.raises(InputNotFoundError):
        source.file_states()


# What is refused


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["f4", "i8"])
def test_a_file_cut_anywhere_is_refused_when_it_is_opened(save, dtype, order):
    path = save(numbers(dtype=dtype, order=order))
    whole = path.read_bytes()
    for i in range(64):
        path.write_bytes(whole[: len(whole) * i // 64])
        with pytest.raises(MalformedFileError) as caught:
            opened(path)
        assert caught.value.place == {"file": str(path)}
        assert caught.value.hint
    path.write_bytes(whole[:-1])
    with pytest.raises(MalformedFileError, match="announces 300 × 7 numbers"):
        opened(path)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["f4", "i8"])
@pytest.mark.usefixtures("small_pieces")
def test_a_file_that_shrinks_while_it_is_read_is_refused(save, dtype, order):
    path = save(numbers(dtype=dtype, order=order))
    source = opened(path)
    chunks = source.chunks()
    next(chunks)
    os.truncate(path, path.stat().st_size // 2)
    for read in (lambda: list(chunks), lambda: source.read(299, 300)):
        with pytest.raises(MalformedFileError, match="became shorter") as caught:
            read()
        assert caught.value.place == {"file": str(path)}


def test_changed_bytes_raise_only_princomp_errors(save):
    path = save(numbers(20, 2))
    whole = path.read_bytes()
    rng = np.random.default_rng(2)
    for at in [*range(128), *rng.integers(128, len(whole), 20).tolist()]:
        changed = bytearray(whole)
        changed[at] ^= int(rng.integers(1, 256))
        path.write_bytes(changed)
        try:
            source = opened(path)
            assert sum(len(chunk.data) for chunk in source.chunks()) == source.rows
        except PrincompError as error:
            assert str(error)  # noqa: PT017 - a change may also be a valid number


@pytest.mark.parametrize("shape", [(-2, -3), (2**40, 100), (2**60, 100)])
def test_shapes_of_other_sizes_than_the_file_are_refused(tmp_path, shape):
    path = tmp_path / "t.npy"
    with path.open("wb") as file:
        claim = {"descr": "<f8", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, claim)
        file.write(bytes(1000))
    with pytest.raises(MalformedFileError, match=f"announces {shape[0]} × {shape[1]} numbers"):
        opened(path)


def test_invalid_arrays_are_refused_on_opening(save):
    for array, error in [
        (np.zeros(3), ShapeError),
        (np.zeros((0, 3)), ShapeError),
        (np.zeros((2, 2), complex), NotNumericError),
        (np.array([["a"]]), NotNumericError),
        (np.array([[None]]), NotNumericError),
    ]:
        with pytest.raises(error):
            opened(save(array))


def test_invalid_columns_are_refused(save):
    path = save(numbers(p=3))
    for columns, exclude in [(["3"], ()), (["-1"], ()), (None, ("a",)), (["1", "1"], ())]:
        with pytest.raises(ColumnError):
            opened(path, columns, exclude)
    with pytest.raises(ParameterError, match="numbers only"):
        open_npy(path, Selection(id_column="0"))
    with pytest.raises(ShapeError):
        opened(path, None, ("0", "1", "2"))
    assert opened(path, ["0"]).unused == read_whole(path, columns=["0"]).unused


def test_unknown_columns_are_refused(save):
    """Python converts no text of more than 4,300 digits to an integer."""
    path = save(numbers(3, 200))
    for name in ("200", "00", "9" * 5000):
        with pytest.raises(ColumnError, match=f"no column '{name}'"):
            opened(path, [name])


def test_few_of_many_unknown_columns_get_a_guess():
    """A guess compares a name with all columns: for thousands of names, this took hours."""
    origin, names = Origin("t.csv"), [f"gene{j}" for j in range(40)]
    wrong = [name.title() for name in names]
    with pytest.raises(ColumnError, match=r"no columns 'Gene0'.* and 28 more") as caught:
        choose_columns(names, Selection(wrong), origin)
    assert caught.value.place["missing"] == wrong
    assert "'gene11'? There are" in caught.value.hint


def test_arrays_saved_one_after_another_are_refused(save):
    path = save(numbers())
    with path.open("ab") as file:
        np.save(file, numbers())
    with pytest.raises(MalformedFileError, match="holds several arrays, one after another"):
        opened(path)
