"""Rooms use each other through their doors only: no other room's submodules, no private names."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import princomp
from command_line import ENVIRONMENT

SOURCE = Path(princomp.__file__).parent
ROOMS = sorted(path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists())
FILES = [path for path in sorted(SOURCE.rglob("*.py")) if path.parent != SOURCE]


def _room(path):
    return path.relative_to(SOURCE).parts[0]


def _door(room):
    """The names that other rooms may import."""
    stub = SOURCE / room / "__init__.pyi"
    file = stub if stub.exists() else SOURCE / room / "__init__.py"
    imports = [
        node for node in ast.parse(file.read_text()).body if isinstance(node, ast.ImportFrom)
    ]
    return {alias.asname or alias.name for node in imports for alias in node.names}


def _imports(tree):
    """Modules and names that a file imports from princomp, with the line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("princomp."):
            for alias in node.names:
                yield node.lineno, node.module.split(".")[1:], alias.name
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("princomp."):
                    yield node.lineno, alias.name.split(".")[1:], None


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_uses_others_through_their_door_only(room):
    doors, wrong = {name: _door(name) for name in ROOMS}, []
    for path in (path for path in FILES if _room(path) == room):
        for line, (other, *inside), name in _imports(ast.parse(path.read_text())):
            if other not in ROOMS:
                continue
            if other == room:
                if not inside and not (SOURCE / room / f"{name}.py").exists():
                    wrong.append(f"{path}:{line}: {name} through the room's own door")
            elif inside or name not in doors[other]:
                wrong.append(f"{path}:{line}: {'.'.join([other, *inside])} {name}")
    assert not wrong, "\n".join(wrong)


# Private by name only: NamedTuple's methods, and names that other libraries document or need.
FOREIGN = {"_replace", "_asdict", "_fields", "_make", "_get_param_names", "_meta", "_legend_box"}


def _private(name):
    return name.startswith("_") and not name.startswith("__")


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_uses_no_private_name_of_another(room):
    trees = {path: ast.parse(path.read_text()) for path in FILES if _room(path) == room}
    own = {name for tree in trees.values() for name in _defined(tree)}
    wrong = [
        f"{path}:{node.lineno}: {node.attr}"
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and _private(node.attr)
        and node.attr not in own | FOREIGN
        and not _is_of_own_class(node.value)
    ]
    assert not wrong, "\n".join(wrong)


def _is_of_own_class(value):
    """Whether this is self or another instance of its class, whose base may be of another room."""
    return isinstance(value, ast.Name) and value.id in ("self", "other", "model")


def _defined(tree):
    """Names that a file defines: functions, classes, variables, and attributes of self."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"):
                yield node.attr
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value  # slots, and names given to getattr


def test_every_name_of_every_door_exists():
    code = f"from importlib import import_module\nfor room in {ROOMS}:\n"
    code += "    import_module(f'princomp.{room}')"
    environment = {**ENVIRONMENT, "EAGER_IMPORT": "1"}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)


def test_there_are_at_most_twenty_entries():
    entries = [path for path in SOURCE.iterdir() if path.name != "__pycache__"]
    assert len(entries) <= 20, sorted(path.name for path in entries)
