"""Messages of readers: the place of a cell, and only hints that apply to what was given."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from princomp import PCA
from princomp.errors import NotNumericError, ShapeError
from princomp.io import open_files
from princomp.io.readers.read_options import ReadOptions


def test_only_text_files_get_a_hint_on_separators(tmp_path):
    """In a frame, and next to other columns, one cell that holds several numbers is unlikely."""
    path = tmp_path / "t.csv"
    for content, advised in (("name\nfoo\nbar\n", True), ("a,b,c\nu,x,p\nv,y,q\n", False)):
        path.write_text(content)
        with pytest.raises(ShapeError) as caught:
            open_files([path])
        assert ("name the separator between them, such as sep=' '" in caught.value.hint) is advised
    path.write_text("a,b,c\nu,x,p\nv,y,q\n")
    with pytest.raises(ShapeError, match="without numbers: a,b,c") as caught:
        open_files([path], options=ReadOptions(sep=";"))
    assert "such as sep=','" in caught.value.hint
    for columns in ({"a": ["1 2", "3 4"]}, {"a": ["u", "v"], "b": ["x", "y"]}):
        with pytest.raises(ShapeError) as caught:
            PCA().fit(pd.DataFrame(columns))
        assert "sep" not in caught.value.hint


@pytest.mark.parametrize("column", [0, 2])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, lambda rows: rows.astype(object)])
def test_the_place_of_a_long_integer_is_its_row_and_column(kind, column):
    rows = np.arange(1, 21, dtype=np.int64).reshape(5, 4)
    rows[3, column] = 2**60 + 1
    with pytest.raises(NotNumericError) as caught:
        PCA().fit(kind(rows))
    assert caught.value.message.startswith(
        f"column {column} row 3: the integer 1152921504606846977 is"
    )
    assert (caught.value.place["row"], caught.value.place["column"]) == (3, column)
