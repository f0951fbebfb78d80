"""Run the examples in README, manuals and docstrings.

An ``output`` block holds the output of the block before it; ``...`` stands for anything. With
PRINCOMP_WRITE_OUTPUT=1 the tests update these blocks instead.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import pkgutil
import re
import shutil
import subprocess
import sys
import traceback
from importlib import import_module
from typing import NamedTuple

import pytest

import princomp
from command_line import ROOT, shell_environment
from forked_commands import start_server
from helpers import ENGINE_MODULES
from princomp.core.problem import SOLVERS

FILES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(princomp.__path__, prefix="princomp.")
    if not module.name.endswith(("__main__", "princomp.choosing"))
)
NOT_RUN = "<!-- not run -->"
SHELLS = ("shell", "bash", "sh")
# Beginnings of lines in shell blocks that set up a machine, and are not run.
SETUP_COMMANDS = ("pip ", "git ", "make ", "cd ", "#", "python ")
ENGINE = re.compile(r"^\s*(?:import|from) (?:dask|mpi4py|pyspark|torch)\b", re.MULTILINE)
DEVICE = re.compile(r"\b(?:on_device|dask|mpi4py|pyspark|torch)\b")
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A fenced block, and the line number (from 1) of the first line of its text."""

    language: str
    text: str
    line: int


def _blocks(path):
    text = path.read_text()
    for match in FENCE.finditer(text):
        before = text[: match.start()].rstrip()
        if not before.endswith(NOT_RUN):
            yield Block(match[1], match[2], text.count("\n", 0, match.start(2)) + 1)


def _needs_an_engine(block):
    return block.language == "python" and ENGINE.search(block.text) is not None


def _documents():
    """Each document, and a second time, with engines, if some of its blocks need one.

    A document whose first block needs an engine runs only with engines.
    """
    for path in FILES:
        needs = [_needs_an_engine(block) for block in _blocks(path) if block.language == "python"]
        if needs[:1] != [True]:
            yield pytest.param(path, False, id=path.name)
        if any(needs):
            yield pytest.param(path, True, id=f"{path.name}-engines", marks=pytest.mark.engines)


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """Environment of shell blocks, in which ``princomp`` is a command of the server."""
    folder = tmp_path_factory.mktemp("bin")
    environment = shell_environment(folder)
    server = start_server(folder, environment)
    yield environment
    server.kill()
    server.communicate()


def _run_python(path, block, namespace):
    # Leading empty lines make line numbers in tracebacks those of the document.
    code = compile("\n" * (block.line - 1) + block.text, str(path), "exec")
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            exec(code, namespace)
    except Exception:
        message = traceback.format_exc(limit=-3)
        pytest.fail(f"{path}:{block.line}: this python block fails\n{message}", pytrace=False)
    return printed.getvalue()


def _run_shell(path, block, request):
    lines = [line.removeprefix("$ ") for line in block.text.splitlines()]
    lines = [line for line in lines if not line.startswith(SETUP_COMMANDS)]
    if not any(line.startswith("princomp ") for line in lines):
        return ""
    environment = request.getfixturevalue("environment")  # starts the server where it is needed
    script = "\n".join(["set -eo pipefail", *lines])
    done = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True)
    if done.returncode:
        pytest.fail(
            f"{path}:{block.line}: this shell block ends with code {done.returncode}\n"
            f"{block.text}\n{done.stderr}",
            pytrace=False,
        )
    return done.stdout


def _check_output(path, block, printed):
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    if doctest.OutputChecker().check_output(block.text, printed, flags):
        return
    if os.environ.get("PRINCOMP_WRITE_OUTPUT"):
        text = path.read_text()
        # Found by its text: blocks before it may have changed in length.
        path.write_text(text.replace(f"```output\n{block.text}```", f"```output\n{printed}```", 1))
    else:
        pytest.fail(
            f"{path}:{block.line}: the block before prints something else\n{printed}",
            pytrace=False,
        )


@pytest.mark.parametrize(("path", "engines"), list(_documents()))
def test_the_blocks_of_a_document_run(path, engines, request, tmp_path, monkeypatch, capsys):
    if not path.exists():
        pytest.fail(f"{path} is not there", pytrace=False)
    if path.name == "spark.md" and shutil.which("java") is None:
        pytest.skip("Spark needs Java 17 or newer; docs/howto/spark.md says how to get it")
    # Spark's workers must run this Python, in which princomp is installed.
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    printed = None
    for block in _blocks(path):
        if _needs_an_engine(block) and not engines:
            continue
        if block.language == "python":
            printed = _run_python(path, block, namespace)
        elif block.language in SHELLS:
            printed = _run_shell(path, block, request)
        elif block.language == "output":
            _check_output(path, block, printed)


