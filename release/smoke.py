"""An installed princomp in a few seconds: the compiled kernels load, and results are right."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np

import princomp
from princomp.kernels import instruction_set_in_use


def main() -> None:
    """Fail where anything is wrong."""
    compilers = [name for name in ("cc", "c++", "gcc", "g++", "clang") if shutil.which(name)]
    print(f"princomp {princomp.__version__}, Python {sys.version.split()[0]}, {sys.platform}")
    print(f"kernels: {instruction_set_in_use()}; compilers: {', '.join(compilers) or 'none'}")
    assert instruction_set_in_use() != "numpy", "the compiled kernels were not loaded"
    rows = np.random.default_rng(0).standard_normal((2000, 50)) * np.linspace(1, 3, 50) + 1e3
    model = princomp.PCA(5).fit(rows)
    variances = np.linalg.svd(rows - rows.mean(axis=0), compute_uv=False) ** 2 / (len(rows) - 1)
    np.testing.assert_allclose(model.explained_variance_, variances[:5], rtol=1e-10)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.pca"
        model.save(file)
        scores = princomp.load(file).transform(rows)
    np.testing.assert_allclose(scores.var(axis=0, ddof=1), variances[:5], rtol=1e-10)
    print("fit, save, load and transform: right")


if __name__ == "__main__":
    main()
