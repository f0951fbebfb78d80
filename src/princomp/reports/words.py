"""Names and numbers as sentences take them."""

from __future__ import annotations

from typing import Any

__all__ = ["counted", "cut", "listed"]

# Names that a sentence holds, and letters of each.
_NAMES, _LETTERS = 12, 60


def cut(name: Any) -> str:
    """A name as a sentence takes it."""
    text = str(name)
    return text if len(text) <= _LETTERS else f"{text[: _LETTERS - 1]}…"


def listed(names: Any, most: int = _NAMES) -> str:
    """``a, b and c``; the rest counted."""
    texts = [cut(name) for name in list(names)[:most]]
    more = len(names) - len(texts)
    if more:
        texts.append(f"{more:,} more")
    return " and ".join([", ".join(texts[:-1]), texts[-1]]) if len(texts) > 1 else "".join(texts)


def counted(number: int, thing: str) -> str:
    """``1 row``, ``2 rows``."""
    return f"{number:,} {thing}" + "s" * (number != 1)
