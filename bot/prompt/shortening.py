"""Shortens texts to so many characters or tokens, always the same way. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable

Count = Callable[[str], int]

LONGEST_TOKEN_CHARS = 8
"""A text is first cut to so many characters for each token it may have, so that a flood costs no counting; ordinary
text has 1 to 5 characters in a token."""


def shorten(text: str, chars: int) -> str:
    """The beginning and the end of a text, `chars` characters together, with a note of how much went between them.

    Both count: a file stands below the question about it, or a question below what was pasted.
    """
    if len(text) <= chars:
        return text
    tail = chars // 3
    note = f"[{len(text) - chars} characters left out]"
    return "\n".join(filter(None, (text[: chars - tail], note, text[len(text) - tail :])))


def chars_within(text: str, chars: int, limit: int, count: Count) -> int:
    """How many characters of a text, from `chars` downwards, fit into `limit` tokens with the note about the rest."""
    while chars and (used := count(shorten(text, chars))) > limit:
        chars = chars * limit * 9 // (used * 10)
    return max(0, chars)


def cap(text: str, limit: int, count: Count) -> str:
    """A text of at most `limit` tokens: itself, or its beginning and its end with a note (K02)."""
    if len(text) <= limit and len(text.encode()) <= limit:
        return text
    most = min(len(text), limit * LONGEST_TOKEN_CHARS)
    return shorten(text, chars_within(text, most, limit, count))


def head(text: str, chars: int) -> str:
    """The beginning of a text with a note of how much went."""
    return text if len(text) <= chars else f"{text[:chars]}\n[{len(text) - chars} characters left out]"


def fair_share(costs: Iterable[int], room: int) -> int:
    """The most that each may cost so that all fit: small ones stay whole, large ones share what is left."""
    left, waiting = room, sorted(costs)
    share = room
    while waiting:
        share = left // len(waiting)
        if waiting[0] > share:
            break
        left -= waiting.pop(0)
    return share
