"""Several texts, some of which have no line of column names."""

from __future__ import annotations

import numpy as np
import pytest

from princomp import PCA, read_table
from princomp.errors import ColumnError

NAMES = "a,b,c,d"


def _shards(folder, *headers):
    """Files with these lines of names."""
    rng = np.random.default_rng(5)
    paths = [folder / f"{letter}.csv" for letter in "xyz"[: len(headers)]]
    for path, header in zip(paths, headers, strict=True):
        rows = "\n".join(",".join(f"{x:.4f}" for x in row) for row in rng.standard_normal((30, 4)))
        path.write_text(f"{header}\n{rows}\n" if header else f"{rows}\n")
    return paths


@pytest.mark.parametrize("small", [True, False])
@pytest.mark.parametrize("headers", [(NAMES, ""), ("", NAMES), (NAMES, NAMES, "")])
def test_a_file_without_a_line_of_names_is_named(headers, small, tmp_path, monkeypatch):
    if not small:
        monkeypatch.setattr("princomp.io.readers.files.SMALL_FILE_BYTES", 1)
    paths = _shards(tmp_path, *headers)
    unnamed, named = paths[headers.index("")], paths[headers.index(NAMES)]
    with pytest.raises(ColumnError, match="has no line of column names") as caught:
        PCA().fit(paths)
    assert caught.value.place["file"] == str(unnamed)
    assert str(named) in caught.value.message
    assert "header=True" in caught.value.hint
    # What the hint suggests: a line of names in all files, or in none.
    kept = unnamed.read_text()
    unnamed.write_text(f"{NAMES}\n{kept}")
    assert list(PCA().fit(paths).feature_names_in_) == list("abcd")
    unnamed.write_text(kept)
    for path in paths:
        path.write_text(path.read_text().removeprefix(f"{NAMES}\n"))
    assert PCA().fit(paths).n_samples_ == 30 * len(paths)


def test_numbers_as_names_are_names_with_the_option_of_the_hint(tmp_path):
    paths = _shards(tmp_path, "1.5,2.5,0.5,4.5", "1.5,2.5,0.5,4.5")
    model = PCA().fit(read_table(paths, header=True))
    assert list(model.feature_names_in_) == ["1.5", "2.5", "0.5", "4.5"]


def test_an_untrusted_file_without_a_line_of_names_is_named(tmp_path):
    with pytest.raises(ColumnError, match=r"y\.csv: has no line of column names"):
        PCA().fit(read_table(_shards(tmp_path, NAMES, ""), untrusted=True))
