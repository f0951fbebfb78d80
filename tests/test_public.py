"""The public interface: names, modules, cost of imports, and dependencies."""

from __future__ import annotations

import pickle
import pkgutil
import re
import subprocess
import sys
import tomllib
from importlib import import_module
from importlib.metadata import version

import pytest

import princomp
from command_line import ARRESTS, ENVIRONMENT, ROOT
from helpers import ENGINE_MODULES
from princomp import errors

NAMES = [
    "PCA",
    "Certificate",
    "IncrementalPCA",
    "KernelPCA",
    "Moments",
    "Plan",
    "PrincompError",
    "Progress",
    "RobustPCA",
    "Sketch",
    "Spectrum",
    "Triangle",
    "__version__",
    "bootstrap",
    "choose",
    "load",
    "on_device",
    "pca",
    "plan",
    "principal_component_pursuit",
    "read_table",
    "report",
    "rotate",
    "svd",
    "tune",
]
OPTIONAL = [
    "click",
    "dask",
    "h5py",
    "jinja2",
    "matplotlib",
    "openpyxl",
    "pandas",
    "polars",
    "pyarrow",
    "rich",
    "torch",
    "zarr",
]
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(princomp.__path__, prefix="princomp.")
    if module.name != "princomp.choosing"  # deprecated, warns on import
)


def test_public_names():
    assert princomp.__all__ == NAMES
    assert dir(princomp) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_can_be_imported(name):
    value = getattr(princomp, name)
    assert name == "__version__" or value.__doc__.strip()
    assert getattr(princomp, name) is value


def test_no_submodule_hides_a_public_name():
    submodules = {name.removeprefix("princomp.") for name in MODULES}
    assert submodules.isdisjoint(NAMES)
    for name in MODULES:
        if not name.startswith(ENGINE_MODULES):
            import_module(name)
    for name in NAMES:
        assert not isinstance(getattr(princomp, name), type(princomp)), name


def test_the_old_name_of_the_rules_still_works():
    sys.modules.pop("princomp.choosing", None)
    with pytest.warns(DeprecationWarning, match=r"princomp\.rules"):
        from princomp.choosing import Parallel
    assert Parallel is princomp.rules.Parallel


def test_unknown_names_raise_errors():
    with pytest.raises(AttributeError, match="kpca"):
        princomp.kpca  # noqa: B018 - the access is what is tested
    with pytest.raises(ImportError):
        from princomp import kpca  # noqa: F401


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.engines] * name.startswith(ENGINE_MODULES))
        for name in MODULES
        if not name.endswith("__main__")
    ],
)
def test_every_module_has_a_docstring_and_valid_exports(name):
    module = import_module(name)
    assert module.__doc__
    for exported in getattr(module, "__all__", []):
        assert hasattr(module, exported), exported


def _modules_loaded_by(code, *, before="pass"):
    """Names of the top-level modules that ``code`` loads in a new Python process."""
    loaded = "{name.partition('.')[0] for name in sys.modules}"
    code = f"import sys\n{before}\nbefore = {loaded}\n{code}\nprint(*({loaded} - before))"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_the_package_loads_nothing_heavy():
    loaded = _modules_loaded_by("import princomp; princomp.__all__, princomp.__version__")
    assert "princomp" in loaded
    assert loaded.isdisjoint([*OPTIONAL, "numpy", "scipy", "sklearn", "narwhals", "safetensors"])


def test_optional_libraries_are_loaded_by_scikit_learn_only():
    # scikit-learn 1.9 loads pandas itself if it is installed.
    loaded = _modules_loaded_by(
        "from princomp import *; PCA(1).fit([[1.0, 2.0], [3.0, 5.0], [2.0, 2.0]])",
        before="import sklearn.base, sklearn.utils.validation",
    )
    assert "princomp" in loaded
    assert loaded.isdisjoint(OPTIONAL)


def test_required_dependencies():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = [re.match(r"[\w-]+", line)[0] for line in project["dependencies"]]
    assert sorted(names) == [
        "array-api-compat",
        "lazy_loader",
        "narwhals",
        "numpy",
        "safetensors",
        "scikit-learn",
        "scipy",
    ]
    assert {"cli", "plots", "all", "test"} <= project["optional-dependencies"].keys()
    assert project["scripts"] == {"princomp": "princomp.__main__:main"}
    assert project["requires-python"] == ">=3.11"
    for name in names:
        assert version(name)


def test_errors_can_be_pickled_with_all_attributes():
    classes = [vars(errors)[name] for name in errors.__all__ if name.endswith("Error")]
    assert len(classes) > 10
    for error_class in classes:
        error = error_class("wrong", place={"row": 1}, hint="change it")
        error.value = 2.0
        found = pickle.loads(pickle.dumps(error))
        assert type(found) is error_class
        assert (str(found), found.args, vars(found)) == (str(error), error.args, vars(error))


def test_the_package_has_a_py_typed_marker():
    assert (ROOT / "src" / "princomp" / "py.typed").exists()


@pytest.mark.parametrize("library", ["click", "rich"])
def test_a_missing_library_of_the_command_line_is_reported(library, tmp_path):
    code = (
        f"import sys\nsys.modules[{library!r}] = None\n"
        f"sys.argv = ['princomp', 'fit', {str(ARRESTS)!r}, '-o', 'out']\n"
        "from princomp.__main__ import main\nmain()"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (75, "")
    assert f"needs {library}" in done.stderr
    assert "pip install 'princomp[cli]'" in done.stderr
    assert list(tmp_path.iterdir()) == []
