"""Draws the pictures of ``kernel.md``: circles, a Swiss roll, digits. Needs ``princomp[plots]``.

Run from the repository's root: ``python docs/kernel_pictures.py``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy.sparse.csgraph import shortest_path
from sklearn.datasets import load_digits, make_circles, make_swiss_roll
from sklearn.neighbors import kneighbors_graph

from princomp import PCA, KernelPCA

HERE = Path(__file__).parent
# Okabe and Ito's blue and orange: told apart by everybody.
COLOURS = ("#0072B2", "#D55E00")


def circles() -> Figure:
    """Two rings: rows, linear components, components of a Gaussian kernel."""
    X, ring = make_circles(500, factor=0.3, noise=0.05, random_state=0)
    linear = PCA(2).fit_transform(X)
    kernel = KernelPCA(2, kernel="rbf", gamma=2).fit_transform(X)
    figure = Figure(figsize=(9, 3.1), layout="constrained")
    axes = figure.subplots(1, 3)
    for ax, rows, title in zip(
        axes, (X, linear, kernel), ("rows", "linear", "kernel: rbf, gamma 2"), strict=True
    ):
        for which, colour, mark in zip((0, 1), COLOURS, "o^", strict=True):
            of = rows[ring == which]
            ax.scatter(of[:, 0], of[:, 1], s=9, c=colour, marker=mark, linewidths=0)
        titled(ax, title)
    return figure


def roll() -> Figure:
    """A sheet rolled up, and its first components."""
    X, along = make_swiss_roll(1500, noise=0.05, random_state=0)
    linear = PCA(2).fit_transform(X)
    # Distances along the sheet, by neighbours, as a kernel: it is unrolled (Isomap).
    paths = shortest_path(kneighbors_graph(X, 10, mode="distance"), directed=False)
    kernel = KernelPCA(2, kernel="precomputed").fit_transform(-0.5 * paths**2)
    figure = Figure(figsize=(9, 3.1), layout="constrained")
    axes = figure.subplots(1, 3)
    for ax, rows, title in zip(
        axes,
        (X[:, [0, 2]], linear, kernel),
        ("rows, from the side", "linear", "kernel: distances along the sheet"),
        strict=True,
    ):
        ax.scatter(rows[:, 0], rows[:, 1], s=9, c=along, cmap="viridis", linewidths=0)
        titled(ax, title)
    return figure


def digits() -> tuple[Figure, dict[str, float]]:
    """Digits with noise, and what linear and kernel components make of them."""
    X = load_digits().data
    rng = np.random.default_rng(0)
    rows = rng.permutation(len(X))
    known, new = X[rows[:1000]], X[rows[1000:1200]]
    noisy = new + rng.normal(scale=4.0, size=new.shape)
    k = 32
    linear = PCA(k).fit(known)
    flat = linear.inverse_transform(linear.transform(noisy))
    model = KernelPCA(k, kernel="rbf", gamma="median", pre_image="fixed_point").fit(known)
    curved = model.inverse_transform(model.transform(noisy))
    errors = {
        name: float(np.sqrt(((made - new) ** 2).mean()))
        for name, made in (("noisy", noisy), ("linear", flat), ("kernel", curved))
    }
    figure = Figure(figsize=(9, 4.1), layout="constrained")
    axes = figure.subplots(4, 10)
    lines = (("clean", new), ("noisy", noisy), ("linear", flat), ("kernel", curved))
    for across, (name, made) in zip(axes, lines, strict=True):
        for ax, one in zip(across, made, strict=False):
            ax.imshow(one.reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
            ax.set(xticks=[], yticks=[])
        across[0].set_ylabel(name)
    return figure, errors


def titled(ax: Any, title: str) -> None:
    """A small plane without numbers, which mean nothing here."""
    ax.set(title=title, xticks=[], yticks=[])


def main() -> None:
    """Draw the pictures."""
    circles().savefig(HERE / "kernel_circles.png", dpi=110)
    roll().savefig(HERE / "kernel_roll.png", dpi=110)
    figure, errors = digits()
    figure.savefig(HERE / "kernel_digits.png", dpi=110)
    print({name: round(error, 2) for name, error in errors.items()})


if __name__ == "__main__":
    main()
