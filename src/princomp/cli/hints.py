"""Rephrase messages of the library for the command line: ``sep=';'`` becomes ``--sep ';'``."""

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
# Parameters with a value for which there is a separate flag.
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
# Advice to leave a column out, which has a flag, and advice that applies only in Python.
_LEAVE_OUT = re.compile(r"\bleave the (?:constant )?columns? out\b", re.IGNORECASE)
_PYTHON_ONLY = re.compile("; scale can also be an array of divisors")
# Names before "=" without a value; names alone that are not English words (with "_"), unless
# quoted.
_ASKED = re.compile(r"\b([a-z_]+)=(?=[\s,;.)…]|$)")
_ALONE = re.compile(r"(?<!['\"\w])([a-z]+(?:_[a-z]+)+)\b(?!['\"=])")


def as_flags(text: str, *, alone: bool = False) -> str:
    """Replace parameters in a text by the corresponding flags.

    With ``alone``, also replace names without a value. Use this only for texts about parameters,
    because in other texts such a name may be the name of a column.
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
