"""What nobody would notice of a lorebook: keys that never match. For whoever brings or checks a book or a card."""

from __future__ import annotations

from bot.personas.fields import CardWarning
from bot.personas.lorebook.index import LoreIndex
from bot.personas.lorebook.limits import CARD_ENTRIES
from bot.personas.lorebook.reading import read_book


def useless_keys(data: object, *, max_entries: int = CARD_ENTRIES) -> tuple[CardWarning, ...]:
    """A warning for each such key of what `read_book` reads. It may take a second, so ask in a thread."""
    return LoreIndex(read_book(data, max_entries=max_entries)[0], name="").warnings if data else ()
