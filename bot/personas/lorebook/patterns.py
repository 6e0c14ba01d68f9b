"""Keys that are patterns, written by strangers: what is refused, and how long all of a scan may take them.

The only importer of `regex` here, which stops at a time limit and lets other threads run while it searches.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import regex

Pattern: TypeAlias = "regex.Pattern[str]"
"""A pattern made ready."""

MAX_PATTERN_CHARS = 1_000
"""Of one pattern; ours to choose. Compiling takes time as well."""

SCAN_SECONDS = 0.25
PATTERN_SECONDS = 0.05
"""CPU time that all patterns of a scan may take together, and one of them on one text; ours to choose (P17). An honest
pattern takes some microseconds for a message."""

QUICK_SECONDS = 0.002
"""How long a pattern searches before it lets other threads run: to let them for each would cost the honest ones their
turn again and again where an event loop is busy."""

_SHAPED = re.compile(r"/((?:\\.|[^/\\])+)/([dgimsuvy]*)", re.DOTALL)
_REFUSED = re.compile(r"\(\?(?:[R&]|P[>&]|[+-]?[0-9])|\\L<")
"""Recursion, which takes memory faster than time, and lists that are named elsewhere."""


def as_pattern(key: str) -> tuple[str, str] | None:
    """Pattern and flags of a key written as `/pattern/flags`, as JavaScript does; `None` for plain words."""
    found = _SHAPED.fullmatch(key)
    return (found[1].replace(r"\/", "/"), found[2]) if found else None


def compile_pattern(pattern: str, flags: str = "") -> Pattern | None:
    """The pattern made ready; `None` if it is invalid or refused, and never matches. Of the flags `i`, `m` and `s`
    count.
    """
    import regex

    if len(pattern) > MAX_PATTERN_CHARS or _REFUSED.search(pattern):
        return None
    chosen = {"i": regex.IGNORECASE, "m": regex.MULTILINE, "s": regex.DOTALL}
    bits = regex.VERSION0
    for letter in flags:
        bits |= chosen.get(letter, 0)
    try:
        return regex.compile(pattern, bits, cache_pattern=False)
    except (regex.error, ValueError, RecursionError, OverflowError):
        return None


def why_refused(pattern: str) -> tuple[str, Mapping[str, str | int]] | None:
    """What is wrong with a pattern that `compile_pattern` does not make ready, as a text of the catalogue and its facts
    beside the `key`; `None` for one that it does.
    """
    import regex

    if len(pattern) > MAX_PATTERN_CHARS:
        return "lore-key-long", {"most": MAX_PATTERN_CHARS}
    if _REFUSED.search(pattern):
        return "lore-key-recursion", {}
    try:
        regex.compile(pattern, regex.VERSION0, cache_pattern=False)
    except (regex.error, ValueError, RecursionError, OverflowError) as error:
        return "lore-key-pattern", {"problem": str(error)}
    return None


class Patience:
    """The time that the patterns of one scan have. A pattern that takes too long counts as no match, and is not tried
    again in that scan.
    """

    def __init__(self, seconds: float = SCAN_SECONDS, clock: Callable[[], float] = time.thread_time) -> None:
        self._left, self._clock = seconds, clock
        self._given_up: dict[str, None] = {}
        self._misses: set[tuple[str, int, str]] = set()

    @property
    def given_up(self) -> tuple[str, ...]:
        """The patterns that took too long, and those that were left no time."""
        return tuple(self._given_up)

    def finds(self, pattern: Pattern, text: str) -> bool:
        """Whether the pattern is in the text."""
        asked = (pattern.pattern, pattern.flags, text)
        if pattern.pattern in self._given_up or asked in self._misses:
            return False
        began = self._clock()
        found = _search(pattern, text, min(PATTERN_SECONDS, self._left)) if self._left > 0 else None
        self._left -= self._clock() - began
        if found is None:
            self._given_up[pattern.pattern] = None
        elif not found:
            self._misses.add(asked)
        return bool(found)


def _search(pattern: Pattern, text: str, seconds: float) -> bool | None:
    """Whether the pattern is in the text, or `None` if that takes too long."""
    for limit, lets_others_run in ((min(QUICK_SECONDS, seconds), False), (seconds, True)):
        with suppress(TimeoutError):
            try:
                return pattern.search(text, timeout=limit, concurrent=lets_others_run) is not None
            except MemoryError:
                return None
    return None
