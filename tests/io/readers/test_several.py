"""Several files as one table: columns bound by name, rows found again, patterns of names."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from princomp.errors import ColumnError, InputNotFoundError, ParameterError, ShapeError
from princomp.io.readers.file_names import expanded
from princomp.io.readers.several import SourceChain, reordered
from princomp.io.readers.source import Chunk, FileState, RowPlace, Source, TableSource
from princomp.io.readers.table import Table

NAMES = ("a", "b", "c")


class Unknown(Source):
    """Rows whose end is known only when it is reached, as in a CSV file."""

    def __init__(self, data, columns=NAMES, file="u.csv", step=4, **more):
        super().__init__(
            rows=None, p=data.shape[1], dtype=data.dtype, columns=columns, file=file, **more
        )
        self.held, self.step = data, step
        self.starts = []
        self.open = 0

    def chunks(self, start=0):
        self.starts.append(start)
        self.open += 1
        try:
            for first in range(start, len(self.held), self.step):
                yield Chunk(self.held[first : first + self.step])
        finally:
            self.open -= 1

    def file_states(self):
        return (FileState(self.file, len(self.held), 0),)


def numbers(n, start=0, dtype=np.float64, p=3):
    return np.arange(start, start + n * p, dtype=dtype).reshape(n, p)


def held(data, columns=NAMES, file="h.npy", ids=None, notes=(), unused=()):
    id_column = None if ids is None else "id"
    ids = None if ids is None else np.array(ids, object)
    return TableSource(Table(data, columns, ids, id_column, notes, file, unused))


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


# What the whole is


def test_one_source_stays_itself():
    one = held(numbers(2))
    assert SourceChain.of([one]) is one


def test_no_source_is_refused():
    with pytest.raises(ParameterError, match="no table"):
        SourceChain.of([])


def test_rows_stand_one_after_the_other():
    both = SourceChain.of([held(numbers(5)), held(numbers(3, 100))])
    np.testing.assert_array_equal(rows(both), np.concatenate([numbers(5), numbers(3, 100)]))
    assert both.shape == (8, 3)
    assert both.columns == NAMES
    assert both.nbytes == 8 * 3 * 8
    assert both.stored is None
    assert both.random_access
    assert both.repeatable
    assert both.file == "h.npy, h.npy"


def test_what_one_does_not_know_the_whole_does_not_know():
    both = SourceChain.of([held(numbers(5)), Unknown(numbers(3))])
    assert both.rows is None
    assert both.nbytes is None
    assert not both.random_access
    assert both.repeatable
    once = Unknown(numbers(3))
    once.repeatable = False
    assert not SourceChain.of([held(numbers(5)), once]).repeatable


def test_columns_are_bound_by_name():
    first, second = numbers(5), numbers(4, 50)
    both = SourceChain.of([held(first), held(second[:, [2, 0, 1]], ("c", "a", "b"))])
    np.testing.assert_array_equal(rows(both), np.concatenate([first, second]))
    np.testing.assert_array_equal(both.read(3, 7).data, np.concatenate([first[3:], second[:2]]))


def test_columns_of_sparse_rows_are_bound_by_name(rng):
    x = sp.random_array((40, 6), density=0.4, rng=rng, format="csr")
    order = np.array([1, 2, 0, 5, 3, 4])
    names = np.array(list("abcdef"))
    moved = sp.csr_array(x[:, order])
    moved.sort_indices()
    both = SourceChain.of([held(x, tuple(names)), held(moved, tuple(names[order]))])
    assert both.stored == 2 * x.nnz
    np.testing.assert_array_equal(rows(both), np.concatenate([x.toarray(), x.toarray()]))
    joined = both.read(35, 45).data
    assert isinstance(joined, sp.csr_array)
    np.testing.assert_array_equal(joined.toarray(), rows(both)[35:45])


def test_reordering_sparse_columns_leaves_the_given_rows_as_they_are():
    given = sp.csr_array([[1.0, 2.0, 3.0], [0.0, 4.0, 5.0]])
    order = np.array([2, 0, 1])
    np.testing.assert_array_equal(reordered(given, order).toarray(), given.toarray()[:, order])
    assert given.toarray().tolist() == [[1, 2, 3], [0, 4, 5]]


@pytest.mark.parametrize("kinds", ["ff", "fd", "df", "dd"])
def test_float32_stays_only_where_all_are(kinds):
    parts = [held(numbers(2, dtype=np.dtype(kind))) for kind in kinds]
    both = SourceChain.of(parts)
    assert both.dtype == (np.float32 if kinds == "ff" else np.float64)
    assert rows(both).dtype == both.dtype
    assert both.read(0, 1).data.dtype == both.dtype
    assert both.read(1, 3).data.dtype == both.dtype


def test_ids_are_those_of_the_sources():
    both = SourceChain.of([held(numbers(2), ids=["x", None]), held(numbers(2), ids=[1, 2])])
    assert both.id_column == "id"
    assert ids_of(both) == ["x", None, 1, 2]
    assert ids_of(both, 3) == [2]
    assert both.read(1, 3).ids.tolist() == [None, 1]


def test_ids_that_the_first_does_not_have_are_left_out():
    both = SourceChain.of([held(numbers(2)), held(numbers(2), ids=[1, 2])])
    assert both.id_column is None
    assert [chunk.ids for chunk in both.chunks()] == [None, None]


def test_notes_are_said_once_and_of_some_files_with_their_names():
    first = held(numbers(2), file="a.csv", notes=("same", "own"), unused=("y", "x"))
    second = held(numbers(2), file="b.csv", notes=("same",), unused=("x", "z"))
    both = SourceChain.of([first, second])
    assert both.notes == ("same", "a.csv: own")
    assert both.unused == ("y", "x", "z")
    many = [held(numbers(1), file=f"{i}.csv", notes=("n",) if i else ()) for i in range(7)]
    assert SourceChain.of(many).notes == ("1.csv, 2.csv, 3.csv and 3 more: n",)
    assert SourceChain.of(many).file == "0.csv, 1.csv and 5 more"


def test_several_can_be_parts_of_several():
    inner = SourceChain.of([Unknown(numbers(3), file="u"), held(numbers(2, 50), file="h")])
    outer = SourceChain.of([held(numbers(2, 90), file="first"), inner])
    np.testing.assert_array_equal(
        rows(outer), np.concatenate([numbers(2, 90), numbers(3), numbers(2, 50)])
    )
    assert outer.place_of(6) == RowPlace("h", 1)


def test_identities_are_those_of_all():
    both = SourceChain.of([Unknown(numbers(3), file="u"), Unknown(numbers(4), file="v")])
    assert both.file_states() == (FileState("u", 3, 0), FileState("v", 4, 0))


# What does not fit together


def test_other_columns_are_refused_with_file_and_names():
    with pytest.raises(ColumnError) as caught:
        SourceChain.of([held(numbers(2), file="a.csv"), held(numbers(2), ("b", "x", "a"), "b.csv")])
    assert caught.value.message == (
        "b.csv: its columns are not those of a.csv; missing: 'c'; new: 'x'"
    )
    assert caught.value.place == {"file": "b.csv", "column": "c", "missing": ["c"], "new": ["x"]}
    assert caught.value.hint
    with pytest.raises(ColumnError, match=r"missing: 'b', 'c'\n"):
        SourceChain.of([held(numbers(2)), held(numbers(2, p=1), ("a",))])
    with pytest.raises(ColumnError, match=r"a.csv; new: 'd'") as caught:
        SourceChain.of(
            [held(numbers(2), file="a.csv"), held(numbers(2, p=4), ("a", "b", "c", "d"))]
        )
    assert caught.value.place["column"] == "d"


def test_names_in_some_files_only_are_refused():
    for columns in ((NAMES, None), (None, NAMES)):
        with pytest.raises(ColumnError, match="no names") as caught:
            SourceChain.of([held(numbers(2), columns[0], "a"), held(numbers(2), columns[1], "b")])
        named = "ab"[columns.index(NAMES)]
        assert f"those of {named} have" in caught.value.message
        assert caught.value.place["file"] == "b"


def test_without_names_the_numbers_of_columns_must_agree():
    both = SourceChain.of([held(numbers(2), None), held(numbers(2), None)])
    assert both.columns is None
    with pytest.raises(ShapeError, match=r"b.npy: has 4 columns, while h.npy has 3") as caught:
        SourceChain.of([held(numbers(2), None), held(numbers(2, p=4), None, "b.npy")])
    assert caught.value.place == {"file": "b.npy"}


def test_sparse_and_dense_are_not_mixed():
    sparse = held(sp.csr_array(numbers(2)), file="s.npz")
    with pytest.raises(ParameterError, match=r"s.npz is sparse, d.npy, d.npy are not"):
        SourceChain.of([held(numbers(2), file="d.npy"), sparse, held(numbers(2), file="d.npy")])


def test_a_file_without_the_id_column_is_refused():
    with pytest.raises(ColumnError, match=r"b.npy: has no id column, .* 'id'") as caught:
        SourceChain.of([held(numbers(2), ids=[1, 2]), held(numbers(2), file="b.npy")])
    assert caught.value.place == {"file": "b.npy", "column": "id"}


# Any part of it


@pytest.mark.parametrize("order", ["hhh", "uuu", "huh", "uhu"])
def test_any_start_gives_the_rows_from_there(order):
    parts, whole = [], []
    for i, kind in enumerate(order):
        data = numbers(5 + 3 * i, 1000 * i)
        parts.append(held(data) if kind == "h" else Unknown(data))
        whole.append(data)
    whole = np.concatenate(whole)
    for again in (False, True):  # first with counts unknown, then with those that were learned
        for start in range(len(whole) + 2):
            several = SourceChain.of(parts)
            if again:
                rows(several)
            np.testing.assert_array_equal(rows(several, start), whole[start:])


def test_every_part_can_be_read_across_borders():
    parts = [numbers(n, 100 * n) for n in (3, 1, 4)]
    whole = np.concatenate(parts)
    several = SourceChain.of([held(part) for part in parts])
    for start in range(8):
        for stop in range(start + 1, 9):
            chunk = several.read(start, stop)
            np.testing.assert_array_equal(chunk.data, whole[start:stop])
            assert chunk.data.flags.c_contiguous
    assert several.read(3, 3).data.shape == (0, 3)
    assert several.read(8, 9).data.shape == (0, 3)


def test_only_the_sources_that_hold_the_rows_are_read():
    class Counted(TableSource):
        reads = 0

        def read(self, start, stop):
            self.reads += 1
            return super().read(start, stop)

    parts = [Counted(Table(numbers(n), NAMES)) for n in (3, 1, 4)]
    several = SourceChain.of(parts)
    several.read(3, 4)
    assert [part.reads for part in parts] == [0, 1, 0]
    several.read(0, 3)
    several.read(4, 8)
    assert [part.reads for part in parts] == [1, 1, 1]


def test_sources_before_the_start_are_not_read_where_their_rows_are_known():
    first, second, third = (Unknown(numbers(10, 100 * i)) for i in range(3))
    several = SourceChain.of([first, second, third])
    assert len(rows(several, 15)) == 15
    assert (first.starts, second.starts, third.starts) == ([0], [0], [0])
    np.testing.assert_array_equal(
        rows(several, 15), np.concatenate([numbers(10, 100)[5:], numbers(10, 200)])
    )
    assert (first.starts, second.starts, third.starts) == ([0], [0, 5], [0, 0])


def test_a_row_is_found_in_its_file():
    several = SourceChain.of([held(numbers(5), file="a"), held(numbers(3), file="b")])
    assert [several.place_of(row) for row in (0, 4, 5, 7, 9)] == [
        RowPlace("a", 0),
        RowPlace("a", 4),
        RowPlace("b", 0),
        RowPlace("b", 2),
        RowPlace("b", 4),
    ]


def test_a_row_is_found_while_files_of_unknown_length_are_read():
    parts = [Unknown(numbers(6, 100 * i), file=name) for i, name in enumerate("abc")]
    several = SourceChain.of(parts)
    row = 0
    for chunk in several.chunks():
        for i in range(len(chunk.data)):
            file, inside, *_ = several.place_of(row + i)
            np.testing.assert_array_equal(parts["abc".index(file)].held[inside], chunk.data[i])
        row += len(chunk.data)
    assert several.place_of(13) == RowPlace("c", 1)


def test_a_row_is_found_where_one_source_stands_twice():
    one = held(numbers(3), file="a")
    assert SourceChain.of([one, held(numbers(2), file="b"), one]).place_of(4) == RowPlace("b", 1)


def test_reading_that_stops_early_closes_what_is_open_and_learns_nothing():
    first = Unknown(numbers(10))
    several = SourceChain.of([first, held(numbers(2))])
    chunks = several.chunks()
    next(chunks)
    assert first.open == 1
    chunks.close()
    assert first.open == 0
    assert several.place_of(12) == RowPlace("u.csv", 12)


# Names and patterns


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("part10.csv", "part2.csv", "part1.csv", "other.csv", "sub/part3.csv", "w[1].csv"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    (tmp_path / "s1.zarr").mkdir()
    return tmp_path


def names(paths):
    return [path.as_posix() for path in paths]


def test_patterns_stand_for_their_files_in_natural_order(folder):
    assert names(expanded(["part*.csv"])) == ["part1.csv", "part2.csv", "part10.csv"]
    assert names(expanded(["part?.csv", "other.csv"])) == ["part1.csv", "part2.csv", "other.csv"]
    assert names(expanded(["part[12]*.csv"])) == ["part1.csv", "part2.csv", "part10.csv"]
    assert names(expanded([str(folder / "part1*")])) == [
        str(folder / "part1.csv"),
        str(folder / "part10.csv"),
    ]


def test_two_stars_stand_for_folders_of_any_depth(folder):
    found = names(expanded(["**/part*.csv"]))
    assert found == ["part1.csv", "part2.csv", "part10.csv", "sub/part3.csv"]


def test_names_without_a_sign_are_left_as_they_are(folder):
    assert names(expanded(["gone.csv", Path("other.csv")])) == ["gone.csv", "other.csv"]
    assert expanded([]) == []


def test_a_file_that_is_there_is_no_pattern(folder):
    assert names(expanded(["w[1].csv"])) == ["w[1].csv"]
    (folder / "a::b.csv").touch()
    assert names(expanded(["a::b.csv"])) == ["a::b.csv"]


def test_what_is_meant_inside_stays_with_each_file(folder):
    assert names(expanded(["part?.csv::/x/y"])) == ["part1.csv::/x/y", "part2.csv::/x/y"]
    assert names(expanded(["other.csv::x*", "other.csv::y"])) == ["other.csv::x*", "other.csv::y"]


def test_patterns_find_stores_of_arrays_and_no_other_folders(folder):
    assert names(expanded(["s*"])) == ["s1.zarr"]
    assert names(expanded(["s*::x"])) == ["s1.zarr::x"]


def test_a_pattern_that_finds_nothing_is_refused(folder):
    for name in ("gone*.csv", "w[2].csv", "gone*.h5::x"):
        with pytest.raises(InputNotFoundError, match="no file has a name") as caught:
            expanded([name])
        assert caught.value.place == {"file": name}
        assert str(folder) in caught.value.hint


def test_a_file_named_twice_is_refused(folder):
    with pytest.raises(ParameterError, match=r"^part1.csv: is named twice, ") as caught:
        expanded(["part*.csv", "part1.csv"])
    assert caught.value.place == {"file": "part1.csv"}
    with pytest.raises(ParameterError, match=r"also as other.csv"):
        expanded(["other.csv", folder / "other.csv"])
    with pytest.raises(ParameterError, match="twice"):
        expanded(["other.csv::x", "./other.csv::x"])


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="needs symbolic links")
def test_a_link_is_the_file_it_points_to(folder):
    (folder / "link.csv").symlink_to("other.csv")
    with pytest.raises(ParameterError, match=r"link.csv: is named twice"):
        expanded(["other.csv", "link.csv"])


def test_one_name_where_a_list_must_stand_is_refused():
    with pytest.raises(ParameterError, match=r"the one name 'a.csv'"):
        expanded("a.csv")
