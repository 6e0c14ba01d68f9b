"""Shortens one request to its budget. Nothing is lost: what is left out of a request stays in the store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

G = TypeVar("G")

REFILL_RATIO = 0.75
"""How full the history is after something had to go. Cutting below the limit lets the next turns append to a stable
prefix; a window that slides with every message is paid in full every time."""


def keep_newest(groups: Sequence[G], room: int, *, tokens: Callable[[G], int]) -> list[G]:
    """The newest groups that fit into `room` tokens: all of them, or else what fits into three quarters of it.

    The last group is always kept, because it holds what is being answered.
    """
    costs = [tokens(group) for group in groups]
    if sum(costs) <= room:
        return list(groups)
    limit = int(room * REFILL_RATIO)
    used, first = 0, len(groups)
    while first and (first == len(groups) or used + costs[first - 1] <= limit):
        first -= 1
        used += costs[first]
    return list(groups[first:])
