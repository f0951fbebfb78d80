"""
Digits without noise
====================

Project noisy digits on 32 components and go back. A pre-image of a Gaussian kernel has less noise
than a linear projection.
"""

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits

from princomp import PCA, KernelPCA

X = load_digits().data
rng = np.random.default_rng(0)
order = rng.permutation(len(X))
known, clean = X[order[:1000]], X[order[1000:1010]]
noisy = clean + rng.normal(scale=4.0, size=clean.shape)
linear = PCA(32).fit(known)
kernel = KernelPCA(32, kernel="rbf", gamma="median", pre_image="fixed_point").fit(known)

figure = Figure(figsize=(9, 4.1), layout="constrained")
lines = {
    "clean": clean,
    "noisy": noisy,
    "linear": linear.inverse_transform(linear.transform(noisy)),
    "kernel": kernel.inverse_transform(kernel.transform(noisy)),
}
for axes, (name, pictures) in zip(figure.subplots(4, 10), lines.items(), strict=True):
    for ax, picture in zip(axes, pictures, strict=True):
        ax.imshow(picture.reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
        ax.set(xticks=[], yticks=[])
    axes[0].set_ylabel(name)
figure
