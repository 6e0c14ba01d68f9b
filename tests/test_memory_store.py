"""Memory in the database: what makes a compaction stale, and what an edit, a delete or an undo does."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select, update

from bot.chat import InboundKind
from bot.store import answers, conversations, messages
from bot.store.compactions import Outcome, undo_compaction
from bot.store.database import Database
from bot.store.memories import read_memory
from bot.store.memory_tables import memory_items
from bot.store.tables import messages as messages_table
from bot.testing import NOW, Reply, make_inbound
from tests.folding import ALICE, Fold, add, fact, number_of, pasts
from tests.stories import Story


def known(story: Story, message_id: int) -> messages.Known:
    return messages.Known(id=message_id, addressed=True, files="", is_private=False, is_waiting=False)


def edit(message_id: int, text: str = "changed") -> Callable[[Story], None]:
    def change(story: Story) -> None:
        inbound = make_inbound(text, channel=story.channel, kind=InboundKind.EDIT)
        messages.edit(
            story.tx, story.session, inbound, known(story, message_id), text=text, tokens=40, is_private=False
        )

    return change


def delete(message_id: int) -> Callable[[Story], None]:
    def change(story: Story) -> None:
        inbound = make_inbound(channel=story.channel, kind=InboundKind.DELETE)
        messages.delete(story.tx, story.session, inbound, known(story, message_id))

    return change


def take_back(how: Callable[..., None]) -> Callable[[Story], None]:
    def change(story: Story) -> None:
        reply = answers.last_reply(story.tx, story.conversation)
        assert reply is not None
        how(story.tx, reply)

    return change


async def during_the_call(fold: Fold, *happens: Callable[[Story], object]) -> Outcome | None:
    """How a compaction ends during whose call something happens."""
    gate = asyncio.Event()
    fold.model = type(fold.model)(summaries=[Reply(text='{"gist": "They talked."}', hold=gate)])
    folding = asyncio.ensure_future(fold.fold())
    await until_asked(fold)
    for change in happens:
        await fold.tell(change)
    gate.set()
    return (await folding).outcome


async def until_asked(fold: Fold, times: int = 1) -> None:
    async with asyncio.timeout(10):
        while len(fold.model.summaries) < times:
            fold.model.asked.clear()
            await fold.model.asked.wait()


CHANGES: list[tuple[str, Callable[[list[int]], Callable[[Story], object]], Outcome]] = [
    ("a new message", lambda at: lambda story: story.say("new", addressed=True), Outcome.DONE),
    ("an edit behind the cut", lambda at: edit(at[-1]), Outcome.DONE),
    ("a delete behind the cut", lambda at: delete(at[-1]), Outcome.DONE),
    ("an undo behind the cut", lambda at: take_back(answers.undo), Outcome.DONE),
    ("a retry behind the cut", lambda at: take_back(answers.supersede), Outcome.DONE),
    ("an edit in the range", lambda at: edit(at[1]), Outcome.STALE),
    ("a delete in the range", lambda at: delete(at[1]), Outcome.STALE),
    ("an answer that comes late", lambda at: lambda story: story.answer("late", position=at[1]), Outcome.STALE),
    ("a reset", lambda at: lambda story: story.reset(), Outcome.STALE),
    ("an item by hand", lambda at: add("Alice likes tea"), Outcome.STALE),
]


@pytest.mark.parametrize(("change", "outcome"), [case[1:] for case in CHANGES], ids=[case[0] for case in CHANGES])
async def test_a_compaction_is_committed_if_and_only_if_what_it_read_is_still_so(
    db: Database, change: Callable[[list[int]], Callable[[Story], object]], outcome: Outcome
) -> None:
    fold = Fold(db)
    at = await fold.talk(*pasts(12))
    conversation = (await fold.subject()).conversation_id
    assert await during_the_call(fold, change(at)) is outcome
    rows = await db.read(lambda tx: (conversations.conversation_by_id(tx, conversation), read_memory(tx, conversation)))
    assert (rows[0].watermark > 0) == (outcome is Outcome.DONE)
    assert rows[1].gist == ("They talked." if outcome is Outcome.DONE else "")


async def test_of_two_compactions_at_once_one_is_stale(db: Database) -> None:
    fold, gate = Fold(db), asyncio.Event()
    await fold.talk(*pasts(12))
    fold.model = type(fold.model)(summaries=[Reply(text='{"gist": "They talked."}', hold=gate)] * 2)
    both = asyncio.gather(fold.fold(), fold.fold())
    await until_asked(fold, times=2)
    gate.set()
    assert sorted(str(result.outcome) for result in await both) == ["done", "stale"]
    assert [row.outcome for row in await fold.attempts()].count(Outcome.DONE) == 1


async def test_M04_what_is_said_during_the_call_is_verbatim_in_the_next_prompt(db: Database) -> None:
    fold = Fold(db)
    at = await fold.talk(*pasts(12))
    said = [lambda story, text=text: story.say(text, addressed=True) for text in ("one", "two", "three")]
    assert await during_the_call(fold, *said) is Outcome.DONE
    assert (await fold.verbatim())[-3:] == ["one", "two", "three"]
    assert await fold.watermark() < at[-1]


async def test_an_answer_to_what_moved_into_memory_meanwhile_stands_where_it_is_read(db: Database) -> None:
    fold = Fold(db)
    at = await fold.talk(*pasts(12))
    await fold.fold()
    assert await fold.watermark() > at[0]
    await fold.tell(lambda story: story.answer("and more", position=at[0]))
    assert "and more" in await fold.verbatim()


async def test_a_burst_behind_the_watermark_is_still_read_by_the_turn_that_answers_it(db: Database) -> None:
    fold = Fold(db)
    at = await fold.talk(*pasts(12))
    await fold.fold()
    read = await fold.tell(lambda story: story.read(burst=(at[0],), up_to=at[0]))
    assert read == ["number 0 said"]


async def test_what_waits_for_an_answer_stays_with_all_that_follows_until_nobody_waits_any_more(db: Database) -> None:
    fold = Fold(db)
    await fold.talk(*pasts(6))
    waiting = await fold.tell(lambda story: story.say("and?", addressed=True, author="Bob"))
    await fold.talk(*pasts(6, 6))
    await fold.fold()
    assert await fold.watermark() < waiting
    assert "and?" in await fold.verbatim()
    fold.later(hours=1)
    await fold.fold()
    assert await fold.watermark() > waiting


async def folded_fact(fold: Fold, *said: str) -> list[int]:
    """A conversation in whose memory one fact goes back to these messages of Alice."""

    def one(request: Any) -> str:
        lines = [number_of(request, text) for text in said]
        return json.dumps({"facts": [fact(ALICE, "Alice has a dog", *lines)], "gist": "About dogs."})

    fold.model = type(fold.model)(summaries=one)
    at = await fold.talk(*said, *pasts(12))
    assert (await fold.fold()).outcome is Outcome.DONE
    fold.model = type(fold.model)(summaries=['{"gist": "They talked."}'])
    return at


async def test_D31_an_item_whose_only_source_is_deleted_is_gone_and_so_is_the_gist(db: Database) -> None:
    fold = Fold(db)
    at = await folded_fact(fold, "I have a dog")
    await fold.tell(delete(at[0]))
    assert (await fold.memory()).is_empty
    rows = await fold.tell(lambda story: story.tx.execute(select(memory_items.c.retired_by)).scalars().all())
    assert set(rows) == {f"delete:{at[0]}"}


async def test_an_item_with_another_source_is_looked_at_again_by_the_next_compaction(db: Database) -> None:
    fold = Fold(db)
    at = await folded_fact(fold, "I have a dog", "my dog is Rex")
    await fold.tell(edit(at[1], "my dog is Max"))
    await fold.tell(delete(at[0]))
    (item,) = (await fold.memory()).items
    assert item.stale
    await fold.talk(*pasts(8, 20))
    assert (await fold.fold()).outcome is Outcome.DONE
    asked = fold.model.summaries[-1].messages[1].text
    assert "its source was changed: check it] Alice has a dog" in asked
    assert "my dog is Max" in asked
    assert "I have a dog" not in asked
    (item,) = (await fold.memory()).items
    assert not item.stale


async def test_an_edit_while_its_message_is_read_again_makes_the_compaction_stale(db: Database) -> None:
    fold = Fold(db)
    at = await folded_fact(fold, "I have a dog")
    await fold.tell(edit(at[0], "I have a cat"))
    await fold.talk(*pasts(8, 20))
    assert await during_the_call(fold, edit(at[0], "I have a bird")) is Outcome.STALE
    (item,) = (await fold.memory()).items
    assert item.stale


async def test_an_edit_in_privacy_takes_back_what_was_noted_of_it(db: Database) -> None:
    fold = Fold(db)
    at = await folded_fact(fold, "I have a dog")

    def hide(story: Story) -> None:
        inbound = make_inbound("hidden", channel=story.channel, kind=InboundKind.EDIT)
        messages.edit(story.tx, story.session, inbound, known(story, at[0]), text="", tokens=0, is_private=True)

    await fold.tell(hide)
    assert (await fold.memory()).is_empty


async def test_an_undo_gives_back_messages_items_and_watermark(db: Database) -> None:
    fold = Fold(db)
    await folded_fact(fold, "I have a dog")
    before, watermark, verbatim = await fold.memory(), await fold.watermark(), await fold.verbatim()
    await fold.talk(*pasts(8, 20))
    await fold.fold()
    undone = await fold.tell(lambda story: undo_compaction(story.tx, story.conversation, NOW))
    assert undone is not None
    assert (await fold.memory(), await fold.watermark()) == (before, watermark)
    assert (await fold.verbatim())[: len(verbatim)] == verbatim


async def test_an_undo_brings_nothing_back_that_was_deleted_or_edited_meanwhile(db: Database) -> None:
    fold = Fold(db)
    at = await folded_fact(fold, "I have a dog")
    await fold.talk(*pasts(8, 20))
    fold.model = type(fold.model)(summaries=['{"gist": "Later.", "retire": [{"item": 1, "lines": [1]}]}'])
    assert (await fold.fold()).outcome is Outcome.DONE
    await fold.tell(delete(at[0]))
    await fold.tell(lambda story: undo_compaction(story.tx, story.conversation, NOW))
    assert (await fold.memory()).is_empty


async def test_an_item_that_comes_back_with_an_undo_is_looked_at_again_if_its_source_was_edited(db: Database) -> None:
    fold = Fold(db)
    at = await folded_fact(fold, "I have a dog")
    await fold.talk(*pasts(8, 20))
    fold.model = type(fold.model)(summaries=['{"gist": "Later.", "retire": [{"item": 1, "lines": [1]}]}'])
    await fold.fold()
    await fold.tell(edit(at[0], "I have a cat"))
    await fold.tell(lambda story: undo_compaction(story.tx, story.conversation, NOW))
    (item,) = (await fold.memory()).items
    assert item.stale


async def test_retry_and_undo_of_what_is_in_memory_know_that_it_is(db: Database) -> None:
    fold = Fold(db)
    at = await fold.talk(*pasts(12))
    await fold.fold()
    lifted = await fold.tell(lambda story: story.answer("later", at[0], position=at[-1] + 100))
    asked = update(messages_table).where(messages_table.c.id == at[0]).values(answered_by=lifted)
    await fold.tell(lambda story: story.tx.execute(asked))
    reply = await fold.tell(lambda story: answers.last_reply(story.tx, story.conversation))
    assert reply is not None
    assert (reply.id, reply.is_in_memory) == (lifted, True)
