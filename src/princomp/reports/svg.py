"""Figures of matplotlib as SVG inside a page: text as text, once for light and once for dark."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from io import StringIO

import matplotlib as mpl
from markupsafe import Markup
from matplotlib.figure import Figure

__all__ = ["drawn_twice"]

# matplotlib's SVG: 72 units an inch; a page has 96 pixels an inch, and 16 a rem.
_REM = 96.0 / 72.0 / 16.0

_HEAD = re.compile(r'^.*?<svg [^>]*viewBox="([^"]*)"[^>]*>', re.DOTALL)
# A style element would reach the whole page; what this one says is in page.css.
_NEEDLESS = re.compile(
    r"<!--.*?-->|<metadata>.*?</metadata>|<style[^>]*>.*?</style>|<defs>\s*</defs>", re.DOTALL
)
_REFERENCE = re.compile(r'(?:xlink:href="|url\()#([^")]+)')
_ID = re.compile(r' id="([^"]*)"')
# The page says which family; sizes are the figure's.
_FONT = re.compile(r"font: ([\d.]+px) [^;\"]*")


def drawn_twice(key: str, label: str, draw: Callable[[bool], Figure]) -> Markup:
    """A figure for a light page and for a dark one, of which the style sheet shows one.

    Parameters
    ----------
    key : str
        Begins the ids inside, so that those of two figures on a page differ.
    label : str
        What the figure shows, in words, for people who do not see it.
    draw : callable
        ``draw(dark)`` gives a new Figure.
    """
    with warnings.catch_warnings():
        # The page's reader has other fonts than the machine that drew it.
        warnings.filterwarnings("ignore", r"Glyph .* missing from font")
        return Markup("").join(
            _inline(draw(dark), f"{key}-{scheme}", scheme, label)
            for dark, scheme in ((False, "light"), (True, "dark"))
        )


def _inline(figure: Figure, key: str, scheme: str, label: str) -> Markup:
    layout = figure.get_layout_engine()
    if layout is not None:
        # Once, and here: to save a figure that has a layout draws it twice.
        layout.execute(figure)
        figure.set_layout_engine(None)
    told = StringIO()
    with mpl.rc_context({"svg.fonttype": "none"}):
        figure.savefig(told, format="svg", metadata={"Date": None})
    text = told.getvalue()
    head = _HEAD.match(text)
    assert head is not None
    text = _NEEDLESS.sub("", text[head.end() :])
    text = _FONT.sub(r"font-size: \1", _own_ids(text, key)).replace("xlink:href", "href")
    text = re.sub(r">\s+<", "><", text)
    width = figure.get_figwidth() * 72.0 * _REM
    opening = Markup(
        '<svg class="{}" viewBox="{}" style="--wide: {:.2f}rem" role="img" aria-label="{}">'
    ).format(scheme, head[1], width, label)
    # What matplotlib wrote has its texts escaped already.
    return opening + Markup(text.rstrip())


def _own_ids(text: str, key: str) -> str:
    """Ids that something refers to, under names of this figure; no others.

    matplotlib draws some at random; these go by their order, the same each time.
    """
    used = dict.fromkeys(_REFERENCE.findall(text))
    names = {old: f"{key}-{i}" for i, old in enumerate(used)}

    def named(match: re.Match[str]) -> str:
        return f' id="{names[match[1]]}"' if match[1] in names else ""

    text = _ID.sub(named, text)
    return _REFERENCE.sub(lambda match: match[0].replace(match[1], names[match[1]]), text)
