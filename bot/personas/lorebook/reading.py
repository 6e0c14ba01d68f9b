"""Reads lorebooks in any wording: Character Card V2 and V3, their files of their own, SillyTavern's world files.

What can be repaired is repaired and told; nothing that a file holds makes reading fail.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from pydantic import TypeAdapter

from bot.personas.fields import MAX_WARNINGS, CardWarning
from bot.personas.lorebook.entry import Lorebook, LoreEntry
from bot.personas.lorebook.limits import CARD_ENTRIES
from bot.sentences import Sentence, sentence

MAX_CONTENT_CHARS = 50_000
"""Of one entry; ours to choose, some twelve thousand tokens."""

MAX_ID, MAX_ID_CHARS = 10**9, 100
"""Of ids that are numbers and texts; ours to choose."""

MAX_WRAPPERS = 4
"""Levels that a book may lie too deep."""

_NUMBER_ID = re.compile(r"0|[1-9][0-9]{0,8}", re.ASCII)
_NOT_STORABLE = re.compile("[\0\ud800-\udfff]")

_BOOK = TypeAdapter(Lorebook)
_ENTRY = TypeAdapter(LoreEntry)
_Flat = dict[str, Any]


def find_book(data: object, depth: int = 0) -> Mapping[Any, Any] | None:
    """The mapping in `data` that has entries: itself, or what a card, a file or a careless exporter wraps around it.
    What a card has inside `data` goes before what it repeats outside (P11).
    """
    if isinstance(data, list):
        return {"entries": data} if any(isinstance(entry, Mapping) for entry in data) else None
    if not isinstance(data, Mapping) or depth > MAX_WRAPPERS:
        return None
    entries = data.get("entries")
    if isinstance(entries, list) or (isinstance(entries, Mapping) and not isinstance(entries.get("entries"), list)):
        return data
    inner = (find_book(data[word], depth + 1) for word in WRAPPERS if word in data)
    return next((book for book in inner if book is not None), None)


def read_book(data: object, *, max_entries: int = CARD_ENTRIES) -> tuple[Lorebook, tuple[CardWarning, ...]]:
    """Read what `find_book` finds. Fields that nothing here knows are kept; without a book it has no entries."""
    found = find_book(data)
    if found is None:
        missing = CardWarning(field="character_book", message=sentence("card-book-none"))
        return Lorebook(), (missing,) if data is not None else ()
    warnings: list[CardWarning] = []
    fields, rest = _by_field(_flat(found), BOOK_WORDS)
    for word in ("extensions", "entries", "spec", "spec_version"):
        rest.pop(word, None)
    entries = tuple(_entries(found["entries"], max_entries, warnings))
    extensions = found.get("extensions")
    book = _BOOK.validate_python({**fields, "extensions": extensions, "unknown": rest}, context=warnings)
    return replace(book, entries=entries), tuple(warnings[:MAX_WARNINGS])


def _flat(mapping: Mapping[Any, Any]) -> _Flat:
    """Its fields by name. A null is an absence, and so is a number that JSON cannot say."""
    return {_NOT_STORABLE.sub("", str(key)): value for key, value in mapping.items() if not _is_nothing(value)}


def _is_nothing(value: object) -> bool:
    return value is None or (isinstance(value, float) and not math.isfinite(value))


def _by_field(flat: Mapping[str, Any], words: Mapping[str, tuple[str, ...]]) -> tuple[_Flat, _Flat]:
    """Split into our fields, each by the first of its words that is there, and the rest."""
    rest = dict(flat)
    fields = {}
    for field, spellings in words.items():
        values = [rest.pop(word) for word in spellings if word in rest]
        if values:
            fields[field] = values[0]
    return fields, rest


def _entries(found: Any, max_entries: int, warnings: list[CardWarning]) -> Iterator[LoreEntry]:
    listed = list(found.items()) if isinstance(found, Mapping) else [(None, entry) for entry in found]
    if len(listed) > max_entries:
        _tell(warnings, "entries", sentence("card-list-long", count=len(listed), most=max_entries))
    ids = _Ids()
    for number, (key, raw) in enumerate(listed[:max_entries]):
        if not isinstance(raw, Mapping):
            _tell(warnings, f"entries[{number}]", sentence("card-entry-other", kind=type(raw).__name__))
            continue
        flat = _flat(raw)
        entry_id = ids.take(next((flat[word] for word in ID_WORDS if word in flat), key), number)
        yield _entry(entry_id, flat, f"entries[{number}].", warnings)


class _Ids:
    """The ids of a book's entries, each of them once."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._highest = 0

    def take(self, wanted: object, number: int) -> int | str:
        """The id that an entry gives itself, or its place in the book, or a number above all others."""
        found = _as_id(wanted)
        if found is None or str(found) in self._taken:
            found = number if str(number) not in self._taken else self._highest + 1
        self._taken.add(str(found))
        if isinstance(found, int):
            self._highest = max(self._highest, found)
        return found


def _as_id(wanted: object) -> int | str | None:
    """An id as an entry has it: a whole number, also where a text says it, or a short text."""
    if isinstance(wanted, float) and wanted.is_integer():
        wanted = int(wanted)
    if isinstance(wanted, str):
        wanted = "".join(char for char in wanted if char.isprintable()).strip()[:MAX_ID_CHARS]
        wanted = int(wanted) if _NUMBER_ID.fullmatch(wanted) else wanted or None
    if isinstance(wanted, int):
        return wanted if not isinstance(wanted, bool) and abs(wanted) <= MAX_ID else None
    return wanted if isinstance(wanted, str) else None


