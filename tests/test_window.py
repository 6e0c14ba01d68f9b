"""What a turn reads: bursts, listening intervals, the order of the history, and where reading stops."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import update

from bot.chat import PartState
from bot.store import answers, replies
from bot.store.answers import LastReply
from bot.store.bursts import read_burst
from bot.store.database import Database, Tx
from bot.store.tables import MessageKind, messages
from bot.testing import NOW, FakeAdapter, Reply, ScriptedModel, make_author, make_inbound
from tests.conftest import MakeApp
from tests.stories import CHANNEL, Story, tool_round


@pytest.fixture
async def story(db: Database) -> Story:
    return await db.run(Story)


async def test_a_reply_stands_at_the_last_message_it_had_read(db: Database, story: Story) -> None:
    def act(tx: Tx) -> tuple[list[str], list[str]]:
        story.tx = tx
        first = story.say("first", addressed=True)
        story.say("meanwhile")
        second = story.say("second", addressed=True)
        story.answer("to first", first)
        story.answer("to second", second)
        return story.read(), story.read(up_to=first)

    everything, at_first = await db.run(act)
    assert everything == ["first", "to first", "meanwhile", "second", "to second"]
    assert at_first == ["first", "to first"]


async def test_at_one_position_each_answer_follows_its_own_tool_rounds(db: Database, story: Story) -> None:
    def act(tx: Tx) -> list[str]:
        story.tx = tx
        asked = story.say("asked", addressed=True)
        story.answer("answer", asked, rounds=(tool_round("a"), tool_round("b")))
        story.answer("more", position=asked, rounds=(tool_round("c"),))
        return story.read()

    assert await db.run(act) == ["asked", "a", "a result", "b", "b result", "answer", "c", "c result", "more"]


async def test_a_persona_knows_what_was_said_while_it_was_there_and_nothing_else(db: Database, story: Story) -> None:
    def act(tx: Tx) -> tuple[list[str], list[str]]:
        story.tx = tx
        mira = story.conversation
        story.say("to mira alone")
        asked = story.say("mira?", addressed=True)
        bryony = story.play("bryony")
        story.say("to bryony alone")
        story.answer("says bryony", story.say("bryony?", addressed=True))
        story.answer("says mira, late", asked, by=mira)
        story.play("mira")
        story.say("to mira again")
        return story.read(mira), story.read(bryony)

    of_mira, of_bryony = await db.run(act)
    assert of_mira == ["to mira alone", "mira?", "says mira, late", "to mira again"]
    assert of_bryony == ["to bryony alone", "bryony?", "says bryony"]


async def test_what_another_persona_answers_while_one_listens_is_heard_without_its_tool_rounds(
    db: Database, story: Story
) -> None:
    def act(tx: Tx) -> list[str]:
        story.tx = tx
        bryony = story.play("bryony")
        mira = story.play("mira")
        asked = story.say("asked", addressed=True)
        story.answer("says bryony", asked, by=bryony, rounds=(tool_round("a"),))
        return story.read(mira)

    assert await db.run(act) == ["asked", "says bryony"]


async def test_a_reset_begins_with_nothing_and_leaves_the_old_story_as_it_was(db: Database, story: Story) -> None:
    def act(tx: Tx) -> tuple[list[str], list[str], list[str]]:
        story.tx = tx
        story.say("old")
        old = story.conversation
        story.reset()
        empty = story.read()
        story.say("new")
        return empty, story.read(), story.read(old)

    assert await db.run(act) == ([], ["new"], ["old"])


async def test_what_a_turn_answers_is_heard_also_when_it_was_said_before(db: Database, story: Story) -> None:
    def act(tx: Tx) -> tuple[list[str], list[str]]:
        story.tx = tx
        story.say("old")
        waited = story.say("waited", addressed=True)
        story.reset()
        story.say("new")
        opening = story.read(up_to=waited, burst=(waited,))
        story.answer("answered", waited)
        return opening, story.read()

    assert await db.run(act) == (["waited"], ["waited", "answered", "new"])


async def test_commands_notices_failures_and_what_was_taken_back_are_no_part_of_it(db: Database, story: Story) -> None:
    def act(tx: Tx) -> list[str]:
        story.tx = tx
        story.say("/persona", kind=MessageKind.COMMAND)
        story.answer("an error", story.say("one", addressed=True), kind=MessageKind.NOTICE)
        story.answer("refused by the platform", story.say("two", addressed=True), state=PartState.FAILED)
        story.answer("perhaps seen", story.say("three", addressed=True), state=PartState.UNCERTAIN)
        gone = story.say("deleted", addressed=True)
        tx.execute(update(messages).where(messages.c.id == gone).values(deleted_at=NOW))
        story.answer("superseded", story.say("four", addressed=True))
        _take_back(tx, story, answers.supersede)
        story.answer("undone", story.say("five", addressed=True))
        _take_back(tx, story, answers.undo)
        story.say("")
        return story.read()

    assert await db.run(act) == ["one", "two", "three", "perhaps seen", "four"]


def _take_back(tx: Tx, story: Story, how: Callable[[Tx, LastReply], None]) -> None:
    reply = answers.last_reply(tx, story.conversation)
    assert reply is not None
    how(tx, reply)


async def test_S16_of_an_answer_that_a_crash_cut_off_only_the_question_is_known(db: Database, story: Story) -> None:
    def act(tx: Tx) -> tuple[int, list[str]]:
        story.tx = tx
        story.begin(story.say("asked", addressed=True))
        return replies.mark_interrupted(tx), story.read()

    assert await db.run(act) == (1, ["asked"])


@pytest.mark.parametrize(
    ("how", "read"),
    [
        ({}, ["a", "b", "c", "d"]),
        ({"room": 30}, ["a", "b", "c", "d"]),
        ({"room": 29}, ["b", "c", "d"]),
        ({"room": 9}, ["d"]),
        ({"room": 0}, ["d"]),
        ({"limit": 2}, ["c", "d"]),
        ({"limit": 1, "burst": (2, 4)}, ["b", "c", "d"]),
        ({"room": 0, "burst": (3, 4)}, ["c", "d"]),
        ({"start": 3}, ["c", "d"]),
        ({"up_to": 2}, ["a", "b"]),
    ],
)
async def test_reading_stops_one_message_beyond_what_fits_and_never_within_the_burst(
    db: Database, story: Story, how: dict[str, Any], read: list[str]
) -> None:
    def act(tx: Tx) -> list[str]:
        story.tx = tx
        for text in "abcd":
            story.say(text, addressed=True, tokens=10)
        return story.read(**how)

    assert await db.run(act) == read


@pytest.mark.parametrize(
    ("gone", "asked", "burst"),
    [
        ((), 3, (1, 2, 3)),
        ((3,), 3, (1, 2)),
        ((1,), 3, (2, 3)),
        ((2,), 1, (1, 3)),
        ((1, 3), 3, (2,)),
        ((1, 2, 3), 3, ()),
    ],
)
async def test_a_deleted_fragment_leaves_the_rest_of_its_burst_to_be_answered(
    db: Database, story: Story, gone: tuple[int, ...], asked: int, burst: tuple[int, ...]
) -> None:
    def act(tx: Tx) -> tuple[int, ...]:
        story.tx = tx
        for text in ("one", "two", "three"):
            story.say(text, addressed=True)
        tx.execute(update(messages).where(messages.c.id.in_(gone)).values(deleted_at=NOW))
        return read_burst(tx, story.session.id, asked)

    assert await db.run(act) == burst


async def test_every_burst_that_a_run_left_unanswered_is_answered_by_the_next_one(make_app: MakeApp) -> None:
    hold = Reply(text="", hold=asyncio.Event())
    app = await make_app(model=ScriptedModel([hold]), persona="none")
    for text, name in (("a1", "Alice"), ("b1", "Bob"), ("b2", "Bob"), ("a2", "Alice")):
        await app.pipeline.deliver(make_inbound(text, channel=CHANNEL, author=make_author(name), mentions_me=True))
    await app.close()
    model, adapter = ScriptedModel(lambda request: request.messages[-1].text), FakeAdapter()
    app = await make_app(model=model, adapter=adapter, persona="none")
    await app.dispatcher.idle()
    assert adapter.texts == ["Alice: a1", "Bob: b2", "Alice: a2"]
