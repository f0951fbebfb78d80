"""Options for reading a table: how it is written, and whether a column names the rows."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

import click

from princomp.cli.options import names_option, with_options

if TYPE_CHECKING:
    from princomp.io import ReadOptions


def _parse_separator(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    return {"tab": "\t", "\\t": "\t", "space": " "}.get(value or "", value)


read_options = with_options(
    click.option("--no-id", is_flag=True, help="Use no column as names of the rows."),
    click.option(
        "--sep", callback=_parse_separator, metavar="CHAR", help="Separator: , ; | tab space."
    ),
    click.option("--decimal", type=click.Choice([".", ","]), help="Decimal mark."),
    click.option("--thousands", metavar="CHAR", help="Separator of thousands."),
    click.option("--encoding", metavar="NAME", help="Encoding of the text, such as cp1252."),
    names_option("--na", "More words for missing cells, besides empty, NA, NaN, null."),
    click.option(
        "--skip", type=click.IntRange(min=0), metavar="N", help="Skip N lines before the table."
    ),
    click.option(
        "--skip-end",
        type=click.IntRange(min=0),
        metavar="N",
        help="Skip N rows at the end, such as totals.",
    ),
    click.option(
        "--header/--no-header", default=None, help="Whether the first line names the columns."
    ),
    click.option(
        "--header-lines", type=click.IntRange(1, 2), help="Lines of column names; 2 are joined."
    ),
    click.option("--comment", metavar="CHAR", help="Skip lines that begin with CHAR."),
    click.option("--sheet", metavar="NAME|N", help="Sheet of a workbook; the first by default."),
    click.option(
        "--untrusted",
        is_flag=True,
        help="Read files in a separate process, with limited memory and time.",
    ),
)


def given_read_options() -> ReadOptions:
    """Return the read options of the running command; the others are detected from the file."""
    from princomp.io import ReadOptions

    flags = click.get_current_context().params
    names = [field.name for field in fields(ReadOptions)]
    given = {name: flags[name] for name in names if flags.get(name) is not None}
    given.setdefault("header", flags.get("header_lines"))
    return ReadOptions.of(given)
