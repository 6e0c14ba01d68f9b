"""What is odd about a lorebook: what reading mended or left out, and keys that never match, which nobody would notice.
For whoever brings or checks a book or a card.
"""

from __future__ import annotations

from bot.personas.fields import MAX_WARNINGS, CardWarning
from bot.personas.lorebook.index import LoreIndex
from bot.personas.lorebook.limits import CARD_ENTRIES
from bot.personas.lorebook.reading import read_book


def book_warnings(data: object, *, max_entries: int = CARD_ENTRIES) -> tuple[CardWarning, ...]:
    """A warning for each such thing in what `read_book` reads. It may take a second, so ask in a thread."""
    if not data:
        return ()
    book, warnings = read_book(data, max_entries=max_entries)
    return (*warnings, *LoreIndex(book, name="").warnings)[:MAX_WARNINGS]
