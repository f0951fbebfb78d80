"""Rephrase messages of the library for the command line: ``sep=';'`` becomes ``--sep ';'``."""

from __future__ import annotations

import ast
import re
import shlex

from princomp import io

_SAME_NAMES = (
    *("sep", "decimal", "thousands", "encoding", "na", "skip", "skip_end", "comment", "sheet"),
    *("columns", "exclude", "missing", "scale", "constant", "approximation", "pre_image", "gamma"),
    *("x", "y", "level", "rules", "training"),
)
_FLAGS = {
    **{name: f"--{name.replace('_', '-')}" for name in _SAME_NAMES},
    "id_column": "--id",
    "n_components": "-k",
    "svd_solver": "--solver",
    "memory_limit": "--memory",
    "n_landmarks": "--landmarks",
    "random_state": "--seed",
}
# Parameters with a value for which there is a separate flag.
_FLAGS_OF_VALUES = {
    "id_column=False": "--no-id",
    "n_components=None": "no -k",
    "scale=None": "--scale none",
    "header=True": "--header",
    "header=False": "--no-header",
    "header=2": "--header-lines 2",
    "overwrite=True": "--force",
    "center=False": "--no-center",
    "untrusted=True": "--untrusted",
}
_ASSIGNMENT = re.compile(
    r"\b([a-z_]+)=(True|False|None|"
    r"\[(?:'[^']*'|\"[^\"]*\"|[^\]'\"])*\]|"  # a list; texts in it may contain brackets
    r"'[^']*'|\"[^\"]*\"|-?(?:[0-9]+(?:\.[0-9]+)?|(?:nan|inf)\b))"
)
# Advice to leave a column out, which has a flag, and advice that applies only in Python.
_LEAVE_OUT = re.compile(r"\bleave the (?:constant )?columns? out\b", re.IGNORECASE)
_PYTHON_ONLY = (
    "; scale can also be an array of divisors",
    " (and sample_weight)",
    " of read_table",
    ", and model.reconstruction_error(X, per_row=True) finds rows that it does not explain",
    "; of an array, numpy.delete(X, […], axis=1) does",
    " (or model.rescaled('unit'))",
    ", and ids='column' takes the names of rows from a column",
    " (error.place['columns'] lists all)",
    "; 0 fills cells with column means",  # -k 0 is refused
    ", or with the fixed divisors of the model, scale=model.scale_",
    ", or an object with name, needs and decide",
    "; rules with other options can have names of their own",
    " (in tune, use by='reconstruction')",
)
_TRUNCATED = re.compile(r"(?:use )?model\.truncated\(\d+\), or ")
_OF_STREAM = re.compile(
    r"PCA\([^;]*\.partial_fit is exact[^;]*; so is PCA.(fit of a file), or .*iterator"
)
_OF_FRAME = re.compile(r"; of a frame, drop\(columns=\[.*\]\) does")
# Names before "=" without a value; names alone that are not English words (with "_"), unless
# quoted.
_NAME_BEFORE_EQUALS = re.compile(r"\b([a-z_]+)=(?=[\s,;.)…]|$)")
_BARE_NAME = re.compile(r"(?<!['\"\w])([a-z]+(?:_[a-z]+)+)\b(?!['\"=])")
# None among the valid values of a parameter: for a flag, it means to leave the flag out.
_NONE_OF_MANY = re.compile(r"\bNone(?:, | or )| or None\b")


def as_flags(text: str, *, bare_names: bool = False) -> str:
    """Replace parameters in a text by the corresponding flags.

    With ``bare_names``, also replace names without a value. Use this only for texts about
    parameters, because in other texts such a name may be the name of a column.
    """

    def replace_assignment(match: re.Match[str]) -> str:
        name, value = match.groups()
        if match[0] in _FLAGS_OF_VALUES or name not in _FLAGS or value == "None":
            return _FLAGS_OF_VALUES.get(match[0], match[0])
        try:
            parsed = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            if value[0] in "['\"":
                return match[0]
            parsed = value  # nan or inf
        argument = str(parsed)
        if isinstance(parsed, list):
            argument = io.csv_lines([parsed], ",").decode().removesuffix("\n")
        return f"{_FLAGS[name]} {shlex.quote(argument)}"

    def name(match: re.Match[str]) -> str:
        return _FLAGS.get(match[1], match[0])

    for advice in _PYTHON_ONLY:
        text = text.replace(advice, "")
    text = _OF_STREAM.sub(r"\1 is exact", _OF_FRAME.sub("", _TRUNCATED.sub("", text)))
    text = _LEAVE_OUT.sub(r"\g<0> (--exclude)", text)
    text = _NAME_BEFORE_EQUALS.sub(name, _ASSIGNMENT.sub(replace_assignment, text))
    return _NONE_OF_MANY.sub("", _BARE_NAME.sub(name, text)) if bare_names else text
