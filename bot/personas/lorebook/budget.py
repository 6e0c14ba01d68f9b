"""How many tokens lore may fill: of each book by its own word, and of all of them together."""

from __future__ import annotations

from collections.abc import Iterable

from bot.personas.lorebook.entry import Lorebook
from bot.personas.lorebook.index import LoreItem
from bot.personas.lorebook.placing import is_steady

Rank = tuple[bool, bool, bool, bool, int, int, int]


def rank(item: LoreItem, *, is_sticky: bool, is_visiting: bool) -> Rank:
    """By which entries take their room, lowest first: what may go first of all and what is only visiting come last;
    what is always there comes first, or a prompt's prefix would change, and then what was there before; then the
    priority decides, or the order where there is none.
    """
    entry = item.entry
    priority = entry.insertion_order if entry.priority is None else entry.priority
    can_wait = item.decorators.ignore_on_max_context
    steady = is_steady(item) and not is_visiting
    return can_wait, is_visiting, not steady, not is_sticky, -priority, -entry.insertion_order, item.order


class Budget:
    """What is left. Once something had no room nothing further takes any, so that what is more important is never
    left out for what is less so.
    """

    def __init__(self, total: int | None, books: Iterable[Lorebook]) -> None:
        self._total = total
        self._left = {id(book): book.token_budget or None for book in books}  # 0 is what some write for none
        self.overflowed = False

    def is_used_up(self, item: LoreItem, book: Lorebook) -> bool:
        """Whether nothing further has room, however short it is."""
        return not item.entry.ignore_budget and (self._total == 0 or self._left[id(book)] == 0)

    def take(self, item: LoreItem, book: Lorebook, tokens: int) -> bool:
        """Whether an entry has room; then it is taken."""
        if item.entry.ignore_budget:
            return True
        total, left = self._total, self._left[id(book)]
        has_room = (total is None or tokens <= total) and (left is None or tokens <= left)
        if not has_room:
            self._left[id(book)] = 0
            if total is not None and tokens > total:
                self._total = 0
            self.overflowed = True
            return False
        if total is not None:
            self._total = total - tokens
        if left is not None:
            self._left[id(book)] = left - tokens
        return True