def test_the_readme_begins_with_python_and_shell_examples():
    blocks = list(_blocks(ROOT / "README.md"))
    assert {"python", "shell"} <= {block.language for block in blocks if block.line < 60}
    text = (ROOT / "README.md").read_text()
    for chore in ("make demo", "make test"):
        assert 0 <= text.find(chore) < 2000, chore


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_linked_documents_exist(path):
    targets = re.findall(r"\]\((?!https?:|#)([^)#]+)", path.read_text())
    assert [target for target in targets if not (path.parent / target).exists()] == []


# Names exported for other rooms only, and so not in the API pages.
INTERNAL_EXPORTS = {
    "princomp": {"PrincompError", "__version__"},  # PrincompError is listed with the other errors
    "princomp.diagnostics": set(),
    "princomp.errors": {"invalid_value"},
    "princomp.plots": set(),
}


@pytest.mark.parametrize("name", INTERNAL_EXPORTS)
def test_the_api_pages_have_every_public_name(name):
    text = "\n".join(page.read_text() for page in (ROOT / "docs" / "api").glob("*.md"))
    sections = re.findall(r"^\.\. currentmodule:: (\S+)$(.*?)^```", text, re.MULTILINE | re.DOTALL)
    shown = {word for room, names in sections if room == name for word in names.split()}
    assert set(import_module(name).__all__) - INTERNAL_EXPORTS[name] - shown == set()


def test_files_named_in_contributing_exist():
    named = re.findall(r"`((?:\w+/)+[\w.]*)`", (ROOT / "CONTRIBUTING.md").read_text())
    folders = [ROOT, ROOT / "src" / "princomp"]
    missing = [
        name
        for name in named
        if "NAME" not in name and not any((place / name).exists() for place in folders)
    ]
    assert missing == []
    # The place where rules are defined and looked up.
    assert "rules/registry.py" in named


# Packages whose docstring lists their modules.
LISTED = ("cli", "core", "core.missing", "core.routes")
LISTED += ("estimators", "estimators.robust", "io", "io.readers")
LISTED += (
    "kernel_pca.feature_maps",
    "kernel_pca.pre_images",
    "kernels",
    "linalg",
    "rules",
    "solvers",
)


@pytest.mark.parametrize("name", LISTED)
def test_package_docstrings_list_all_modules(name):
    package = import_module(f"princomp.{name}")
    modules = {module.name for module in pkgutil.iter_modules(package.__path__)}
    assert modules
    words = re.findall(r"[a-z_0-9]+\*?", package.__doc__)
    patterns = [re.compile(word.replace("*", ".*")) for word in words]
    assert {m for m in modules if not any(p.fullmatch(m) for p in patterns)} == set()


def test_the_docstring_of_a_plan_names_every_summary_and_solver():
    pairs = [pair for pair in SOLVERS.values() if pair is not None]
    words = set(re.findall(r"``(\w+)``", princomp.Plan.__doc__))
    # "tiles" is a summary of engines only, which cannot be requested by name.
    assert {*(word for pair in pairs for word in pair), "tiles"} <= words


def _examples():
    finder = doctest.DocTestFinder()
    # Modules of engines have no examples, and cannot be imported without their libraries.
    modules = [import_module(name) for name in MODULES if not name.startswith(ENGINE_MODULES)]
    for test in [test for module in modules for test in finder.find(module, module.__name__)]:
        if test.examples:
            engine = any(DEVICE.search(example.source) for example in test.examples)
            marks = [pytest.mark.engines] if engine else []
            yield pytest.param(test, id=test.name, marks=marks)


@pytest.mark.parametrize("test", list(_examples()))
def test_docstring_examples_run(test):
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    message: list[str] = []
    found = doctest.DocTestRunner(optionflags=flags).run(test, out=message.append)
    if found.failed:
        pytest.fail(f"{test.filename}:{(test.lineno or 0) + 1}\n{''.join(message)}", pytrace=False)


@pytest.mark.parametrize("room", ["princomp", "princomp.diagnostics", "princomp.plots"])
def test_public_docstrings_have_no_placeholder(room):
    public = [getattr(import_module(room), name) for name in import_module(room).__all__]
    assert [item for item in public if re.search(r"%\(\w+\)", item.__doc__ or "")] == []


@pytest.mark.parametrize("name", ["PCA", "pca", "plan", "svd"])
def test_main_functions_have_an_example(name):
    assert ">>>" in getattr(princomp, name).__doc__
