"""Colours that every kind of eye tells apart, and what they are seen against."""

from __future__ import annotations

from typing import Any

from matplotlib.colors import LinearSegmentedColormap, to_hex, to_rgb

__all__ = [
    "BLUE",
    "GREEN",
    "GROUP_COLOURS",
    "MARKERS",
    "VERMILLION",
    "contrast",
    "diverging",
    "mixed",
    "readable_on",
    "sequential",
]

# Okabe & Ito (2008), without yellow, which is not seen on white. The first four have a contrast
# of 3 to black and to white; the last two get it on white from the edge of their markers.
BLUE, VERMILLION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
ORANGE, SKY = "#E69F00", "#56B4E9"
GROUP_COLOURS = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY)
# Six colours in turn and seven markers in turn: 42 groups of different looks.
MARKERS = ("o", "s", "^", "D", "v", "P", "X")


def mixed(one: Any, other: Any, share: float) -> str:
    """A colour between two: ``share`` of the other."""
    (r, g, b), (s, h, c) = to_rgb(one), to_rgb(other)
    rest = 1.0 - share
    return to_hex((rest * r + share * s, rest * g + share * h, rest * b + share * c))


def _luminance(colour: Any) -> float:
    parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(one: Any, other: Any) -> float:
    """Contrast of two colours after WCAG 2: 1 to 21; what is drawn should have 3, text 4.5."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def readable_on(colour: Any) -> str:
    """Black or white, whichever is read more easily on a colour."""
    return max("#000000", "#ffffff", key=lambda ink: contrast(ink, colour))


def sequential(background: Any, colour: str = BLUE) -> LinearSegmentedColormap:
    """From the background to a colour: nothing looks like nothing."""
    return LinearSegmentedColormap.from_list("princomp", [to_hex(background), colour])


def diverging(background: Any) -> LinearSegmentedColormap:
    """Vermillion below, the background between, blue above."""
    return LinearSegmentedColormap.from_list("princomp", [VERMILLION, to_hex(background), BLUE])
