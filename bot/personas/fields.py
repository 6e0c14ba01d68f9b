"""The forgiving readers of a card's fields: each takes whatever a file holds, repairs it, and tells what it did.

Knows no card: which field is read how stands in `bot.personas.card`.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BeforeValidator, ValidationInfo

from bot.sentences import Say, Sentence, sentence

MAX_WARNINGS = 50
"""Warnings kept for one card; ours to choose, so that a file of junk floods nobody."""

REPLACEMENT = "\ufffd"
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_BIDI_CONTROL = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_BLANK_LETTERS = "\u115f\u1160\u2800\u3164\uffa0"
"""By their category letters and a symbol, yet they are drawn as nothing."""
_LINE_END = re.compile("\r\n?")

_MAX_SECONDS = 2**53
"""What every JSON reader takes as a whole number."""
_MAX_DIGITS = 16


@dataclass(frozen=True, kw_only=True, slots=True)
class CardWarning:
    """Something in a card that was repaired, ignored or only kept; `field` is the card's own word for it."""

    field: str
    message: Sentence

    def told(self, say: Say) -> str:
        """In the language of whoever reads it."""
        return f"{self.field}: {self.message.told(say)}"

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


def warn(info: ValidationInfo, message_id: str, /, **facts: str | int) -> None:
    """Tell something about the field that is being read."""
    if isinstance(info.context, list) and len(info.context) < MAX_WARNINGS:
        info.context.append(CardWarning(field=str(info.field_name), message=sentence(message_id, **facts)))


def _to_text(value: object, info: ValidationInfo) -> str:
    match value:
        case None:
            return ""
        case str():
            text = value
        case int() | float():
            text = str(value)
            warn(info, "card-text-number", text=text)
        case [*lines] if all(isinstance(line, str) for line in lines):
            text = "\n".join(map(str, lines))
            warn(info, "card-text-list")
        case _:
            warn(info, "card-text-other", kind=type(value).__name__)
            return ""
    text = _LINE_END.sub("\n", storable(text)).strip()
    if REPLACEMENT in text:
        warn(info, "card-text-damaged")
    return text


def storable(text: str) -> str:
    """Without what databases and terminals choke on: NUL and lone surrogates."""
    return _LONE_SURROGATE.sub(REPLACEMENT, text).replace("\0", "")


def _to_line(value: object, info: ValidationInfo) -> str:
    return as_line(_to_text(value, info))


def as_line(text: str) -> str:
    """The text on one line that cannot turn round the text after it; "" for one of which nothing shows."""
    line = " ".join(_BIDI_CONTROL.sub("", storable(text)).split())
    return line if any(map(_shows, line)) else ""


def _shows(char: str) -> bool:
    kind = unicodedata.category(char)
    return char not in _BLANK_LETTERS and kind not in ("Cc", "Cf") and kind[0] not in "MZ"


def _to_texts(value: object, info: ValidationInfo) -> tuple[str, ...]:
    """A list of texts. A lone text is a list of one, never a list of its letters (P05)."""
    texts = (_to_text(entry, info) for entry in _to_entries(value, info))
    return tuple(text for text in texts if text)


def _to_entries(value: object, info: ValidationInfo) -> list[object]:
    match value:
        case None:
            return []
        case str() | Mapping():
            warn(info, "card-list-one")
            return [value]
        case list() | tuple():
            return list(value)
        case _:
            warn(info, "card-list-other", kind=type(value).__name__)
            return []


def _to_tags(value: object, info: ValidationInfo) -> tuple[str, ...]:
    return _to_texts(re.split("[,，]", value) if isinstance(value, str) else value, info)


def _to_mapping(value: object, info: ValidationInfo) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return {storable(str(key)): _as_json(entry) for key, entry in value.items()}
    if value is not None:
        warn(info, "card-mapping-other", kind=type(value).__name__)
    return {}


def _as_json(value: object) -> Any:
    """The value as JSON can say it again: what is kept for export must survive one."""
    match value:
        case str():
            return storable(value)
        case Mapping():
            return {storable(str(key)): _as_json(entry) for key, entry in value.items()}
        case list() | tuple():
            return [_as_json(entry) for entry in value]
        case float():
            return value if math.isfinite(value) else None
        case None | int():
            return value
        case _:
            return storable(str(value))


def _to_mappings(value: object, info: ValidationInfo) -> tuple[dict[str, Any], ...]:
    found = tuple(_to_mapping(entry, info) for entry in _to_entries(value, info))
    return tuple(mapping for mapping in found if mapping)


def _to_translations(value: object, info: ValidationInfo) -> dict[str, str]:
    texts = {key: _to_text(text, info) for key, text in _to_mapping(value, info).items()}
    return {key: text for key, text in texts.items() if text}


def _to_book(value: object, info: ValidationInfo) -> dict[str, Any] | None:
    """A lorebook as it came. One inside a wrapper of its own is taken out, a bare list is read as its entries."""
    if isinstance(value, list):
        warn(info, "card-book-list")
        return {"entries": _as_json(value)} if value else None
    book = _to_mapping(value, info)
    if "entries" in book:
        return book
    inner = next((book[word] for word in _BOOK_WRAPPERS if isinstance(book.get(word), dict | list)), None)
    if inner is None:
        return book or None
    warn(info, "card-book-deep")
    return _to_book(inner, info)


_BOOK_WRAPPERS = ("character_book", "data", "lorebook", "book")


def _to_seconds(value: object, info: ValidationInfo) -> int:
    match value:
        case None | "":
            return 0
        case int() | float() if not isinstance(value, bool) and 0 <= value < _MAX_SECONDS:
            return int(value)
        case str() if value.strip().isdecimal() and len(value.strip()) < _MAX_DIGITS:
            return int(value.strip())
    warn(info, "card-seconds-other")
    return 0


Text = Annotated[str, BeforeValidator(_to_text)]
Line = Annotated[str, BeforeValidator(_to_line)]
Texts = Annotated[tuple[str, ...], BeforeValidator(_to_texts)]
Tags = Annotated[tuple[str, ...], BeforeValidator(_to_tags)]
OpenMapping = Annotated[Mapping[str, Any], BeforeValidator(_to_mapping)]
OpenMappings = Annotated[tuple[Mapping[str, Any], ...], BeforeValidator(_to_mappings)]
Translations = Annotated[Mapping[str, str], BeforeValidator(_to_translations)]
Book = Annotated[Mapping[str, Any] | None, BeforeValidator(_to_book)]
Seconds = Annotated[int, BeforeValidator(_to_seconds)]
"""Unix time in UTC; 0 = unknown."""
