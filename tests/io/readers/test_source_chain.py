"""Several files as one table: columns matched by name, rows located."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from princomp.errors import ColumnError, ParameterError, ShapeError
from princomp.io.readers.columns import Origin
from princomp.io.readers.files import open_files
from princomp.io.readers.read_options import ReadOptions
from princomp.io.readers.source import Chunk, FileState, RowPlace, Source, TableSource
from princomp.io.readers.source_chain import SourceChain, reorder_columns

NAMES = ("a", "b", "c")


class UnknownLength(Source):
    """Rows whose number is known only at their end, as in a CSV file."""

    def __init__(self, data, columns=NAMES, file="u.csv", step=4, **more):
        super().__init__(
            rows=None, p=data.shape[1], dtype=data.dtype, columns=columns, file=file, **more
        )
        self.all_rows, self.step = data, step
        self.starts = []
        self.open = 0

    def chunks(self, start=0):
        self.starts.append(start)
        self.open += 1
        try:
            for first in range(start, len(self.all_rows), self.step):
                yield Chunk(self.all_rows[first : first + self.step])
        finally:
            self.open -= 1

    def file_states(self):
        return (FileState(self.file, len(self.all_rows), 0),)


def numbers(n, start=0, dtype=np.float64, p=3):
    return np.arange(start, start + n * p, dtype=dtype).reshape(n, p)


def in_memory(data, columns=NAMES, file="h.npy", ids=None, notes=(), unused=()):
    id_column = None if ids is None else "id"
    ids = None if ids is None else np.array(ids, object)
    properties = {"columns": columns, "id_column": id_column, "notes": notes, "unused": unused}
    return TableSource(data, ids=ids, origin=Origin(file), **properties)


def rows(source, start=0):
    parts = []
    for chunk in source.chunks(start):
        assert len(chunk.data.shape) == 2
        assert chunk.data.shape[0] > 0
        assert chunk.data.dtype == source.dtype
        if sp.issparse(chunk.data):
            assert isinstance(chunk.data, sp.csr_array)
            assert chunk.data.has_canonical_format
        else:
            assert chunk.data.flags.c_contiguous
        parts.append(chunk.data.toarray() if sp.issparse(chunk.data) else chunk.data)
    return np.concatenate(parts) if parts else np.empty((0, source.p), source.dtype)


def ids_of(source, start=0):
    return [name for chunk in source.chunks(start) for name in chunk.ids]


# Properties of a chain


def test_rows_of_the_sources_are_concatenated():
    chain = SourceChain([in_memory(numbers(5)), in_memory(numbers(3, 100))])
    np.testing.assert_array_equal(rows(chain), np.concatenate([numbers(5), numbers(3, 100)]))
    assert chain.shape == (8, 3)
    assert chain.columns == NAMES
    assert chain.nbytes == 8 * 3 * 8
    assert chain.stored is None
    assert chain.random_access
    assert chain.repeatable
    assert chain.file == "h.npy, h.npy"


def test_properties_unknown_to_one_source_are_unknown_to_the_chain():
    chain = SourceChain([in_memory(numbers(5)), UnknownLength(numbers(3))])
    assert chain.rows is None
    assert chain.nbytes is None
    assert not chain.random_access
    assert chain.repeatable
    once = UnknownLength(numbers(3))
    once.repeatable = False
    assert not SourceChain([in_memory(numbers(5)), once]).repeatable


def test_columns_are_matched_by_name():
    first, second = numbers(5), numbers(4, 50)
    chain = SourceChain([in_memory(first), in_memory(second[:, [2, 0, 1]], ("c", "a", "b"))])
    np.testing.assert_array_equal(rows(chain), np.concatenate([first, second]))
    np.testing.assert_array_equal(chain.read(3, 7).data, np.concatenate([first[3:], second[:2]]))


def test_columns_of_sparse_rows_are_matched_by_name(rng):
    x = sp.random_array((40, 6), density=0.4, rng=rng, format="csr")
    order = np.array([1, 2, 0, 5, 3, 4])
    names = np.array(list("abcdef"))
    moved = sp.csr_array(x[:, order])
    moved.sort_indices()
    chain = SourceChain([in_memory(x, tuple(names)), in_memory(moved, tuple(names[order]))])
    assert chain.stored == 2 * x.nnz
    np.testing.assert_array_equal(rows(chain), np.concatenate([x.toarray(), x.toarray()]))
    joined = chain.read(35, 45).data
    assert isinstance(joined, sp.csr_array)
    np.testing.assert_array_equal(joined.toarray(), rows(chain)[35:45])


def test_reordering_sparse_columns_does_not_modify_the_input():
    given = sp.csr_array([[1.0, 2.0, 3.0], [0.0, 4.0, 5.0]])
    order = np.array([2, 0, 1])
    np.testing.assert_array_equal(
        reorder_columns(given, order).toarray(), given.toarray()[:, order]
    )
    assert given.toarray().tolist() == [[1, 2, 3], [0, 4, 5]]


@pytest.mark.parametrize("kinds", ["ff", "fd", "df", "dd"])
def test_float32_is_kept_only_if_all_sources_have_it(kinds):
    parts = [in_memory(numbers(2, dtype=np.dtype(kind))) for kind in kinds]
    chain = SourceChain(parts)
    assert chain.dtype == (np.float32 if kinds == "ff" else np.float64)
    assert rows(chain).dtype == chain.dtype
    assert chain.read(0, 1).data.dtype == chain.dtype
    assert chain.read(1, 3).data.dtype == chain.dtype


def test_ids_are_those_of_the_sources():
    chain = SourceChain([in_memory(numbers(2), ids=["x", None]), in_memory(numbers(2), ids=[1, 2])])
    assert chain.id_column == "id"
    assert ids_of(chain) == ["x", None, 1, 2]
    assert ids_of(chain, 3) == [2]
    assert chain.read(1, 3).ids.tolist() == [None, 1]


def test_ids_missing_in_the_first_source_are_left_out():
    chain = SourceChain([in_memory(numbers(2)), in_memory(numbers(2), ids=[1, 2])])
    assert chain.id_column is None
    assert [chunk.ids for chunk in chain.chunks()] == [None, None]


def test_shared_notes_appear_once_and_others_with_their_files():
    first = in_memory(numbers(2), file="a.csv", notes=("same", "own"), unused=("y", "x"))
    second = in_memory(numbers(2), file="b.csv", notes=("same",), unused=("x", "z"))
    chain = SourceChain([first, second])
    assert chain.notes == ("same", "a.csv: own")
    assert chain.unused == ("y", "x", "z")
    many = [in_memory(numbers(1), file=f"{i}.csv", notes=("n",) if i else ()) for i in range(7)]
    assert SourceChain(many).notes == ("1.csv, 2.csv, 3.csv and 3 more: n",)
    assert SourceChain(many).file == "0.csv, 1.csv and 5 more"


def test_chains_can_be_nested():
    inner = SourceChain([UnknownLength(numbers(3), file="u"), in_memory(numbers(2, 50), file="h")])
    outer = SourceChain([in_memory(numbers(2, 90), file="first"), inner])
    np.testing.assert_array_equal(
        rows(outer), np.concatenate([numbers(2, 90), numbers(3), numbers(2, 50)])
    )
    assert outer.place_of(6) == RowPlace("h", 1)


def test_file_states_are_those_of_all_sources():
    chain = SourceChain([UnknownLength(numbers(3), file="u"), UnknownLength(numbers(4), file="v")])
    assert chain.file_states() == (FileState("u", 3, 0), FileState("v", 4, 0))


# Mismatched sources


def test_other_columns_are_refused_with_file_and_names():
    with pytest.raises(ColumnError) as caught:
        SourceChain(
            [in_memory(numbers(2), file="a.csv"), in_memory(numbers(2), ("b", "x", "a"), "b.csv")]
        )
    assert caught.value.message == (
        "b.csv: its columns are not those of a.csv; missing: 'c'; new: 'x'"
    )
    assert caught.value.place == {"file": "b.csv", "column": "c", "missing": ["c"], "new": ["x"]}
    assert caught.value.hint
    with pytest.raises(ColumnError, match=r"missing: 'b', 'c'\n"):
        SourceChain([in_memory(numbers(2)), in_memory(numbers(2, p=1), ("a",))])
    with pytest.raises(ColumnError, match=r"a.csv; new: 'd'") as caught:
        SourceChain(
            [in_memory(numbers(2), file="a.csv"), in_memory(numbers(2, p=4), ("a", "b", "c", "d"))]
        )
    assert caught.value.place["column"] == "d"


def test_names_in_some_files_only_are_refused():
    for columns in ((NAMES, None), (None, NAMES)):
        with pytest.raises(ColumnError, match="no names") as caught:
            SourceChain(
                [in_memory(numbers(2), columns[0], "a"), in_memory(numbers(2), columns[1], "b")]
            )
        named = "ab"[columns.index(NAMES)]
        assert f"those of {named} have" in caught.value.message
        assert caught.value.place["file"] == "b"


def test_without_names_the_numbers_of_columns_must_agree():
    chain = SourceChain([in_memory(numbers(2), None), in_memory(numbers(2), None)])
    assert chain.columns is None
    with pytest.raises(ShapeError, match=r"b.npy: has 4 columns, while h.npy has 3") as caught:
        SourceChain([in_memory(numbers(2), None), in_memory(numbers(2, p=4), None, "b.npy")])
    assert caught.value.place == {"file": "b.npy"}


def test_sparse_and_dense_are_not_mixed():
    sparse = in_memory(sp.csr_array(numbers(2)), file="s.npz")
    with pytest.raises(ParameterError, match=r"s.npz is sparse, d.npy, d.npy are not"):
        SourceChain(
            [in_memory(numbers(2), file="d.npy"), sparse, in_memory(numbers(2), file="d.npy")]
        )


def test_a_file_without_the_id_column_is_refused():
    with pytest.raises(ColumnError, match=r"b.npy: has no id column, .* 'id'") as caught:
        SourceChain([in_memory(numbers(2), ids=[1, 2]), in_memory(numbers(2), file="b.npy")])
    assert caught.value.place == {"file": "b.npy", "column": "id"}


# Partial reads


@pytest.mark.parametrize("order", ["hhh", "uuu", "huh", "uhu"])
def test_chunks_can_start_at_any_row(order):
    parts, whole = [], []
    for i, kind in enumerate(order):
        data = numbers(5 + 3 * i, 1000 * i)
        parts.append(in_memory(data) if kind == "h" else UnknownLength(data))
        whole.append(data)
    whole = np.concatenate(whole)
    for again in (False, True):  # first without known counts, then with learned ones
        for start in range(len(whole) + 2):
            chain = SourceChain(parts)
            if again:
                rows(chain)
            np.testing.assert_array_equal(rows(chain, start), whole[start:])


def test_any_range_can_be_read_across_sources():
    parts = [numbers(n, 100 * n) for n in (3, 1, 4)]
    whole = np.concatenate(parts)
    chain = SourceChain([in_memory(part) for part in parts])
    for start in range(8):
        for stop in range(start + 1, 9):
            chunk = chain.read(start, stop)
            np.testing.assert_array_equal(chunk.data, whole[start:stop])
            assert chunk.data.flags.c_contiguous
    assert chain.read(3, 3).data.shape == (0, 3)
    assert chain.read(8, 9).data.shape == (0, 3)


def test_only_the_sources_that_hold_the_rows_are_read():
    class Counted(TableSource):
        reads = 0

        def read(self, start, stop):
            self.reads += 1
            return super().read(start, stop)

    parts = [Counted(numbers(n), columns=NAMES) for n in (3, 1, 4)]
    chain = SourceChain(parts)
    chain.read(3, 4)
    assert [part.reads for part in parts] == [0, 1, 0]
    chain.read(0, 3)
    chain.read(4, 8)
    assert [part.reads for part in parts] == [1, 1, 1]


def test_sources_of_known_length_before_the_start_are_skipped():
    first, second, third = (UnknownLength(numbers(10, 100 * i)) for i in range(3))
    chain = SourceChain([first, second, third])
    assert len(rows(chain, 15)) == 15
    assert (first.starts, second.starts, third.starts) == ([0], [0], [0])
    np.testing.assert_array_equal(
        rows(chain, 15), np.concatenate([numbers(10, 100)[5:], numbers(10, 200)])
    )
    assert (first.starts, second.starts, third.starts) == ([0], [0, 5], [0, 0])


def test_a_row_is_found_in_its_file():
    chain = SourceChain([in_memory(numbers(5), file="a"), in_memory(numbers(3), file="b")])
    assert [chain.place_of(row) for row in (0, 4, 5, 7, 9)] == [
        RowPlace("a", 0),
        RowPlace("a", 4),
        RowPlace("b", 0),
        RowPlace("b", 2),
        RowPlace("b", 4),
    ]


def test_a_row_is_found_while_files_of_unknown_length_are_read():
    parts = [UnknownLength(numbers(6, 100 * i), file=name) for i, name in enumerate("abc")]
    chain = SourceChain(parts)
    row = 0
    for chunk in chain.chunks():
        for i in range(len(chunk.data)):
            file, inside, *_ = chain.place_of(row + i)
            np.testing.assert_array_equal(parts["abc".index(file)].all_rows[inside], chunk.data[i])
        row += len(chunk.data)
    assert chain.place_of(13) == RowPlace("c", 1)


def test_a_row_is_found_if_a_source_occurs_twice():
    one = in_memory(numbers(3), file="a")
    assert SourceChain([one, in_memory(numbers(2), file="b"), one]).place_of(4) == RowPlace("b", 1)


def test_stopping_early_closes_the_source_and_learns_no_length():
    first = UnknownLength(numbers(10))
    chain = SourceChain([first, in_memory(numbers(2))])
    chunks = chain.chunks()
    next(chunks)
    assert first.open == 1
    chunks.close()
    assert first.open == 0
    assert chain.place_of(12) == RowPlace("u.csv", 12)


# Options


@pytest.mark.parametrize(
    ("ending", "options"),
    [
        (".npy", {"skip": 3}),
        (".npy", {"sheet": "a"}),
        (".parquet", {"skip_end": 1}),
        (".parquet", {"na": ["-"]}),
        (".csv", {"sheet": 2}),
    ],
)
def test_options_that_the_files_do_not_use_are_refused(tmp_path, ending, options):
    # Otherwise rows that were to be skipped would be analysed.
    path = tmp_path / f"t{ending}"
    path.touch()
    (name, value), *_ = options.items()
    with pytest.raises(ParameterError, match="has no effect on") as caught:
        open_files([path], options=ReadOptions.of(options))
    assert f"{name}={value!r} has no effect on {ending} files" in str(caught.value)
    assert caught.value.place["parameter"] == name
    assert ("set them to NaN in Python" in caught.value.hint) == (name == "na")


def test_an_option_may_be_for_some_of_the_files(tmp_path):
    (tmp_path / "a.csv").write_text("x;y\n1;2\n3;5\n")
    pd.DataFrame({"x": [4.0, 2], "y": [1.0, 7]}).to_parquet(tmp_path / "b.parquet")
    paths = [tmp_path / "a.csv", tmp_path / "b.parquet"]
    assert open_files(paths, options=ReadOptions.of({"sep": ";"})).rows == 4
