"""Exit with 0 if OPENBLAS_CORETYPE and PRINCOMP_KERNEL take effect here, else print why not.

Run by ``make test-processors`` under each of its settings.
"""

from __future__ import annotations

import os
import sys

import numpy as np
from threadpoolctl import threadpool_info

from princomp.errors import ParameterError
from princomp.kernels import native


def main() -> int:
    core_type = os.environ.get("OPENBLAS_CORETYPE")
    architectures = {
        library.get("architecture")
        for library in threadpool_info()
        if library["user_api"] == "blas"
    }
    if core_type and architectures != {core_type}:
        names = ", ".join(sorted(map(str, architectures)))
        print(f"OPENBLAS_CORETYPE={core_type} has no effect here, BLAS is for {names}")
        return 1
    np.ones((64, 64)) @ np.ones((64, 64))  # crashes if the processor lacks the instructions
    try:
        native.instruction_set_in_use()
    except ParameterError as error:
        print(error)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
