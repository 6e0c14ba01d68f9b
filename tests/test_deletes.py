"""What becomes of the story when one of our own messages is deleted on the platform."""

from __future__ import annotations

from sqlalchemy import func, select

from bot.chat import InboundKind
from bot.llm.model import ToolCall
from bot.store.tables import messages
from bot.testing import Reply, ScriptedModel, make_inbound
from tests.conftest import MakeApp
from tests.talking import DM, Chat, open_chat


async def delete(chat: Chat, *message_ids: str) -> None:
    for message_id in message_ids:
        await chat.app.pipeline.deliver(make_inbound(channel=DM, kind=InboundKind.DELETE, message_id=message_id))


async def count_rows(chat: Chat) -> int:
    return await chat.app.core.db.read(lambda tx: tx.execute(select(func.count()).select_from(messages)).scalar_one())


async def test_D31_an_answer_of_ours_that_somebody_deletes_leaves_the_prompt_with_its_tool_rounds(
    make_app: MakeApp,
) -> None:
    roll = ToolCall(id="c1", name="roll_dice", arguments='{"dice":"d6"}')
    model = ScriptedModel([Reply(text="", tool_calls=(roll,)), "a bad answer", "fine"])
    chat = await open_chat(make_app, model=model, persona="none")
    await chat.say("hello")
    await delete(chat, "m1")
    await chat.say("again?")
    assert chat.last_prompt == [("user", "hello"), ("user", "again?")]


async def test_a_deleted_answer_can_be_had_again_but_not_gone_on_from(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, model=ScriptedModel(["first", "bad", "better"]), persona="none")
    await chat.say("one")
    await chat.say("two")
    await delete(chat, "m2")
    asked = len(chat.model.requests)
    await chat.say("/continue")
    assert len(chat.model.requests) == asked
    assert await chat.say("/retry") == ["better"]
    assert chat.last_prompt == [("user", "one"), ("assistant", "first"), ("user", "two")]


async def test_deletes_of_what_we_took_back_ourselves_leave_no_tombstones(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="none")
    await chat.say("hello")
    await chat.say("/undo")
    before = await count_rows(chat)
    await delete(chat, *chat.adapter.deleted)
    assert chat.adapter.deleted
    assert await count_rows(chat) == before
