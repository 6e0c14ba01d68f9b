"""When old messages should move into memory: pure functions of what the next prompt fills and of the settings."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from bot.settings import Summary

HIGHEST_SOFT_RATIO = 0.7
"""`auto` never waits longer: a larger prompt costs more than it spares (docs/benchmarks.md)."""
LEAST_GAIN_TOKENS = 1_500
"""A compaction that moves less is not worth its call."""
OUTPUT_PRICE = 4.0
"""What an output token costs in input tokens; providers ask 3 to 5."""
SUMMARY_TOKENS = 800
"""What a summary call usually writes."""


class Fill(StrEnum):
    """How full a conversation's window is."""

    NORMAL = "normal"
    SOFT = "soft"
    """A compaction is requested; nobody waits for it."""
    HARD = "hard"
    """A compaction comes before the answer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """What the next prompt would fill, tools and the reply's reserve included, in the model's own tokens.

    `fixed` are the tokens that no compaction moves: card, rules, memory, tools and reserve. `compactable` counts the
    messages beyond what is kept; `kept` are the tokens of what is. `per_turn` is what a turn adds on average.
    """

    window: int
    used: int
    fixed: int
    kept: int
    messages: int
    compactable: int
    per_turn: float
    was_dropped: bool = False
    """Whether the last request left messages out for want of room."""

    @property
    def ratio(self) -> float:
        """How full the window is, 0 to 1 and more."""
        return self.used / self.window


def fill_of(usage: Usage, settings: Summary, *, cached_price: float | None) -> Fill:
    """How full it is by the settings (SETTINGS.md, `SUMMARY__TRIGGER__*`, `HARD_RATIO`, `THRESHOLD`). `cached_price` is
    what a cached input token costs of an uncached one; `None` where that is unknown.
    """
    if is_hard(usage.used, usage.window, settings):
        return Fill.HARD
    if usage.was_dropped or (settings.threshold and usage.messages >= settings.threshold):
        return Fill.SOFT
    return Fill.SOFT if _is_reached(usage, settings, cached_price) else Fill.NORMAL


def is_hard(used: int, window: int, settings: Summary) -> bool:
    """Whether so much is used of a window that an answer must wait for room (`HARD_RATIO`)."""
    return used / window > settings.hard_ratio


def _is_reached(usage: Usage, settings: Summary, cached_price: float | None) -> bool:
    kind, value = settings.trigger.type, settings.trigger.value
    if kind == "off":
        return False
    if kind == "auto" or value is None:
        return usage.used >= soft_limit(usage, cached_price=cached_price)
    reached = {
        "token_ratio": usage.ratio >= value,
        "remaining_tokens": usage.window - usage.used <= value,
        "tokens": usage.used >= value,
        "messages_to_refine": usage.compactable >= value,
    }
    return reached[kind]


def soft_limit(usage: Usage, *, cached_price: float | None) -> int:
    """The cheapest fill to compact at, in tokens: an order-quantity problem. Each turn carries what came before it at
    the cached price, each compaction reads and writes once; `n* = sqrt(2A / (c g))` turns lie best between two.
    """
    highest = int(usage.window * HIGHEST_SOFT_RATIO)
    if cached_price is None or usage.per_turn <= 0:
        return highest
    cached = max(cached_price, 0.01)
    once = usage.kept + SUMMARY_TOKENS + cached * usage.fixed + OUTPUT_PRICE * SUMMARY_TOKENS
    turns = math.sqrt(2 * once / (cached * usage.per_turn))
    best = usage.fixed + usage.kept + usage.per_turn * turns
    least = usage.fixed + usage.kept + LEAST_GAIN_TOKENS
    return int(min(highest, max(best, least)))
