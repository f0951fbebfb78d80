"""Files of .npz and MatrixMarket are read whole, and checked before memory is allocated."""

from __future__ import annotations

import gzip
import io
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from princomp.errors import (
    ColumnError,
    InputNotFoundError,
    MalformedFileError,
    MissingLibraryError,
    NoRowsError,
    NotNumericError,
    ParameterError,
    PrincompError,
    ShapeError,
)
from princomp.io.readers.columns import Selection
from princomp.io.readers.files import open_source
from princomp.io.readers.matrix_market import (
    open_matrix_market,
    read_array,
    read_entries,
    read_market_header,
)
from princomp.io.readers.memory import from_sparse
from princomp.io.readers.npz_file import open_npz
from princomp.io.readers.source import TableSource


def npz(path, columns=None, exclude=(), id_column=None, inside=None):
    return open_npz(path, Selection(columns, exclude, id_column), inside)


def mtx(path, columns=None, exclude=(), id_column=None):
    return open_matrix_market(path, Selection(columns, exclude, id_column))


def dense(source, start=0):
    """All rows from ``start`` on; checks that each chunk keeps the contract of a source."""
    assert isinstance(source, TableSource)
    parts = [chunk.data for chunk in source.chunks(start)]
    for data in parts:
        assert data.dtype == source.dtype
        assert data.dtype.isnative
        assert data.shape[1] == source.p
        if sp.issparse(data):
            assert isinstance(data, sp.csr_array)
            assert data.has_canonical_format
        else:
            assert data.flags.c_contiguous
    return np.vstack([x.toarray() if sp.issparse(x) else x for x in parts])


def refused(error, opener, path, columns=None, **options):
    with pytest.raises(error) as caught:
        opener(path, columns, **options)
    assert type(caught.value) is error
    assert caught.value.place["file"] == str(path)
    assert caught.value.hint
    return caught.value


def write_market(path, head, *lines):
    text = "\n".join([f"%%MatrixMarket matrix {head}", *lines, ""]).encode()
    path.write_bytes(gzip.compress(text, mtime=0) if path.name.lower().endswith(".gz") else text)
    return path


def counts(dtype="f8", n=24, p=6):
    x = np.random.default_rng(2).poisson(0.4, (n, p)).astype(dtype)
    x[5:8] = 0
    return x


# .npz: sparse matrices


@pytest.mark.parametrize("layout", ["csr", "csc", "bsr", "dia", "coo"])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "i8", "u8", "?"])
@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize("make", [sp.csr_array, sp.csr_matrix])
def test_sparse_matrices_of_every_format_become_rows(tmp_path, layout, dtype, compressed, make):
    x = counts(dtype)
    path = tmp_path / "t.npz"
    sp.save_npz(path, make(x).asformat(layout), compressed=compressed)
    source = npz(path)
    assert source.shape == x.shape
    assert source.columns is None
    assert source.dtype == (np.float32 if dtype == "f4" else np.float64)
    np.testing.assert_array_equal(dense(source), x)
    np.testing.assert_array_equal(dense(source, 5), x[5:])
    np.testing.assert_array_equal(dense(npz(path, ["4", "0"])), x[:, [4, 0]])
    np.testing.assert_array_equal(dense(npz(path, exclude=["2"])), np.delete(x, 2, axis=1))
    if layout != "bsr":
        assert source.stored == np.count_nonzero(x)


def test_repeated_entries_are_summed_and_missing_values_stay(tmp_path):
    path = tmp_path / "t.npz"
    places = (np.array([0, 1, 0, 1]), np.array([2, 0, 2, 1]))
    sp.save_npz(path, sp.coo_array((np.array([1.5, np.nan, 2.0, 0.0]), places), shape=(2, 3)))
    source = npz(path)
    np.testing.assert_array_equal(dense(source), [[0, 0, 3.5], [np.nan, 0, 0]])
    assert source.stored == 3


def test_parts_in_another_byte_order_are_read(tmp_path):
    x = sp.csr_array(counts())
    parts = {name: getattr(x, name) for name in ("data", "indices", "indptr")}
    parts = {name: part.astype(part.dtype.newbyteorder(">")) for name, part in parts.items()}
    np.savez(tmp_path / "t.npz", format="csr", shape=np.array(x.shape, ">i8"), **parts)
    np.testing.assert_array_equal(dense(npz(tmp_path / "t.npz")), x.toarray())


