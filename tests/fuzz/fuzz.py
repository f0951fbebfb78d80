"""Fuzz one target: ``fuzz.py TARGET [options of libFuzzer]``.

Inputs that reach new code are saved in ``build/fuzz/TARGET``, and failing ones in ``build/fuzz``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["princomp"]):
    from targets import TARGETS

    import princomp.cli

    # Modules that are otherwise imported on first use.
    import princomp.cli.commands
    import princomp.io
    import princomp.io.readers.files  # noqa: F401

CORPUS = Path(__file__).parent / "corpus"
FOUND = Path(__file__).parents[2] / "build" / "fuzz"


def main() -> None:
    name, *options = sys.argv[1:]
    (FOUND / name).mkdir(parents=True, exist_ok=True)
    options += [f"-artifact_prefix={FOUND / name}-", "-rss_limit_mb=3000", "-timeout=30"]
    atheris.Setup([sys.argv[0], *options, str(FOUND / name), str(CORPUS / name)], TARGETS[name])
    atheris.Fuzz()


if __name__ == "__main__":
    main()
