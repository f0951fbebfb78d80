"""Colours for all kinds of colour vision, with sufficient contrast."""

from __future__ import annotations

from matplotlib.colors import to_hex, to_rgb
from matplotlib.typing import ColorType

# Okabe & Ito (2008), without yellow, which is not visible on white. The first four have a
# contrast of 3 to black and to white; markers of the others have dark edges on white.
BLUE, GREEN, PURPLE, ORANGE, SKY = "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"
# For arrows and limits only, so that no group has the same colour.
VERMILLION = "#D55E00"
GROUP_COLOURS = (BLUE, GREEN, PURPLE, "#9A6324", ORANGE, SKY, "#7B5EC6", "#8DB600")
ACCENTS = (*GROUP_COLOURS, VERMILLION)
# Eight colours and seven markers in turn: 56 different groups.
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
# Cells of grids have at most this share of a colour, so that texts on them are readable.
MAX_CELL_SHARE = 0.7


def mix_colours(one: ColorType, other: ColorType, share: float) -> str:
    """Mix two colours: ``share`` of the second."""
    (r, g, b), (s, h, c) = to_rgb(one), to_rgb(other)
    rest = 1.0 - share
    return to_hex((rest * r + share * s, rest * g + share * h, rest * b + share * c))


def _luminance(colour: ColorType) -> float:
    parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(one: ColorType, other: ColorType) -> float:
    """Contrast of two colours by WCAG 2, from 1 to 21; shapes should have 3, text 4.5."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def black_or_white(colour: ColorType) -> str:
    """Black or white, the one with more contrast to a colour."""
    return max("#000000", "#ffffff", key=lambda ink: contrast(ink, colour))


def readable_colour(colour: ColorType, ink: ColorType, background: ColorType) -> str:
    """Mix a colour with that of texts until it is readable on the background."""
    for share in (0.0, 0.15, 0.3, 0.45, 0.6):
        colour_mix = mix_colours(colour, ink, share)
        if contrast(colour_mix, background) >= 4.5:
            return colour_mix
    return to_hex(ink)
