"""Small changes of a module that a test should notice: in operators, numbers and returns."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from copy import copy
from pathlib import Path
from typing import NamedTuple

_PAIRS = [
    (ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.Is, ast.IsNot),
    (ast.In, ast.NotIn), (ast.Add, ast.Sub), (ast.Mult, ast.Div), (ast.BitAnd, ast.BitOr),
    (ast.And, ast.Or),
]  # fmt: skip
OTHER = {one: other for pair in _PAIRS for one, other in (pair, pair[::-1])}
OTHER |= dict.fromkeys((ast.FloorDiv, ast.Mod, ast.Pow), ast.Mult)
_TYPES_AND_TEXTS = (ast.JoinedStr, ast.Import, ast.ImportFrom)
# A line of the table of survivors: a module and a piece of its code.
_EXPLAINED = re.compile(r"^\| `([^`]+)` \| `([^`]+)` \|", re.MULTILINE)
ROOT = Path(__file__).parents[2]
_SKIPPED = ("annotation", "returns", "decorator_list")


class Change(NamedTuple):
    """A part of a file, in bytes, and what replaces it.

    ``statement`` is the line where its statement begins, or None for code that runs at import.
    """

    path: Path
    line: int
    statement: int | None
    part: slice
    new: str

    def applied(self, source: bytes) -> bytes:
        return source[: self.part.start] + self.new.encode() + source[self.part.stop :]

    def __str__(self) -> str:
        old = " ".join(self.path.read_bytes()[self.part].decode().split())
        return f"{self.path}:{self.line}: {old} → {self.new}"


def changes_of(path: Path) -> list[Change]:
    """All changes of a module."""
    source = path.read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = []
    for node, statement in _walk(ast.parse(source)):
        for new in _replacements(node):
            start = starts[node.lineno - 1] + node.col_offset
            part = slice(start, starts[node.end_lineno - 1] + node.end_col_offset)
            text = ast.unparse(new) if isinstance(new, ast.stmt) else f"({ast.unparse(new)})"
            found.append(Change(path, node.lineno, statement, part, text))
    return found


def explained_parts(survivors: Path) -> list[tuple[Path, bytes]]:
    """The modules and pieces of code that a table of survivors excuses.

    Raises
    ------
    ValueError
        If a module no longer contains a piece.
    """
    found = []
    for module, code in _EXPLAINED.findall(survivors.read_text()):
        path, piece = Path("src/princomp") / module, code.replace("\\|", "|").encode()
        if piece not in (ROOT / path).read_bytes():
            raise ValueError(f"{survivors.name}: {path} has no {code!r}")
        found.append((path, piece))
    return found


def is_explained(change: Change, pieces: list[tuple[Path, bytes]]) -> bool:
    """Whether a change is within one of the pieces of its module."""
    source = change.path.read_bytes()
    for path, piece in pieces:
        start = source.find(piece) if path == change.path else -1
        while start >= 0:
            if start <= change.part.start and change.part.stop <= start + len(piece):
                return True
            start = source.find(piece, start + 1)
    return False


def _walk(
    node: ast.AST, statement: int | None = None, *, called: bool = False
) -> Iterator[tuple[ast.AST, int | None]]:
    """Nodes of code, without types and messages, each with the line where its statement begins."""
    if isinstance(node, _TYPES_AND_TEXTS):
        return
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return
    if called and isinstance(node, ast.stmt):
        statement = node.lineno
    yield node, statement
    if isinstance(node, ast.Raise):
        return
    for name, value in ast.iter_fields(node):
        inside = called or (name == "body" and isinstance(node, ast.FunctionDef | ast.Lambda))
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and name not in _SKIPPED:
                yield from _walk(child, statement, called=inside)


def _replacements(node: ast.AST) -> Iterator[ast.AST]:
    """Possible replacements of a node."""
    new = copy(node)
    match node:
        case ast.Compare(ops=[op, *rest]) if type(op) in OTHER:
            new.ops = [OTHER[type(op)](), *rest]
            yield new
        case ast.BinOp(op=op) | ast.BoolOp(op=op) if type(op) in OTHER:
            new.op = OTHER[type(op)]()
            yield new
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield operand
        case ast.Constant(value=bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(value=int() | float() as value):
            # Very large numbers stay the same.
            yield from (ast.Constant(new) for new in (value + 1, value - 1) if new != value)
        # Where a truth value is returned, None counts as False; True is another change.
        case ast.Return(value=ast.AST() as value) if ast.unparse(value) not in ("None", "False"):
            yield ast.Return(ast.Constant(None))
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Raise() | ast.Delete():
            yield ast.Pass()
