"""A formatted text as messages, each within what Telegram takes of text and of entities. Knows no Markdown."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from itertools import chain, islice

from adapters.markup.formatted import Entity, EntityType, FormattedText, Styled, Units, format_text
from adapters.split import cut, fit, utf16_length

MAX_ENTITIES = 100
"""Entities that Telegram shows of one message; it leaves out those after them (tdlib/telegram-bot-api#820)."""
MAX_ENTITY_BYTES = 8_000
"""Of all entities of one message. The server refuses them somewhat above 9,000 (tdlib/telegram-bot-api#165)."""
ENTITY_BYTES = 12
"""Of one entity besides its address: its kind, its offset and its length, four bytes each."""


def split_entities(formatted: FormattedText, limit: int = 4096) -> list[FormattedText]:
    """The messages for a text, each at most `limit` UTF-16 units; joined they are the text (T05).

    Entities go on over a border, `pre` with its language; links and code spans stay whole if a message can hold them.
    A message ends early before an entity too many, unless that left nearly nothing of it: then the least important are
    left out.
    """
    text = formatted.text
    units = Units(text)
    waiting = deque(
        Styled(kind=it.type, start=units.index(it.offset), end=units.index(it.end), url=it.url, language=it.language)
        for it in formatted.entities
    )
    kept = [(styled.start, styled.end) for styled in waiting if styled.kind in ("text_link", "code")]
    current: list[Styled] = []
    parts: list[FormattedText] = []
    start = 0
    while start < len(text):
        end = fit(text, start, limit, utf16_length)
        full = _first_too_many(chain(current, islice(waiting, MAX_ENTITIES + 1)), len(text))
        if full > start + (end - start) // 8:
            end = min(end, full)
        if end < len(text):
            end = cut(text, start, end, kept)
        while waiting and waiting[0].start < end:
            current.append(waiting.popleft())
        parts.append(_most_important(format_text(text[start:end], (styled.within(start, end) for styled in current))))
        current = [styled for styled in current if styled.end > end]
        start = end
    return parts


def _first_too_many(styled: Iterable[Styled], none: int) -> int:
    """Where the first one begins that a message with those before it cannot hold."""
    room = MAX_ENTITY_BYTES
    for number, it in enumerate(styled):
        room -= _size(it.url)
        if number == MAX_ENTITIES or room < 0:
            return it.start
    return none


def _size(url: str | None) -> int:
    return ENTITY_BYTES + len((url or "").encode())


_BY_IMPORTANCE: tuple[EntityType, ...] = (
    "spoiler", "text_link", "strikethrough", "pre", "blockquote", "code", "bold", "underline", "italic"
)  # fmt: skip
"""Without the first ones a text says more, or something else, than was meant."""


def _most_important(formatted: FormattedText) -> FormattedText:
    """The text with as many of its entities as one message takes."""
    entities, room = formatted.entities, MAX_ENTITY_BYTES
    if len(entities) <= MAX_ENTITIES and sum(_size(entity.url) for entity in entities) <= room:
        return formatted
    kept: set[Entity] = set()
    for entity in sorted(entities, key=lambda entity: _BY_IMPORTANCE.index(entity.type)):
        if len(kept) < MAX_ENTITIES and _size(entity.url) <= room:
            kept.add(entity)
            room -= _size(entity.url)
    return replace(formatted, entities=tuple(entity for entity in entities if entity in kept))
