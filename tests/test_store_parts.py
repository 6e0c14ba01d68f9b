"""What is known of the platform messages that carry a reply, from its beginning to its end or a crash."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from sqlalchemy import func, select

from bot.chat import InboundKind, PartState, SentPart
from bot.store import answers, parts, replies
from bot.store import messages as heard
from bot.store.database import Database, Tx
from bot.store.replies import Settled
from bot.store.tables import ReplyState, messages, sent_parts
from bot.testing import NOW, make_inbound
from tests.stories import Story

SENT, UNCERTAIN, FAILED = PartState.SENT, PartState.UNCERTAIN, PartState.FAILED

Part = tuple[int, str | None, str]


@pytest.fixture
async def story(db: Database) -> Story:
    return await db.run(Story)


def stored(tx: Tx) -> list[Part]:
    columns = sent_parts.c.ordinal, sent_parts.c.platform_message_id, sent_parts.c.state
    return [(row[0], row[1], row[2]) for row in tx.execute(select(*columns).order_by(sent_parts.c.ordinal))]


def state_of(tx: Tx, reply: int) -> str:
    return str(tx.execute(select(messages.c.state).where(messages.c.id == reply)).scalar_one())


def note(tx: Tx, reply: int, *message_ids: str) -> None:
    for ordinal, message_id in enumerate(message_ids):
        parts.note_part(tx, reply, SentPart(ordinal=ordinal, message_id=message_id, state=SENT))


def settle(tx: Tx, reply: int, made: Sequence[tuple[str | None, PartState]]) -> None:
    ended = tuple(SentPart(ordinal=at, message_id=key, state=state) for at, (key, state) in enumerate(made))
    replies.settle_reply(tx, reply, Settled(text="whole", tokens=1, parts=ended), NOW)


@pytest.mark.parametrize(
    ("noted", "settled", "known"),
    [
        ((), [("m1", SENT)], [(0, "m1", "sent")]),
        (("m1",), [("m1", SENT), ("m2", SENT)], [(0, "m1", "sent"), (1, "m2", "sent")]),
        (("m1", "m2"), [("m1", SENT)], [(0, "m1", "sent")]),  # deleted on the platform
        (("m1",), [("m9", SENT)], [(0, "m9", "sent")]),  # replaced, and deleted there as well
        (("m1",), [("m1", UNCERTAIN)], [(0, "m1", "uncertain")]),
        ((), [(None, UNCERTAIN)], [(0, None, "uncertain")]),
        ((), [(None, FAILED)], [(0, None, "failed")]),
        (("m1", "m2"), [("m1", SENT), (None, FAILED)], [(0, "m1", "sent"), (1, "m2", "failed")]),  # still there
        (("m1", "m2"), [(None, FAILED)], [(0, "m1", "failed"), (1, "m2", "failed")]),
        (("m1",), [], [(0, "m1", "failed")]),  # ended without a word, to a bot
    ],
)
async def test_what_the_platform_said_in_the_end_takes_the_place_of_what_was_noted(
    db: Database,
    story: Story,
    noted: tuple[str, ...],
    settled: list[tuple[str | None, PartState]],
    known: list[Part],
) -> None:
    def act(tx: Tx) -> list[Part]:
        story.tx = tx
        reply = story.begin(story.say("asked", addressed=True))
        assert stored(tx) == [(0, None, "sending")]
        note(tx, reply, *noted)
        settle(tx, reply, settled)
        return stored(tx)

    assert await db.run(act) == known


@pytest.mark.parametrize(
    ("parts_made", "state"),
    [
        ((SENT, SENT), ReplyState.SENT),
        ((SENT, UNCERTAIN), ReplyState.UNCERTAIN),
        ((UNCERTAIN, FAILED), ReplyState.FAILED),
        ((), ReplyState.FAILED),
    ],
)
async def test_a_reply_is_as_well_as_its_worst_part(
    db: Database, story: Story, parts_made: tuple[PartState, ...], state: ReplyState
) -> None:
    def act(tx: Tx) -> str:
        story.tx = tx
        reply = story.begin(story.say("asked", addressed=True))
        settle(tx, reply, [("m", made) for made in parts_made])
        return state_of(tx, reply)

    assert await db.run(act) == state


async def test_S16_after_a_crash_the_parts_that_were_seen_are_uncertain_and_can_be_found(
    db: Database, story: Story
) -> None:
    def act(tx: Tx) -> None:
        story.tx = tx
        story.answer("settled before", story.say("one", addressed=True), state=FAILED)
        reply = story.begin(story.say("two", addressed=True))
        note(tx, reply, "a", "b")
        replies.mark_interrupted(tx)
        found = answers.last_reply(tx, story.conversation)
        assert found is not None
        assert (found.state, found.platform_message_ids) == (ReplyState.UNCERTAIN, ("a", "b"))
        assert [state for _, _, state in stored(tx)].count("uncertain") == 2
        assert [state for _, _, state in stored(tx)].count("failed") == 1

    await db.run(act)


async def test_S13_a_reply_that_is_taken_back_leaves_no_part(db: Database, story: Story) -> None:
    def act(tx: Tx) -> list[Part]:
        story.tx = tx
        replies.take_back(tx, story.begin(story.say("asked", addressed=True)))
        return stored(tx)

    assert await db.run(act) == []


async def test_a_message_that_a_growing_answer_takes_back_itself_does_not_delete_the_answer(
    db: Database, story: Story
) -> None:
    """Platforms tell us of our own deletions, sometimes before the answer is settled."""

    def delete(tx: Tx, message_id: str) -> int:
        gone = make_inbound(channel=story.channel, kind=InboundKind.DELETE, message_id=message_id)
        heard.delete(tx, story.session, gone, heard.find(tx, story.session, message_id))
        deleted = messages.c.kind == "reply", messages.c.deleted_at.is_not(None)
        return int(tx.execute(select(func.count()).select_from(messages).where(*deleted)).scalar_one())

    def act(tx: Tx) -> list[int]:
        story.tx = tx
        reply = story.begin(story.say("asked", addressed=True))
        note(tx, reply, "a", "b", "c")
        counts = [delete(tx, "b")]
        settle(tx, reply, [("a", SENT)])
        return [*counts, delete(tx, "c"), delete(tx, "a")]

    assert await db.run(act) == [0, 0, 1]
