"""Figures of the examples: those that a block shows, without pyplot."""

from __future__ import annotations

from typing import Any
from weakref import WeakSet

from matplotlib.artist import Artist
from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst

_DPI = 120
# A block without a value leaves the value of an earlier block in place.
_SAVED: WeakSet[Figure] = WeakSet()


def scraper(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save the figure that is the last expression of a block, as a notebook shows it.

    Parameters
    ----------
    block : tuple
        Kind, text and line of the block.
    block_vars : dict
        Variables of the example; ``___`` is the value of the last expression.
    gallery_conf : dict
        Settings of the gallery.

    Returns
    -------
    str
        reStructuredText that shows the picture; empty for a block without one.
    """
    shown = block_vars["example_globals"].get("___")
    figure = shown.get_figure(root=True) if isinstance(shown, Artist) else shown
    if not isinstance(figure, Figure) or figure in _SAVED:
        return ""
    _SAVED.add(figure)
    path = next(block_vars["image_path_iterator"])
    figure.savefig(path, dpi=_DPI, bbox_inches="tight")
    return str(figure_rst([path], gallery_conf["src_dir"], _described(figure)))


def _described(figure: Figure) -> str:
    """Titles and axis labels, for readers who do not see the picture."""
    words = [
        word
        for ax in figure.axes
        for word in (ax.get_title(), ax.get_xlabel(), ax.get_ylabel())
        if word
    ]
    return ", ".join(dict.fromkeys(words)).replace("\n", " ")
