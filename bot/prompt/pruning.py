"""Shortens one request to its budget. Nothing is lost: what is left out of a request stays in the store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

U = TypeVar("U")

REFILL_RATIO = 0.75
"""How full the history is after something had to go. Cutting below the limit lets the next turns append to a stable
prefix; a window that slides with every message is paid in full every time."""


def keep_newest(units: Sequence[U], room: int, *, cost: Callable[[U], int], asked: int = 1) -> list[U]:
    """The newest units that fit into `room`: all of them, or else what fits into three quarters of it.

    The last `asked` units are always kept, because they hold what is being answered.
    """
    costs = [cost(unit) for unit in units]
    if sum(costs) <= room:
        return list(units)
    limit = int(room * REFILL_RATIO)
    first = max(0, len(units) - asked)
    used = sum(costs[first:])
    while first and used + costs[first - 1] <= limit:
        first -= 1
        used += costs[first]
    return list(units[first:])
