"""A message that is deleted or edited takes along the gists that may tell of it; what is left tells a new one soon."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select, update

from bot.chat import InboundKind
from bot.llm.model import ModelRequest
from bot.memory.gist import PAUSE
from bot.store import messages as heard
from bot.store.clearing import clear_kinds, undo_newest
from bot.store.database import Database
from bot.store.gists import CLOCKS_DIFFER, read_lost_gist
from bot.store.memories import GIST
from bot.store.memory_tables import compactions, memory_items
from bot.testing import NOW, Reply, ScriptedModel, make_inbound
from tests.conftest import MakeApp
from tests.folding import Fold, pasts, system_text
from tests.remembering import talk
from tests.stories import Story
from tests.talking import DM, Chat, open_chat
from tests.test_sweeper import ENOUGH, IDLE, LATER, QUIET, sweep, waiting


def gist(text: str) -> str:
    return json.dumps({"gist": text})


async def fold_twice(fold: Fold, *, second: str | None = "They went on.") -> tuple[int, int]:
    """Two compactions, hours apart; returns a message that the first one read, and one that only the second did."""
    said: list[int] = []
    for number, summary in enumerate((gist("They began."), gist(second) if second else '{"gist": null, "facts": []}')):
        fold.model = type(fold.model)(summaries=[summary, summary])

        def hear(story: Story, number: int = number) -> list[int]:
            texts = pasts(20, start=20 * number)
            asked = [story.say(text, addressed=True, tokens=40, sent_at=fold.now) for text in texts]
            return [story.answer(f"re: {text}", at) and at for text, at in zip(texts, asked, strict=True)]

        said.append((await fold.tell(hear))[0])
        fold.later(hours=1)
        await fold.fold()
        fold.later(hours=1)
    return said[0], said[1]


async def delete(fold: Fold, message: int) -> None:
    def happens(story: Story) -> None:
        inbound = make_inbound(channel=story.channel, kind=InboundKind.DELETE, message_id="x", sent_at=fold.now)
        known = heard.Known(id=message, addressed=True, files="", is_private=False, is_waiting=False)
        heard.delete(story.tx, story.session, inbound, known)

    await fold.tell(happens)


async def is_lost(fold: Fold) -> bool:
    found = await fold.tell(lambda story: read_lost_gist(story.tx, story.session.id, story.conversation))
    return found is not None


async def test_the_newest_gist_that_cannot_tell_of_a_deleted_message_stands_again(db: Database) -> None:
    fold = Fold(db)
    old, new = await fold_twice(fold)
    assert (await fold.memory()).gist == "They went on."
    await delete(fold, new)
    assert ((await fold.memory()).gist, await is_lost(fold)) == ("They began.", True)
    await delete(fold, old)
    assert ((await fold.memory()).gist, await is_lost(fold)) == ("", True)


async def test_a_gist_that_was_made_before_a_message_was_said_outlives_it(db: Database) -> None:
    fold = Fold(db)
    _, new = await fold_twice(fold)
    while (await fold.memory()).gist != "They began.":
        assert await fold.tell(lambda story: undo_newest(story.tx, story.conversation, fold.now))
    await delete(fold, new)
    assert ((await fold.memory()).gist, await is_lost(fold)) == ("They began.", False)


@pytest.mark.parametrize(("after", "stands"), [(CLOCKS_DIFFER, False), (CLOCKS_DIFFER + timedelta(seconds=1), True)])
async def test_what_was_said_about_when_a_gist_was_made_may_be_in_it(
    db: Database, after: timedelta, stands: bool
) -> None:
    fold = Fold(db)
    await fold.talk(*pasts(20))
    await fold.fold()
    made_at = fold.now

    def happens(story: Story) -> int:
        at = story.say("later", addressed=True, sent_at=made_at + after)
        story.answer("re: later", at)
        return at

    at = await fold.tell(happens)
    await fold.talk(*pasts(12, start=40))
    fold.model = type(fold.model)(summaries=['{"facts": [{"who": "fake:alice", "text": "x", "lines": [1]}]}'])
    await fold.fold()
    await delete(fold, at)
    assert bool((await fold.memory()).gist) is stands


async def test_what_another_persona_has_not_heard_is_in_no_gist_of_its(db: Database) -> None:
    fold = Fold(db)
    await fold.talk(*pasts(20))
    await fold.fold()
    first = await fold.tell(lambda story: story.conversation)

    def elsewhere(story: Story) -> int:
        story.play("other")
        return story.say("for the other one", sent_at=fold.now)

    said = await fold.tell(elsewhere)
    await delete(fold, said)

    def of_first(story: Story) -> str:
        rows = story.tx.execute(
            select(memory_items.c.text).where(
                memory_items.c.conversation_id == first,
                memory_items.c.kind == GIST,
                memory_items.c.retired_at.is_(None),
            )
        )
        return str(rows.scalar())

    assert await fold.tell(of_first) == "They talked."


async def clear(fold: Fold) -> None:
    await fold.tell(lambda story: clear_kinds(story.tx, story.conversation, (GIST,), "fake:alice", fold.now))
    fold.later(hours=1)


async def test_no_gist_that_somebody_cleared_stands_again(db: Database) -> None:
    fold = Fold(db)
    await fold.talk(*pasts(20))
    await fold.fold()
    await clear(fold)
    old, _ = await fold_twice(fold)
    await delete(fold, old)
    assert ((await fold.memory()).gist, await is_lost(fold)) == ("", True)


async def test_where_the_gist_that_stands_again_is_cleared_none_is_written(db: Database) -> None:
    fold = Fold(db)
    _, new = await fold_twice(fold)
    await delete(fold, new)
    fold.later(hours=1)
    await clear(fold)
    assert ((await fold.memory()).gist, await is_lost(fold)) == ("", False)


# --- And is written anew

SECRET = "the cake is a surprise"


def tells(request: ModelRequest) -> str:
    """Summaries that tell whether the secret was read."""
    read = "\n".join(message.text for message in request.messages[1:])
    return gist(f"They talked, {'with' if SECRET in read else 'without'} the secret.")


async def open_quiet(make_app: MakeApp, summaries: Any = tells) -> Chat:
    chat = await open_chat(make_app, model=ScriptedModel(summaries=summaries), **QUIET)
    await chat.say(SECRET, message_id="77")
    await talk(chat, ENOUGH)
    assert await sweep(chat, LATER) == 1
    return chat


async def delete_secret(chat: Chat) -> None:
    await chat.app.pipeline.deliver(make_inbound(kind=InboundKind.DELETE, message_id="77", channel=DM, sent_at=NOW))


async def test_D31_in_the_next_lull_a_gist_is_written_from_what_is_left(make_app: MakeApp) -> None:
    chat = await open_quiet(make_app)
    await chat.say("hello")
    assert "with the secret" in system_text(chat.model.requests[-1])
    await sweep(chat, LATER)
    assert await waiting(chat) == [None]
    await delete_secret(chat)
    assert await waiting(chat) == [NOW]
    await chat.say("hello again")
    assert "the secret" not in system_text(chat.model.requests[-1])
    calls = len(chat.model.summaries)
    for _ in range(3):
        await sweep(chat, LATER)
    assert len(chat.model.summaries) == calls + 1
    asked = chat.model.summaries[-1]
    assert SECRET not in str(asked)
    assert "number 0" in asked.messages[1].text
    await chat.say("and now?")
    assert "They talked, without the secret." in system_text(chat.model.requests[-1])


async def test_D31_a_gist_tells_no_longer_what_was_edited_and_a_preview_of_a_link_is_no_edit(make_app: MakeApp) -> None:
    chat = await open_quiet(make_app)
    await chat.say(SECRET, message_id="77", kind=InboundKind.EDIT)
    await chat.say("hello")
    assert "with the secret" in system_text(chat.model.requests[-1])
    await chat.say("the cake is in the oven", message_id="77", kind=InboundKind.EDIT)
    await chat.say("hello again")
    assert "the secret" not in system_text(chat.model.requests[-1])
    await sweep(chat, LATER)
    assert "the cake is in the oven" in chat.model.summaries[-1].messages[1].text
    await chat.say("and now?")
    assert "They talked, without the secret." in system_text(chat.model.requests[-1])


async def test_D31_a_gist_that_cannot_be_written_waits_and_everything_else_goes_on(make_app: MakeApp) -> None:
    def summary(request: ModelRequest) -> str | Reply:
        return tells(request) if "<notes>" not in request.messages[1].text and not broken else Reply(text="No.")

    broken = False
    chat = await open_quiet(make_app, summary)
    await delete_secret(chat)
    broken = True
    for _ in range(3):
        await sweep(chat, LATER)
    assert len(chat.model.summaries) == 1 + 2, "asked once, corrected once, and then it waits"
    assert await waiting(chat) == [NOW + PAUSE - timedelta(seconds=IDLE)]
    assert "ok" in await chat.say("hello")
    broken = False
    await chat.app.core.db.run(lambda tx: tx.execute(update(compactions).values(began_at=NOW - PAUSE)))
    await sweep(chat, LATER)
    await chat.say("and now?")
    assert "They talked, without the secret." in system_text(chat.model.requests[-1])
