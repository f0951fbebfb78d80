"""Pictures against those that were looked at."""

from __future__ import annotations

import numpy as np
import pytest
from pictures import BASELINE, PICTURES, coarse, drawn

# Root mean square over the cells, in levels of 255. Another release of FreeType moves letters
# by a part of a pixel, which is about 1; what is seen at a glance is more than 5.
TOLERANCE = 3.0


def _distance(one, other):
    assert one.shape == other.shape
    return float(np.sqrt(((one - other) ** 2).mean()))


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_the_one_that_was_looked_at(name, tmp_path):
    found = drawn(name)
    kept = BASELINE / f"{name}.png"
    distance = _distance(coarse(found), coarse(kept.read_bytes()))
    if distance > TOLERANCE:
        (tmp_path / kept.name).write_bytes(found)
        pytest.fail(
            f"{kept.name} is off by {distance:.1f} of 255, {TOLERANCE} are allowed; the new one is "
            f"{tmp_path / kept.name}. Where it is right: python tests/plots/pictures.py"
        )


def test_the_folder_holds_these_pictures_and_small_ones():
    files = sorted(BASELINE.iterdir())
    assert [file.stem for file in files] == sorted(PICTURES)
    assert max(file.stat().st_size for file in files) <= 40_000


def test_another_picture_would_be_noticed(monkeypatch):
    import pictures

    from princomp import plots

    def without_labels(dark):
        names, X, model = pictures.arrests()
        return plots.biplot(model, X, ids=names, top=1, label=0, dark=dark)

    monkeypatch.setitem(PICTURES, "biplot", (without_labels, False))
    kept = coarse((BASELINE / "biplot.png").read_bytes())
    assert _distance(coarse(drawn("biplot")), kept) > 2 * TOLERANCE
