"""Bursts: what one author asks until somebody else asks or an answer comes, and which of them are too old to answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select, update
from sqlmodel import SQLModel

from bot.store import answers, closing
from bot.store import messages as heard
from bot.store.bursts import read_burst
from bot.store.database import Database, Tx, open_engine
from bot.store.tables import messages, sessions
from bot.testing import NOW, FakeAdapter, ScriptedModel, make_channel
from tests.conftest import MakeApp
from tests.stories import Story

WITHIN = timedelta(minutes=15)
"""How old a question may be to be answered after a start."""


@pytest.fixture(scope="module")
def tx() -> Iterator[Tx]:
    """A transaction on a database in memory, whose work is taken back."""
    engine = open_engine("sqlite://")
    with engine.connect() as connection, connection.begin() as transaction:
        SQLModel.metadata.create_all(connection)
        yield connection
        transaction.rollback()
    engine.dispose()


def tell(tx: Tx, rows: str) -> tuple[Story, list[int]]:
    """Write a session of addressed messages: a letter for each author, with "!" when it is answered."""
    story = Story(tx, channel=make_channel(f"room {tx.execute(select(func.count()).select_from(sessions)).scalar()}"))
    told = [story.say(row, addressed=True, author=row[0]) for row in rows.split()]
    answered = [number for number, row in zip(told, rows.split(), strict=True) if row.endswith("!")]
    tx.execute(update(messages).where(messages.c.id.in_(answered)).values(answered_by=1))
    return story, told


@pytest.mark.parametrize(
    ("asked", "rows", "burst"),
    [
        (1, "a", (1,)),
        (2, "a a a", (1, 2, 3)),
        (1, "a b a", (1,)),
        (3, "a b a", (3,)),
        (2, "a b b a", (2, 3)),
        (1, "a!", ()),
        (3, "a! a a", (2, 3)),
        (1, "a a! a", (1,)),
        (3, "a a! a", (3,)),
        (2, "a b! a", ()),
        (3, "a b! a", (3,)),
    ],
)
def test_a_burst_is_what_one_author_says_until_somebody_else_asks_or_an_answer_comes(
    tx: Tx, asked: int, rows: str, burst: tuple[int, ...]
) -> None:
    story, told = tell(tx, rows)
    found = read_burst(tx, story.session.id, told[asked - 1])
    assert found == tuple(told[number - 1] for number in burst)


def test_a_message_that_asks_nothing_or_is_unknown_has_no_burst(tx: Tx) -> None:
    story, told = tell(tx, "a a")
    overheard = story.say("overheard")
    assert [read_burst(tx, story.session.id, asked) for asked in (overheard, overheard + 1)] == [(), ()]
    other, _ = tell(tx, "a")
    assert read_burst(tx, other.session.id, told[0]) == ()


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["", "", "!"])), max_size=9))
def test_bursts_part_the_unanswered_messages_among_them_in_runs(tx: Tx, said: list[tuple[str, str]]) -> None:
    story, told = tell(tx, " ".join(author + answered for author, answered in said))
    rows = [(number, author, bool(answered)) for number, (author, answered) in zip(told, said, strict=True)]
    bursts = {number: read_burst(tx, story.session.id, number) for number, _, answered in rows if not answered}
    assert bursts == {number: run for run in runs(rows) for number in run}


def runs(rows: Iterable[tuple[int, str, bool]]) -> list[tuple[int, ...]]:
    """The rule in plain words: a run ends with another author or an answered message."""
    found: list[list[int]] = []
    last_author = ""
    for number, author, is_answered in rows:
        if is_answered:
            last_author = ""
        elif author == last_author:
            found[-1].append(number)
        else:
            found.append([number])
            last_author = author
    return [tuple(run) for run in found]


async def test_at_a_start_bursts_that_are_too_old_for_an_answer_are_closed_and_the_others_stay(db: Database) -> None:
    def act(tx: Tx) -> tuple[int, list[tuple[str, bool]], list[str], tuple[int, ...]]:
        story = Story(tx)
        for text, author, age in (("a1", "a", 60), ("b1", "b", 50), ("b2", "b", 40), ("c1", "c", 20), ("c2", "c", 5)):
            story.say(text, addressed=True, author=author, sent_at=NOW - timedelta(minutes=age))
        closed = closing.close_expired(tx, NOW, WITHIN)
        rows = tx.execute(select(messages.c.text, messages.c.answered_by).where(messages.c.addressed))
        waiting = heard.unanswered(tx, NOW, WITHIN)
        burst = read_burst(tx, story.session.id, waiting[0].message_id)
        return closed, [(row.text, row.answered_by is not None) for row in rows], story.read(), burst

    closed, rows, read, burst = await db.run(act)
    assert closed == 2
    assert rows == [("a1", True), ("b1", True), ("b2", True), ("c1", False), ("c2", False)]
    assert read == ["a1", "b1", "b2", "c1", "c2"]
    assert burst == (4, 5)  # the fragment that is old belongs to the one that is not


async def test_what_was_too_old_can_still_be_asked_for(db: Database) -> None:
    def act(tx: Tx) -> tuple[tuple[int, ...], str | None, int, tuple[int, ...]]:
        story = Story(tx)
        asked = story.say("hello?", addressed=True, sent_at=NOW - timedelta(days=1))
        closing.close_expired(tx, NOW, WITHIN)
        last = answers.last_reply(tx, story.conversation)
        assert last is not None
        answers.supersede(tx, last)
        return last.burst, last.asker_key, asked, read_burst(tx, story.session.id, asked)

    burst, asker, asked, again = await db.run(act)
    assert (burst, asker, again) == ((asked,), "fake:alice", (asked,))


async def test_what_was_too_old_stays_in_the_story_that_heard_it(db: Database) -> None:
    def act(tx: Tx) -> tuple[list[str], list[str]]:
        story = Story(tx)
        old = story.conversation
        story.say("hello?", addressed=True, sent_at=NOW - timedelta(days=1))
        story.reset()
        closing.close_expired(tx, NOW, WITHIN)
        return story.read(old), story.read()

    assert await db.run(act) == (["hello?"], [])


async def test_a_start_closes_what_is_too_old_and_answers_the_rest(make_app: MakeApp, db: Database) -> None:
    def wait(tx: Tx) -> None:
        story = Story(tx, persona="none")
        story.say("long ago", addressed=True, author="Bob", sent_at=NOW - timedelta(days=1))
        story.say("just now", addressed=True)

    await db.run(wait)
    adapter = FakeAdapter()
    app = await make_app(model=ScriptedModel(lambda request: request.messages[-1].text), adapter=adapter)
    assert (await adapter.wait_for(1))[0].startswith("Alice: just now\n\n[The next day:")
    await app.dispatcher.idle()
    open_still = select(func.count()).where(messages.c.addressed, messages.c.answered_by.is_(None))
    assert await db.read(lambda tx: tx.execute(open_still).scalar()) == 0


async def test_a_retry_asks_for_the_whole_burst_also_when_its_middle_was_deleted_since(db: Database) -> None:
    def act(tx: Tx) -> tuple[int, ...]:
        story = Story(tx)
        burst = [story.say(text, addressed=True) for text in ("one", "two", "three")]
        story.answer("to all", *burst)
        tx.execute(update(messages).where(messages.c.text == "two").values(deleted_at=NOW))
        last = answers.last_reply(tx, story.conversation)
        assert last is not None
        answers.supersede(tx, last)
        return read_burst(tx, story.session.id, last.burst[-1])

    assert await db.run(act) == (1, 3)
