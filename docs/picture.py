"""Draws ``usarrests.svg``, the picture in the README. Needs ``princomp[all]``.

Run from the repository's root: ``python docs/picture.py``.
"""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from princomp import PCA

ROOT = Path(__file__).parent.parent


def main() -> None:
    """Draw the picture."""
    table = ROOT / "examples" / "usarrests.csv"
    model = PCA(2, scale="unit").fit(table)
    figure = Figure(figsize=(9, 4.2), layout="constrained")
    bars, plane = figure.subplots(1, 2, width_ratios=(1, 1.7))
    model.plot.scree(ax=bars)
    model.plot.biplot(table, ids="State", ax=plane)
    figure.savefig(ROOT / "docs" / "usarrests.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
