"""Paths and checks shared by the tests in this folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers import read_whole

EXAMPLE = Path(__file__).parents[4] / "examples" / "usarrests.csv"


def refused(error, path, **options):
    with pytest.raises(error) as caught:
        read_whole(path, **options)
    assert type(caught.value) is error
    assert caught.value.place["file"] == str(path)
    assert caught.value.hint
    return caught.value
