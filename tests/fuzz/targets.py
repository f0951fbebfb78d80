"""Targets of the fuzzer: functions that take bytes and may raise only PrincompError."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import re
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

from princomp import PCA, load
from princomp.cli import run
from princomp.errors import PrincompError
from princomp.io import Checkpoint, open_files, open_stdin

_RAM_DISK = "/dev/shm"
_TEMPORARY = tempfile.TemporaryDirectory(dir=_RAM_DISK if os.access(_RAM_DISK, os.W_OK) else None)
_FOLDER = Path(_TEMPORARY.name)
_CHECKSUM = re.compile(rb'"sha256":"([0-9a-f]{64})"')
CHECKPOINT_RUN = {"inputs": ["rows.csv"]}  # the run recorded in the seed checkpoints
_BUG = 70  # exit code of the command line for an internal error


def _stored(ending: str, content: bytes) -> Path:
    path = _FOLDER / f"input{ending}"
    path.write_bytes(content)
    return path


def _signed(content: bytes) -> bytes:
    """The content with a valid checksum, if it has room for one."""
    found = _CHECKSUM.search(content)
    if found is None:
        return content
    start, stop = found.span(1)
    digest = hashlib.sha256(content[:start] + b"0" * 64 + content[stop:]).hexdigest()
    return content[:start] + digest.encode() + content[stop:]


@contextlib.contextmanager
def _allow_own_errors() -> Iterator[None]:
    with contextlib.suppress(PrincompError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def model(content: bytes) -> None:
    """A model file with a valid checksum."""
    with _allow_own_errors():
        found = load(_stored(".pca", _signed(content)))
        found.transform([[0.0] * found.n_features_in_])


def checkpoint(content: bytes) -> None:
    """A checkpoint with a valid checksum, opened by the run that wrote it."""
    path = _stored(".ckpt", _signed(content))
    with _allow_own_errors():
        Checkpoint.command_in(path)
    with _allow_own_errors():
        Checkpoint(path, CHECKPOINT_RUN, None, 10**9).close()


def _table(ending: str) -> Callable[[bytes], None]:
    def target(content: bytes) -> None:
        path = _stored(ending, content)
        with _allow_own_errors():
            for _ in open_files([path]).chunks():
                pass
        with _allow_own_errors():
            PCA(1).fit(path)

    target.__doc__ = f"A table in a {ending} file, read block by block and fitted."
    return target


def standard_input(content: bytes) -> None:
    """A table from a pipe."""
    with _allow_own_errors():
        for _ in open_stdin(io.BytesIO(content)).chunks():
            pass


def arguments(content: bytes) -> None:
    """Arguments of the command line, one per line; paths stay in a folder with one table."""
    text = content.decode(errors="surrogateescape")
    for separator in ("/", "\\", "..", "\0"):
        text = text.replace(separator, "_")
    words = text.split("\n")
    folder = _FOLDER / "arguments"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "rows.csv").write_text("a,b,c\n1,2,3\n3,5,1\n4,4,4\n0,1,2\n")
    before = Path.cwd()
    os.chdir(folder)
    try:
        with (
            contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())),
            contextlib.redirect_stderr(io.StringIO()) as stderr,
        ):
            code = run(words)
    finally:
        os.chdir(before)
    if code == _BUG:
        raise AssertionError(f"exit code {code} of {words}: {stderr.getvalue()}")


TARGETS: dict[str, Callable[[bytes], None]] = {
    "model": model,
    "checkpoint": checkpoint,
    "csv": _table(".csv"),
    "txt": _table(".txt"),
    "npy": _table(".npy"),
    "npz": _table(".npz"),
    "mtx": _table(".mtx"),
    "arrow": _table(".arrow"),
    "parquet": _table(".parquet"),
    "h5": _table(".h5"),
    "h5ad": _table(".h5ad"),
    "zarr": _table(".zarr.zip"),
    "xlsx": _table(".xlsx"),
    "stdin": standard_input,
    "arguments": arguments,
}
