"""Hints of readers: only those that apply to what was given."""

from __future__ import annotations

import pandas as pd
import pytest

from princomp import PCA
from princomp.errors import ShapeError
from princomp.io import open_files


def test_only_a_text_has_a_separator(tmp_path):
    """In a frame, and beside other columns, one cell that holds several numbers is unlikely."""
    path = tmp_path / "t.csv"
    for content, advised in (("name\nfoo\nbar\n", True), ("a,b,c\nu,x,p\nv,y,q\n", False)):
        path.write_text(content)
        with pytest.raises(ShapeError) as caught:
            open_files([path])
        assert ("name the separator between them, such as sep=' '" in caught.value.hint) is advised
    for columns in ({"a": ["1 2", "3 4"]}, {"a": ["u", "v"], "b": ["x", "y"]}):
        with pytest.raises(ShapeError) as caught:
            PCA().fit(pd.DataFrame(columns))
        assert "sep" not in caught.value.hint
