"""What no other tool checks of a wheel: kernels, licence, bill of materials and platform."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from zipfile import ZipFile

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

# The newest glibc that a wheel for Linux may need.
GLIBC = (2, 28)


def check(path: Path) -> list[str]:
    """Return what is wrong with a wheel."""
    faults = []
    with ZipFile(path) as wheel:
        names = wheel.namelist()
        required = (
            "kernels/kernels.native",
            "/licenses/LICENSE",
            "princomp/py.typed",
            ".css",
            ".csv",
        )
        for ending in required:
            if not any(name.endswith(ending) for name in names):
                faults.append(f"there is no {ending}")
        forbidden = re.compile(r"\.(cpp|hpp|inplace)$|__pycache__|^tests/")
        faults += [f"{name} does not belong there" for name in names if forbidden.search(name)]
        boms = [name for name in names if re.search(r"\.dist-info/sboms/.*\.cdx\.json$", name)]
        if not boms:
            faults.append("there is no bill of materials")
        for name in boms:
            text = wheel.read(name).decode()
            error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
            faults += [f"{name}: {error}"] if error else []
            faults += [f"{name}: of another version"] if path.name.split("-")[1] not in text else []
    if "linux" in path.name:
        tags = re.findall(r"manylinux_(\d+)_(\d+)_", path.name)
        if not tags or min((int(a), int(b)) for a, b in tags) > GLIBC:
            faults.append("needs a newer glibc than manylinux_2_28")
    return faults


def main() -> int:
    """Print the faults of all wheels; 1 if there are some."""
    paths = [Path(name) for name in sys.argv[1:]]
    faults = [f"{path.name}: {fault}" for path in paths for fault in check(path)]
    print("\n".join(faults) or f"{len(paths)} wheel: kernels, licence, bill of materials, platform")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
