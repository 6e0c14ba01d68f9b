"""A persona card in the words of Character Card V1, V2 and V3, as files carry them. Knows no file.

Rights that were granted to an import are no part of a card, so no export can hand them on.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Any, Literal

from bot.personas.card import PersonaCard

Version = Literal["v1", "v2", "v3"]

V1_WORDS: Mapping[str, str] = {
    "name": "name",
    "description": "description",
    "personality": "personality",
    "scenario": "scenario",
    "first_message": "first_mes",
    "example_messages": "mes_example",
}
V2_FIELDS = (
    "creator_notes",
    "system_prompt",
    "post_history_instructions",
    "alternate_greetings",
    "tags",
    "creator",
    "character_version",
    "extensions",
)
V3_FIELDS = (
    "nickname",
    "creator_notes_multilingual",
    "source",
    "group_only_greetings",
    "creation_date",
    "modification_date",
    "assets",
)
REQUIRED = frozenset({*V2_FIELDS, "group_only_greetings"})
"""Fields that a card has even when they are empty; the others are left out then."""

COPY_NOTICE = "This is the Character Card V2 copy of a V3 card; a reader of V3 shows it in full."

_DECORATORS = re.compile(r"\A\s*(?:@@[^\n]*(?:\n\s*|\Z))+")
_NOT_IN_A_FILE_NAME = re.compile(r'[\\/:*?"<>|.]+')
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)", re.IGNORECASE)
_MAX_FILE_NAME = 60
"""Characters, so that 255 bytes, what file systems take, suffice for any script and the ending."""


def as_mapping(card: PersonaCard, version: Version = "v3") -> dict[str, Any]:
    """The card as a file says it. V3 is all of it; V2 and V1 leave out what they have no words for."""
    match version:
        case "v1":
            return _v1(card)
        case "v2":
            return _v2(card)
        case "v3":
            return _v3(card)


def _v1(card: PersonaCard) -> dict[str, Any]:
    return {word: getattr(card, field) for field, word in V1_WORDS.items()}


def _v2(card: PersonaCard) -> dict[str, Any]:
    data = {**card.unknown, **_v1(card), **_fields(card, V2_FIELDS)}
    if card.character_book is not None:
        data["character_book"] = _without_decorators(card.character_book)
    return {"spec": "chara_card_v2", "spec_version": "2.0", "data": data}


def _v3(card: PersonaCard) -> dict[str, Any]:
    """With the fields of V1 outside of `data` as well, where the oldest readers look."""
    data = {**card.unknown, **_v1(card), **_fields(card, (*V2_FIELDS, *V3_FIELDS))}
    if card.character_book is not None:
        data["character_book"] = card.character_book
    return {"spec": "chara_card_v3", "spec_version": "3.0", "data": data, **_v1(card)}


def as_v2_copy(card: PersonaCard) -> dict[str, Any]:
    """The V2 card that stands beside a V3 one in the same picture, and says so to people."""
    notes = "\n\n".join(filter(None, (card.creator_notes.removesuffix(COPY_NOTICE).strip(), COPY_NOTICE)))
    return _v2(card.model_copy(update={"creator_notes": notes}))


def _fields(card: PersonaCard, names: tuple[str, ...]) -> dict[str, Any]:
    values = {name: getattr(card, name) for name in names}
    return {name: value for name, value in values.items() if value or name in REQUIRED}


def _without_decorators(book: Mapping[str, Any]) -> dict[str, Any]:
    """The lorebook without the lines that only V3 understands and V2 would put into the prompt."""
    entries = book.get("entries")
    if not isinstance(entries, list):
        return dict(book)
    return {**book, "entries": [_plain_entry(entry) for entry in entries]}


def _plain_entry(entry: object) -> object:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("content"), str):
        return entry
    return {**entry, "content": _DECORATORS.sub("", entry["content"])}


def stamped(card: PersonaCard, now: int) -> PersonaCard:
    """The card as it leaves at `now`, in Unix seconds. When it was made stays as its maker says, or unknown."""
    return card.model_copy(update={"modification_date": now})


def file_name(card: PersonaCard, ending: str) -> str:
    """A file name that every system takes, after the persona's name where that can be one (X08)."""
    inert = "".join(" " if unicodedata.category(char)[0] in "CZ" else char for char in card.name)
    stem = " ".join(_NOT_IN_A_FILE_NAME.sub(" ", inert).split())[:_MAX_FILE_NAME].strip()
    return f"{stem if stem and not _RESERVED.fullmatch(stem) else 'persona'}.{ending}"
