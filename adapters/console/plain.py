"""Markdown as the plain text that a pipe gets: no escapes and no marks but the stars around what somebody does."""

from __future__ import annotations

import re
from collections.abc import Iterator

from adapters.markup.entities import to_entities
from adapters.markup.formatted import Entity, Units

STAR = "*"
"""Around slanted text: *waves* is done, not said, and people write it so where nothing can be slanted."""

_FENCE = re.compile("```|~~~")
_WORD = re.compile(r"\w")
_MAY_CHANGE = re.compile(r"[\\`*_~|!\[\]<>$#]|^[ \t]*(?:[-+]|\d)", re.MULTILINE)
"""Where what follows may still give the text before it another meaning: a mark, or the beginning of a list."""


def to_plain(markdown: str) -> str:
    """The text that people read."""
    formatted = to_entities(markdown)
    text, units = formatted.text, Units(formatted.text)
    added = [(units.index(place), what) for entity in formatted.entities for place, what in _added(entity)]
    for place, what in sorted(added, reverse=True):
        text = text[:place] + what + text[place:]
    return text


def _added(entity: Entity) -> Iterator[tuple[int, str]]:
    """What a format is in plain text, each piece with its place in UTF-16 units."""
    if entity.type == "italic":
        yield entity.offset, STAR
        yield entity.end, STAR
    elif entity.url:
        yield entity.end, f" ({entity.url})"


def sure_part(markdown: str) -> str:
    """As much of a text that still grows as reads the same whatever follows: whole paragraphs, of the last one what
    stands before its first mark, and nothing from the first block of code on.
    """
    fence = _FENCE.search(markdown)
    whole = markdown[: fence.start()] if fence else markdown
    last = whole.rfind("\n\n") + 1
    if fence:
        sure = whole[:last]
    elif unsure := _MAY_CHANGE.search(whole, last):
        sure = whole[: unsure.start()]
    else:
        sure = whole
    return sure if _WORD.search(sure) else ""
