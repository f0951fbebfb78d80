"""Options that describe how a table is written: separators, encoding, header, missing values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from numbers import Integral
from typing import Any

from princomp.errors import ParameterError, did_you_mean, invalid_value


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How a file is written; options that are None are detected from the file.

    Parameters
    ----------
    sep : str, optional
        Field separator: one character; " " matches any number of spaces and tabs.
    decimal : {".", ","}, optional
        Decimal separator.
    thousands : str, optional
        Thousands separator: one character.
    encoding : str, optional
        Text encoding, such as "utf-16" or "cp1252".
    na : tuple of str
        Words that mark a missing cell, in addition to the usual ones (empty, NA, NaN, null, …).
    skip : int, optional
        Number of lines before the table.
    skip_end : int, optional
        Number of lines at the end that do not belong to the data, such as totals and blank lines.
    header : int, optional
        Number of lines with column names: 0, 1 or 2.
    comment : str, optional
        Lines that begin with this text are skipped; "" skips none.
    sheet : str or int, optional
        Sheet of a workbook: its name, or its number from 1.
    untrusted : bool
        Read the file in a separate process, with limited memory and time.
    """

    sep: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    encoding: str | None = None
    na: tuple[str, ...] = ()
    skip: int | None = None
    skip_end: int | None = None
    header: int | None = None
    comment: str | None = None
    sheet: str | int | None = None
    untrusted: bool = False

    @classmethod
    def of(cls, options: dict[str, Any]) -> ReadOptions:
        """Check the options that a user gave, and make ReadOptions of them.

        Raises
        ------
        ParameterError
        """
        known = [field.name for field in fields(cls)]
        for name in options:
            if name not in known:
                problem = f"{name!r} is not an option of reading"
                accepted = ["columns", "exclude", "id_column", *known]
                hint = f"{did_you_mean(name, accepted)}The options are {', '.join(accepted)}."
                raise ParameterError(problem, place={"parameter": name}, hint=hint)
        values = dict(options)
        na = values.get("na", ())
        if not isinstance(na, Iterable) or not all(isinstance(word, str) for word in na):
            raise invalid_value("na", na, "a list of words", "Such as na=['-', 'missing'].")
        values["na"] = (na,) if isinstance(na, str) else tuple(na)
        if isinstance(values.get("header"), bool):
            values["header"] = int(values["header"])
        return cls(**values)

    def with_default_na(self, na: tuple[str, ...]) -> ReadOptions:
        """Return these options with a model's words for missing cells, if they have none."""
        return replace(self, na=na) if na and not self.na else self

    def __post_init__(self) -> None:
        def invalid(name: str, expected: str, hint: str = "None detects it.") -> ParameterError:
            return invalid_value(name, getattr(self, name), expected, hint)

        for name in ("sep", "thousands", "encoding", "comment"):
            if not isinstance(getattr(self, name), str | None):
                raise invalid(name, "text")
        one_character = "one character, or None to detect it"
        if self.sep is not None and (len(self.sep) != 1 or self.sep in '"\r\n'):
            raise invalid("sep", one_character, "A tab is written '\\t'.")
        if self.sep is not None and not self.sep.isascii():
            hint = "Save the table with commas or tabs between its columns."
            raise invalid("sep", "an ASCII character", hint)
        if self.decimal not in (None, ".", ","):
            raise invalid("decimal", "'.' or ','")
        if self.thousands is not None and (len(self.thousands) != 1 or self.thousands.isalnum()):
            raise invalid("thousands", one_character, "Such as ',' or ' '.")
        if self.thousands is not None and self.thousands == self.decimal:
            raise invalid("thousands", "another character than decimal", "Change one of them.")
        if self.encoding is not None:
            try:
                "".encode(self.encoding)
            except (LookupError, ValueError):  # a UnicodeError is a ValueError
                hint = "Such as 'utf-8' or 'cp1252'."
                raise invalid("encoding", "a text encoding of Python", hint) from None
        for name in ("skip", "skip_end"):
            count = getattr(self, name)
            if count is not None and (not isinstance(count, Integral) or count < 0):
                raise invalid(name, "a whole number of at least 0")
        if self.header not in (None, 0, 1, 2):
            hint = "False: no line of names; True: one; 2: two lines, which are joined."
            raise invalid("header", "False, True or 2", hint)


DETECT = ReadOptions()
