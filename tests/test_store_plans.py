"""What the statements of the store cost: how SQLite plans them, and that a long past does not make them dearer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import event, insert

from bot.chat import InboundKind, Quote
from bot.store import (
    answers,
    cast,
    closing,
    conversations,
    greetings,
    lore,
    lorebooks,
    privacy,
    replies,
    sessions,
    usage,
    waiting,
    window,
)
from bot.store import messages as heard
from bot.store.bursts import read_burst
from bot.store.database import Database, Tx
from bot.store.tables import messages
from bot.testing import NOW, make_channel, make_inbound
from tests.stories import Story, tool_round

A_WALK = 50
"""Hundreds of steps; to walk through 5,000 messages takes at least three times that."""

FEW = ("ix_message_unanswered", "ix_message_sending", "ix_message_in_privacy")
"""Indexes that may be walked: they hold only what waits for something."""

Work = Callable[[Tx, Story], object]


@contextmanager
def recorded(tx: Tx) -> Iterator[list[tuple[str, Any]]]:
    """Every statement that is run meanwhile."""
    seen: list[tuple[str, Any]] = []

    def note(_connection: Tx, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        seen.append((statement, parameters))

    event.listen(tx, "before_cursor_execute", note)
    yield seen
    event.remove(tx, "before_cursor_execute", note)


def plan_of(tx: Tx, story: Story, work: Work) -> list[str]:
    """How SQLite runs the statements of some work."""
    with recorded(tx) as statements:
        work(tx, story)
    planned = [tx.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", parameters) for sql, parameters in statements]
    return [row.detail for rows in planned for row in rows]


def steps_of(tx: Tx, story: Story, work: Work) -> int:
    """How many instructions of SQLite's machine some work takes, in hundreds."""
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    driver: Any = tx.connection.driver_connection
    driver.set_progress_handler(count, 100)
    work(tx, story)
    driver.set_progress_handler(None, 0)
    return steps


def write_past(tx: Tx, story: Story, count: int, **values: Any) -> None:
    """Put messages into the session that happened before: overheard, unless `values` say otherwise."""
    first = story.say("the past begins")
    row = {
        "session_id": story.session.id, "place_key": "p", "visibility": "public", "author_key": "fake:bob",
        "author_name": "Bob", "kind": "said", "text": "x", "addressed": False, "standing": "live", "cut": False,
        "tokens": 1, "quote": "", "sent_at": NOW, **values,
    }  # fmt: skip
    tx.execute(
        insert(messages), [{**row, "id": number, "position": number} for number in range(first + 1, first + count)]
    )


def ask(tx: Tx, story: Story) -> object:
    return read_burst(tx, story.session.id, story.say("asked", addressed=True))


def recover(tx: Tx, _story: Story) -> object:
    replies.mark_interrupted(tx)
    privacy.forget_answered(tx)
    return heard.unanswered(tx, NOW, timedelta(minutes=15)), closing.close_expired(tx, NOW, timedelta(minutes=15))


def read(tx: Tx, story: Story) -> object:
    asked = story.say("asked", addressed=True, reply_to=Quote(message_id="1", author_name="Bob", text="quoted"))
    return story.read(burst=(asked,), up_to=asked)


def count(tx: Tx, story: Story) -> object:
    return window.count_window(tx, story.session.id, story.conversation)


def wait(tx: Tx, story: Story) -> object:
    return waiting.open_end(tx, story.session.id, NOW)


def usage_of_all(tx: Tx, _story: Story) -> object:
    return usage.sums_of(tx, usage.Reach(since=NOW), "model")


def usage_of_one(tx: Tx, _story: Story) -> object:
    return usage.sums_of(tx, usage.Reach(since=NOW, author_key="fake:bob"), "model")


def settings(tx: Tx, _story: Story) -> object:
    return sessions.load_overrides(tx, make_channel(thread="t"))


def look_back(tx: Tx, story: Story) -> object:
    return answers.last_reply(tx, story.conversation)


