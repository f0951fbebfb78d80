"""Every exception that princomp raises on purpose.

::

    PrincompError
    ├── ParameterError (ValueError)            an argument is unlawful, whatever the data
    ├── DataError (ValueError)                 the argument is understood, the data do not allow it
    │   ├── ShapeError                         too few rows, k out of range, a wrong column count
    │   ├── NotFiniteError                     NaN or infinity
    │   ├── NotNumericError                    text where numbers must stand
    │   ├── ColumnError                        a column is missing, unknown or named twice
    │   ├── ConstantColumnError                a column without spread cannot be scaled
    │   ├── MalformedFileError                 a table file that is cut, ragged or of another kind
    │   ├── ModelFileError                     a model file that is cut, changed or too new
    │   ├── CheckpointError                    a checkpoint that is damaged, or of another run
    │   └── InputChangedError                  an input that changed while it was read
    ├── MemoryLimitError (MemoryError)         no route fits in the memory that it may take
    ├── InUseError                             another run holds this checkpoint
    ├── NotAvailableError (ValueError, AttributeError)  the fit kept too little to answer
    ├── InputNotFoundError (FileNotFoundError)
    ├── OutputExistsError (FileExistsError)    nothing is overwritten unasked
    ├── OutputError (OSError)                  an output could not be written
    └── MissingLibraryError (ImportError)      says which extra installs it

Each carries ``place`` (file, row, column … as far as known) and ``hint`` (the
next step) beside its message, so that a program can read what a person reads.
"""

from __future__ import annotations

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
    "NotAvailableError",
    "NotFiniteError",
    "NotNumericError",
    "OutputError",
    "OutputExistsError",
    "ParameterError",
    "PrincompError",
    "ShapeError",
]


class PrincompError(Exception):
    """Base of all errors of princomp.

    Parameters
    ----------
    message : str
        What is wrong, with the value that is wrong.
    place : dict, optional
        Where: any of ``file``, ``row``, ``column``, ``parameter``.
    hint : str, optional
        What to do next.
    """

    def __init__(
        self, message: str, *, place: dict[str, Any] | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message if hint is None else f"{message}\nHint: {hint}")
        self.message = message
        self.place = place or {}
        self.hint = hint

    def __str__(self) -> str:
        # OSError would print "[Errno …]" forms; every error here prints alike.
        return self.message if self.hint is None else f"{self.message}\nHint: {self.hint}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.message, self.place, self.hint)

    @property
    def kind(self) -> str:
        """Name of the error's class, as it stands in JSON documents."""
        return type(self).__name__

    def to_dict(self) -> dict[str, Any]:
        """Kind, message, place and hint."""
        return {
            "kind": self.kind,
            "message": self.message,
            "place": self.place,
            "hint": self.hint,
        }


def _rebuild(
    kind: type[PrincompError], message: str, place: dict[str, Any], hint: str | None
) -> PrincompError:
    return kind(message, place=place, hint=hint)


class ParameterError(PrincompError, ValueError):
    """An argument is unlawful, whatever the data."""


class DataError(PrincompError, ValueError):
    """The arguments are understood, but the data do not allow them."""


class ShapeError(DataError):
    """Too few rows, k out of range, or a wrong number of columns."""


class NotFiniteError(DataError):
    """NaN or infinity among the numbers."""

    # Which of them, where it was found in a block.
    value: float | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return (*super().__reduce__(), {"value": self.value})


class NotNumericError(DataError):
    """Text where numbers must stand."""


class ColumnError(DataError):
    """A column is missing, unknown or named twice."""


class ConstantColumnError(DataError):
    """A column without spread cannot be scaled."""


class MalformedFileError(DataError):
    """A table file that is cut short, ragged or not of the kind its name says."""


class ModelFileError(DataError):
    """A model file that is cut short, changed or of an unknown version."""


class CheckpointError(DataError):
    """A checkpoint that is damaged, or belongs to another input or other parameters."""


class InputChangedError(DataError):
    """An input that changed while it was read, or since a checkpoint was written."""


class MemoryLimitError(PrincompError, MemoryError):
    """No route fits in the memory that the fit may take."""


class InUseError(PrincompError):
    """Another run holds this checkpoint."""


class NotAvailableError(PrincompError, ValueError, AttributeError):
    """The fit kept too little to answer without the data."""


class InputNotFoundError(PrincompError, FileNotFoundError):
    """No such input file."""


class OutputExistsError(PrincompError, FileExistsError):
    """An output exists already and nothing is overwritten unasked."""


class OutputError(PrincompError, OSError):
    """An output could not be written."""


class MissingLibraryError(PrincompError, ImportError):
    """An optional library is not installed."""
