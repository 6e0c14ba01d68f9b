"""Where an entry that joins in stands in the prompt."""

from __future__ import annotations

from bot.personas.lorebook.choices import DEFAULT_DEPTH, Slot
from bot.personas.lorebook.index import LoreItem

PREFIX_SLOTS = frozenset(Slot) - {Slot.DEPTH, Slot.NOTE_TOP, Slot.NOTE_BOTTOM}
"""Those that do not move with the messages."""


def placing(item: LoreItem) -> tuple[Slot, int, bool]:
    """Slot, depth, and whether the depth counts from the oldest message. Of the decorators a position goes before a
    depth and that before one from the oldest message; the entry's own place comes last.
    """
    wishes, entry = item.decorators, item.entry
    if wishes.position is not None:
        return wishes.position, 0, False
    if wishes.depth is not None:
        return Slot.DEPTH, max(0, wishes.depth), False
    if wishes.reverse_depth is not None:
        return Slot.DEPTH, max(0, wishes.reverse_depth), True
    if entry.slot in (Slot.NOTE_TOP, Slot.NOTE_BOTTOM):
        return Slot.DEPTH, DEFAULT_DEPTH, False
    return entry.slot, entry.depth if entry.slot is Slot.DEPTH else 0, False


def is_steady(item: LoreItem) -> bool:
    """Whether an entry joins in whatever is said and however often, so that no prompt's beginning changes by it."""
    entry, wishes = item.entry, item.decorators
    is_called = wishes.activate or (entry.constant and not entry.is_by_the_letter)
    by_chance = (entry.use_probability and entry.probability < 100) or item.groups
    by_count = entry.delay or entry.cooldown or entry.delay_until_recursion or wishes.dont_activate_after_match
    by_number = wishes.activate_only_after or wishes.activate_only_every
    by_text = item.additional or item.excluded or wishes.ignore_on_max_context
    return is_called and not (by_chance or by_count or by_number or by_text)
