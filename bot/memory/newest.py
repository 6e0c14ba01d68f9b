"""What was said later holds: an older line that is folded late overrules no newer note. Pure.

That happens where notes came along from another persona's conversation, or by hand, before the lines here were folded.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from bot.memory.items import Delta, Memory
from bot.store.window import WindowRow


def without_outdated(delta: Delta, memory: Memory, rows: Iterable[WindowRow]) -> Delta:
    """The delta without what replaces or retires a note by lines that are all older than it. A stale note is open to
    everything: what it goes back to was changed since.
    """
    sent_at = {row.id: row.sent_at for row in rows}
    items = memory.by_id()

    def is_outdated(number: int | None, sources: Iterable[int]) -> bool:
        item = items.get(number) if number is not None else None
        newest = max((sent_at[source] for source in sources if source in sent_at), default=None)
        if item is None or item.stale or item.said_at is None or newest is None:
            return False
        return newest < item.said_at

    adds = tuple(add for add in delta.adds if not is_outdated(add.replaces, add.item.sources))
    retires = tuple(gone for gone in delta.retires if not is_outdated(gone.item, gone.sources))
    left_out = len(delta.adds) - len(adds) + len(delta.retires) - len(retires)
    refused = ("it is older than the note that it would take the place of",) * left_out
    return replace(delta, adds=adds, retires=retires, refused=(*delta.refused, *refused))
