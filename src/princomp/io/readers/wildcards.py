"""Expand names with wildcards to the names of files."""

from __future__ import annotations

import errno
import glob
import os
import re
from collections.abc import Sequence
from pathlib import Path

from princomp.errors import InputNotFoundError, ParameterError
from princomp.io.readers.formats import ending_of
from princomp.io.readers.reader_errors import file_error, folder_hint, reading


def expand_patterns(names: Sequence[str | os.PathLike[str]]) -> list[Path]:
    """Expand wildcard patterns to files.

    Parameters
    ----------
    names : sequence of path
        Each is "path" or "path::inside". A path with ``*``, ``?`` or ``[`` is a pattern unless
        a file of exactly that name exists (``**`` matches folders of any depth). The part
        "inside" applies to each matching file. Matches are in natural order: part2 before
        part10.

    Returns
    -------
    list of Path
        Each with the part "::inside", if it was given.

    Raises
    ------
    InputNotFoundError
        A pattern matches nothing.
    ParameterError
        A file is named twice, so its rows would count twice.
    """
    found = [path for name in names for path in _matches(os.path.expanduser(name))]
    seen: dict[tuple[object, str], Path] = {}
    for path in found:
        outside, _, inside = _split(str(path))
        with reading(path, "a table"):  # the current folder may have been deleted
            file = (_identity(Path(outside).resolve()), inside.strip("/"))
        if file in seen:
            alias_note = "" if seen[file] == path else f" (also as {seen[file]})"
            problem = f"is named twice{alias_note}, so its rows would count twice"
            hint = "Name each file once; patterns may overlap."
            raise file_error(ParameterError, path, problem, hint)
        seen[file] = path
    return found


def _identity(path: Path) -> object:
    """What all hard links to a file have in common; the path itself if there is no such file."""
    try:
        status = path.stat()
    except OSError:
        return path
    # Some network drives number files ambiguously, or not at all.
    return status.st_dev, status.st_ino or path, status.st_size, status.st_mtime_ns


def _split(name: str) -> tuple[str, str, str]:
    return (name, "", "") if os.path.exists(name) else name.partition("::")


def _refuse_impossible(name: str) -> None:
    """Raise InputNotFoundError for a text that no file can have as its name, and for a URL."""
    if not name:
        problem = "the name of the file is empty"
        raise file_error(InputNotFoundError, repr(name), problem, "Name a file.")
    if (url := re.match("([A-Za-z][A-Za-z0-9+.-]+):/", name)) and not glob.glob(name):
        problem = "is a URL, and files are read from paths"
        hint = "Download it first; or read it with another library, and give batches of rows."
        if url[1] == "file":
            hint = "Give the path alone."
        raise file_error(InputNotFoundError, name, problem, hint)
    try:
        os.stat(name)
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno != errno.ENAMETOOLONG:
            return
        short = name if len(name) <= 60 else f"{name[:60]}…"
        problem = f"no file can have this name ({getattr(error, 'strerror', error)})"
        hint = "Give the name of a file, not its contents."
        raise file_error(InputNotFoundError, repr(short), problem, hint) from None


def _matches(name: str) -> list[Path]:
    _refuse_impossible(name)
    path, colons, inside = _split(name)
    if not any(character in path for character in "*?[") or os.path.exists(path):
        return [Path(name)]
    matches = glob.glob(path, recursive=True)
    # A folder is a table only if it is a Zarr store.
    found = [
        Path(match)
        for match in matches
        if not os.path.isdir(match)
        or match.rstrip(os.sep).endswith(".zarr")
        or _is_unread_table(match, matches)
    ]
    if not found:
        problem = "no file has a name like this"
        raise file_error(InputNotFoundError, name, problem, folder_hint())
    return [Path(f"{match}{colons}{inside}") for match in sorted(found, key=_natural)]


def _is_unread_table(folder: str, matches: list[str]) -> bool:
    """Whether a folder holds parts of a table, as Spark writes it, that no match names.

    Such a folder is kept for an error about it.
    """
    ending = ending_of(folder)
    parts = glob.glob(f"{glob.escape(folder)}/*{ending}") if ending else []
    return bool(parts) and not any(Path(folder) in Path(other).parents for other in matches)


def _natural(path: Path) -> tuple[list[list[str | int]], str]:
    """A sort key that compares runs of digits as numbers."""
    # Splitting puts text at even and digits at odd positions, so numbers never meet text.
    pieces = [re.split("([0-9]+)", part) for part in path.parts]
    key = [[int(s) if j % 2 else s for j, s in enumerate(piece)] for piece in pieces]
    return key, str(path)
