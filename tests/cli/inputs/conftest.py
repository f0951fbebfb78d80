"""Fixtures of the tests in this folder."""

from __future__ import annotations

import os
import sys
import threading

import pytest

from princomp.io.readers import files


@pytest.fixture
def large(monkeypatch):
    """Make every table too large to be read whole."""
    monkeypatch.setattr(files, "SMALL_FILE_BYTES", 0)
    monkeypatch.setattr(files, "SMALL_COMPRESSED_FILE_BYTES", 0)


@pytest.fixture
def pipe(monkeypatch):
    """A function that feeds bytes to standard input, through a pipe filled by a thread."""
    threads, ends = [], []

    def fill(end, content):
        # The reader may stop early.
        try:
            with open(end, "wb") as file:
                file.write(content)
        except BrokenPipeError:
            pass

    def put(content):
        out, into = os.pipe()
        threads.append(threading.Thread(target=fill, args=(into, content)))
        threads[-1].start()
        ends.append(open(out, encoding="utf-8"))  # noqa: SIM115 - closed below
        monkeypatch.setattr(sys, "stdin", ends[-1])

    yield put
    for end in ends:
        end.close()
    for thread in threads:
        thread.join()
