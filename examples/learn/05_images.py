"""
Images: digits without noise
============================

A picture of 8 × 8 pixels is a row of 64 numbers. PCA finds the pictures from which all others can
be mixed. Noise is in none of them, so a picture that is mixed from a few has less noise than
before.
"""

# %%
# 1,797 handwritten digits
# ------------------------

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits

digits = load_digits()
X = digits.data
rng = np.random.default_rng(0)
order = rng.permutation(len(X))
known, clean = X[order[:1000]], X[order[1000:1300]]


def draw(rows_of_pictures, names, across=10):
    """Draw rows of small pictures."""
    figure = Figure(figsize=(8, 0.9 * len(names)), layout="constrained")
    axes = np.atleast_2d(figure.subplots(len(names), across))
    for line, pictures, name in zip(axes, rows_of_pictures, names, strict=True):
        for ax, picture in zip(line, pictures, strict=False):
            ax.imshow(picture.reshape(8, 8), cmap="gray_r")
            ax.set(xticks=[], yticks=[])
        line[0].set_ylabel(name)
    return figure


draw([known], ["digits"])

# %%
# The components are pictures
# ---------------------------
# Each axis has 64 entries, one for a pixel, so it can be drawn. The first ones are coarse, the
# last ones are noise:

from princomp import PCA

model = PCA().fit(known)
draw([model.components_[:10], model.components_[50:60]], ["PC1 to PC10", "PC51 to PC60"])

# %%
# Remove noise
# ------------
# Take pictures that the model has not seen, and add noise. Then project them on k components and
# back.

noisy = clean + 4.0 * rng.standard_normal(clean.shape)


def cleaned(k):
    """Project the noisy pictures on k components."""
    some = model.truncated(k)
    return some.inverse_transform(some.transform(noisy))


draw(
    [clean, noisy, cleaned(4), cleaned(16), cleaned(50)],
    ["clean", "noisy", "k = 4", "k = 16", "k = 50"],
)

# %%
# With few components the pictures are blurred, with many the noise is back. The error has a
# minimum between:

ks = np.arange(1, 60)
errors = [np.sqrt(((cleaned(k) - clean) ** 2).mean()) for k in ks]
figure = Figure(figsize=(6, 3), layout="constrained")
ax = figure.subplots()
ax.plot(ks, errors)
ax.axhline(np.sqrt(((noisy - clean) ** 2).mean()), linestyle="--", color="gray")
ax.set(xlabel="components", ylabel="error, grey values", ylim=(0, None))
figure

# %%

best = int(ks[np.argmin(errors)])
print(f"smallest error {min(errors):.2f} with {best} components; noise 4.00")

# %%
# Outside of an example you have no clean pictures. A rule from theory knows the best threshold if
# the noise is alike in all columns (Gavish & Donoho 2014). It works on the *noisy* table, and can
# be given the deviation of the noise:

from princomp.rules import GavishDonoho

given = PCA(GavishDonoho(noise=4.0)).fit(noisy)
print(given.decision_)

# %%
# Curved: kernel PCA
# ------------------
# Digits do not lie near a plane. Kernel PCA bends it, and its way back to pixels (a *pre-image*)
# leaves less noise:

from princomp import KernelPCA

curved = KernelPCA(32, kernel="rbf", gamma="median", pre_image="fixed_point").fit(known)
back = curved.inverse_transform(curved.transform(noisy))
print(f"linear {min(errors):.2f}, kernel {np.sqrt(((back - clean) ** 2).mean()):.2f}")
draw([clean, noisy, cleaned(best), back], ["clean", "noisy", "linear", "kernel"])

# %%
# :doc:`/howto/kernel-tuning` shows how to choose the kernel's width and the number of components.
