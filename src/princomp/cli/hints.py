"""Messages of the library in the words of the command line: ``sep=';'`` becomes ``--sep ';'``."""

from __future__ import annotations

import ast
import re
import shlex

__all__ = ["as_flags"]

_SAME = (
    *("sep", "decimal", "thousands", "encoding", "na", "skip", "skip_end", "comment", "sheet"),
    *("columns", "exclude", "missing", "scale", "constant"),
)
_FLAGS = {
    **{name: f"--{name.replace('_', '-')}" for name in _SAME},
    "id_column": "--id",
    "n_components": "-k",
    "svd_solver": "--solver",
    "memory_limit": "--memory",
    "n_landmarks": "--landmarks",
    "pre_image": "--pre-image",
    "random_state": "--seed",
}
# What has a flag of its own for a value.
_WORDS = {
    "id_column=False": "--no-id",
    "n_components=None": "no -k",
    "scale=None": "--scale none",
    "header=True": "--header",
    "header=False": "--no-header",
    "header=2": "--header-lines 2",
    "overwrite=True": "--force",
    "center=False": "--no-center",
}
_GIVEN = re.compile(
    r"\b([a-z_]+)=(True|False|None|\[[^\]]*\]|'[^']*'|\"[^\"]*\"|[0-9]+(?:\.[0-9]+)?)"
)
# What to do about a column, and what only Python can do.
_LEAVE_OUT = re.compile(r"\bleave the (?:constant )?columns? out\b", re.IGNORECASE)
_PYTHON_ONLY = re.compile("; scale can also be an array of divisors")
# Names before "=" without a value; and names alone that are no English words, unless quoted.
_ASKED = re.compile(r"\b([a-z_]+)=(?=[\s,;.)…]|$)")
_ALONE = re.compile(r"(?<!['\"\w])([a-z]+(?:_[a-z]+)+)\b(?!['\"=])")


def as_flags(text: str, *, alone: bool = False) -> str:
    """Replace parameters by the flags that stand for them.

    ``alone``: also names without a value. Only in a text about parameters: in others, such a
    name may be that of a column.
    """

    def flag(match: re.Match[str]) -> str:
        name, value = match.groups()
        if match[0] in _WORDS or name not in _FLAGS:
            return _WORDS.get(match[0], match[0])
        try:
            found = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            return match[0]
        if found is None:
            return match[0]
        word = ",".join(map(str, found)) if isinstance(found, list) else str(found)
        return f"{_FLAGS[name]} {shlex.quote(word)}"

    def name(match: re.Match[str]) -> str:
        return _FLAGS.get(match[1], match[0])

    text = _PYTHON_ONLY.sub("", _LEAVE_OUT.sub(r"\g<0> (--exclude)", text))
    text = _ASKED.sub(name, _GIVEN.sub(flag, text))
    return _ALONE.sub(name, text) if alone else text
