"""Sessions that have gone quiet are folded into memory: which, when, and what it costs where most are asleep."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert, select, update

from bot.app import App
from bot.app.clock import build_sweeper
from bot.chat import ChannelRef
from bot.llm.model import ModelRequest
from bot.memory.sweeper import AT_ONCE, Sweeper, leave_alone
from bot.personas.library import SHIPPED_FOLDER, PersonaLibrary
from bot.store.compactions import Outcome, Reason, newest_compactions
from bot.store.database import Tx
from bot.store.tables import conversations, listenings, messages, sessions
from bot.testing import NOW, Reply, ScriptedModel, make_channel
from tests.conftest import MakeApp
from tests.remembering import noting, talk
from tests.stories import Story
from tests.talking import Chat, open_chat
from tests.test_store_plans import A_WALK, FEW, plan_of, steps_of

IDLE = 240
SOON, LATER = NOW + timedelta(seconds=IDLE - 1), NOW + timedelta(seconds=IDLE)
QUIET: dict[str, Any] = {
    "persona": "none",
    "context_tokens": 8_000,
    "max_output_tokens": 200,
    "summary": {"keep_recent": 4, "keep_tokens": 0, "idle_seconds": IDLE, "trigger": {"type": "off"}},
}
"""Nothing moves into memory but by the sweep."""
ENOUGH, LITTLE = 30, 12
"""Messages with their answers: some 70 tokens each pair."""


def sweeper_of(app: App) -> Sweeper:
    return build_sweeper(app.core, app.models, app.keeper, "Familiar")


async def sweep(chat: Chat, now: datetime) -> int:
    tried = await sweeper_of(chat.app).sweep(now)
    await chat.settled()
    return tried


async def waiting(chat: Chat) -> list[datetime | None]:
    """Since when each session waits for the sweep."""
    found = select(sessions.c.sweep_from).order_by(sessions.c.id)
    return list(await chat.app.core.db.read(lambda tx: tx.execute(found).scalars().all()))


async def outcomes(chat: Chat) -> list[tuple[Reason, Outcome]]:
    """How the attempts ended, the newest first."""
    rows = await chat.app.core.db.read(newest_compactions, 1, 20)
    return [(row.reason, row.outcome) for row in rows if row.messages]


def quieten(tx: Tx, channel: ChannelRef, since: datetime) -> None:
    """Let nobody have spoken in a channel since then."""
    tx.execute(
        update(sessions).where(sessions.c.key == channel.session_key).values(last_human_at=since, sweep_from=since)
    )


def nothing(_request: ModelRequest) -> Reply:
    return Reply(text="I would rather not.")


@pytest.fixture
async def chat(make_app: MakeApp) -> Chat:
    return await open_chat(make_app, model=ScriptedModel(summaries=noting("Her name is Bob")), **QUIET)


@pytest.mark.parametrize(("now", "tried"), [(SOON, 0), (LATER, 1)])
async def test_a_session_is_folded_once_it_has_been_quiet_for_as_long_as_it_asks_for(
    chat: Chat, now: datetime, tried: int
) -> None:
    await talk(chat, ENOUGH)
    assert await sweep(chat, now) == tried
    assert await outcomes(chat) == [(Reason.IDLE, Outcome.DONE)] * tried


async def test_what_is_not_worth_a_call_is_left_alone_until_somebody_speaks(chat: Chat) -> None:
    await talk(chat, LITTLE)
    assert await sweep(chat, LATER) == 0
    assert await waiting(chat) == [None]
    assert chat.model.summaries == []
    await talk(chat, 1)
    assert await waiting(chat) == [NOW]


async def test_a_session_that_was_folded_is_not_looked_at_again(chat: Chat) -> None:
    await talk(chat, ENOUGH)
    assert [await sweep(chat, LATER) for _ in range(3)] == [1, 0, 0]
    assert await waiting(chat) == [None]
    assert len(chat.model.summaries) == 1


async def test_of_a_cast_each_ones_story_is_folded_and_only_what_failed_is_tried_again(
    make_app: MakeApp,
) -> None:
    note = noting("Her name is Bob", line="number 0 ")

    def half(request: ModelRequest) -> Reply:
        return nothing(request) if "Thrupp" in str(request.messages) else Reply(text=note(request))

    summary = {**QUIET["summary"], "reuse_prefix": "off"}  # a request behind the prefix names the others as well
    cast = {**QUIET, "persona": "bryony", "cast": ("thrupp",), "summary": summary}
    chat = await open_chat(make_app, model=ScriptedModel(summaries=half), **cast)
    await talk(chat, ENOUGH)
    assert await sweep(chat, LATER) == 2
    db = chat.app.core.db
    told = {number: await db.read(newest_compactions, number, 20) for number in (1, 2)}
    assert {number: rows[0].outcome for number, rows in told.items()} == {1: Outcome.DONE, 2: Outcome.FAILED}
    assert await sweep(chat, NOW + timedelta(seconds=IDLE * 2)) == 1, "the one that failed, alone"


async def test_each_ones_story_is_folded_by_the_model_of_its_own_card(make_app: MakeApp, tmp_path: Path) -> None:
    (tmp_path / "cards" / "mira").mkdir(parents=True)
    card = {"name": "Mira", "description": "Somebody.", "extensions": {"familiar": {"model": "test/other"}}}
    (tmp_path / "cards" / "mira" / "card.json").write_text(json.dumps(card))
    library = PersonaLibrary([SHIPPED_FOLDER, tmp_path / "cards"])
    summary = {**QUIET["summary"], "model_mode": "session"}
    cast = {**QUIET, "persona": "bryony", "cast": ("mira",), "library": library, "summary": summary}
    chat = await open_chat(make_app, model=ScriptedModel(summaries=noting("Her name is Bob")), **cast)
    await talk(chat, ENOUGH)
    assert await sweep(chat, LATER) == 2
    assert {request.model for request in chat.model.summaries} == {"test/scripted", "test/other"}


async def test_whoever_speaks_while_the_sweep_decides_is_not_forgotten(chat: Chat) -> None:
    await talk(chat, LITTLE)
    db, quiet = chat.app.core.db, sweeper_of(chat.app)
    verdicts = await db.read(quiet.look, LATER)
    await db.run(lambda tx: tx.execute(update(sessions).values(last_human_at=LATER, sweep_from=LATER)))
    await db.run(leave_alone, verdicts)
    assert await waiting(chat) == [LATER]


async def test_a_place_may_want_more_quiet_than_others_or_no_sweep_at_all(chat: Chat) -> None:
    await talk(chat, ENOUGH)
    await chat.say("/session set summary__idle_seconds 600")
    assert await sweep(chat, LATER) == 0
    assert await waiting(chat) == [NOW + timedelta(seconds=600 - IDLE)]
    assert await sweep(chat, NOW + timedelta(seconds=599)) == 0
    assert await sweep(chat, NOW + timedelta(seconds=600)) == 1
    await talk(chat, ENOUGH)
    await chat.say("/session set summary__idle_seconds 0")
    assert await sweep(chat, NOW + timedelta(days=1)) == 0
    assert await waiting(chat) == [None]


async def test_a_place_may_want_less_quiet_than_others(chat: Chat) -> None:
    await talk(chat, ENOUGH)
    await chat.say("/session set summary__idle_seconds 10")
    assert await sweep(chat, NOW + timedelta(seconds=10)) == 1


async def test_where_it_is_off_everywhere_nothing_is_swept(make_app: MakeApp) -> None:
    off = {**QUIET, "summary": {**QUIET["summary"], "idle_seconds": 0}}
    chat = await open_chat(make_app, model=ScriptedModel(summaries=noting("Her name is Bob")), **off)
    await talk(chat, ENOUGH)
    assert await sweep(chat, NOW + timedelta(days=1)) == 0


async def test_after_a_failure_it_waits_for_the_pause_and_tries_again(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, model=ScriptedModel(summaries=nothing), **QUIET)
    await talk(chat, ENOUGH)
    await chat.say("/session set summary__idle_seconds 10")
    moments = (10, 11, 59, 60)
    assert [await sweep(chat, NOW + timedelta(seconds=seconds)) for seconds in moments] == [1, 0, 0, 1]
    assert await outcomes(chat) == [(Reason.IDLE, Outcome.FAILED)]  # the app's own clock still stands within the pause


async def test_the_longest_quiet_come_first_and_few_at_once(make_app: MakeApp) -> None:
    may_end = asyncio.Event()

    def held(request: ModelRequest) -> Reply:
        return Reply(text=noting("Her name is Bob")(request), hold=may_end)

    chat = await open_chat(make_app, model=ScriptedModel(summaries=held), **QUIET)
    channels = [make_channel(thread=name) for name in ("one", "two", "three")]
    db = chat.app.core.db
    for hours, channel in enumerate(channels):
        await talk(chat, ENOUGH, channel=channel)
        await db.run(quieten, channel, NOW - timedelta(hours=hours))
    verdicts = await db.read(sweeper_of(chat.app).look, LATER)
    assert [verdict.quiet.session.channel for verdict in verdicts] == channels[::-1]
    sweeping = asyncio.ensure_future(sweeper_of(chat.app).sweep(LATER))
    async with asyncio.timeout(10):
        while len(chat.model.summaries) < AT_ONCE:
            chat.model.asked.clear()
            await chat.model.asked.wait()
    await db.run(lambda tx: None)  # whoever else wanted to begin would have by now
    await db.read(lambda tx: None)
    assert len(chat.model.summaries) == AT_ONCE
    may_end.set()
    assert await sweeping == len(channels)
    await chat.settled()
    assert len(chat.model.summaries) == len(channels)


def add_sessions(tx: Tx, first: int, count: int, *, sweep_from: datetime | None) -> None:
    """Sessions with a conversation and 40 messages each where they wait for the sweep."""
    ids = range(first, first + count)
    shared = {"place_key": "p", "platform": "fake", "place": "p", "visibility": "public", "created_at": NOW}
    tx.execute(
        insert(sessions),
        [
            {
                "id": number, "key": f"k{number}", "channel": str(number), "thread": "", "place_name": "",
                "channel_name": "", "label": "", "conversation_id": number, "last_human_at": sweep_from or NOW,
                "sweep_from": sweep_from, **shared,
            }
            for number in ids
        ],
    )  # fmt: skip
    opened = {"persona_id": "none", "opened_at": NOW, "watermark": -1, "generation": 0, "greeted": False}
    tx.execute(insert(conversations), [{"id": number, "session_id": number, **opened} for number in ids])
    if sweep_from is not None:
        heard = {"conversation_id": None, "from_position": 0}
        tx.execute(insert(listenings), [{**heard, "conversation_id": number} for number in ids])
        write_messages(tx, ids)


def write_messages(tx: Tx, ids: Iterable[int], each: int = 40) -> None:
    row = {
        "place_key": "p", "visibility": "public", "author_key": "fake:bob", "author_name": "Bob", "kind": "said",
        "text": "word " * 60, "addressed": False, "standing": "live", "cut": False, "tokens": 60, "quote": "",
        "sent_at": NOW,
    }  # fmt: skip
    numbers = [(session * 1000 + count, session) for session in ids for count in range(each)]
    tx.execute(insert(messages), [{**row, "id": n, "position": n, "session_id": session} for n, session in numbers])


async def test_sessions_that_sleep_cost_a_sweep_nothing(chat: Chat) -> None:
    sweeper = sweeper_of(chat.app)

    def act(tx: Tx) -> tuple[int, int]:
        story = Story(tx)
        add_sessions(tx, 100, 10, sweep_from=NOW)
        add_sessions(tx, 1_000, 50, sweep_from=None)
        few = steps_of(tx, story, lambda tx, _: sweeper.look(tx, LATER))
        add_sessions(tx, 10_000, 5_000, sweep_from=None)
        return few, steps_of(tx, story, lambda tx, _: sweeper.look(tx, LATER))

    few, many = await chat.app.core.db.run(act)
    assert many < few + A_WALK


async def test_no_statement_of_a_sweep_walks_a_table_or_sorts_one(chat: Chat) -> None:
    sweeper = sweeper_of(chat.app)

    def act(tx: Tx) -> list[str]:
        add_sessions(tx, 100, 2, sweep_from=NOW)
        return plan_of(tx, Story(tx), lambda tx, _: leave_alone(tx, sweeper.look(tx, LATER)))

    plan = await chat.app.core.db.run(act)
    assert [line for line in plan if line.startswith("SCAN") and not line.endswith(FEW)] == []
    assert "USE TEMP B-TREE FOR ORDER BY" not in plan
    assert any("ix_chat_session_sweep" in line for line in plan)
