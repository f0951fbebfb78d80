"""Small tables of results, as text and as HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def text_table(lines: Sequence[Sequence[str]], *, left: Iterable[int] = ()) -> list[str]:
    """Align the cells of a table to the right, those of the columns ``left`` to the left."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    aligned = [str.ljust if j in set(left) else str.rjust for j in range(len(widths))]
    return [
        "  ".join(
            align(cell, width) for align, cell, width in zip(aligned, line, widths, strict=True)
        ).rstrip()
        for line in lines
    ]


def html_table(caption: str, headings: Iterable[str], lines: Iterable[Iterable[str]]) -> str:
    """Return an HTML table of escaped texts."""
    head = "".join(f"<th scope='col'>{escape(heading)}</th>" for heading in headings)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in line)}</tr>" for line in lines
    )
    return (
        f"<table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>"
    )