def _entry(entry_id: int | str, flat: _Flat, place: str, warnings: list[CardWarning]) -> LoreEntry:
    given = flat.pop("extensions", None)
    kept = _flat(given) if isinstance(given, Mapping) else {}
    outer, unknown = _by_field(flat, ENTRY_WORDS)
    inner, extensions = _by_field(kept, EXTENSION_WORDS)
    fields = {**outer, **inner}
    fields.update(_filters(unknown, extensions))
    if "enabled" not in fields and "disable" in unknown:
        fields["enabled"] = not unknown["disable"]
    if _is_sillytavern(flat, kept):
        fields.pop("keys_are_patterns", None)  # it writes true for every entry, whatever the keys are
    for word in (*ID_WORDS, "disable"):
        unknown.pop(word, None)
    if isinstance(content := fields.get("content"), str) and len(content) > MAX_CONTENT_CHARS:
        _tell(warnings, f"{place}content", sentence("card-content-cut", most=MAX_CONTENT_CHARS))
        fields["content"] = content[:MAX_CONTENT_CHARS]
    told: list[CardWarning] = []
    entry = _ENTRY.validate_python(
        {**fields, "id": entry_id, "extensions": extensions, "unknown": unknown}, context=told
    )
    for warning in told:
        _tell(warnings, place + warning.field, warning.message)
    return entry


def _filters(unknown: _Flat, extensions: _Flat) -> _Flat:
    """For which personas an entry is."""
    sides = (extensions, unknown)
    found = [kept.pop(word) for kept in sides for word in FILTER_WORDS if isinstance(kept.get(word), Mapping)]
    if not found:
        return {}
    names = {"names": "only_personas", "tags": "only_tags", "isExclude": "excludes_personas"}
    return {field: found[0][word] for word, field in names.items() if found[0].get(word) is not None}


def _is_sillytavern(flat: Mapping[str, Any], extensions: Mapping[str, Any]) -> bool:
    """Whether an entry has any setting that V2 and V3 do not know, other than by its name."""
    return not _SILLYTAVERN.isdisjoint(extensions) or not (_SILLYTAVERN - _SPECIFIED).isdisjoint(flat)


def _tell(warnings: list[CardWarning], field: str, message: Sentence) -> None:
    if len(warnings) < MAX_WARNINGS:
        warnings.append(CardWarning(field=field, message=message))


WRAPPERS = ("data", "character_book", "lorebook", "book", "entries")
ID_WORDS = ("id", "uid")
FILTER_WORDS = ("character_filter", "characterFilter")

BOOK_WORDS: Mapping[str, tuple[str, ...]] = {
    # Ours on the left, those of files on the right.
    "name": ("name",),
    "description": ("description",),
    "scan_depth": ("scan_depth", "scanDepth"),
    "token_budget": ("token_budget", "tokenBudget"),
    "recursive_scanning": ("recursive_scanning", "recursiveScanning"),
}

EXTENSION_WORDS: Mapping[str, tuple[str, ...]] = {
    # What SillyTavern keeps in an entry's extensions; Chub writes them as its world files do.
    "slot": ("position",),
    "depth": ("depth",),
    "role": ("role",),
    "logic": ("selectiveLogic", "selective_logic"),
    "probability": ("probability",),
    "use_probability": ("useProbability", "use_probability"),
    "exclude_recursion": ("exclude_recursion", "excludeRecursion"),
    "prevent_recursion": ("prevent_recursion", "preventRecursion"),
    "delay_until_recursion": ("delay_until_recursion", "delayUntilRecursion"),
    "group": ("group",),
    "group_override": ("group_override", "groupOverride"),
    "group_weight": ("group_weight", "groupWeight"),
    "use_group_scoring": ("use_group_scoring", "useGroupScoring"),
    "scan_depth": ("scan_depth", "scanDepth"),
    "case_sensitive": ("case_sensitive", "caseSensitive"),
    "whole_words": ("match_whole_words", "matchWholeWords"),
    "sticky": ("sticky",),
    "cooldown": ("cooldown",),
    "delay": ("delay",),
    "ignore_budget": ("ignore_budget", "ignoreBudget"),
}

ENTRY_WORDS: Mapping[str, tuple[str, ...]] = {
    # The specification first, then SillyTavern's world files, then Agnai, NovelAI and Risu.
    "keys": ("keys", "key", "keywords"),
    "secondary_keys": ("secondary_keys", "keysecondary", "secondkey"),
    "content": ("content", "entry", "text"),
    "name": ("name", "displayName"),
    "comment": ("comment",),
    "enabled": ("enabled",),
    "insertion_order": ("insertion_order", "order", "insertorder"),
    "priority": ("priority",),
    "constant": ("constant", "alwaysActive", "forceActivation"),
    "selective": ("selective",),
    "keys_are_patterns": ("use_regex", "useRegex"),
    **EXTENSION_WORDS,
}

_SILLYTAVERN = frozenset(
    (*(word for words in EXTENSION_WORDS.values() for word in words), *FILTER_WORDS, "keysecondary", "display_index")
)
_SPECIFIED = frozenset(("position", "case_sensitive"))
