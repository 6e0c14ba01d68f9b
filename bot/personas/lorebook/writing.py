"""Writes lorebooks as Character Card V3 says, with SillyTavern's settings in the extensions, where it reads them."""

from __future__ import annotations

from typing import Any

from bot.personas.lorebook.choices import NUMBERED_LOGICS, NUMBERED_ROLES, NUMBERED_SLOTS, Slot
from bot.personas.lorebook.entry import Lorebook, LoreEntry


def write_book(book: Lorebook) -> dict[str, Any]:
    """The book as a mapping that JSON can say, and that `read_book` reads as the same book."""
    settings = {
        "scan_depth": book.scan_depth,
        "token_budget": book.token_budget,
        "recursive_scanning": book.recursive_scanning,
    }
    return {
        **book.unknown,
        "name": book.name,
        "description": book.description,
        **_said(settings),
        "extensions": dict(book.extensions),
        "entries": [_write_entry(entry) for entry in book.entries],
    }


def write_book_file(book: Lorebook) -> dict[str, Any]:
    """The book as a file of its own."""
    return {"spec": "lorebook_v3", "data": write_book(book)}


def _said(settings: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if value is not None}


def _write_entry(entry: LoreEntry) -> dict[str, Any]:
    optional = {"priority": entry.priority, "case_sensitive": entry.case_sensitive}
    return {
        **entry.unknown,
        "id": entry.id,
        "name": entry.name,
        "comment": entry.comment,
        "keys": list(entry.keys),
        "secondary_keys": list(entry.secondary_keys),
        "content": entry.content,
        "enabled": entry.enabled,
        "insertion_order": entry.insertion_order,
        "constant": entry.constant,
        "selective": entry.selective,
        "use_regex": entry.keys_are_patterns,
        "position": (Slot.BEFORE_CHAR if entry.slot is Slot.BEFORE_CHAR else Slot.AFTER_CHAR).value,
        **_said(optional),
        "extensions": {**entry.extensions, **_write_settings(entry)},
    }


def _write_settings(entry: LoreEntry) -> dict[str, Any]:
    """SillyTavern's settings. An entry whose keys are all patterns by the letter of V3 has none of them, or its keys
    would be read as SillyTavern's are.
    """
    if entry.keys_are_patterns:
        return {}
    settings = {
        "position": NUMBERED_SLOTS.index(entry.slot),
        "depth": entry.depth,
        "role": NUMBERED_ROLES.index(entry.role),
        "selectiveLogic": NUMBERED_LOGICS.index(entry.logic),
        "probability": entry.probability,
        "useProbability": entry.use_probability,
        "exclude_recursion": entry.exclude_recursion,
        "prevent_recursion": entry.prevent_recursion,
        "delay_until_recursion": entry.delay_until_recursion,
        "group": entry.group,
        "group_override": entry.group_override,
        "group_weight": entry.group_weight,
        "use_group_scoring": entry.use_group_scoring,
        "scan_depth": entry.scan_depth,
        "case_sensitive": entry.case_sensitive,
        "match_whole_words": entry.whole_words,
        "sticky": entry.sticky,
        "cooldown": entry.cooldown,
        "delay": entry.delay,
        "ignore_budget": entry.ignore_budget,
    }
    return {**_said(settings), **_write_filter(entry)}


def _write_filter(entry: LoreEntry) -> dict[str, Any]:
    if not (entry.only_personas or entry.only_tags):
        return {}
    names, tags = list(entry.only_personas), list(entry.only_tags)
    return {"character_filter": {"names": names, "tags": tags, "isExclude": entry.excludes_personas}}
