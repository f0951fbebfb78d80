"""Entry point of the ``princomp`` command, also ``python -m princomp``."""

from __future__ import annotations

import gc
import sys
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from typing import Any

__all__ = ["main"]


class _SlowImportFinder:
    """Avoids slow imports of modules that a command does not use.

    No command uses pandas, which pyarrow would import. scikit-learn imports scipy.stats, which is
    loaded only when something in it is used.
    """

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Refuse pandas and delay scipy.stats; leave all other modules to the next finders."""
        if name == "pandas":
            raise ModuleNotFoundError("the command line does not use pandas", name=name)
        spec = PathFinder.find_spec(name, path, target) if name == "scipy.stats" else None
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec


def main() -> None:
    """Run the command line, or say how to install what it needs."""
    sys.meta_path.insert(0, _SlowImportFinder())
    # A command ends soon. Garbage collection would take a tenth of the time of a report.
    gc.set_threshold(100_000, 20, 100)
    try:
        import rich  # noqa: F401 - commands import parts of it when they print results

        from princomp.cli import run
    except KeyboardInterrupt:
        sys.exit(130)
    except ModuleNotFoundError as error:
        if error.name not in ("click", "rich"):
            raise
        print(
            f"princomp: the command line needs {error.name}, which is not installed\n"
            "Hint: pip install 'princomp[cli]'",
            file=sys.stderr,
        )
        sys.exit(75)
    sys.exit(run())


if __name__ == "__main__":
    main()
