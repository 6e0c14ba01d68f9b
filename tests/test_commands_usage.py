"""/usage: what models were asked and what that cost, of whom and by what, and who may read it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import select, update

from bot.llm.model import Usage
from bot.store.ledger_tables import model_calls
from bot.testing import FakeAdapter, Reply, ScriptedModel, make_channel
from tests.conftest import MakeApp
from tests.talking import ALICE, BOB, GROUP, Chat, open_chat

PRICED = {
    "test": {"base_url": "https://models.example/v1", "input_price": 2.0, "output_price": 10.0, "cached_price": 0.1}
}
"""Dollars for a million tokens; cached ones cost a tenth."""
USED = Usage(input_tokens=1_000_000, cached_tokens=500_000, output_tokens=100_000)
"""A dollar for what was read, ten cents for what was cached, and another dollar."""


async def open_priced(make_app: MakeApp, **settings: object) -> Chat:
    model = ScriptedModel([Reply(text="ok", usage=USED)])
    adapter = FakeAdapter(managers=["alice"])
    return await open_chat(
        make_app, model=model, adapter=adapter, persona="none", **{"providers": PRICED, "quota": NO_RATE, **settings}
    )


NO_RATE = {"messages_per_minute": 0}


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
    from datetime import UTC, datetime

    def date(tx):  # type: ignore[no-untyped-def]
        ids = tx.execute(select(model_calls.c.id).order_by(model_calls.c.id)).scalars().all()
        for number, moment in zip(ids, moments, strict=True):
            at = datetime.fromisoformat(moment).replace(tzinfo=UTC)
            tx.execute(update(model_calls).where(model_calls.c.id == number).values(at=at))

    await chat.app.core.db.run(date)
