"""Texts of a report in a language: sentences from ``texts/``, names and numbers in them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup, escape
from numpy.typing import NDArray

from princomp.core import check_parameter, one_of
from princomp.errors import percent

# Largest number of names in a sentence, and letters of each.
_MAX_NAMES, _MAX_LETTERS = 12, 60


class Texts:
    """Sentences of one language: ``texts("dropped", 3)`` is the macro ``dropped`` with 3 rows.

    Parameters
    ----------
    lang : str
        Code of a language with a file in ``texts/``, such as "en".

    Raises
    ------
    ParameterError
        For a language without a file.
    """

    def __init__(self, lang: str = "en") -> None:
        check_parameter("lang", lang, one_of(*languages()))
        self.lang = lang
        self._module: Any = environment().get_template(f"texts/{lang}.jinja").module

    def __call__(self, name: str, /, *facts: object, **named_facts: object) -> Markup:
        """Return a sentence in one line, with names escaped."""
        text = getattr(self._module, name)(*facts, **named_facts)
        return Markup(re.sub(r"\s*\n\s*", " ", str(text)).strip())

    def __getattr__(self, name: str) -> Any:
        """Return texts that need no facts: ``words``, ``kinds``, ``glossary``, ``figures``."""
        return getattr(self._module, name)

    def phrase(self, text: object) -> object:
        """Translate a heading of a table, or a name in the last section."""
        return self._module.phrases.get(text, text)


@cache
def languages() -> tuple[str, ...]:
    """Codes of the languages that reports can be written in."""
    names = (entry.name for entry in files("princomp.reports").joinpath("texts").iterdir())
    return tuple(sorted(name.removesuffix(".jinja") for name in names if name.endswith(".jinja")))


@cache
def environment() -> jinja2.Environment:
    """The templates of reports."""
    templates = jinja2.Environment(
        loader=jinja2.PackageLoader("princomp.reports", ""),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters.update(n="{:,}".format, percent=percent, listed=_join)
    return templates


def shorten(name: object) -> str:
    """Shorten a name."""
    text = str(name)
    return text if len(text) <= _MAX_LETTERS else f"{text[: _MAX_LETTERS - 1]}…"


def _join(
    names: Sequence[object] | NDArray[Any], max_names: int = _MAX_NAMES, more: int = 0
) -> Markup:
    """Join names: ``a, b and c``, with the number of those left out, here and before (``more``)."""
    texts = [escape(shorten(name)) for name in list(names)[:max_names]]
    n_left_out = len(names) - len(texts) + more
    if n_left_out:
        texts.append(Markup(f"{n_left_out:,} more"))
    joined = Markup(", ").join(texts[:-1])
    return Markup(" and ").join([joined, texts[-1]]) if len(texts) > 1 else Markup("").join(texts)