@pytest.mark.parametrize("layout", ["csr", "csc", "coo", "bsr"])
def test_long_integers_are_refused_with_their_position(tmp_path, layout):
    x = counts("i8")
    x[17, 4] = 2**53 + 1
    path = tmp_path / "t.npz"
    sp.save_npz(path, sp.csr_array(x).asformat(layout))
    for columns in (None, ["1", "4"]):
        error = refused(NotNumericError, npz, path, columns)
        assert error.place == {"file": str(path), "column": "4", "row": 17}
    np.testing.assert_array_equal(dense(npz(path, exclude=["4"])), np.delete(x, 4, axis=1))


@pytest.mark.parametrize("layout", ["csr", "csc", "bsr", "coo"])
@pytest.mark.parametrize(
    "damage",
    [
        ("indices", 3, 99),
        ("indices", 3, -1),
        ("indptr", 2, 10**6),
        ("indptr", 3, -1),
        ("indptr", -1, None),
    ],
)
def test_indices_out_of_range_are_refused_and_never_used(tmp_path, layout, damage):
    name, at, value = damage
    matrix = sp.csr_array(counts()).asformat(layout)
    if layout == "coo":
        name, value = "row" if name == "indices" else "col", -1 if value is None else value
    parts = {
        k: getattr(matrix, k).copy()
        for k in ("row", "col", "data", "indices", "indptr")
        if hasattr(matrix, k)
    }
    parts[name][at] = parts[name][at] - 1 if value is None else value
    path = tmp_path / "t.npz"
    np.savez(path, format=layout.encode(), shape=matrix.shape, **parts)
    refused(MalformedFileError, npz, path)


def test_an_index_valid_only_after_truncation_to_32_bits_is_refused(tmp_path):
    parts = {"data": np.ones(2), "indices": np.array([0, 2**32]), "indptr": np.array([0, 2])}
    np.savez(tmp_path / "t.npz", format="csr", shape=(1, 3), **parts)
    refused(MalformedFileError, npz, tmp_path / "t.npz")


def test_sparse_matrices_without_rows_or_of_complex_numbers_are_refused(tmp_path):
    path = tmp_path / "t.npz"
    for matrix, error in (
        (sp.csr_array((0, 3)), NoRowsError),
        (sp.csr_array((3, 0)), ShapeError),
        (sp.csr_array(np.eye(2, dtype=complex)), NotNumericError),
        (sp.coo_array(np.ones(3)), ShapeError),
    ):
        sp.save_npz(path, matrix)
        refused(error, npz, path)
    sp.save_npz(path, sp.csr_array(counts()))
    assert "'x'" in str(refused(ParameterError, npz, path, inside="x"))
    assert "numbers only" in str(refused(ParameterError, npz, path, id_column="0"))
    assert "There are: 0, 1, 2, 3, 4, 5." in refused(ColumnError, npz, path, ["6"]).hint


# .npz: dense arrays


