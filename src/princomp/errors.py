"""Exceptions of princomp.

::

    PrincompError
    ├── ParameterError (ValueError)            an argument is invalid for any data
    ├── DataError (ValueError)                 the data do not allow the operation
    │   ├── ShapeError                         wrong numbers of rows, columns or components
    │   │   └── NoRowsError                    a table without rows
    │   ├── NotFiniteError                     NaN or infinity
    │   ├── NotNumericError (TypeError)        text in a numeric column
    │   ├── ColumnError                        a missing, unknown or repeated column
    │   ├── ConstantColumnError                a constant column cannot be scaled
    │   ├── MalformedFileError                 a truncated or invalid table file
    │   ├── ModelFileError                     a truncated, changed or newer model file
    │   ├── CheckpointError                    a damaged checkpoint, or one of another run
    │   └── InputChangedError                  an input changed while it was read
    ├── MemoryLimitError (MemoryError)         the fit needs more memory than it may take
    ├── InUseError                             another run uses the checkpoint
    ├── NotAvailableError (ValueError, AttributeError)  the fitted model cannot answer this
    ├── InputNotFoundError (FileNotFoundError) an input file does not exist
    ├── OutputExistsError (FileExistsError)    an output file already exists
    ├── OutputError (OSError)                  an output could not be written
    └── MissingLibraryError (ImportError)      an optional library is not installed

Every exception has a ``message``, a ``place`` (file, row, column, … as far as known) and, if
there is advice, a ``hint`` (what to do next).
"""

from __future__ import annotations

import difflib
import errno
import os
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Sized
from contextlib import contextmanager
from functools import partial
from typing import Any

__all__ = [
    "CheckpointError",
    "ColumnError",
    "ConstantColumnError",
    "DataError",
    "InUseError",
    "InputChangedError",
    "InputNotFoundError",
    "MalformedFileError",
    "MemoryLimitError",
    "MissingLibraryError",
    "ModelFileError",
    "NoRowsError",
    "NotAvailableError",
    "NotFiniteError",
    "NotNumericError",
    "OutputError",
    "OutputExistsError",
    "ParameterError",
    "PrincompError",
    "ShapeError",
    "invalid_value",
]


# Control characters except tab and newline, marks that change the direction of text, and what
# XML does not allow.
_NOT_PRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


def printable(text: str) -> str:
    r"""Replace control characters by escapes such as ``\u001b``.

    A name in a file can then neither move the cursor of a terminal, nor reverse the text around
    it, nor make a figure invalid. JSON stays valid, with the same content.
    """
    return _NOT_PRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


class PrincompError(Exception):
    """Base class of all exceptions of princomp.

    Parameters
    ----------
    message : str
        What is wrong, with the invalid value.
    place : dict, optional
        Where it is wrong, such as ``file``, ``line``, ``row``, ``label``, ``column`` or
        ``parameter``.
    hint : str, optional
        What to do next.
    """

    def __init__(
        self, message: str, *, place: dict[str, Any] | None = None, hint: str | None = None
    ) -> None:
        self.message = printable(message)
        self.place = place or {}
        self.hint = None if hint is None else printable(hint)
        super().__init__(str(self))

    def __str__(self) -> str:
        # OSError.__str__ would print "[Errno …]".
        return self.message if self.hint is None else f"{self.message}\nHint: {self.hint}"

    def __reduce__(self) -> tuple[Any, ...]:
        # By default, pickle passes positional arguments only.
        return partial(type(self), self.message, hint=self.hint), (), vars(self)

    @property
    def kind(self) -> str:
        """Name of the class, as in JSON documents."""
        return type(self).__name__

    def to_dict(self) -> dict[str, Any]:
        """Return kind, message, place and hint."""
        return {"kind": self.kind, "message": self.message, "place": self.place, "hint": self.hint}


class ParameterError(PrincompError, ValueError):
    """An argument is invalid for any data."""


# Names that other programs use for a value of ours.
_SYNONYMS = dict.fromkeys(("standard", "standardize", "standardise", "std", "zscore"), "unit")
_SYNONYMS["gaussian"] = "rbf"


def nearest(value: object, known: Iterable[str]) -> str | None:
    """Return the known word closest to a value, regardless of case; None if none is close."""
    if not isinstance(value, str):
        return None
    names = {name.casefold(): name for name in known}
    close = difflib.get_close_matches(value.casefold(), names, n=1)
    return names[close[0]] if close else names.get(_SYNONYMS.get(value.casefold(), ""))


def did_you_mean(value: object, known: Iterable[str]) -> str:
    """Return "Did you mean …? " for a word that is close to a known one; else ""."""
    guess = nearest(value, known)
    return "" if guess is None else f"Did you mean {guess!r}? "


