"""What a mistyped name may have meant. Pure: the names that there are, are handed in."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterable, Iterator

MAX_TYPED_CHARS = 100
"""Ours to choose: no name is longer, and comparing takes time by the square."""

_ALIKE = 0.7
"""From which ratio of difflib on two texts are taken for the same with a slip; what is below reads as a bad joke."""
_ALIKE_SHORT = 0.6
"""The same for at most four letters: one wrong of three."""
_ALIKE_SIGNS = 0.5
"""The same where a word is two or three signs long, as in Chinese: one wrong of two."""


def near_names(typed: str, known: Iterable[str], *, limit: int = 3) -> list[str]:
    """The known names that a typed one may have meant, best first: those that begin with it, those that have it in
    them, those that are it but for a slip. Case, width and the marks between words do not count.
    """
    wanted = _plain(typed)[:MAX_TYPED_CHARS]
    if not wanted:
        return []
    plain = {name: _plain(name) for name in known}
    having = sorted(
        (name for name in plain if _place(wanted, plain[name])), key=lambda name: _place(wanted, plain[name])
    )
    parts: dict[str, list[str]] = {}
    for name, text in plain.items():
        for part in _parts(text, wanted.count(" ") + 1):
            parts.setdefault(part, []).append(name)
    slips = [name for part in difflib.get_close_matches(wanted, parts, limit, _alike(wanted)) for name in parts[part]]
    return list(dict.fromkeys((*having, *slips)))[:limit]


def _plain(name: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", name).casefold()))


def _place(wanted: str, text: str) -> int:
    """Where a text has what is wanted: 1 at its beginning, 2 at that of a word, 3 within; 0 nowhere."""
    if text.startswith(wanted):
        return 1
    if f" {wanted}" in text:
        return 2
    is_telling = len(wanted) >= 3 or not wanted.isascii()
    return 3 if is_telling and wanted.replace(" ", "") in text.replace(" ", "") else 0


def _alike(wanted: str) -> float:
    if not wanted.isascii():
        return _ALIKE_SIGNS
    return _ALIKE_SHORT if len(wanted) <= 4 else _ALIKE


def _parts(text: str, length: int) -> Iterator[str]:
    """The text, and every run of `length` words in it."""
    yield text
    words = text.split()
    yield from (" ".join(words[first : first + length]) for first in range(len(words) - length + 1))
