"""When messages should move into memory, at the borders of every rule."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import pytest

from bot.llm.model import ModelRequest
from bot.memory.triggers import LEAST_GAIN_TOKENS, Fill, Usage, fill_of, soft_limit
from bot.settings import Summary
from bot.testing import Reply, ScriptedModel, make_inbound
from tests.conftest import MakeApp
from tests.folding import GIST, everything, rows_of
from tests.talking import open_chat


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


KEEP_FOUR: dict[str, Any] = {"keep_recent": 4, "keep_tokens": 0}


@pytest.mark.parametrize(
    "rule",
    [
        {"threshold": 10, "trigger": {"type": "off"}},
        {"trigger": {"type": "messages_to_refine", "value": 6}},
    ],
)
async def test_messages_count_together_with_the_newest_answer(make_app: MakeApp, rule: dict[str, Any]) -> None:
    """The fifth question and its answer are the ninth and the tenth message, and the sixth beyond four that stay."""
    model = ScriptedModel(summaries=[GIST])
    chat = await open_chat(make_app, model=model, persona="none", summary={**KEEP_FOUR, **rule})
    for number in range(4):
        await chat.say(f"number {number}")
    assert await rows_of(chat) == []
    await chat.say("number 4")
    assert [row.messages for row in await rows_of(chat)] == [6]


@pytest.mark.parametrize("focus", ["", "the trip to Bergen"])
async def test_what_is_asked_for_by_hand_while_notes_are_taken_comes_after_them(make_app: MakeApp, focus: str) -> None:
    begun, hold = asyncio.Event(), asyncio.Event()

    def slowly(_request: ModelRequest) -> Reply:
        begun.set()
        return Reply(text=GIST, hold=hold)

    rule = {**KEEP_FOUR, "threshold": 10, "trigger": {"type": "off"}}
    model = ScriptedModel(summaries=slowly)
    chat = await open_chat(make_app, model=model, persona="none", summary=rule)
    for number in range(5):
        await chat.app.pipeline.deliver(make_inbound(f"number {number} " + "word " * 50))
        await chat.app.dispatcher.idle()
    async with asyncio.timeout(10):
        await begun.wait()
    await chat.app.pipeline.deliver(make_inbound("one more " + "word " * 50))
    await chat.app.dispatcher.idle()
    await chat.ask(f"/compact {focus}")
    hold.set()
    await chat.settled()
    assert [row.messages for row in await rows_of(chat)] == [6, 2]
    assert ["the trip to Bergen" in everything(request) for request in model.summaries] == [False, bool(focus)]