@pytest.mark.parametrize("dtype", ["f2", "f4", ">f4", "f8", ">i8", "u1", "?", "g"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_the_only_or_the_named_table_is_read(tmp_path, dtype, order, save):
    x = np.array([[1, 0, 1], [0, 1, 1]], dtype=dtype, order=order)
    path = tmp_path / "t.npz"
    save(path, x=x, labels=np.array(["a", "b"]), weights=np.ones(2), format=np.array("csr"))
    source = npz(path)
    assert source.dtype == (np.float32 if dtype.endswith("f4") else np.float64)
    np.testing.assert_array_equal(dense(source), x.astype(float))
    assert bool(source.notes) == (np.dtype(dtype).itemsize > 8)
    np.testing.assert_array_equal(dense(npz(path, ["2", "0"])), x[:, [2, 0]].astype(float))
    save(path, x=x, y=(x + x).astype(dtype))
    np.testing.assert_array_equal(dense(npz(path, inside="y")), (x + x).astype(float))
    error = refused(ParameterError, npz, path)
    assert f"y (2 × 3, {x.dtype})" in str(error)
    assert f"{path}::x" in error.hint
    assert "There are: x (2 × 3" in refused(ParameterError, npz, path, inside="z").hint


@pytest.mark.parametrize(
    ("array", "error", "message"),
    [
        (np.zeros(3), ShapeError, "1 dimensions"),
        (np.zeros((0, 3)), NoRowsError, "no rows"),
        (np.zeros((2, 2), complex), NotNumericError, "complex"),
        (np.array([["a"]]), NotNumericError, "no numbers"),
        (np.array([[None]]), NotNumericError, "text or lists"),
        (np.array([[1, 2**53 + 1]]), NotNumericError, "column '1' row 0"),
    ],
)
def test_invalid_arrays_are_refused_without_unpickling(tmp_path, array, error, message):
    np.savez(tmp_path / "t.npz", x=array, allow_pickle=True)
    assert message in str(refused(error, npz, tmp_path / "t.npz", inside="x"))


def test_no_part_of_a_sparse_matrix_is_unpickled(tmp_path):
    path = tmp_path / "t.npz"
    trace = tmp_path / "a pickle was loaded"

    class Trap:
        def __reduce__(self):
            return Path.touch, (trace,)

    for name in ("format", "shape", "data"):
        parts = {"format": "csr", "shape": (1, 1), "data": np.ones(1)}
        parts[name] = np.array(Trap(), object)
        np.savez(path, allow_pickle=True, **parts)
        with pytest.raises(PrincompError):
            npz(path)
        assert not trace.exists()


def test_an_array_with_too_few_bytes_is_refused_before_allocating(tmp_path):
    header = io.BytesIO()
    claim = {"descr": "<f8", "fortran_order": False, "shape": (10**11, 3)}
    np.lib.format.write_array_header_1_0(header, claim)
    path = tmp_path / "t.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", header.getvalue() + bytes(100))
    assert "claims to have 2,400,000,000,000 bytes" in str(refused(MalformedFileError, npz, path))


@pytest.mark.parametrize("content", [b"", b"\n", b"a,b\n1,2\n", b"PK\x03\x04" + bytes(100)])
def test_a_file_of_another_kind_is_refused(tmp_path, content):
    for opener, name in ((npz, "t.npz"), (mtx, "t.mtx"), (mtx, "t.mtx.gz")):
        path = tmp_path / name
        path.write_bytes(content)
        refused(MalformedFileError, opener, path)
        with pytest.raises(InputNotFoundError):
            opener(tmp_path / f"no {name}")


# MatrixMarket


@pytest.mark.parametrize("name", ["t.mtx", "t.mtx.gz", "T.MTX.GZ"])
def test_coordinates_become_rows(tmp_path, name):
    lines = ["% made by hand, 1,5", "", "3 2 4", "1 1 1.5", "3 2 -2e-3", "2 1 nan", "3 2 1"]
    source = mtx(write_market(tmp_path / name, "coordinate real general", *lines))
    assert source.shape == (3, 2)
    assert source.stored == 3
    np.testing.assert_array_equal(dense(source), [[1.5, 0], [np.nan, 0], [0, 0.998]])
    np.testing.assert_array_equal(dense(mtx(tmp_path / name, ["1"])), [[0], [0], [0.998]])


@pytest.mark.parametrize(
    ("head", "lines", "expected"),
    [
        ("coordinate pattern symmetric", ["2 2 2", "1 1", "2 1"], [[1, 1], [1, 0]]),
        ("coordinate integer skew-symmetric", ["2 2 1", "2 1 7"], [[0, -7], [7, 0]]),
        ("coordinate real general", ["2 2 1", "1 2 -inf"], [[0, -np.inf], [0, 0]]),
        ("coordinate unsigned-integer general", ["1 2 1", "1 2 7"], [[0, 7]]),
        ("array real general", ["2 2", "1", "2", "NaN", "4e0"], [[1, np.nan], [2, 4]]),
        ("array integer symmetric", ["2 2", "1", "2", "3"], [[1, 2], [2, 3]]),
        ("array real skew-symmetric", ["2 2", "5"], [[0, -5], [5, 0]]),
        ("coordinate double general", [" 1  2\t1 ", "  1\t2   -1.5D+01 "], [[0, -15]]),
        ("array real general", ["2 2", "+1", " 2", "3 ", "", "Inf"], [[1, 3], [2, np.inf]]),
        ("array real general", ["1 2", "1\r", "2\r"], [[1, 2]]),
        ("coordinate real general", ["2 2 0"], [[0, 0], [0, 0]]),
    ],
)
def test_every_kind_of_matrix_becomes_floats(tmp_path, head, lines, expected):
    source = mtx(write_market(tmp_path / "t.mtx", head, *lines))
    assert source.dtype == np.float64
    assert (source.stored is None) == head.startswith("array")
    np.testing.assert_array_equal(dense(source), expected)


@pytest.mark.parametrize("x", [counts(), counts("i8"), sp.csr_array(counts()), sp.eye_array(5)])
def test_files_that_scipy_writes_are_read(tmp_path, x):
    scipy.io.mmwrite(tmp_path / "t.mtx", x)
    expected = x.toarray() if sp.issparse(x) else x
    np.testing.assert_array_equal(dense(mtx(tmp_path / "t.mtx")), expected)


@pytest.mark.parametrize(
    ("head", "lines", "error", "message"),
    [
        ("coordinate complex general", ["2 2 1", "1 1 1 2"], NotNumericError, "complex"),
        ("coordinate real general", ["2 2 1", "1 1 1,5"], MalformedFileError, "1,5"),
        ("coordinate real general", ["2 2 1", "1 1"], MalformedFileError, "Expected 3 columns"),
        ("coordinate real general", ["2 2 1", "1.5 1 1"], MalformedFileError, "1.5"),
        ("array real general", ["2 1", "1", "2x"], MalformedFileError, "2x"),
        ("coordinate integer general", ["2 2 1", "1 1 1.5"], MalformedFileError, "1.5"),
        ("coordinate real symmetric", ["2 3 0"], MalformedFileError, "2 rows and 3 columns"),
        ("coordinate real general", ["2 2"], MalformedFileError, "sizes"),
        ("coordinate real general", ["2 -2 1"], MalformedFileError, "sizes"),
        ("coordinate real general", [f"{10**19} 2 0"], MalformedFileError, "sizes"),
        ("coordinate real general", [f"{'9' * 5000} 2 0"], MalformedFileError, "sizes"),
        ("array pattern general", ["2 2"], MalformedFileError, "array pattern general"),
        ("coordinate real crooked", ["2 2 0"], MalformedFileError, "crooked"),
        (
            "array unsigned-integer skew-symmetric",
            ["2 2", "1"],
            MalformedFileError,
            "have no sign",
        ),
        ("coordinate real general", ["0 2 0"], NoRowsError, "no rows"),
        ("coordinate real general", ["2 0 0"], ShapeError, "no columns"),
        ("coordinate real general", ["2 2 1", "3 1 1"], MalformedFileError, "outside of its 2 × 2"),
        (
            "coordinate real general",
            ["2 2 2", "1 1 1"],
            MalformedFileError,
            "2 numbers, but there are 1",
        ),
        ("coordinate real general", ["2 2 1", "1 1 1", "1 2 1"], MalformedFileError, "are more"),
        ("array real general", ["2 2", "1", "2", "3"], MalformedFileError, "are 3"),
        ("coordinate real general", [], MalformedFileError, ""),
        (
            "coordinate integer general",
            ["3 2 1", "2 2 9007199254740993"],
            NotNumericError,
            "column '1' row 1: the integer 9007199254740993",
        ),
        (
            "array unsigned-integer general",
            ["1 1", "18446744073709551615"],
            NotNumericError,
            "18446744073709551615",
        ),
    ],
)
def test_invalid_matrices_are_refused(tmp_path, head, lines, error, message):
    assert message in str(refused(error, mtx, write_market(tmp_path / "t.mtx", head, *lines)))


class ShortReads(io.BytesIO):
    """A file that gives a few bytes at a time, as a pipe may."""

    def __init__(self, content, size):
        super().__init__(content)
        self.size = size

    def read(self, size):
        return super().read(min(size, self.size))


def read_in_pieces(path, size):
    file = ShortReads(path.read_bytes(), size)
    header = read_market_header(path, file)
    if header.entries is None:
        return read_array(path, file, header)
    row, column, values = read_entries(path, file, header)
    return sp.coo_array((values, (row, column)), header.shape).toarray()


def test_pieces_of_any_size_give_the_same_numbers(tmp_path):
    x = np.random.default_rng(3).standard_normal((30, 4))
    x[x < -0.5] = 0
    for name, matrix in (("a.mtx", x), ("c.mtx", sp.coo_array(x))):
        scipy.io.mmwrite(tmp_path / name, matrix, precision=17)
        (tmp_path / "end.mtx").write_bytes((tmp_path / name).read_bytes().rstrip())
        for path in (tmp_path / name, tmp_path / "end.mtx"):
            np.testing.assert_array_equal(dense(mtx(path)), x)
            for size in (1, 7, 100, 1_000):
                np.testing.assert_array_equal(read_in_pieces(path, size), x)
    # Lines have at most 64 KB.
    path = write_market(tmp_path / "t.mtx", "array real general", "1 1", "1" * 70_000)
    path.write_bytes(path.read_bytes().rstrip())
    assert "a line without end" in str(refused(MalformedFileError, mtx, path))


def test_without_pyarrow_the_extra_is_named(tmp_path, monkeypatch):
    path = write_market(tmp_path / "t.mtx", "array real general", "1 1", "1")
    for name in [name for name in sys.modules if name.split(".")[0] == "pyarrow"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingLibraryError) as caught:
        open_source(path)
    assert caught.value.place["file"] == str(path)
    assert "pip install" in caught.value.hint


def test_a_matrix_market_file_has_no_ids_and_numbers_its_columns(tmp_path):
    path = write_market(tmp_path / "t.mtx", "array real general", "1 2", "1", "2")
    refused(ParameterError, mtx, path, id_column="0")
    refused(ColumnError, mtx, path, ["2"])


def test_header_claims_alone_allocate_no_memory(tmp_path):
    path = write_market(tmp_path / "t.mtx", "coordinate real general", "1000 10 1000000000")
    refused(MalformedFileError, mtx, path)


# Truncated and changed files

KINDS = ["csr.npz", "zipped csc.npz", "dense.npz", "t.mtx", "t.mtx.gz", "array.mtx"]


def write(path):
    x = np.round(np.random.default_rng(1).standard_normal((40, 5)), 6)
    x[x < 0] = 0
    if "csr" in path.name or "csc" in path.name:
        layout = path.stem[-3:]
        sp.save_npz(path, sp.csr_array(x).asformat(layout), compressed="zipped" in path.name)
    elif path.suffix == ".npz":
        np.savez(path, x=x)
    else:
        text = io.BytesIO()
        scipy.io.mmwrite(text, x if path.stem == "array" else sp.coo_array(x), precision=17)
        raw = text.getvalue()
        path.write_bytes(gzip.compress(raw, mtime=0) if path.suffix == ".gz" else raw)
    return x


@pytest.mark.parametrize("name", KINDS)
def test_a_file_cut_anywhere_is_refused(tmp_path, name):
    path = tmp_path / name
    opener = npz if path.suffix == ".npz" else mtx
    x = write(path)
    whole = path.read_bytes()
    np.testing.assert_array_equal(dense(opener(path)), x)
    for i in range(64):
        path.write_bytes(whole[: len(whole) * i // 64])
        with pytest.raises(PrincompError) as caught:
            opener(path)
        assert caught.value.place["file"] == str(path)


@pytest.mark.parametrize("name", KINDS)
def test_a_changed_byte_is_found_or_makes_another_valid_number(tmp_path, name):
    path = tmp_path / name
    opener = npz if path.suffix == ".npz" else mtx
    x = write(path)
    whole = path.read_bytes()
    rng = np.random.default_rng(2)
    for at in rng.integers(0, len(whole), 200).tolist():
        changed = bytearray(whole)
        changed[at] ^= int(rng.integers(1, 256))
        path.write_bytes(changed)
        try:
            found = dense(opener(path))
        except PrincompError as error:
            assert str(error)  # noqa: PT017 - a change may also be a valid number
        else:
            # Only text has no checksum.
            assert path.suffix == ".mtx" or np.array_equal(found, x)


def test_comments_of_matrix_market_may_have_any_length(tmp_path):
    comment = "%" + "3 " * 2**16
    path = write_market(tmp_path / "t.mtx", "coordinate real general", comment, "2 1 1", "2 1 5")
    np.testing.assert_array_equal(dense(mtx(path)), [[0], [5]])


# Sparse matrices in memory


@pytest.mark.parametrize("make", [sp.csr_array, sp.csr_matrix])
def test_repeated_and_unsorted_entries_in_memory_are_summed_in_a_copy(make):
    parts = np.array([1.0, 2.0, 3.0]), np.array([2, 0, 0]), np.array([0, 3])
    for part in parts:
        part.flags.writeable = False
    np.testing.assert_array_equal(from_sparse(make(parts, shape=(1, 3))).toarray(), [[5, 0, 1]])


def test_repeated_booleans_are_one_cell():
    matrix = sp.csr_array((np.array([True, True, True]), [0, 0, 1], [0, 2, 3]), shape=(2, 2))
    np.testing.assert_array_equal(from_sparse(matrix).toarray(), matrix.toarray())
