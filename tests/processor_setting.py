"""Exit 0 where OPENBLAS_CORETYPE and PRINCOMP_KERNEL take effect here, else say why not.

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
    wanted = os.environ.get("OPENBLAS_CORETYPE")
    found = {one.get("architecture") for one in threadpool_info() if one["user_api"] == "blas"}
    if wanted and found != {wanted}:
        named = ", ".join(sorted(map(str, found)))
        print(f"OPENBLAS_CORETYPE={wanted} has no effect here, BLAS is for {named}")
        return 1
    np.ones((64, 64)) @ np.ones((64, 64))  # ends the process where the processor cannot run it
    try:
        native.name_in_use()
    except ParameterError as error:
        print(error)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
