"""Plain text with its formats, the form Telegram cannot misread: counted in characters here, in UTF-16 units outside.

Knows no Markdown and no client library.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

EntityType = Literal[
    "bold", "italic", "underline", "strikethrough", "spoiler", "code", "pre", "text_link", "blockquote"
]  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class Entity:
    """Formatting of a stretch of text, in words of the Bot API; `offset` and `length` are UTF-16 units."""

    type: EntityType
    offset: int
    length: int
    url: str | None = None
    language: str | None = None

    @property
    def end(self) -> int:
        """First unit after it."""
        return self.offset + self.length


@dataclass(frozen=True, kw_only=True, slots=True)
class FormattedText:
    """Plain text and its entities, sorted, outer before inner, never empty and never crossing each other."""

    text: str
    entities: tuple[Entity, ...] = ()


@dataclass(kw_only=True, slots=True)
class Styled:
    """A stretch of visible text with a format, counted in characters; `end` is unknown while it is being written."""

    kind: EntityType
    start: int
    end: int = -1
    url: str | None = None
    language: str | None = None

    def within(self, start: int, end: int) -> Styled:
        """What a part from `start` to `end` shows of it, counted in the part."""
        return Styled(
            kind=self.kind,
            start=max(self.start - start, 0),
            end=min(self.end, end) - start,
            url=self.url,
            language=self.language,
        )


def format_text(text: str, styled: Iterable[Styled]) -> FormattedText:
    """Entities without blank ends, as Telegram trims them; of two on the same stretch the first is the outer one."""
    units = Units(text)
    entities = []
    for it in styled:
        content = text[it.start : it.end]
        start = it.start if it.kind == "pre" else it.start + len(content) - len(content.lstrip())
        end = it.start + len(content.rstrip())
        if start < end:
            offset = units.offset(start)
            length = units.offset(end) - offset
            entities.append(Entity(type=it.kind, offset=offset, length=length, url=it.url, language=it.language))
    return FormattedText(
        text=text, entities=tuple(sorted(entities, key=lambda entity: (entity.offset, -entity.length)))
    )


def under_name(name: str, formatted: FormattedText) -> FormattedText:
    """A text below the name of whoever says it; where there is none, there is no name either."""
    if not (name and formatted.text.strip()):
        return formatted
    line = f"{name}\n"
    shift = Units(line).offset(len(line))
    title = Entity(type="bold", offset=0, length=shift - 1)
    moved = (replace(entity, offset=entity.offset + shift) for entity in formatted.entities)
    return FormattedText(text=line + formatted.text, entities=(title, *moved))


class Units:
    """Converts between characters and UTF-16 units of one text, in which the astral characters count twice."""

    def __init__(self, text: str) -> None:
        self._astral = [] if text.isascii() else [match.start() for match in _ASTRAL.finditer(text)]
        self._offsets = [index + number for number, index in enumerate(self._astral)]

    def offset(self, index: int) -> int:
        """The units before a character."""
        return index + bisect_left(self._astral, index)

    def index(self, offset: int) -> int:
        """The character at a unit."""
        return offset - bisect_left(self._offsets, offset)


_ASTRAL = re.compile("[\U00010000-\U0010ffff]")
