"""Expand wildcards and folders to the names of files."""

from __future__ import annotations

import errno
import glob
import os
import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from princomp.errors import InputNotFoundError, ParameterError
from princomp.io.readers.formats import ENDINGS, ending_of
from princomp.io.readers.reader_errors import file_error, folder_hint, reading


def expand_patterns(names: Sequence[str | os.PathLike[str]]) -> list[Path]:
    """Expand wildcard patterns and folders to files.

    Parameters
    ----------
    names : sequence of path
        Each is "path" or "path::inside". A path with ``*``, ``?`` or ``[`` is a pattern unless
        a file of exactly that name exists (``**`` matches folders of any depth). A folder
        stands for the tables in it and in its subfolders, but not for those in folders and files
        whose names begin with "." or "_", where programs keep records of their own. The part
        "inside" applies to each file. Files are in natural order: part2 before part10.

    Returns
    -------
    list of Path
        Each with the part "::inside", if it was given.

    Raises
    ------
    InputNotFoundError
        A pattern matches nothing, or a folder holds no table.
    ParameterError
        A file is named twice, so its rows would count twice, or a folder holds tables of several
        kinds, which may be copies of the same rows.
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
    is_pattern = any(character in path for character in "*?[") and not os.path.exists(path)
    matches = glob.glob(path, recursive=True) if is_pattern else [path]
    folders = [match for match in matches if _is_folder_of_tables(match)]
    if is_pattern and len(folders) < len(matches):
        # A pattern that also matches files stands for those folders only that have the ending of a
        # table, such as Spark's, and in which it matches no file.
        parents = {str(parent) for match in matches for parent in Path(match).parents}
        folders = [folder for folder in folders if ending_of(folder) and folder not in parents]
    found = [match for match in matches if not _is_folder_of_tables(match)]
    found += [table for folder in folders for table in _tables_in(folder)]
    if not found:
        problem = "no file has a name like this"
        raise file_error(InputNotFoundError, name, problem, folder_hint())
    return [Path(f"{match}{colons}{inside}") for match in sorted(map(Path, found), key=_natural)]


def _is_folder_of_tables(path: str) -> bool:
    return os.path.isdir(path) and ending_of(path) != ".zarr"


def _tables_in(folder: str) -> list[str]:
    """Return the tables in a folder and its subfolders, which all have the same ending."""
    found, seen = defaultdict[str, list[str]](list), set[str]()
    with reading(Path(folder), "a folder of tables"):
        for parent, folders, files in os.walk(folder, onerror=_raise, followlinks=True):
            real_path = os.path.realpath(parent)
            if real_path in seen:  # a link leads to it
                folders.clear()
                continue
            seen.add(real_path)
            stores = [name for name in folders if ending_of(name) == ".zarr"]
            folders[:] = [name for name in folders if name[0] not in "._" and name not in stores]
            for name in [*files, *stores]:
                if name[0] not in "._" and (ending := ending_of(name)):
                    found[ending].append(os.path.join(parent, name))
    if not found:
        problem, known = "is a folder without tables", ", ".join(ENDINGS)
        raise file_error(InputNotFoundError, folder, problem, f"Known endings are {known}.")
    if len(found) > 1:
        most = sorted(found, key=lambda ending: -len(found[ending]))
        kinds = " and ".join(f"{len(found[ending]):,} {ending}" for ending in most)
        pattern = f"{glob.escape(folder)}/**/*{most[0]}"
        problem = f"is a folder with tables of several kinds: {kinds}"
        raise file_error(ParameterError, folder, problem, f"Name those to use, as in '{pattern}'.")
    return next(iter(found.values()))


def _raise(error: OSError) -> None:
    raise error


def _natural(path: Path) -> tuple[list[list[str | int]], str]:
    """A sort key that compares runs of digits as numbers."""
    # Splitting puts text at even and digits at odd positions, so numbers never meet text.
    pieces = [re.split("([0-9]+)", part) for part in path.parts]
    key = [[int(s) if j % 2 else s for j, s in enumerate(piece)] for piece in pieces]
    return key, str(path)
