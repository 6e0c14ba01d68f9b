"""What JSON and YAML cards share: decoding, and the limits that keep a hostile file cheap."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from typing import Any

from bot.personas.card import CardError

MAX_DEPTH = 32
"""Levels of nesting. Ours to choose; a lorebook entry's extensions, the deepest of a real card, have about eight."""

ENVELOPE_DEPTH = 2
"""What an export may add: `data`, and a list around a lone entry. What was read must be readable again."""

_ENCODINGS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


def decode(data: bytes, *, max_bytes: int) -> str:
    """Text of a file in UTF-8, or in UTF-16 with its mark; bytes that are neither become U+FFFD (P08, P23).

    Raises:
        CardError: more than `max_bytes`.
    """
    if len(data) > max_bytes:
        raise CardError("card-text-large", "card-text-large-remedy", size=len(data), most=max_bytes)
    encoding = next((name for mark, name in _ENCODINGS if data.startswith(mark)), "utf-8")
    return data.decode(encoding, errors="replace")


def too_deep() -> CardError:
    """The refusal of a file that nests further than any card does."""
    return CardError("card-deep", "card-deep-remedy", most=MAX_DEPTH)


def as_card_mapping(value: object) -> Mapping[Any, Any]:
    """The parsed file, if it is a mapping of bearable depth.

    Raises:
        CardError: it is something else.
    """
    if not isinstance(value, Mapping):
        raise CardError("card-fieldless", "card-fieldless-remedy")
    level: list[object] = [value]
    for _ in range(MAX_DEPTH + (ENVELOPE_DEPTH if isinstance(value.get("data"), Mapping) else 0)):
        level = [child for parent in level for child in _children(parent)]
        if not level:
            return value
    raise too_deep()


def _children(value: object) -> list[object]:
    if isinstance(value, Mapping):
        return list(value.values())
    return value if isinstance(value, list) else []
