"""A lorebook made ready for scanning: built once for a book, it tells which entries a text may concern at all.

Knows no chat. Sorted keys take 30 times less memory than a search automaton of the same, and a few milliseconds a scan.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice

from bot.personas.fields import MAX_WARNINGS, CardWarning
from bot.personas.lorebook.decorators import PLAIN, Decorators, split_content
from bot.personas.lorebook.entry import Lorebook, LoreEntry
from bot.personas.lorebook.patterns import as_pattern
from bot.personas.lorebook.texts import Key, Text, has_macro, make_key
from bot.sentences import sentence

MAX_KEY_CHARS = 200
"""Plain keys longer than that are never matched; ours to choose, so that no book makes the index slow."""

MAX_LIVELY = 500
"""Keys of one book that are patterns or hold macros; ours to choose, since each is looked for in every message."""

SHOWN_CHARS = 60
"""Of a key, in a warning."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class LoreItem:
    """An entry made ready. `ref` names it among all books, `order` is its place in its book."""

    ref: str
    order: int
    entry: LoreEntry
    decorators: Decorators
    content: str
    """Without decorators."""
    keys: tuple[Key, ...]
    secondary: tuple[Key, ...]
    additional: tuple[Key, ...]
    excluded: tuple[Key, ...]
    groups: tuple[str, ...]

    is_plain: bool
    """Whether nothing but its keys decides about it, as is so with most."""
    whole_words: bool
    """Whether a key of one word must stand between borders; it must in SillyTavern as that comes."""

    @property
    def is_unkeyed(self) -> bool:
        """Whether it may join in without one of its plain keys in a text."""
        wishes = self.decorators
        is_called = self.entry.constant or wishes.activate or wishes.keep_activate_after_match
        keys = (*self.keys, *self.additional) if self.entry.is_by_the_letter else self.keys
        return is_called or any(key.pattern is not None or has_macro(key.said) for key in keys)


class LoreIndex:
    """One book under a name of ours, such as "card" or "place": states refer to its entries by it. Building 20,000
    entries takes about a second, so do it in a thread; it never changes, so every thread may scan it.
    """

    def __init__(self, book: Lorebook, *, name: str) -> None:
        self.book, self.name = book, name
        self.items = tuple(_items(book, name))
        self.levels = frozenset(filter(None, (entry.delay_until_recursion for entry in book.entries)))
        self.deepest = max((_own_depth(item) for item in self.items), default=0)
        self.by_ref = {item.ref: item for item in self.items}
        able = [item for item in self.items if item.entry.enabled and item.content]
        self.unkeyed = tuple(item for item in able if item.is_unkeyed)
        self._by_word: dict[str, list[LoreItem]] = {}
        self._by_part: dict[str, list[LoreItem]] = {}
        for item in able:
            if not item.is_unkeyed:
                self._add(item)
        self._parts = sorted(self._by_part)
        self._shorter = _shorter(self._parts)
        self._longest = max(map(len, self._parts), default=0)
        self._heads = frozenset(part[:2] for part in self._parts)

    def _add(self, item: LoreItem) -> None:
        for key in item.keys:
            if key.folded:
                table = self._by_word if item.whole_words and key.is_word else self._by_part
                table.setdefault(key.folded, []).append(item)

    @property
    def warnings(self) -> tuple[CardWarning, ...]:
        """The keys that will never match."""
        broken = ((item, key) for item in self.items for key in item.keys if key.broken)
        return tuple(_useless(item, key) for item, key in islice(broken, MAX_WARNINGS))

    def concerned(self, texts: Iterable[Text]) -> Iterable[LoreItem]:
        """Entries that have one of their plain keys in a text."""
        found: set[int] = set()
        words: set[str] = set()
        for text in texts:
            words |= text.folded_words & self._by_word.keys()
            self._find(text.folded, found)
        by_word = (self._by_word[word] for word in sorted(words))
        by_part = (self._by_part[self._parts[number]] for number in sorted(found))
        return {item.ref: item for items in chain(by_word, by_part) for item in items}.values()

    def _find(self, text: str, found: set[int]) -> None:
        """Note the number of each key that is in the text, at words' ends or not. The keys that a place of the text
        begins with are all among the last key that sorts before it and those which that one begins with.
        """
        parts, shorter, heads, longest = self._parts, self._shorter, self._heads, self._longest
        for place in range(len(text) if parts else 0):
            if text[place : place + 2] not in heads and text[place] not in heads:
                continue
            number = bisect_right(parts, text[place : place + longest]) - 1
            while number >= 0 and number not in found:
                if text.startswith(parts[number], place):
                    found.add(number)
                number = shorter[number]


def _useless(item: LoreItem, key: Key) -> CardWarning:
    return CardWarning(field=item.entry.title, message=sentence("card-key-useless", key=key.said[:SHOWN_CHARS]))


def _own_depth(item: LoreItem) -> int:
    return max(item.decorators.scan_depth or 0, item.entry.scan_depth or 0)


def _shorter(keys: Sequence[str]) -> array[int]:
    """For each of the sorted keys the number of the longest other one that it begins with, or -1."""
    shorter = array("l", bytes(0))
    open_numbers: list[int] = []
    for number, key in enumerate(keys):
        while open_numbers and not key.startswith(keys[open_numbers[-1]]):
            open_numbers.pop()
        shorter.append(open_numbers[-1] if open_numbers else -1)
        open_numbers.append(number)
    return shorter


def _items(book: Lorebook, name: str) -> Iterable[LoreItem]:
    keys = _KeyMaker()
    for order, entry in enumerate(book.entries):
        decorators, content = split_content(entry.content)
        make = partial(keys.key, entry)
        yield LoreItem(
            ref=f"{name}/{entry.id}",
            order=order,
            entry=entry,
            decorators=decorators,
            content=content,
            keys=tuple(map(make, entry.keys)),
            secondary=tuple(map(make, entry.secondary_keys)) if entry.selective and not entry.is_by_the_letter else (),
            additional=tuple(map(make, decorators.additional_keys)),
            excluded=tuple(map(make, decorators.exclude_keys)),
            groups=tuple(filter(None, map(str.strip, entry.group.split(",")))),
            is_plain=decorators is PLAIN and bool(content) and _is_plain(entry),
            whole_words=entry.whole_words is not False,
        )


def _is_plain(entry: LoreEntry) -> bool:
    waits = entry.delay or entry.sticky or entry.cooldown or entry.delay_until_recursion
    return entry.enabled and not (entry.constant or waits or entry.only_personas or entry.only_tags)


class _KeyMaker:
    """Makes the keys of a book; those that cost too much match nothing."""

    def __init__(self) -> None:
        self._lively_left = MAX_LIVELY

    def key(self, entry: LoreEntry, text: str) -> Key:
        """One key of an entry."""
        is_pattern = entry.keys_are_patterns or as_pattern(text) is not None
        self._lively_left -= is_pattern or has_macro(text)
        if (is_pattern or has_macro(text)) and self._lively_left < 0:
            return Key(said=text, folded="", broken=True)
        key = make_key(text, is_pattern=is_pattern, case_sensitive=entry.case_sensitive)
        return Key(said=text, folded="", broken=True) if len(key.folded) > MAX_KEY_CHARS else key
