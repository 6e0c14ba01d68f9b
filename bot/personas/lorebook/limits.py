"""How large a lorebook may be."""

from __future__ import annotations

CARD_ENTRIES = 5_000
PLACE_ENTRIES = 20_000
"""Entries that are read of a card's book and of a place's own; ours to choose."""
