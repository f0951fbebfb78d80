"""Figures as SVG elements of a page: one drawing for light and for dark colours."""

from __future__ import annotations

import re
from functools import cache
from io import StringIO
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
from markupsafe import Markup
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from princomp import plots

# SVG of matplotlib has 72 units per inch; a page has 96 pixels per inch, and 16 pixels per rem.
_REM = 96.0 / 72.0 / 16.0
_DROPPED_ELEMENTS = ("metadata", "style", "title")
_COLOUR = re.compile(r"#[0-9a-f]{6}\b")
_NUMBER = re.compile(r"-?\d+\.\d{3,}")
# Keys of declarations to leave out, because the style sheet sets them.
_SET_BY_PAGE = ("font-family", "stroke-linejoin", "stroke-linecap")
# Tolerance to recognise a mixture of colours, in levels of 255.
_MIX_TOLERANCE = 2.5


class Styles:
    """Classes of the styles of all figures of a page, with colours for light and dark pages."""

    def __init__(self) -> None:
        self._classes: dict[str, str] = {}

    def class_of(self, style: str, *, text: bool = False) -> str:
        """Return the class of a style, such as ``fill: #ffffff; stroke: none``."""
        light, dark = [], []
        for declaration in filter(None, map(str.strip, style.split(";"))):
            key, _, value = declaration.partition(": ")
            if key in _SET_BY_PAGE or declaration == "stroke-width: 1":  # the default of SVG
                continue
            light.append(f"{key}:{value}")
            if _COLOUR.fullmatch(value):
                other = dark_colour(value, text=text)
                if other != value:
                    dark.append(f"{key}:light-dark({value},{other})")
        rule = ";".join(light + dark)
        return self._classes.setdefault(rule, f"s{len(self._classes)}")

    @property
    def css(self) -> Markup:
        """The rules of all classes. A second declaration of a colour is for newer browsers."""
        return Markup("\n".join(f".{name}{{{rule}}}" for rule, name in self._classes.items()))


@cache
def dark_colour(colour: str, *, text: bool = False) -> str:
    """Return the colour of a dark page that replaces a colour drawn for a light page.

    Each colour of a figure is a mixture of two colours: the background, the colour of texts or an
    accent. It is replaced by the same mixture of the colours of a dark page. Black and white texts
    do not change, because they lie on an accent, which does not change either.
    """
    if text and colour in ("#000000", "#ffffff"):
        return colour
    target = np.array(to_rgb(colour))
    best, found = _MIX_TOLERANCE / 255.0, colour
    pairs = [(plots.LIGHT, plots.DARK)]
    for accent in plots.ACCENTS:
        tones = zip(plots.LIGHT, plots.DARK, strict=True)
        pairs += [((tone, accent), (other, accent)) for tone, other in tones]
    for light, dark in pairs:
        first, second = (np.array(to_rgb(tone)) for tone in light)
        direction = second - first
        share = float(np.clip((target - first) @ direction / (direction @ direction), 0.0, 1.0))
        distance = float(np.abs(first + share * direction - target).max())
        if distance < best:
            best, found = distance, plots.mix_colours(*dark, share)
    background, text_colour = plots.DARK
    if text and plots.contrast(found, background) < 4.5:
        found = plots.readable_colour(found, text_colour, background)
    return found


def inline_figure(
    key: str, label: str, figure: Figure, styles: Styles, *, laid_out: bool = False
) -> Markup:
    """Return a figure as an SVG element.

    Parameters
    ----------
    key : str
        Salt of the ids in the SVG, unique in the page: equal figures have equal ids.
    label : str
        Text alternative of the figure.
    figure : matplotlib.figure.Figure
        Drawn for a light page.
    styles : Styles
        Gets the styles of the figure.
    laid_out : bool
        Whether the layout of the figure was computed and may stay.
    """
    layout: Any = figure.get_layout_engine()
    if not laid_out:
        layout.execute(figure)
    figure.set_layout_engine(None)  # with it, saving the figure would draw it twice
    # The background is that of the page.
    for ax in figure.axes:
        ax.patch.set_visible(False)
    figure.patch.set_visible(False)
    file = StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": key}):
        figure.savefig(file, format="svg", metadata={"Date": None})
    plots.close(figure)
    root = ElementTree.fromstring(file.getvalue())
    _clean(root, styles)
    width = figure.get_figwidth() * 72.0 * _REM
    root.attrib = {
        "viewBox": root.get("viewBox", ""),
        "style": f"--wide: {width:.2f}rem",
        "role": "img",
        "aria-label": label,
    }
    return Markup(ElementTree.tostring(root, encoding="unicode"))


def _clean(element: ElementTree.Element, styles: Styles) -> None:
    """Remove what a page does not need, and replace styles by classes."""
    element.tag = element.tag.rpartition("}")[2]
    if element.tag == "g":
        element.attrib.pop("id", None)  # not unique in the page, and nothing refers to it
    for name in list(element.attrib):
        value = element.attrib.pop(name)
        name = name.rpartition("}")[2]
        if name == "style":
            name, value = "class", styles.class_of(value, text=element.tag == "text")
        elif name in ("d", "x", "y", "transform"):
            value = _NUMBER.sub(lambda match: f"{float(match[0]):.2f}", value).replace("\n", "")
        element.set(name, value)
    if element.text is not None and not element.text.strip():
        element.text = None
    children = []
    for child in element:
        if child.tag.rpartition("}")[2] in _DROPPED_ELEMENTS:
            continue
        _clean(child, styles)
        child.tail = None
        is_wrapper = child.tag == "g" and not child.attrib
        is_empty = child.tag == "defs" and not len(child)
        children += list(child) if is_wrapper or is_empty else [child]
    element[:] = children
