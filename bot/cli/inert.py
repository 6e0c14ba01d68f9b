"""Makes text of others harmless before a terminal shows it: cards, servers and files may say anything."""

from __future__ import annotations

import unicodedata

TURNS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that change the direction of what follows, so that a name could look like another one."""


def inert(text: str) -> str:
    """The text without characters that command a terminal or turn the line around; tabs and line breaks stay."""
    return "".join(char for char in text if char in "\t\n" or not _commands(char))


def plain(text: str) -> str:
    """Text as rich must be given it: inert, and no mark-up in its square brackets."""
    from rich.markup import escape  # 6 MB, which `familiar run` has no use for

    return escape(inert(text))


def _commands(char: str) -> bool:
    return char in TURNS or unicodedata.category(char) in ("Cc", "Cs")  # lone surrogates cannot be printed at all
