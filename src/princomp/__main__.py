"""Entry of the ``princomp`` command, also ``python -m princomp``."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line, or say how to install what it needs."""
    try:
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
