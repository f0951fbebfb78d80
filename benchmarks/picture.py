"""The ratios as a picture: a bar a case, a line at 1; and shares of the bound by width."""

from __future__ import annotations

from pathlib import Path
from typing import Any

BARS = {"estimator": ("best estimator", "#1b6ca8"), "anything": ("best of anything", "#e08e45")}
COLOURS = ("#1b6ca8", "#e08e45", "#555555", "#5a9e5a")


def draw(results: list[dict[str, Any]], path: Path) -> None:
    """A logarithmic scale, so that twice as fast and half as fast are equally long."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    height = 1.2 + 0.3 * len(results)
    figure, axes = plt.subplots(figsize=(9, height), layout="constrained")
    for number, (group, (label, colour)) in enumerate(BARS.items()):
        positions = [i + 0.38 * number for i, r in enumerate(results) if r[group]]
        group_results = [r[group] for r in results if r[group]]
        ratios = [entry["ratio"] for entry in group_results]
        errors = [
            [entry["ratio"] - entry["q1"] for entry in group_results],
            [entry["q3"] - entry["ratio"] for entry in group_results],
        ]
        bars = axes.barh(
            positions,
            [ratio - 1 for ratio in ratios],
            left=1,
            height=0.36,
            xerr=errors,
            error_kw={"linewidth": 0.7},
            color=colour,
            label=f"{label} ÷ princomp",
        )
        axes.bar_label(bars, [f"{ratio:.2g}" for ratio in ratios], fontsize=6, padding=3)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter("{x:g}")
    axes.tick_params(axis="x", which="both", labelsize=7)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_yticks([i + 0.19 for i in range(len(results))], [r["case"] for r in results])
    axes.tick_params(axis="y", labelsize=7)
    axes.set_ylim(len(results), -0.5)
    axes.set_xlabel(
        "time of the best peer ÷ time of princomp (right of the line: princomp is faster)"
    )
    axes.legend(loc="best", fontsize=8)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def draw_shares(results: list[dict[str, Any]], path: Path) -> None:
    """A panel a precision, a line a method; the least time that the machine allows is 1."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained", sharey=True)
    for axes, (floats, title) in zip(panels, (("f32", "float32"), ("f64", "float64")), strict=True):
        results_of_dtype = [result for result in results if result["floats"] == floats]
        widths = [result["p"] for result in results_of_dtype]
        for name, colour in zip(results[0]["methods"], COLOURS, strict=False):
            shares = [result["methods"][name]["share"] for result in results_of_dtype]
            axes.plot(widths, shares, "o-", markersize=3, color=colour, label=name)
        axes.axhline(1, color="black", linewidth=0.8)
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
        axes.tick_params(labelsize=7)
        axes.set_title(title, fontsize=9)
        axes.set_xlabel("columns")
    panels[0].set_ylim(bottom=0)
    panels[0].set_ylabel("share of the bound reached")
    panels[0].legend(loc="best", fontsize=8)
    figure.savefig(path, dpi=130)
    plt.close(figure)
