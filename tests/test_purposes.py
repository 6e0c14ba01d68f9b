"""Which limits count a call follows from what it is for; what was broken off is estimated, whatever it was for."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Row, select

from bot.llm.model import Attempt, Bill, Completion, Finish, ModelRequest, ModelUnreachable, Purpose, Usage
from bot.quota import OverBudget, Whose
from bot.quota.purposes import RULES
from bot.store.database import Database
from bot.store.ledger_tables import model_calls
from bot.store.sessions import session_by_id
from bot.testing import Reply, ScriptedModel, make_inbound
from tests.conftest import MakeApp
from tests.emulators.openai import OpenAIEmulator
from tests.folding import Fold
from tests.spending import PRICED, ask, open_limited, quota, reserved, settle, spent
from tests.talking import Chat, open_chat
from tests.test_due import keep, raise_due
from tests.test_vision import EYES, GIVEN, picture
from tests.test_voice import recording, speaking

NOTE = Path(__file__).parents[1] / "docs/design/limits.md"
DAY = "2026-11-01"
LARGE = {"tokens_per_day": 10_000_000, "money_per_day": 10_000}
ALL = {"person": LARGE, "place": LARGE, "total": LARGE}


def test_every_purpose_has_a_rule_and_the_design_note_tells_it() -> None:
    assert {*RULES} == {*Purpose}
    told = re.findall(r"^\| `(\w+)` \| (\w*) \| (\w*) \| (\w*) \| (\w*) \|", NOTE.read_text(encoding="utf-8"), re.M)
    ours = [
        (purpose.value, *("yes" if whose in rule.whose else "" for whose in Whose), "yes" if may_refuse else "")
        for purpose, rule in RULES.items()
        for may_refuse in (rule.may_refuse and bool(rule.whose),)
    ]
    assert told == ours


async def spend(chat: Chat, purpose: Purpose) -> None:
    """A call of a thousand tokens."""
    purse = chat.app.models.purse
    assert purse is not None
    bill = Bill(place_key="fake:p", author_key="fake:alice", purpose=purpose, input_tokens=900, is_awaited=True)
    request = ModelRequest(model="test/scripted", messages=(), max_output_tokens=100, bill=bill)
    async with purse.spend(request) as spending:
        usage = Usage(input_tokens=900, output_tokens=100)
        spending.see(Completion(text="ok", finish=Finish.STOP, usage=usage))
    await settle(chat)


@pytest.mark.parametrize("purpose", [*Purpose])
async def test_a_call_counts_against_the_limits_of_its_purpose_and_no_other(
    make_app: MakeApp, purpose: Purpose
) -> None:
    limits = {whose: {"tokens_per_day": 1_500} for whose in ("person", "place", "total")}
    chat = await open_limited(make_app, quota=quota(**limits))
    await spend(chat, purpose)
    rule = RULES[purpose]
    assert await spent(chat) == {(whose.value, DAY, "tokens"): 1_000 for whose in rule.whose}
    if rule.whose and rule.may_refuse:
        with pytest.raises(OverBudget):
            await spend(chat, purpose)
    else:
        await spend(chat, purpose)
        assert await spent(chat) == {(whose.value, DAY, "tokens"): 2_000 for whose in rule.whose}
    assert await reserved(chat) == 0


async def test_what_the_persona_says_unasked_is_no_persons_to_pay(make_app: MakeApp) -> None:
    chat = await open_limited(make_app, proactive=True, quota=quota(**ALL))
    await ask(chat, 1)
    await keep(chat)
    before = await spent(chat)
    assert await raise_due(chat) == ["ok"]
    await settle(chat)
    (row,) = await calls_of(chat, Purpose.PROACTIVE)
    assert row.author_key is None
    after = await spent(chat)
    grown = {
        whose for whose, _, unit in after if unit == "tokens" and after[whose, DAY, unit] > before[whose, DAY, unit]
    }
    assert grown == {"place", "total"}


async def test_reading_ahead_counts_against_nothing(make_app: MakeApp) -> None:
    chat = await open_limited(make_app, quota=quota(**ALL))
    await ask(chat, 1)
    before, inbound = await spent(chat), make_inbound("hello")
    await chat.app.warm(inbound.channel, inbound.author)
    await settle(chat)
    assert len(chat.model.requests) == 2
    assert await spent(chat) == before


@pytest.mark.parametrize("price", [{}, {"input_price": 1_000, "output_price": 0}], ids=["at home", "priced"])
async def test_verdicts_count_for_the_place_and_the_whole_and_no_limit_keeps_moderation_out(
    make_app: MakeApp, price: dict[str, Any]
) -> None:
    async with OpenAIEmulator() as server:
        providers = {"test": {"base_url": "http://127.0.0.1:9/v1"}, "lab": {"base_url": server.base_url, **price}}
        given = {"model": "lab/omni", "input": True}
        limits = {"place": {"tokens_per_day": 10_000}, "person": LARGE, "total": {"money_per_day": 0.001}}
        chat = await open_limited(make_app, providers=providers, moderation=given, quota=quota(**limits))
        await ask(chat, 3)
        assert len(server.judged) == 3, "also where money is used up"
        rows = await calls_of(chat, Purpose.MODERATION)
        read = sum(row.estimated_tokens for row in rows)
        assert {(row.author_key, row.input_tokens, row.output_tokens) for row in rows} == {(None, None, 0)}
        counted = await spent(chat)
        assert counted["place", DAY, "tokens"] == 3 * 1_000 + read
        assert counted["person", DAY, "tokens"] == 3 * 1_000
        assert counted.get(("total", DAY, "USD"), 0) == (read * 1_000_000 if price else 0)
        assert {row.cost for row in rows} == {row.estimated_tokens * 1_000_000 if price else 0 for row in rows}


# What was broken off


async def calls_of(chat: Chat, purpose: Purpose) -> list[Row[Any]]:
    return await rows_of(chat.app.core.db, purpose)


async def rows_of(db: Database, purpose: Purpose) -> list[Row[Any]]:
    found = select(model_calls).where(model_calls.c.purpose == purpose).order_by(model_calls.c.id)
    return await db.run(lambda tx: [*tx.execute(found)])  # behind what was posted


async def broken_look(make_app: MakeApp) -> Row[Any]:
    def looks(request: ModelRequest) -> Reply:
        return Reply(text="A cat and", hold=asyncio.Event()) if request.model == EYES else Reply()

    model = ScriptedModel(looks)
    chat = await open_chat(make_app, model=model, **GIVEN, providers=PRICED)
    await chat.app.pipeline.deliver(make_inbound("look", attachments=(picture(),)))
    await model.wait_for(1)
    await chat.say("/stop")
    (row,) = await calls_of(chat, Purpose.VISION)
    assert row.estimated_tokens > 800, "a picture fills as much as in a prompt"
    return row


async def broken_question(make_app: MakeApp) -> Row[Any]:
    model = ScriptedModel([Reply(), Reply(text="It begins", hold=asyncio.Event())])
    chat = await open_chat(make_app, model=model, persona="none", providers=PRICED)
    await chat.say("hello")
    session = await chat.app.core.db.read(session_by_id, 1)
    asking = asyncio.ensure_future(chat.app.core.host.ask(session, model.requests[0].messages))
    await model.wait_for(2)
    await cancel(asking)
    (row,) = await calls_of(chat, Purpose.EXTENSION)
    return row


async def broken_transcript(make_app: MakeApp) -> Row[Any]:
    prices = {"lab/ears": {"input_price": 1_000, "output_price": 0}}
    async with speaking(make_app, models=prices) as (chat, server):
        server.audio.gates = gates = (asyncio.Event(), asyncio.Event())
        await chat.app.pipeline.deliver(make_inbound("", attachments=(recording(),)))
        await asyncio.wait_for(gates[0].wait(), 10)
        await chat.say("/stop")
        gates[1].set()
        (row,) = await calls_of(chat, Purpose.TRANSCRIPTION)
    assert row.estimated_tokens == 130, "twelve seconds, rather thought too long"
    return row


@pytest.mark.parametrize("breaks", [broken_look, broken_question, broken_transcript])
async def test_what_was_broken_off_is_in_the_ledger_with_what_it_is_thought_to_cost(
    make_app: MakeApp, breaks: Callable[[MakeApp], Awaitable[Row[Any]]]
) -> None:
    row = await breaks(make_app)
    assert (row.outcome, row.input_tokens) == ("interrupted", None), "as an estimate"
    assert row.cost == (row.estimated_tokens + row.output_tokens) * 1_000_000


async def test_notes_that_were_broken_off_are_in_the_ledger_as_an_estimate(db: Database) -> None:
    gone = Attempt(outcome="length", usage=Usage(input_tokens=5, output_tokens=7))
    it = Fold(db, summaries=[Reply(text='{"gist": "They', hold=asyncio.Event(), attempts=(gone,))])
    await it.talk(*(f"number {number}" for number in range(12)))
    folding = asyncio.ensure_future(it.fold())
    await asyncio.wait_for(it.model.asked.wait(), 10)
    await cancel(folding)
    first, last = await rows_of(db, Purpose.SUMMARY)
    assert (first.outcome, first.input_tokens, first.output_tokens) == ("length", 5, 7)
    assert (last.outcome, last.input_tokens, last.output_tokens) == ("interrupted", None, 1)
    assert last.estimated_tokens > 100


async def test_what_failed_before_a_word_came_costs_nothing(make_app: MakeApp) -> None:
    def looks(request: ModelRequest) -> Reply:
        return Reply(text="", error=ModelUnreachable(EYES, "no answer.")) if request.model == EYES else Reply()

    chat = await open_chat(make_app, model=ScriptedModel(looks), **GIVEN, providers=PRICED)
    await chat.say("look", attachments=(picture(),))
    (row,) = await calls_of(chat, Purpose.VISION)
    assert (row.outcome, row.output_tokens, row.cost) == ("unreachable", None, None)


async def cancel(work: asyncio.Future[Any]) -> None:
    work.cancel()
    with suppress(asyncio.CancelledError):
        await work
    assert work.cancelled()
