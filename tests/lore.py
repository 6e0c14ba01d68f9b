"""Makes lorebooks and scans them, for the tests of lorebooks."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from bot.personas.lorebook import Activation, LoreIndex, ScanContext, read_book, scan


def entry(*keys: str, content: str = "Text.", **fields: Any) -> dict[str, Any]:
    """An entry as a file of Character Card V3 has it."""
    defaults = {"extensions": {}, "enabled": True, "insertion_order": 100, "use_regex": False}
    return {"keys": list(keys), "content": content, **defaults, **fields}


def silly(*keys: str, content: str = "Text.", **settings: Any) -> dict[str, Any]:
    """An entry as SillyTavern exports it, with its settings in the extensions."""
    outer = {name: settings.pop(name) for name in tuple(settings) if name in OUTER}
    return entry(*keys, content=content, use_regex=True, extensions={"selectiveLogic": 0, **settings}, **outer)


OUTER = ("constant", "selective", "secondary_keys", "insertion_order", "enabled", "id", "name", "priority", "position")


def index_of(*entries: dict[str, Any], name: str = "card", **book: Any) -> LoreIndex:
    return LoreIndex(read_book({"entries": list(entries), "extensions": {}, **book})[0], name=name)


def context(**changes: Any) -> ScanContext:
    """A chat of ten messages, half of them the persona's; a token is a word."""
    defaults: dict[str, Any] = {"message_count": 10, "assistant_count": 5, "count": lambda text: len(text.split())}
    return ScanContext(rng=changes.pop("rng", None) or Random(7), **{**defaults, **changes})


def scanned(
    messages: str | Sequence[str], *entries: dict[str, Any], book: dict[str, Any] | None = None, **changes: Any
) -> Activation:
    """What one book of these entries brings in; the newest message is the last."""
    said = [messages] if isinstance(messages, str) else messages
    return scan([index_of(*entries, **(book or {}))], said, context(**changes))


def contents(activation: Activation) -> list[str]:
    return [active.content for active in activation.entries]


def why(activation: Activation, number: int = 0, name: str = "card") -> str:
    return activation.verdicts[f"{name}/{number}"].why.value
