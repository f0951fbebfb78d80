"""Draws ``usarrests.svg``, the picture in the README. Needs ``princomp[all]``.

Run from the repository's root: ``python docs/picture.py``.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from princomp import PCA

ROOT = Path(__file__).parent.parent
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#767676"  # apart for every kind of eye


def main() -> None:
    """Draw the picture."""
    table = ROOT / "examples" / "usarrests.csv"
    with table.open() as stream:
        states = [row["State"] for row in csv.DictReader(stream)]
    model = PCA(scale="unit").fit(table)
    scores, loadings, rates = model.transform(table), model.loadings_, model.contribution_rate_

    figure = Figure(figsize=(9, 4.2), layout="constrained")
    bars, plane = figure.subplots(1, 2, width_ratios=(1, 1.9))
    number = np.arange(1, len(rates) + 1)
    bars.bar(number, 100 * rates, color=BLUE, width=0.7)
    bars.plot(number, 100 * model.accumulated_rate_, color=ORANGE, marker="o", label="accumulated")
    for x, rate in zip(number, rates, strict=True):
        first = x == 1  # there the accumulated line starts on the bar
        bars.annotate(
            f"{rate:.1%}",
            (x, 100 * rate),
            (0, -14 if first else 3),
            textcoords="offset points",
            ha="center",
            fontsize=8,
            color="white" if first else "black",
        )
    bars.set(xlabel="component", ylabel="% of the variance", ylim=(0, 112), xticks=number)
    bars.legend(frameon=False, loc="center right", fontsize=8)

    plane.axhline(0, color=GREY, lw=0.5)
    plane.axvline(0, color=GREY, lw=0.5)
    plane.scatter(scores[:, 0], scores[:, 1], s=12, color=GREY)
    far = np.argsort(-np.hypot(scores[:, 0], scores[:, 1]))[:9]
    for i in far:
        plane.annotate(states[i], scores[i, :2], (4, 2), textcoords="offset points", fontsize=7)
    factor = 2.6  # one for all arrows, so that their angles are right
    for name, (x, y) in zip(model.feature_names_in_, factor * loadings[:, :2], strict=True):
        plane.annotate("", (x, y), (0, 0), arrowprops={"arrowstyle": "->", "color": ORANGE})
        plane.annotate(name, (x, y), (3, 5), textcoords="offset points", color=ORANGE, fontsize=9)
    plane.set(
        xlabel=f"PC1 ({rates[0]:.1%})",
        ylabel=f"PC2 ({rates[1]:.1%})",
        title="USArrests, unit scale: scores and loadings × 2.6",
        aspect="equal",
        xlim=(-3.4, 3.9),
        ylim=(-2.7, 2.7),
    )
    for axes in (bars, plane):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(ROOT / "docs" / "usarrests.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