def take_back(tx: Tx, story: Story) -> None:
    story.answer("answered", story.say("asked", addressed=True), rounds=(tool_round("a"),))
    reply = answers.last_reply(tx, story.conversation)
    assert reply is not None
    answers.supersede(tx, reply)
    answers.undo(tx, reply)


def delete(tx: Tx, story: Story) -> None:
    asked = story.say("asked", addressed=True)
    for message_id in (f"m{story.answer('answered', asked)}", "unknown"):
        gone = make_inbound(channel=story.channel, kind=InboundKind.DELETE, message_id=message_id)
        heard.delete(tx, story.session, gone, heard.find(tx, story.session, message_id))


def settle(tx: Tx, story: Story) -> None:
    story.answer("answered", story.say("asked", addressed=True))
    privacy.forget_asked(tx, story.say("anything"))


def look_up_lore(tx: Tx, story: Story) -> None:
    lorebooks.find_books(tx, "fake:place", "fake:alice")
    lore.read_talk(tx, story.session.id, story.conversation, up_to=2**31)
    greetings.has_begun(tx, story.conversation)


def call(tx: Tx, story: Story) -> object:
    asked = story.say("asked of two", addressed=True)
    cast.call(tx, asked, (story.persona, "rex"))
    burst = read_burst(tx, story.session.id, asked, story.persona)
    answer = story.answer("answered", *burst)
    conversations.listen_together(tx, story.session, (story.persona, "rex"), NOW)
    cast.speaker_of(tx, story.session.id, f"m{answer}")
    replies.position_to_follow(tx, answer, "rex")
    newest = answers.newest_reply(tx, story.session.id)
    assert newest is not None
    assert newest.burst == (asked,)
    answers.supersede(tx, newest)
    return cast.waited_for(tx, asked)


EVERYTHING = [call, settle, delete, ask, wait, recover, settings, read, count, look_back, take_back, look_up_lore]


@pytest.mark.parametrize("work", EVERYTHING)
async def test_no_statement_walks_the_messages_or_sorts_them(db: Database, work: Work) -> None:
    plan = await db.run(lambda tx: plan_of(tx, Story(tx), work))
    assert [line for line in plan if line.startswith("SCAN") and not line.endswith(FEW)] == []
    assert "USE TEMP B-TREE FOR ORDER BY" not in plan


@pytest.mark.parametrize("work", [settle, ask, wait, recover, look_back, take_back, delete])
@pytest.mark.parametrize("past", [{}, {"addressed": True, "answered_by": 1}], ids=["overheard", "answered"])
async def test_a_long_past_costs_nothing(db: Database, work: Work, past: dict[str, Any]) -> None:
    def act(tx: Tx) -> tuple[int, int]:
        story = Story(tx)
        story.answer("answered", story.say("asked", addressed=True))
        story.say("never answered", addressed=True, author="Carol")
        write_past(tx, story, 50, **past)
        short = steps_of(tx, story, work)
        write_past(tx, story, 5000, **past)
        return short, steps_of(tx, story, work)

    short, long = await db.run(act)
    assert long < short + A_WALK


@pytest.mark.parametrize("work", [read, count, look_up_lore])
async def test_after_a_reset_the_old_story_costs_nothing(db: Database, work: Work) -> None:
    def act(tx: Tx) -> tuple[int, int]:
        story = Story(tx)
        write_past(tx, story, 50)
        story.reset()
        short = steps_of(tx, story, work)
        write_past(tx, story, 5000)
        story.reset()
        return short, steps_of(tx, story, work)

    short, long = await db.run(act)
    assert long < short + A_WALK


@pytest.mark.parametrize(
    ("work", "index"), [(usage_of_one, "ix_model_call_author"), (usage_of_all, "ix_model_call_at")]
)
async def test_what_is_added_up_is_found_in_the_ledger_by_an_index(db: Database, work: Work, index: str) -> None:
    plan = await db.run(lambda tx: plan_of(tx, Story(tx), work))
    assert any(f"SEARCH model_call USING INDEX {index} " in line for line in plan)
