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


def _princomp_method(result: dict[str, Any]) -> dict[str, Any]:
    for method in result["methods"]:
        if method["library"] == "princomp":
            return method
    return {}


def _ratio(entry: dict[str, Any] | None) -> tuple[str, str]:
    if entry is None:
        return "–", ""
    return f"{entry['ratio']:.2f} [dim]{entry['q1']:.2f}–{entry['q3']:.2f}[/]", entry["name"]


def table(results: list[dict[str, Any]]) -> Table:
    """Best ÷ princomp with its quartiles, accuracy, time over bound, growth of memory."""
    grid = Table(box=None, pad_edge=False, header_style="bold")
    for name, justify in (
        ("case", "left"),
        ("princomp", "right"),
        ("÷ bound", "right"),
        ("estimator ÷ princomp", "left"),
        ("anything ÷ princomp", "left"),
        ("variance", "right"),
        ("angle", "right"),
        ("MB", "right"),
    ):
        grid.add_column(name, justify=justify, no_wrap=justify == "right" or name == "case")
    for result in results:
        grid.add_row(*_cells(result))
    return grid


def _cells(result: dict[str, Any]) -> list[Any]:
    method = _princomp_method(result)
    seconds_of_princomp = result["ours"]
    cells: list[Any] = [result["case"], seconds(seconds_of_princomp)]
    cells.append(
        f"{seconds_of_princomp / result['bound']['seconds']:.3g}" if seconds_of_princomp else "–"
    )
    for group in ("estimator", "anything"):
        ratio, name = _ratio(result[group])
        cells.append(Text.from_markup(f"{ratio} {name}"))
    cells.append(error(method.get("variance_error")))
    cells.append(error(method.get("angle")))
    peak = method.get("peak")
    over_limit = peak is not None and peak > result["memory_limit"]
    cells.append("–" if peak is None else f"{peak / MB:.0f}" + ("!" if over_limit else ""))
    return cells


def methods(result: dict[str, Any]) -> Table:
    """All ways of one case."""
    grid = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("", "median", "quartiles", "rounds", "variance", "angle", "scores", "MB", ""):
        grid.add_column(name, justify="left" if name == "" else "right", no_wrap=name != "")
    measured = [m for m in result["methods"] if m.get("median")]
    for m in sorted(measured, key=lambda m: m["median"]):
        peak = "–" if m["peak"] is None else f"{m['peak'] / MB:.0f}"
        grid.add_row(
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
    return grid


def show(console: Console, result: dict[str, Any]) -> None:
    """One case in full."""
    bound = result["bound"]
    console.print(
        f"\n[bold]{result['case']}[/]  k = {result['components']}, bound "
        f"{seconds(bound['seconds'])} ({bound['of']}; reading {seconds(bound['bytes_s'])}, "
        f"arithmetic {seconds(bound['flops_s'])}), memory limit "
        f"{result['memory_limit'] / MB:.0f} MB"
    )
    console.print(methods(result))
    for m in result["methods"]:
        if m["skipped"]:
            console.print(f"[dim]{m['name']} is not run: {m['skipped']}[/]")
    phases = ", ".join(f"{name} {value:.1f}" for name, value in result["wall_s"].items())
    console.print(f"[dim]seconds: {phases}[/]")
