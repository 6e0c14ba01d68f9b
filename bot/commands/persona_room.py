"""What a place may keep of cards, and one person bring: of their files on the disk, and of their texts in memory."""

from __future__ import annotations

from bot.errors import UserError
from bot.store import persona_sizes
from bot.store.database import Tx

MAX_CARDS, MAX_PLACE_BYTES = 50, 100 << 20
"""What a place may keep of cards and their files; ours to choose, so that one place does not fill the disk of all."""
MAX_CARDS_OF_ONE, MAX_BYTES_OF_ONE = 200, 400 << 20
"""What one person may bring, everywhere together: as much as four places keep. Ours to choose."""
MAX_PLACE_CHARS, MAX_CHARS_OF_ONE = 8_000_000, 16_000_000
"""The same of what cards say, as all of it is held in memory: 50 cards with a hundred entries of lore each. Ours to
choose.
"""


def demand_room(tx: Tx, place_key: str | None, author: str) -> None:
    """Make sure that what a place keeps now, and what a person has brought, is not too much.

    Raises:
        UserError: it is.
    """
    if place_key is not None:
        count, size = persona_sizes.count_files(tx, place_key)
        if count > MAX_CARDS or size > MAX_PLACE_BYTES:
            raise UserError("persona-import-full", count=MAX_CARDS, size=MAX_PLACE_BYTES >> 20)
        if persona_sizes.text_size(tx, place_key) > MAX_PLACE_CHARS:
            raise UserError("persona-import-wordy", chars=f"{MAX_PLACE_CHARS:,}")
    count, size = persona_sizes.count_files_of(tx, author)
    if count > MAX_CARDS_OF_ONE or size > MAX_BYTES_OF_ONE:
        raise UserError("persona-import-yours-full", count=MAX_CARDS_OF_ONE, size=MAX_BYTES_OF_ONE >> 20)
    if persona_sizes.text_size_of(tx, author) > MAX_CHARS_OF_ONE:
        raise UserError("persona-import-yours-wordy", chars=f"{MAX_CHARS_OF_ONE:,}")
