"""Rooms use only what others export: no submodules of other rooms, and no private names."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

import princomp

SOURCE = Path(princomp.__file__).parent
ROOMS = sorted(path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists())
FILES = [path for path in sorted(SOURCE.rglob("*.py")) if path.parent != SOURCE]


def _room(path):
    return path.relative_to(SOURCE).parts[0]


def _exports(room):
    """The names that a room exports to others."""
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
def test_a_room_imports_only_exported_names_of_others(room):
    exports, wrong = {name: _exports(name) for name in ROOMS}, []
    for path in (path for path in FILES if _room(path) == room):
        for line, (other, *inside), name in _imports(ast.parse(path.read_text())):
            if other not in ROOMS:
                continue
            if other == room:
                if not inside and not (SOURCE / room / f"{name}.py").exists():
                    wrong.append(f"{path}:{line}: {name} imported from the room's own exports")
            elif inside or name not in exports[other]:
                wrong.append(f"{path}:{line}: {'.'.join([other, *inside])} {name}")
    assert not wrong, "\n".join(wrong)


# Names with an underscore that are public: methods of NamedTuple, and names of other libraries.
EXTERNAL_NAMES = {
    "_replace",
    "_asdict",
    "_fields",
    "_make",
    "_get_param_names",
    "_meta",
    "_legend_box",
}


def _is_private(name):
    return name.startswith("_") and not name.startswith("__")


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_uses_no_private_name_of_another(room):
    trees = {path: ast.parse(path.read_text()) for path in FILES if _room(path) == room}
    own = {name for tree in trees.values() for name in _defined_names(tree)}
    wrong = [
        f"{path}:{node.lineno}: {node.attr}"
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and _is_private(node.attr)
        and node.attr not in own | EXTERNAL_NAMES
        and not _is_of_own_class(node.value)
    ]
    assert not wrong, "\n".join(wrong)


def _is_of_own_class(value):
    """Whether this is self or another instance of its class (a base may be in another room)."""
    return isinstance(value, ast.Name) and value.id in ("self", "other", "model")


def _defined_names(tree):
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
            yield node.value  # slots, and names passed to getattr


@pytest.mark.parametrize("room", ROOMS)
def test_exported_names_exist(room):
    module = import_module(f"princomp.{room}")
    assert _exports(room) <= set(dir(module))
    for name in dir(module):
        getattr(module, name)  # imports what is exported lazily


def test_the_package_has_at_most_twenty_entries():
    entries = [path for path in SOURCE.iterdir() if path.name != "__pycache__"]
    assert len(entries) <= 20, sorted(path.name for path in entries)


# Tests may set a public constant of a module, such as SMALL_FILE_BYTES, to use small tables.
PRIVATE_CONSTANT = re.compile(r'set(attr|item)\(([\w.]+, )?["\w.]*\b_[A-Z]|\w\._[A-Z_]+ = ')


def test_tests_set_no_private_constants():
    wrong = [
        f"{path}:{number}: {line.strip()}"
        for path in sorted(Path(__file__).parent.rglob("*.py"))
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if PRIVATE_CONSTANT.search(line)
    ]
    assert not wrong, "\n".join(wrong)
