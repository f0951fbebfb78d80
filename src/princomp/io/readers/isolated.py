"""Read a file that may be malicious in a separate process.

If a library crashes on the file, hangs or exhausts memory, only that process ends, and the caller
gets an error. The process sends JSON and the bytes of arrays. None of this is executed, and all
of it is checked. The process has the user's permissions: it is not a sandbox.
"""

from __future__ import annotations

import contextlib
import json
import math
import operator
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp

from princomp import errors
from princomp.io.readers.columns import Selection, text_of
from princomp.io.readers.left_out import IndexNote, LeftOut, NamedNote, NoNamesNote, WarningNote
from princomp.io.readers.number_text import NumberFormat
from princomp.io.readers.read_options import ReadOptions
from princomp.io.readers.reader_errors import file_error, malformed
from princomp.io.readers.source import Chunk, FileState, Source, file_state

# Limits of the process: bytes of memory, bytes per line, seconds per message or array.
_MEMORY_LIMIT, _MAX_LINE, _TIMEOUT = 4 * 2**30, 2**28, 60.0
_HINT = "The file may be malicious or damaged. If you trust it, read it without untrusted=True."
_NOTE_TYPES: dict[str, type[str]] = {
    kind.__name__: kind for kind in (IndexNote, LeftOut, NoNamesNote, NamedNote, WarningNote)
}
_HEADER_FIELDS = ("rows", "p", "columns", "id_column", "unused", "stored", "nbytes")


class IsolatedSource(Source):
    """A file that another process reads.

    Parameters
    ----------
    name : path
    selection : Selection
    timeout : float
        Seconds without data after which the process is stopped.

    Raises
    ------
    PrincompError
        As raised by the reader of the file; MalformedFileError if its process ends early.
    """

    def __init__(
        self, name: str | os.PathLike[str], selection: Selection, timeout: float = _TIMEOUT
    ) -> None:
        self._path, self._timeout = Path(name), timeout
        self._request = {
            **selection._asdict(),
            "name": str(name),
            "options": asdict(replace(selection.options, untrusted=False)),
        }
        before = self.current_states()
        with _Reader({**self._request, "start": None}, self._path, timeout) as reader:
            self._header = reader.message()
        with self._checked_messages():
            header = self._header
            properties: dict[str, Any] = {key: header[key] for key in _HEADER_FIELDS}
            for key in ("columns", "unused"):
                properties[key] = None if properties[key] is None else tuple(properties[key])
            notes = tuple(_NOTE_TYPES.get(kind, str)(text) for text, kind in header["notes"])
            dtype = np.dtype({"<f4": np.float32, "<f8": np.float64}[header["dtype"]])
            super().__init__(dtype=dtype, file=str(name), notes=notes, **properties)
            self.units, self.kinds = dict(header["units"]), dict(header["kinds"])
            if header["number_format"] is not None:
                decimal, thousands, na = header["number_format"]
                thousands = None if thousands is None else str(thousands)
                self.number_format = NumberFormat(str(decimal), thousands, tuple(map(str, na)))
        self.states_at_open = before
        self.file_states()

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """Rows from number ``start`` on."""
        with _Reader({**self._request, "start": start}, self._path, self._timeout) as reader:
            if reader.message() != self._header:
                problem = "it changed after it was opened"
                hint = "wait until it is written, then begin again"
                raise file_error(errors.InputChangedError, self._path, problem, hint)
            while not (message := reader.message()).get("end"):
                with self._checked_messages():
                    chunk = self._chunk(message, reader)
                yield chunk

    def _chunk(self, message: dict[str, Any], reader: _Reader) -> Chunk:
        m, stored, ids = message["rows"], message["stored"], message["ids"]
        if stored is None:
            data: Any = reader.array(m * self.p, self.dtype).reshape(m, self.p)
        else:
            values = reader.array(stored, self.dtype)
            indices, indptr = (reader.array(count, np.dtype("<i8")) for count in (stored, m + 1))
            data = sp.csr_array((values, indices, indptr), shape=(m, self.p))
            data.check_format(full_check=True)
        if ids is None:
            return Chunk(data)
        if len(ids) != m:
            raise ValueError(f"{len(ids)} names of {m} rows")
        names = np.empty(m, dtype=object)
        names[:] = ids
        return Chunk(data, names)

    @contextlib.contextmanager
    def _checked_messages(self) -> Iterator[None]:
        """Refuse invalid messages."""
        try:
            yield
        except errors.PrincompError:  # some of these are also a ValueError
            raise
        except (KeyError, TypeError, ValueError) as error:
            problem = f"the process that read it sent invalid data ({error})"
            raise malformed(self._path, problem, _HINT) from None

    def current_states(self) -> tuple[FileState, ...]:
        """State of the file or of the folder."""
        from princomp.io.readers.formats import split_inside

        return file_state(split_inside(self._path)[0], "a table")


