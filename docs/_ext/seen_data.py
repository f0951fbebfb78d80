"""Digits and their components for the figures of ``learn/seen``, which run in the browser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from princomp import PCA

_SHOWN = 12


def digits() -> dict[str, Any]:
    """Return mean, axes, scores and rates of handwritten digits, rounded for a small file."""
    X = load_digits().data
    model = PCA().fit(X)
    return {
        "mean": np.round(model.mean_, 2).tolist(),
        "axes": np.round(model.components_, 3).tolist(),
        "scores": np.round(model.transform(X[:_SHOWN]), 1).tolist(),
        "accumulated": np.round(model.accumulated_rate_, 4).tolist(),
    }


def write(app: Any, error: Exception | None) -> None:
    """Write the data into the folder of the built pages' scripts."""
    if error is None and app.builder.format == "html":
        text = f"const PCA_SEEN_DIGITS = {json.dumps(digits(), separators=(',', ':'))};\n"
        (Path(app.outdir) / "_static" / "pca-seen-digits.js").write_text(text)


def setup(app: Any) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
