"""Fuzz one target: ``fuzz.py TARGET [options of libFuzzer]``.

Inputs that reach new code are saved in ``build/fuzz/TARGET``, and failing ones in ``build/fuzz``.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import SourceFileLoader
from pathlib import Path

import atheris

ROOT = Path(__file__).parents[2]
CORPUS, FOUND = Path(__file__).parent / "corpus", ROOT / "build" / "fuzz"
# All modules of these packages are instrumented, also those that are otherwise imported on first
# use.
PACKAGES = ("cli", "core", "diagnostics", "estimators", "io", "kernel_pca", "linalg", "summaries")

# Modules that the loader of an editable install imports are not instrumented.
sys.meta_path = [one for one in sys.meta_path if "editable" not in type(one).__module__]
sys.path.insert(0, str(ROOT / "src"))

with atheris.instrument_imports(include=["princomp"]):
    for package in PACKAGES:
        folder = ROOT / "src" / "princomp" / package
        for file in sorted(folder.rglob("*.py")):
            parts = file.relative_to(ROOT / "src").with_suffix("").parts
            import_module(".".join(parts).removesuffix(".__init__"))
    from targets import TARGETS


def main() -> None:
    loader = type(sys.modules["princomp.io"].__loader__)
    assert issubclass(loader, SourceFileLoader), f"{loader} loaded princomp without instrumentation"
    name, *options = sys.argv[1:]
    (FOUND / name).mkdir(parents=True, exist_ok=True)
    options += [f"-artifact_prefix={FOUND / name}-", "-rss_limit_mb=3000", "-timeout=30"]
    atheris.Setup([sys.argv[0], *options, str(FOUND / name), str(CORPUS / name)], TARGETS[name])
    atheris.Fuzz()


if __name__ == "__main__":
    main()