def invalid_value(parameter: str, value: object, expected: str, hint: str) -> ParameterError:
    """Build the error for a parameter whose value is not allowed."""
    message = f"{parameter} must be {expected}, got {value_words(value)}"
    guess = did_you_mean(value, re.findall("'([^']+)'", expected))
    return ParameterError(message, place={"parameter": parameter}, hint=guess + hint)


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning that shows the line of the user's code.

    The line is that of the first caller outside of princomp, scikit-learn and joblib.
    """
    inner, frame, level = ("princomp.", "sklearn.", "joblib."), sys._getframe(1), 2
    while frame.f_back and frame.f_globals.get("__name__", "").startswith(inner):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def counted(count: int, noun: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "row"), counted(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def percent(share: float) -> str:
    """Return a share in percent; one that is not the whole does not read 100%.

    Sums of all shares have roundings.

    >>> percent(0.868), percent(0.9997), percent(1 - 1e-12)
    ('86.8%', 'more than 99.9%', '100.0%')
    """
    return "more than 99.9%" if 0.9995 <= share < 1 - 1e-6 else f"{share:.1%}"


def class_words(value: object) -> str:
    """Name the class of a value, and say if it is one of scikit-learn's, which share our names.

    >>> class_words([])
    'list'
    """
    owner = "scikit-learn's " if type(value).__module__.startswith("sklearn.") else ""
    return owner + type(value).__name__


# Longest list, dict or text that a message shows, in characters.
_LONGEST_VALUE = 200


def value_words(value: object) -> str:
    """Describe a value in a message: long ones by their class and their shape or length.

    >>> import numpy as np
    >>> value_words("auto"), value_words(np.zeros((40, 4))), value_words([0.25] * 40)
    ("'auto'", 'ndarray of shape (40, 4)', 'list of length 40')
    """
    shape = getattr(value, "shape", ())
    if isinstance(shape, tuple) and shape:  # the shape of a class is a property
        return f"{class_words(value)} of shape {tuple(shape)}"
    words = repr(value)
    if len(words) > _LONGEST_VALUE and isinstance(value, Sized):
        return f"{class_words(value)} of length {len(value)}"
    return words


def row_words(row: int, label: object = None, line: int | None = None) -> str:
    """Name a row in a message: by its label if it has one, else by its number from 0.

    >>> row_words(17), row_words(17, line=19), row_words(17, "Ohio")
    ('row 17', 'row 17 (line 19)', "row 'Ohio'")
    """
    words = f"row {row:,}" if label is None else f"row {label!r}"
    return words if line is None else f"{words} (line {line:,})"


def scores_overflow(row: int, dtype: object) -> NotFiniteError:
    """The error for a row whose values are finite and whose scores are not."""
    return NotFiniteError(
        f"the scores of {row_words(row)} overflow {dtype}",
        place={"row": row},
        hint="give the rows in float64" if str(dtype) == "float32" else "scale the rows",
    )


# Windows reports a closed pipe as an invalid argument.
CLOSED_PIPE = {errno.EPIPE, errno.EINVAL} if os.name == "nt" else {errno.EPIPE}


@contextmanager
def writing_to_stream() -> Iterator[None]:
    """Raise BrokenPipeError if the reader of the stream has closed it, on any system."""
    try:
        yield
    except OSError as error:
        if error.errno not in CLOSED_PIPE:
            raise
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE)) from error


class DataError(PrincompError, ValueError):
    """The arguments are valid, but the data do not allow the operation."""


class ShapeError(DataError):
    """A wrong number of rows, columns or components."""


class NoRowsError(ShapeError):
    """A table without rows."""


class NotFiniteError(DataError):
    """NaN or infinity in the data."""

    # The value found, NaN or infinity, if it was in a block of rows.
    value: float | None = None


class NotNumericError(DataError, TypeError):
    """Text in a numeric column, or an object that is not a number."""


class ColumnError(DataError):
    """A column is missing, unknown or repeated."""


class ConstantColumnError(DataError):
    """A constant column cannot be scaled."""


class MalformedFileError(DataError):
    """A table file is truncated, has rows of unequal length, or is of another format."""


class ModelFileError(DataError):
    """A model file is truncated, changed or of an unknown version."""


class CheckpointError(DataError):
    """A checkpoint is damaged, or belongs to another input or other parameters."""


class InputChangedError(DataError):
    """An input changed while it was read, or since a checkpoint was written."""


class MemoryLimitError(PrincompError, MemoryError):
    """The fit needs more memory than it may take."""


class InUseError(PrincompError):
    """Another run uses this checkpoint."""


class NotAvailableError(PrincompError, ValueError, AttributeError):
    """The fitted model lacks what an operation needs."""


class InputNotFoundError(PrincompError, FileNotFoundError):
    """An input file does not exist."""


class OutputExistsError(PrincompError, FileExistsError):
    """An output file already exists."""


class OutputError(PrincompError, OSError):
    """An output could not be written."""


class MissingLibraryError(PrincompError, ImportError):
    """An optional library is not installed."""