class _Reader(contextlib.AbstractContextManager["_Reader"]):
    """The reading process and its output: lines of JSON, some followed by arrays."""

    def __init__(self, request: dict[str, Any], path: Path, timeout: float) -> None:
        self._path, self._timeout, self._timed_out = path, timeout, False
        # The reading process has a timer of its own, in case this process is killed.
        request = {**request, "timeout": math.ceil(timeout) + 5}
        content = json.dumps(request, default=operator.index).encode()  # NumPy integers
        # The process imports modules from the same paths as this one, without the working
        # folder (-P).
        paths = os.pathsep.join(path for path in sys.path if isinstance(path, str) and path)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": paths},
            # Ctrl-C goes to a whole group of processes. Only this process reacts to it.
            process_group=0 if hasattr(os, "setpgid") else None,
        )
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError), self._process.stdin as stream:
            stream.write(content)

    def __exit__(self, *_: object) -> None:
        with self._process:  # closes the pipe and waits for the end
            self._process.kill()

    def message(self) -> dict[str, Any]:
        """Return the next message, or raise the error that it reports."""
        with self._with_timeout() as stream:
            line = stream.readline(_MAX_LINE)
        if not line.endswith(b"\n"):
            self._raise_early_end()
        try:
            reply = json.loads(line)
            if "error" not in reply:
                return dict(reply)
            kind, message, place, hint = reply["error"]
            error = getattr(errors, str(kind))
            if not issubclass(error, errors.PrincompError):
                raise TypeError("no error of princomp")
        except (AttributeError, TypeError, ValueError):
            problem = "the process that read it sent invalid data"
            raise malformed(self._path, problem, _HINT) from None
        raise error(str(message), place=dict(place), hint=hint)

    def array(self, count: int, dtype: np.dtype[Any]) -> Any:
        """Read the following array of ``count`` numbers."""
        if not 0 <= count * dtype.itemsize <= _MEMORY_LIMIT:
            raise ValueError(f"an array of {count} numbers")
        array = np.empty(count, dtype)
        with self._with_timeout() as stream:
            filled = stream.readinto(array.data.cast("B")) if count else 0
        if filled < array.nbytes:
            self._raise_early_end()
        return array

    @contextlib.contextmanager
    def _with_timeout(self) -> Iterator[Any]:
        """Stop the process if the body's read does not finish in time."""
        timer = threading.Timer(self._timeout, self._time_out)
        timer.daemon = True
        timer.start()
        try:
            yield self._process.stdout
        finally:
            timer.cancel()

    def _time_out(self) -> None:
        self._timed_out = True
        self._process.kill()

    def _raise_early_end(self) -> NoReturn:
        """Raise the error for a process that did not send all rows."""
        # The process ends by itself once it has closed its side of the pipe, unless it hangs.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=5.0)
        if self._timed_out:
            problem = f"no data arrived for {self._timeout:g} seconds, so reading was stopped"
        else:
            code = self._process.returncode
            problem = f"the process that read it ended early (exit code {code})"
        raise malformed(self._path, problem, _HINT)


# ---- in the reading process ---------------------------------------------------------------


def _limit_resources() -> None:
    """Limit memory, and forbid writing files."""
    with contextlib.suppress(ImportError, OSError, ValueError):  # some systems lack limits
        import resource

        for resource_id, wanted in (
            (resource.RLIMIT_FSIZE, 0),
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_AS, _MEMORY_LIMIT),
        ):
            hard_limit = resource.getrlimit(resource_id)[1]
            new_limit = wanted if hard_limit == resource.RLIM_INFINITY else min(wanted, hard_limit)
            resource.setrlimit(resource_id, (new_limit, new_limit))


def _json_values(cells: list[object]) -> list[object]:
    """Convert row names to values that JSON can hold: dates and bytes become text."""
    return [
        cell if isinstance(cell, str | int | float) else text
        for cell, text in zip(cells, text_of(cells), strict=True)
    ]


def _header(source: Source) -> dict[str, Any]:
    fields = {field: getattr(source, field) for field in _HEADER_FIELDS}
    notes = [(str(note), type(note).__name__) for note in source.notes]
    dtype = source.dtype.newbyteorder("<").str
    number_format = source.number_format and list(asdict(source.number_format).values())
    found = {"dtype": dtype, "notes": notes, "number_format": number_format}
    return {**fields, **found, "units": dict(source.units), "kinds": dict(source.kinds)}


def _parts(chunk: Chunk) -> tuple[dict[str, Any], *tuple[Any, ...]]:
    """The message on a chunk, and the arrays that follow it."""
    data = chunk.data
    ids = None if chunk.ids is None else _json_values(chunk.ids.tolist())
    message = {"rows": data.shape[0], "ids": ids, "stored": getattr(data, "nnz", None)}
    if not sp.issparse(data):
        return message, data
    return message, data.data, data.indices.astype("<i8"), data.indptr.astype("<i8")


def _main() -> None:
    from princomp.io.readers.files import open_source

    request = json.load(sys.stdin.buffer)
    name, start, options, timeout = (
        request.pop(key) for key in ("name", "start", "options", "timeout")
    )
    set_alarm = getattr(signal, "alarm", lambda _: None)  # Windows has none
    options["na"] = tuple(options["na"])
    selection = Selection(**request, options=ReadOptions(**options))
    # Redirect stdout, so that output that libraries print does not mix with messages.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)

    def send(message: dict[str, Any], *arrays: Any) -> None:
        # Convert all arrays before sending: if memory runs out, no part of the message is sent.
        contents = [np.ascontiguousarray(array).tobytes() for array in arrays]
        set_alarm(0)  # the caller may take its time
        out.writelines([json.dumps(message).encode() + b"\n", *contents])
        out.flush()
        set_alarm(timeout)

    def send_error(error: errors.PrincompError) -> None:
        place = dict(zip(error.place, _json_values([*error.place.values()]), strict=True))
        send({"error": [type(error).__name__, error.message, place, error.hint]})

    _limit_resources()
    set_alarm(timeout)
    try:
        source = open_source(name, selection)
        send(_header(source))
        if start is not None:
            for chunk in source.chunks(start):
                send(*_parts(chunk))
            send({"end": True})
    except errors.PrincompError as error:
        send_error(error)
    except BrokenPipeError:
        pass  # the caller needs no more rows
    except MemoryError:
        problem = f"reading it needs more than {_MEMORY_LIMIT // 2**30} GiB of memory"
        send_error(errors.MalformedFileError(problem, hint=_HINT))


if __name__ == "__main__":
    _main()
