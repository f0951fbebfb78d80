"""A row a case, for a person at a terminal."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

MB = 1e6


def seconds(value: float | None) -> str:
    if value is None:
        return "–"
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-6:.3g} µs"


def error(value: float | None) -> str:
    return "–" if value is None else f"{value:.0e}".replace("e-0", "e-").replace("inf", "∞")


def _ours(result: dict[str, Any]) -> dict[str, Any]:
    for method in result["methods"]:
        if method["library"] == "princomp":
            return method
    return {}


def _ratio(part: dict[str, Any] | None) -> tuple[str, str]:
    if part is None:
        return "–", ""
    return f"{part['ratio']:.2f} [dim]{part['q1']:.2f}–{part['q3']:.2f}[/]", part["name"]


def table(results: list[dict[str, Any]]) -> Table:
    """Best ÷ princomp with its quartiles, accuracy, time over bound, growth of memory."""
    made = Table(box=None, pad_edge=False, header_style="bold")
    for name, side in (
        ("case", "left"),
        ("princomp", "right"),
        ("÷ bound", "right"),
        ("estimator ÷ princomp", "left"),
        ("anything ÷ princomp", "left"),
        ("variance", "right"),
        ("angle", "right"),
        ("MB", "right"),
    ):
        made.add_column(name, justify=side, no_wrap=side == "right" or name == "case")
    for result in results:
        made.add_row(*_cells(result))
    return made


def _cells(result: dict[str, Any]) -> list[Any]:
    ours = _ours(result)
    time = result["ours"]
    cells: list[Any] = [result["case"], seconds(time)]
    cells.append(f"{time / result['bound']['seconds']:.3g}" if time else "–")
    for which in ("estimator", "anything"):
        ratio, name = _ratio(result[which])
        cells.append(Text.from_markup(f"{ratio} {name}"))
    cells.append(error(ours.get("variance_error")))
    cells.append(error(ours.get("angle")))
    peak = ours.get("peak")
    over = peak is not None and peak > result["memory_limit"]
    cells.append("–" if peak is None else f"{peak / MB:.0f}" + ("!" if over else ""))
    return cells


def methods(result: dict[str, Any]) -> Table:
    """All ways of one case."""
    made = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("", "median", "quartiles", "rounds", "variance", "angle", "scores", "MB", ""):
        made.add_column(name, justify="left" if name == "" else "right", no_wrap=name != "")
    done = [m for m in result["methods"] if m.get("median")]
    for m in sorted(done, key=lambda m: m["median"]):
        peak = "–" if m["peak"] is None else f"{m['peak'] / MB:.0f}"
        made.add_row(
            m["name"],
            seconds(m["median"]),
            f"{seconds(m['q1'])} – {seconds(m['q3'])}",
            str(len(m["seconds"])),
            error(m["variance_error"]),
            error(m["angle"]),
            error(m["score_error"]),
            peak,
            "" if m["counted"] else "too inexact to be the best",
        )
    return made


def show(console: Console, result: dict[str, Any]) -> None:
    """One case in full."""
    of = result["bound"]
    console.print(
        f"\n[bold]{result['case']}[/]  k = {result['components']}, bound "
        f"{seconds(of['seconds'])} ({of['of']}; reading {seconds(of['bytes_s'])}, "
        f"arithmetic {seconds(of['flops_s'])}), memory limit {result['memory_limit'] / MB:.0f} MB"
    )
    console.print(methods(result))
    for m in result["methods"]:
        if m["skipped"]:
            console.print(f"[dim]{m['name']} is not run: {m['skipped']}[/]")
    phases = ", ".join(f"{name} {value:.1f}" for name, value in result["wall_s"].items())
    console.print(f"[dim]seconds: {phases}[/]")
