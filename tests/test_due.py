"""Follow-ups come back: the persona is reminded at the end of the prompt, and where it may, it speaks first."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import func, select, update

from bot.app.clock import build_raiser
from bot.chat import ChannelRef
from bot.llm.model import ModelError, Role
from bot.memory.due import MOST_REMINDED, due_items
from bot.memory.items import Add, FollowUpState, Item, ItemKind, Memory, NewItem
from bot.prompt.due import write_due
from bot.store.conversations import conversation_by_id
from bot.store.database import Tx
from bot.store.memories import insert_item, read_ground
from bot.store.memory_tables import memory_items
from bot.store.sessions import find_session
from bot.store.tables import messages, sessions
from bot.testing import NOW, Reply, ScriptedModel, make_turn
from tests.conftest import MakeApp
from tests.stories import Story
from tests.talking import DM, GROUP, Chat, open_chat
from tests.test_store_plans import plan_of

TODAY = NOW.date()
DAY = timedelta(days=1)
NOON = NOW.replace(hour=12, minute=0) + DAY
"""Somebody spoke at NOW; it is the next day."""
DUE_DAY = NOON.date()
TENT = "bring the tent"


def follow_up(text: str = TENT, day: date | None = DUE_DAY, **more: Any) -> NewItem:
    return NewItem(
        kind=ItemKind.FOLLOW_UP, text=text, day=day, state=FollowUpState.OPEN, subject="fake:alice",
        subject_name="Alice", **more,
    )  # fmt: skip


def remember(tx: Tx, channel: ChannelRef, new: NewItem, *, replaces: int | None = None) -> int:
    session = find_session(tx, channel)
    assert session is not None
    assert session.conversation_id is not None
    ground = read_ground(tx, conversation_by_id(tx, session.conversation_id).id)
    assert ground is not None
    return insert_item(tx, ground, Add(item=new, replaces=replaces), "fake:alice", len, NOW)


async def keep(chat: Chat, *news: NewItem, channel: ChannelRef = DM) -> list[int]:
    """Let the persona remember some follow-ups."""
    db = chat.app.core.db
    return [await db.run(remember, channel, new) for new in news or (follow_up(),)]


async def raise_due(chat: Chat, now: datetime = NOON) -> list[str]:
    """What the bot says by itself when the clock looks."""
    before = len(chat.adapter.texts)
    await build_raiser(chat.app.core, chat.app.desk).raise_due(now)
    await chat.settled()
    return chat.adapter.texts[before:]


async def open_proactive(make_app: MakeApp, *, channel: ChannelRef = DM, **settings: Any) -> Chat:
    given = {"persona": "none", "proactive": True, **settings}
    chat = await open_chat(
        make_app, model=ScriptedModel([Reply(text="hi"), Reply(text="Is the tent packed?")]), **given
    )
    await chat.say("hello", channel=channel)
    return chat


def item(item_id: int, **changes: Any) -> Item:
    return Item(id=item_id, new=replace(follow_up(), **changes), tokens=1)


@pytest.mark.parametrize(
    ("day", "is_due"),
    [
        (TODAY, True),
        (TODAY - DAY, True),
        (TODAY + DAY, False),
        (TODAY - 14 * DAY, True),
        (TODAY - 15 * DAY, False),
        (None, False),
    ],
)
def test_a_follow_up_is_due_from_its_day_on_for_two_weeks(day: date | None, is_due: bool) -> None:
    assert bool(due_items(Memory(items=(item(1, day=day),)), TODAY)) is is_due


@pytest.mark.parametrize("state", [FollowUpState.DONE, FollowUpState.DROPPED])
def test_what_is_closed_is_never_due(state: FollowUpState) -> None:
    assert due_items(Memory(items=(item(1, day=TODAY, state=state),)), TODAY) == ()


def test_of_many_those_come_back_whose_days_came_last() -> None:
    many = tuple(item(number, day=TODAY - number * DAY) for number in range(1, 8))
    assert [one.id for one in due_items(Memory(items=many), TODAY)] == list(range(MOST_REMINDED, 0, -1))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TENT, "[Due and still open: Alice: bring the tent"),
        ("带帐篷来参加露营", "[已到期且尚未完成：Alice: 带帐篷来参加露营"),
    ],
)
def test_a_persona_is_reminded_in_the_language_of_the_note(text: str, expected: str) -> None:
    note = write_due(make_turn(due=(item(1, text=text),)))
    assert note is not None
    assert note.startswith(expected)


def test_where_nothing_is_due_nothing_is_said() -> None:
    assert write_due(make_turn()) is None


async def test_what_is_due_stands_behind_the_history_and_not_in_the_stable_beginning(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="none")
    await chat.say("hello")
    await keep(chat, follow_up(day=TODAY))
    await chat.say("and now?")
    roles = [(message.role, "Due and still open" in message.text) for message in chat.model.requests[-1].messages]
    assert roles[0] == (Role.SYSTEM, False)
    assert [found for _, found in roles].count(True) == 1


async def test_the_day_is_that_of_the_sessions_time_zone(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="none", timezone="Pacific/Kiritimati")  # 14 hours ahead
    await chat.say("hello")
    await keep(chat, follow_up(day=(NOW + timedelta(hours=14)).date()))
    await chat.say("and now?")
    assert any("Due and still open" in message.text for message in chat.model.requests[-1].messages)


async def test_the_bot_speaks_first_about_what_is_due_and_keeps_it_as_its_own_words(make_app: MakeApp) -> None:
    chat = await open_proactive(make_app)
    await keep(chat)
    assert await raise_due(chat) == ["Is the tent packed?"]
    assert any(TENT in message.text and "Speak first" in message.text for message in chat.model.requests[-1].messages)
    await chat.say("yes, it is")
    assert (
        chat.last_prompt[-2:][0][1] == "Is the tent packed?" or ("assistant", "Is the tent packed?") in chat.last_prompt
    )


@pytest.mark.parametrize(
    ("settings", "now"),
    [
        ({"proactive": False}, NOON),
        ({}, NOON - DAY),
        ({}, NOON.replace(hour=7)),
        ({}, NOON.replace(hour=22)),
        ({"timezone": "Asia/Tokyo"}, NOON.replace(hour=14)),
        ({}, NOW + timedelta(days=15)),
    ],
    ids=["off", "too early", "early morning", "night", "night there", "nobody here for weeks"],
)
async def test_it_stays_silent(make_app: MakeApp, settings: dict[str, Any], now: datetime) -> None:
    chat = await open_proactive(make_app, **settings)
    await keep(chat)
    assert await raise_due(chat, now) == []


@pytest.mark.parametrize("access", [{"deny_places": DM.place_key}, {"allow_channels": "fake:elsewhere"}])
async def test_it_stays_silent_where_the_bot_is_no_longer_wanted(make_app: MakeApp, access: dict[str, str]) -> None:
    chat = await open_proactive(make_app)
    await keep(chat)
    await chat.app.close()
    again = await open_chat(make_app, persona="none", proactive=True, access=access)
    assert await raise_due(again) == []


@pytest.mark.parametrize(
    ("access", "is_raised"),
    [
        ({"deny_users": "fake:alice"}, False),
        ({"allow_users": "fake:bob"}, False),
        ({"allow_users": "fake:alice"}, True),
        ({"allow_roles": "fake:1"}, False),
        ({"allow_roles": "fake:1", "admins": "fake:alice"}, True),
        ({"deny_users": "fake:bob"}, True),
    ],
)
@pytest.mark.parametrize("owner", ["fake:alice", None])
async def test_X02_nobody_is_spoken_to_who_would_not_be_answered(
    make_app: MakeApp, access: dict[str, str], is_raised: bool, owner: str | None
) -> None:
    chat = await open_proactive(make_app)
    await keep(chat, replace(follow_up(), subject=owner))
    await chat.app.close()
    again = await open_chat(make_app, persona="none", proactive=True, access=access)
    assert bool(await raise_due(again)) is is_raised


@pytest.mark.parametrize("owner", ["fake:alice", None])
async def test_nobody_is_spoken_to_first_who_wants_privacy_by_now(make_app: MakeApp, owner: str | None) -> None:
    chat = await open_proactive(make_app)
    await keep(chat, replace(follow_up(), subject=owner))
    await chat.say("/privacy on")
    assert await raise_due(chat) == []
    await chat.say("/privacy off")
    assert len(await raise_due(chat)) == 1


async def test_while_people_talk_it_is_not_brought_up_unasked(make_app: MakeApp) -> None:
    chat = await open_proactive(make_app)
    await keep(chat)
    just_now = update(sessions).values(last_human_at=NOON - timedelta(minutes=9))
    await chat.app.core.db.run(lambda tx: tx.execute(just_now))
    assert await raise_due(chat) == []


async def test_one_a_day_and_none_twice(make_app: MakeApp) -> None:
    chat = await open_proactive(make_app)
    await keep(chat, follow_up("first"), follow_up("second"))
    said = [len(await raise_due(chat, NOON + hours)) for hours in (0 * DAY, DAY / 24, DAY, 2 * DAY, 3 * DAY)]
    assert said == [1, 0, 1, 0, 0]


async def test_an_edited_follow_up_is_still_the_same_one(make_app: MakeApp) -> None:
    chat = await open_proactive(make_app)
    [first] = await keep(chat)
    assert await raise_due(chat)
    await chat.app.core.db.run(remember, DM, follow_up("bring the big tent"), replaces=first)
    assert await raise_due(chat, NOON + DAY) == []


async def test_what_is_done_meanwhile_is_not_brought_up(make_app: MakeApp) -> None:
    chat = await open_proactive(make_app)
    [first] = await keep(chat)
    await chat.say(f"/follow-ups done {first}")
    assert await raise_due(chat) == []


async def test_M11_it_is_raised_only_where_it_was_learned(make_app: MakeApp) -> None:
    chat = await open_proactive(make_app)
    await chat.say("hello", channel=GROUP)
    await keep(chat, channel=DM)
    await raise_due(chat)
    assert chat.last_reply.channel.session_key == DM.session_key
    assert len([reply for reply in chat.adapter.replies if reply.channel.session_key == GROUP.session_key]) == 1


async def test_after_a_reset_what_the_old_conversation_knew_is_not_raised(make_app: MakeApp) -> None:
    chat = await open_proactive(make_app)
    await keep(chat)
    await chat.say("/reset")
    assert await build_raiser(chat.app.core, chat.app.desk).raise_due(NOON) == 0


async def test_where_a_private_room_was_opened_what_it_knew_is_not_raised(make_app: MakeApp) -> None:
    chat = await open_proactive(make_app, channel=GROUP)
    await keep(chat, channel=GROUP)
    await chat.app.core.db.run(lambda tx: tx.execute(update(memory_items).values(visibility="private")))
    assert await raise_due(chat) == []


async def test_when_the_model_fails_nobody_hears_of_it(make_app: MakeApp) -> None:
    chat = await open_chat(
        make_app,
        model=ScriptedModel([Reply(text="hi"), Reply(text="", error=ModelError("test/scripted", "it is down"))]),
        persona="none",
        proactive=True,
    )
    await chat.say("hello")
    await keep(chat)
    assert await raise_due(chat) == []
    found = select(func.count()).select_from(messages).where(messages.c.kind == "reply")
    assert await chat.app.core.db.read(lambda tx: tx.execute(found).scalar_one()) == 1


async def test_looking_for_what_is_due_walks_no_table(make_app: MakeApp) -> None:
    chat = await open_proactive(make_app)
    await keep(chat)
    raiser = build_raiser(chat.app.core, chat.app.desk)
    plan = await chat.app.core.db.run(lambda tx: plan_of(tx, Story(tx), lambda tx, _: raiser.look(tx, NOON)))
    assert [line for line in plan if line.startswith("SCAN")] == []
    assert any("ix_memory_item_due" in line for line in plan)
