"""Arrays among the attributes of estimators are read-only: a change would silently do nothing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from princomp import PCA, IncrementalPCA, KernelPCA, RobustPCA

MODELS = {
    "PCA": PCA(2, scale="unit"),
    "float32": PCA(2, missing="em"),
    "given scale": PCA(2, scale=[1.0, 2.0, 3.0, 4.0]),
    "incremental": IncrementalPCA(2),
    "robust": RobustPCA(2, scale="mad"),
    "rbf": KernelPCA(2, kernel="rbf", pre_image="ridge", scale="unit"),
    "linear": KernelPCA(2),
    "nystrom": KernelPCA(2, kernel="rbf", approximation="nystrom", n_landmarks=20),
}


@pytest.mark.parametrize("name", MODELS)
def test_no_array_can_be_changed(name, rng):
    X = rng.standard_normal((40, 4)).astype(np.float32 if name == "float32" else float)
    model = MODELS[name].fit(pd.DataFrame(X, columns=list("abcd")))
    found = []
    for attribute in dir(model):
        if attribute.startswith("_") or not attribute.endswith("_"):
            continue
        value = getattr(model, attribute, None)
        if isinstance(value, np.ndarray):
            found.append(attribute)
            assert not value.flags.writeable, attribute
            with pytest.raises(ValueError, match="read-only"):
                value[...] = value
    expected = {"explained_variance_", "explained_variance_ratio_", "feature_names_in_"}
    expected |= {"eigenvalues_"} if "Kernel" in type(model).__name__ else {"components_", "mean_"}
    assert expected <= set(found)


def test_signs_of_a_kernel_pca_cannot_be_flipped_in_place(rng):
    model = KernelPCA(2, kernel="rbf").fit(rng.standard_normal((40, 4)))
    with pytest.raises(ValueError, match="read-only"):
        model.eigenvectors_[:, 0] *= -1
    with pytest.raises(AttributeError, match="cannot be set"):
        model.eigenvectors_ = -model.eigenvectors_
