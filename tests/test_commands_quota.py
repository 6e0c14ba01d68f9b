"""/quota: what is left, of one's own limits and, for those who look after them, of the others."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select

from bot.llm.model import Usage
from bot.store.ledger_tables import budgets
from bot.testing import NOW, FakeAdapter, Reply, ScriptedModel, make_author
from tests.conftest import MakeApp
from tests.talking import ALICE, BOB, DM, GROUP, Chat, open_chat

LIMITS = {
    "messages_per_minute": 5,
    "place_messages_per_minute": 50,
    "person": {"tokens_per_day": 10_000, "money_per_month": 20},
    "place": {"tokens_per_month": 40_000},
    "total": {"money_per_day": 100},
}
PRICED = {"test": {"base_url": "https://models.example/v1", "input_price": 1_000, "output_price": 1_000}}


async def open_limited(make_app: MakeApp, **settings: Any) -> Chat:
    """Alice runs the bot, Bob has no rights; an answer costs a thousand tokens, each a tenth of a cent."""
    model = ScriptedModel([Reply(text="ok", usage=Usage(input_tokens=900, output_tokens=100))])
    given = {"persona": "none", "providers": PRICED, "quota": LIMITS, "access": {"admins": ["fake:alice"]}}
    return await open_chat(make_app, model=model, adapter=FakeAdapter(), max_output_tokens=100, **{**given, **settings})


async def test_everybody_reads_what_is_left_to_them(make_app: MakeApp) -> None:
    chat = await open_limited(make_app)
    for _ in range(2):
        await chat.say("hello", author=BOB, channel=GROUP)
    (told,) = await chat.say("/quota", author=BOB, channel=GROUP)
    assert told.splitlines() == [
        "Your limits:",
        "- Answers left in this minute: 3 of 5",
        "- Today: 2,000 of 10,000 tokens (20 %), anew from 2026-11-02 00:00 UTC",
        "- This month: 2.00 USD of 20.00 USD (10 %), anew from 2026-12-01 00:00 UTC",
    ]
    assert chat.last_reply.outbound is not None
    assert chat.last_reply.outbound.private


async def test_those_who_look_after_a_limit_read_how_it_stands(make_app: MakeApp) -> None:
    chat = await open_limited(make_app)
    await chat.say("hello", author=BOB, channel=GROUP)
    (told,) = await chat.say("/quota", author=ALICE, channel=GROUP)
    mine, places, whole = told.split("\n\n")
    assert "- Today: 0 of 10,000 tokens (0 %)" in mine
    assert "- This month: 1,000 of 40,000 tokens (2 %)" in places
    assert "- Answers left in this minute: 49 of 50" in places
    assert "- Today: 1.00 USD of 100.00 USD (1 %)" in whole


@pytest.mark.parametrize(
    ("quota", "told"),
    [
        ({"messages_per_minute": 0}, "No limits are set for you."),
        ({**LIMITS, "exempt_users": ["fake:bob"]}, "The limits per person and place do not count for you."),
    ],
)
async def test_whoever_has_no_limits_reads_that(make_app: MakeApp, quota: dict[str, Any], told: str) -> None:
    chat = await open_limited(make_app, quota=quota)
    assert await chat.say("/quota", author=BOB, channel=GROUP) == [told]


async def test_money_that_nobody_has_spent_yet_has_no_currency(make_app: MakeApp) -> None:
    chat = await open_limited(make_app)
    (told,) = await chat.say("/quota", author=BOB)
    assert "- This month: 0.00 of 20.00 (0 %)" in told


async def test_when_a_limit_begins_anew_is_told_by_the_reader_s_own_clock(make_app: MakeApp) -> None:
    chat = await open_limited(make_app)
    await chat.say("/me zone Asia/Tokyo", author=BOB, channel=GROUP)
    (told,) = await chat.say("/quota", author=BOB, channel=GROUP)
    assert "anew from 2026-11-02 09:00 Asia/Tokyo" in told


async def test_X10_nobody_has_a_limit_anew_by_being_forgotten(make_app: MakeApp) -> None:
    chat = await open_limited(make_app)
    for _ in range(2):
        await chat.say("hello", author=BOB, channel=GROUP)
    code, later = chat.app.desk.eraser.code_for(BOB.key), NOW + timedelta(minutes=1)
    await chat.say(f"/privacy forget-me {code}", author=BOB, channel=GROUP)
    (told,) = await chat.say("/quota", author=BOB, channel=GROUP, sent_at=later)
    assert "- Today: 2,000 of 10,000 tokens (20 %)" in told
    assert "- This month: 2.00 USD of 20.00 USD (10 %)" in told


async def _spent(chat: Chat, scope: str, key: str) -> list[int]:
    found = select(budgets.c.spent).where(budgets.c.scope == scope, budgets.c.scope_key == key)
    return await chat.app.core.db.read(lambda tx: [*tx.execute(found).scalars()])


async def test_X10_nor_has_a_private_chat_its_limit_anew(make_app: MakeApp) -> None:
    chat = await open_limited(make_app)
    await chat.say("hello", author=BOB, channel=DM)
    assert await _spent(chat, "place", DM.place_key) == [1_000]
    await chat.app.desk.eraser.erase(BOB.key)
    assert await _spent(chat, "place", DM.place_key) == []
    await chat.say("hello", author=BOB, channel=DM, sent_at=NOW + timedelta(minutes=1))
    assert await _spent(chat, "place", DM.place_key) == [2_000]


async def test_X10_T11_whoever_speaks_in_a_groups_own_name_takes_its_limit_nowhere(make_app: MakeApp) -> None:
    chat = await open_limited(make_app)
    roses = replace(make_author("Roses"), id=GROUP.place)
    for author in (BOB, roses):
        await chat.say("hello", author=author, channel=GROUP)
    await chat.app.desk.eraser.erase(roses.key)
    assert roses.key == GROUP.place_key
    assert await _spent(chat, "place", GROUP.place_key) == [2_000]
