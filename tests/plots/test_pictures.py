"""Compare pictures with reviewed baselines."""

from __future__ import annotations

import numpy as np
import pytest
from pictures import BASELINE, PICTURES, downsample, render

# Root mean square difference over the cells, in levels of 255. Another release of FreeType moves
# letters by a part of a pixel, which gives about 1; differences that are easily seen exceed 5.
TOLERANCE = 3.0


def _distance(one, other):
    assert one.shape == other.shape
    return float(np.sqrt(((one - other) ** 2).mean()))


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_matches_its_baseline(name, tmp_path):
    found = render(name)
    kept = BASELINE / f"{name}.png"
    distance = _distance(downsample(found), downsample(kept.read_bytes()))
    if distance > TOLERANCE:
        (tmp_path / kept.name).write_bytes(found)
        pytest.fail(
            f"{kept.name} is off by {distance:.1f} of 255, {TOLERANCE} are allowed; the new one is "
            f"{tmp_path / kept.name}. Where it is right: python tests/plots/pictures.py"
        )


def test_baselines_are_complete_and_small():
    files = sorted(BASELINE.iterdir())
    assert [file.stem for file in files] == sorted(PICTURES)
    assert max(file.stat().st_size for file in files) <= 40_000


def test_a_different_picture_is_noticed(monkeypatch):
    import pictures

    from princomp import plots

    def without_labels(dark):
        names, X, model = pictures.arrests()
        return plots.biplot(model, X, ids=names, top=1, label=0, dark=dark)

    monkeypatch.setitem(PICTURES, "biplot", (without_labels, False))
    kept = downsample((BASELINE / "biplot.png").read_bytes())
    assert _distance(downsample(render("biplot")), kept) > 2 * TOLERANCE
