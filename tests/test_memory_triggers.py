"""When messages should move into memory, at the borders of every rule."""

from __future__ import annotations

import math
from typing import Any

import pytest

from bot.memory.triggers import LEAST_GAIN_TOKENS, Fill, Usage, fill_of, soft_limit
from bot.settings import Summary


def usage(**facts: Any) -> Usage:
    usual: dict[str, Any] = {
        "window": 10_000,
        "used": 3_000,
        "fixed": 1_500,
        "kept": 1_000,
        "messages": 25,
        "compactable": 5,
        "per_turn": 100.0,
    }
    return Usage(**{**usual, **facts})


def summary(**facts: Any) -> Summary:
    return Summary.model_validate(facts)


def trigger(kind: str, value: float | None = None) -> Summary:
    return summary(trigger={"type": kind, "value": value})


@pytest.mark.parametrize(
    ("settings", "facts", "fill"),
    [
        (trigger("token_ratio", 0.5), {"used": 4_999}, Fill.NORMAL),
        (trigger("token_ratio", 0.5), {"used": 5_000}, Fill.SOFT),
        (trigger("remaining_tokens", 4_000), {"used": 5_999}, Fill.NORMAL),
        (trigger("remaining_tokens", 4_000), {"used": 6_000}, Fill.SOFT),
        (trigger("tokens", 6_000), {"used": 5_999}, Fill.NORMAL),
        (trigger("tokens", 6_000), {"used": 6_000}, Fill.SOFT),
        (trigger("messages_to_refine", 30), {"compactable": 29}, Fill.NORMAL),
        (trigger("messages_to_refine", 30), {"compactable": 30}, Fill.SOFT),
        (trigger("off"), {"used": 9_000}, Fill.NORMAL),
        (trigger("off"), {"used": 9_000, "was_dropped": True}, Fill.SOFT),
        (trigger("off"), {"used": 9_001}, Fill.HARD),
        (summary(threshold=30, trigger={"type": "off"}), {"messages": 29}, Fill.NORMAL),
        (summary(threshold=30, trigger={"type": "off"}), {"messages": 30}, Fill.SOFT),
        (summary(hard_ratio=0.8), {"used": 8_000}, Fill.SOFT),
        (summary(hard_ratio=0.8), {"used": 8_001}, Fill.HARD),
        (summary(), {"used": 6_999}, Fill.NORMAL),
        (summary(), {"used": 7_000}, Fill.SOFT),
    ],
)
def test_fill_at_its_borders(settings: Summary, facts: dict[str, Any], fill: Fill) -> None:
    assert fill_of(usage(**facts), settings, cached_price=None) is fill


def test_auto_compacts_where_carrying_and_folding_cost_the_least() -> None:
    """With a persona of 1,500 tokens, 2,048 kept, 142.8 a turn and a cached price of 0.1 that is about 8,600."""
    found = usage(window=16_384, fixed=1_504 + 812, kept=2_048, per_turn=142.8)
    once = 2_048 + 800 + 0.1 * found.fixed + 4 * 800
    best = found.fixed + found.kept + 142.8 * math.sqrt(2 * once / (0.1 * 142.8))
    assert soft_limit(found, cached_price=0.1) == int(best)
    assert 8_300 < best < 9_100


@pytest.mark.parametrize("price", [0.0, 0.01, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("per_turn", [1.0, 100.0, 3_000.0])
def test_auto_stays_between_a_worthwhile_gain_and_seven_tenths(price: float, per_turn: float) -> None:
    found = usage(per_turn=per_turn)
    limit = soft_limit(found, cached_price=price)
    assert min(7_000, found.fixed + found.kept + LEAST_GAIN_TOKENS) <= limit <= 7_000
