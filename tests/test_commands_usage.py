"""/usage: what models were asked and what that cost, of whom and by what, and who may read it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import select, update

from bot.commands.usage import money_words
from bot.llm.model import ModelUnreachable, ToolCall, Usage
from bot.store.database import Tx
from bot.store.ledger_tables import model_calls
from bot.testing import FakeAdapter, Reply, ScriptedModel, make_channel, make_inbound
from tests.conftest import MakeApp
from tests.folding import GIST, SMALL, talk
from tests.talking import ALICE, BOB, GROUP, Chat, open_chat

PRICED = {
    "test": {"base_url": "https://models.example/v1", "input_price": 2.0, "output_price": 10.0, "cached_price": 0.1}
}
"""Dollars for a million tokens; cached ones cost a tenth."""
USED = Usage(input_tokens=1_000_000, cached_tokens=500_000, output_tokens=100_000)
"""A dollar for what was read, ten cents for what was cached, and another dollar."""
OK = Reply(text="ok", usage=USED)


async def open_priced(make_app: MakeApp, replies: Sequence[Reply] = (OK,), **settings: Any) -> Chat:
    """A chat in a group that Alice manages, with a model that has a price."""
    model = ScriptedModel(replies)
    adapter = FakeAdapter(managers=["alice"])
    settings = {"persona": "none", "providers": PRICED, "quota": {"messages_per_minute": 0}, **settings}
    return await open_chat(make_app, model=model, adapter=adapter, **settings)


async def test_each_reads_their_own_share_with_what_it_cost(make_app: MakeApp) -> None:
    chat = await open_priced(make_app)
    for author in (ALICE, ALICE, BOB):
        await chat.say("hello", author=author, channel=GROUP)
    (mine,) = await chat.say("/usage me day", channel=GROUP)
    assert "2 calls, 2,000,000 tokens read (50 % of them cached), 200,000 written, 4.20 USD" in mine
    (theirs,) = await chat.say("/usage day", author=BOB, channel=GROUP)
    assert "1 call, 1,000,000 tokens read (50 % of them cached), 100,000 written, 2.10 USD" in theirs


async def test_what_a_place_uses_is_told_apart_from_what_another_uses(make_app: MakeApp) -> None:
    chat = await open_priced(make_app)
    elsewhere = replace(make_channel(), place="2")
    await chat.say("hello", channel=GROUP)
    await chat.say("hello", channel=replace(GROUP, channel="other"))
    await chat.say("hello", channel=elsewhere)
    assert "2 calls" in (await chat.say("/usage here", channel=GROUP))[0]
    assert "1 call," in (await chat.say("/usage here", channel=elsewhere))[0]


@pytest.mark.parametrize(("period", "calls"), [("day", 1), ("week", 3), ("month", 1)])
async def test_days_weeks_and_months_begin_by_the_time_zone_of_the_settings(
    make_app: MakeApp, period: str, calls: int
) -> None:
    # It is Sunday, the 1st of November; in Tokyo that day began at 15:00 UTC of the day before.
    chat = await open_priced(make_app, timezone="Asia/Tokyo")
    for _ in range(4):
        await chat.say("hello")
    moments = ["2026-10-31 15:30", "2026-10-31 14:30", "2026-10-25 15:30", "2026-10-25 14:30"]
    await _date_calls(chat, moments)
    told = (await chat.say(f"/usage me {period}"))[0]
    assert f"{calls} call" in told


async def _date_calls(chat: Chat, moments: list[str]) -> None:
    """Let the calls have been made at these moments."""

    def date(tx: Tx) -> None:
        ids = tx.execute(select(model_calls.c.id).order_by(model_calls.c.id)).scalars().all()
        for number, moment in zip(ids, moments, strict=True):
            at = datetime.fromisoformat(moment).replace(tzinfo=UTC)
            tx.execute(update(model_calls).where(model_calls.c.id == number).values(at=at))

    await chat.app.core.db.run(date)


@pytest.mark.parametrize(
    "reply", [Reply(text="It begins", hold=asyncio.Event()), Reply(text="It begins")], ids=["broken off", "uncounted"]
)
async def test_what_no_server_has_counted_costs_what_we_estimate_and_is_told_to_be_that(
    make_app: MakeApp, reply: Reply
) -> None:
    chat = await open_priced(make_app, [reply])
    await chat.app.pipeline.deliver(make_inbound("hello"))
    await chat.model.wait_for(1)
    await chat.say("/stop")
    row = await chat.app.core.db.read(lambda tx: tx.execute(select(model_calls)).one())
    assert (row.input_tokens, row.currency) == (None, "USD")
    assert row.cost == row.estimated_tokens * 2_000 + row.output_tokens * 10_000
    (told,) = await chat.say("/usage me day")
    assert f"1 call, {row.estimated_tokens:,} tokens read" in told
    assert "What 1 of these calls cost is estimated" in told


async def test_what_a_limit_holds_back_is_no_call(make_app: MakeApp) -> None:
    chat = await open_priced(make_app, quota={"messages_per_minute": 0, "person": {"tokens_per_day": 1_100_000}})
    for _ in range(3):
        await chat.say("hello")
    assert len(chat.model.requests) == 1
    (told,) = await chat.say("/usage me day")
    assert "1 call, 1,000,000 tokens read" in told


async def test_a_limit_of_less_than_a_hundredth_is_told_as_it_is(make_app: MakeApp) -> None:
    chat = await open_priced(make_app, quota={"messages_per_minute": 0, "person": {"money_per_day": 0.001}})
    (told,) = await chat.say("hello")
    assert "0.001 USD" in told
    assert "of 0.001 USD" in (await chat.say("/quota"))[0]


async def test_a_call_that_failed_has_read_nothing(make_app: MakeApp) -> None:
    chat = await open_priced(make_app, [Reply(text="", error=ModelUnreachable("m", "gone"))])
    await chat.say("hello")
    (told,) = await chat.say("/usage me day")
    assert "1 call, 0 tokens read" in told
    assert "estimated" not in told


async def test_what_goes_on_behind_tools_is_told_apart(make_app: MakeApp) -> None:
    call = ToolCall(id="1", name="roll_dice", arguments='{"dice": "d6"}')
    chat = await open_priced(make_app, [Reply(text="", tool_calls=(call,), usage=USED), Reply(text="six", usage=USED)])
    await chat.say("roll a die")
    (told,) = await chat.say("/usage here")
    assert "- answers: 1 call, " in told
    assert "- answers that go on behind tools: 1 call, " in told


async def test_notes_are_on_the_account_of_the_persona_they_are_taken_for(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, model=ScriptedModel(summaries=[GIST]), **SMALL)
    await talk(chat, 40)
    assert chat.model.summaries
    (told,) = await chat.say("/usage persona")
    assert f"- notes: {len(chat.model.summaries)} call" in told


async def test_a_persona_has_its_own_account_in_each_place(make_app: MakeApp) -> None:
    chat = await open_priced(make_app, persona="bryony")
    await chat.say("hello", channel=GROUP)
    await chat.say("/persona use thrupp", channel=GROUP)
    await chat.say("hello", channel=GROUP)
    await chat.say("hello again", channel=GROUP)
    (told,) = await chat.say("/usage persona day", channel=GROUP)
    assert told.startswith("Thrupp here today: 2 calls")
    (told,) = await chat.say("/usage here day -b persona", channel=GROUP)
    assert ("- Thrupp: 2 calls" in told, "- Bryony: 1 call" in told) == (True, True)


async def test_all_of_it_is_told_by_place_to_those_alone_who_run_the_bot(make_app: MakeApp) -> None:
    chat = await open_priced(make_app, access={"admins": ["fake:bob"]})
    for number in range(10):
        await chat.say("hello", channel=make_channel(f"room{number}", dm=True))
    (refused,) = await chat.say("/usage all")
    assert "ACCESS\\_\\_ADMINS" in refused or "ACCESS__ADMINS" in refused
    (told,) = await chat.say("/usage all", author=BOB)
    assert told.startswith("Everywhere this month: 10 calls")
    assert told.count("- fake:dm-room") == 8
    assert chat.last_reply.outbound is not None
    ((button,),) = chat.last_reply.outbound.buttons
    (second,) = await chat.press(button.command, author=BOB)
    assert second.count("- fake:dm-room") == 2


async def test_who_asked_how_much_is_told_to_those_alone_who_manage_the_place(make_app: MakeApp) -> None:
    chat = await open_priced(make_app)
    await chat.say("hello", author=BOB, channel=GROUP)
    await chat.say("hello", channel=GROUP)
    (refused,) = await chat.say("/usage here -b person", author=BOB, channel=GROUP)
    assert "Bob" not in refused
    assert "- Bob: 1 call" in (await chat.say("/usage me -b person", author=BOB, channel=GROUP))[0]
    (told,) = await chat.say("/usage here -b person", channel=GROUP)
    assert ("- Bob: 1 call" in told, "- Alice: 1 call" in told) == (True, True)


async def test_a_price_that_nobody_knows_is_said_and_counted_as_none(make_app: MakeApp) -> None:
    chat = await open_priced(make_app, providers={"test": {"base_url": "https://models.example/v1"}})
    await chat.say("hello")
    (told,) = await chat.say("/usage")
    assert "USD" not in told
    assert "Nobody knows what 1 of these calls cost" in told


async def test_a_model_at_home_costs_nothing_and_has_no_unknown_price(make_app: MakeApp) -> None:
    chat = await open_priced(make_app, providers={"test": {"base_url": "http://127.0.0.1:9/v1"}})
    await chat.say("hello")
    (told,) = await chat.say("/usage")
    assert told == "Your share this month: 1 call, 1,000,000 tokens read (50 % of them cached), 100,000 written."


async def test_totals_survive_reset_and_clearing(make_app: MakeApp) -> None:
    chat = await open_priced(make_app)
    await chat.say("hello")
    before = await chat.say("/usage")
    await chat.say("/reset")
    await chat.say("/memory clear all --yes")
    assert await chat.say("/usage") == before


async def test_whoever_has_asked_nothing_reads_that(make_app: MakeApp) -> None:
    chat = await open_priced(make_app)
    assert await chat.say("/usage week") == ["No model was asked for that this week."]


@pytest.mark.parametrize(
    ("money", "words"),
    [
        ({}, ""),
        ({"USD": 4_200_000_000}, "4.20 USD"),
        ({"USD": 1_234_567_000_000_000, "CNY": 500_000_000}, "1,234,567.00 USD + 0.50 CNY"),
        ({"USD": 123_456}, "0.00012 USD"),
        ({"USD": 0}, "0.00 USD"),
    ],
)
def test_money_is_told_in_its_own_currency_and_never_rounded_to_nothing(money: dict[str, int], words: str) -> None:
    assert money_words(money) == words
