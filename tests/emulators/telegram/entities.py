"""Message entities by the rules of the Bot API (`MessageEntity`), measured in UTF-16 code units. Stricter than the real
server, which cuts and splits what it can: here a wrong offset is an error, so that a test sees it.
"""

from __future__ import annotations

import re
from typing import Any

from tests.emulators.telegram.errors import bad_request

STYLES = frozenset({"bold", "italic", "underline", "strikethrough", "spoiler"})
QUOTES = frozenset({"blockquote", "expandable_blockquote"})
CODES = frozenset({"code", "pre"})
LINKS = frozenset({"text_link", "text_mention", "custom_emoji"})
FOUND_BY_SERVER = frozenset({"mention", "hashtag", "cashtag", "bot_command", "url", "email", "phone_number"})
TYPES = STYLES | QUOTES | CODES | LINKS | FOUND_BY_SERVER
MAX_ENTITIES = 100
"""Shown of one message; the server leaves out those after them without a word (tdlib/telegram-bot-api#820)."""
MAX_ENTITY_BYTES = 9_500
"""Of all entities of one message, about (tdlib/telegram-bot-api#165)."""
NEEDED_FIELD = {"text_link": "url", "text_mention": "user", "custom_emoji": "custom_emoji_id"}

_FOUND = re.compile(
    r"(?P<url>https?://\S+)"
    r"|(?:(?<=\s)|^)(?P<bot_command>/[A-Za-z0-9_]{1,32}(?:@\w+)?)"
    r"|(?<![\w/])(?P<mention>@\w{4,32})"
)


def utf16_length(text: str) -> int:
    """Length in UTF-16 code units, the unit of every limit and offset of the Bot API."""
    return len(text.encode("utf-16-le")) // 2


def find_entities(text: str) -> list[dict[str, Any]]:
    """The entities that the server finds by itself: commands, mentions and addresses."""
    return [
        {"type": match.lastgroup, "offset": utf16_length(text[: match.start()]), "length": utf16_length(match[0])}
        for match in _FOUND.finditer(text)
    ]


def check_entities(text: str, entities: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The entities in the server's order; refuses those that do not fit the text or each other."""
    units = text.encode("utf-16-le")
    for entity in entities:
        _check_one(units, entity)
    ordered = sorted(entities, key=lambda entity: (entity["offset"], -entity["length"]))
    for index, outer in enumerate(ordered):
        for inner in ordered[index + 1 :]:
            _check_pair(outer, inner)
    if sum(12 + len(entity.get("url") or "") for entity in ordered) > MAX_ENTITY_BYTES:
        raise bad_request("ENTITIES_TOO_LONG")
    return ordered[:MAX_ENTITIES]


def _check_one(units: bytes, entity: dict[str, Any]) -> None:
    kind, offset, length = entity.get("type"), entity.get("offset"), entity.get("length")
    if kind not in TYPES:
        raise bad_request(f"can't parse entities: unsupported entity type {kind!r}")
    if not isinstance(offset, int) or not isinstance(length, int) or offset < 0 or length <= 0:
        raise bad_request(f"can't parse entities: incorrect offset or length of {kind}")
    if 2 * (offset + length) > len(units):
        raise bad_request(f"can't parse entities: {kind} ends after the text")
    if _splits_a_pair(units, offset) or _splits_a_pair(units, offset + length):
        raise bad_request(f"can't parse entities: {kind} begins or ends in the middle of a UTF-16 symbol")
    if (needed := NEEDED_FIELD.get(kind)) and not entity.get(needed):
        raise bad_request(f"can't parse entities: {kind} needs {needed}")


def _splits_a_pair(units: bytes, offset: int) -> bool:
    unit = units[2 * offset : 2 * offset + 2]
    return len(unit) == 2 and 0xDC00 <= int.from_bytes(unit, "little") <= 0xDFFF


def _check_pair(outer: dict[str, Any], inner: dict[str, Any]) -> None:
    """`outer` starts first, or starts with `inner` and is at least as long."""
    outer_end, inner_end = outer["offset"] + outer["length"], inner["offset"] + inner["length"]
    if inner["offset"] >= outer_end:
        return
    if inner_end > outer_end:
        raise bad_request(f"can't parse entities: {outer['type']} and {inner['type']} cross")
    kinds = {outer["type"], inner["type"]}
    if outer["type"] in QUOTES and inner["type"] in CODES:
        return
    if kinds & CODES:
        raise bad_request(f"can't parse entities: {outer['type']} can't contain {inner['type']}")
    if kinds <= QUOTES:
        raise bad_request("can't parse entities: block quotes can't be nested")
    if not kinds & (STYLES | QUOTES):
        raise bad_request(f"can't parse entities: {outer['type']} can't contain {inner['type']}")
