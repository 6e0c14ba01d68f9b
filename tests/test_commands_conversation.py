"""/reset, /retry, /undo, /continue, /stop and /status through the real pipeline and store."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from sqlalchemy import select, update

from bot.chat import InboundKind, PartState
from bot.llm.model import ModelUnreachable
from bot.store.tables import conversations, messages
from bot.testing import FakeAdapter, Reply, ScriptedModel
from tests.conftest import MakeApp
from tests.talking import ALICE, BOB, DM, GROUP, Chat, open_chat

PLAIN: dict[str, Any] = {"persona": "none"}


async def until_shown(chat: Chat) -> None:
    async with asyncio.timeout(10):
        while not chat.adapter.replies:
            chat.adapter.changed.clear()
            await chat.adapter.changed.wait()


async def standings(chat: Chat) -> list[tuple[str, str]]:
    rows = await chat.app.core.db.read(lambda tx: tx.execute(select(messages).order_by(messages.c.id)).all())
    return [(row.text, row.standing) for row in rows if row.kind in ("said", "reply")]


async def test_reset_opens_a_clean_conversation_greets_and_keeps_the_old_one(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="bryony")
    greeting, _ = await chat.say("my secret is 42")
    notice, again = await chat.say("/reset")
    await chat.say("what do you know?")
    assert again == greeting
    assert "kept" in notice
    assert chat.last_prompt == [("assistant", greeting), ("user", "what do you know?")]
    assert ("my secret is 42", "live") in await standings(chat)
    rows = await chat.app.core.db.read(lambda tx: tx.execute(select(conversations).order_by(conversations.c.id)).all())
    assert [row.closed_at is not None for row in rows] == [True, False]


async def test_reset_ends_the_running_turn_and_what_it_showed_stays_in_the_old_conversation(make_app: MakeApp) -> None:
    model = ScriptedModel([Reply(text="half of it", hold=asyncio.Event()), "new"])
    chat = await open_chat(make_app, model=model, adapter=FakeAdapter(streams=True), **PLAIN)
    await chat.ask("tell me all")
    await until_shown(chat)
    assert "has stopped" in await chat.ask("/reset")
    await chat.app.dispatcher.idle()
    assert chat.adapter.replies[0].text == "half …"
    assert "stopped" not in (await chat.say("/reset"))[0]
    await chat.say("hello")
    assert chat.last_prompt == [("user", "hello")]


async def test_a_turn_that_reset_ended_before_it_showed_anything_is_not_answered_after_a_restart(
    make_app: MakeApp,
) -> None:
    chat = await open_chat(make_app, model=ScriptedModel([Reply(text="", hold=asyncio.Event())]), **PLAIN)
    await chat.ask("hello?")
    await chat.model.wait_for(1)
    await chat.ask("/reset")
    await chat.app.dispatcher.idle()
    await chat.app.close()
    chat = await open_chat(make_app, **PLAIN)
    await chat.app.dispatcher.idle()
    assert chat.model.requests == []


async def test_a_turn_that_waited_through_a_reset_is_answered_in_the_new_conversation(make_app: MakeApp) -> None:
    model = ScriptedModel([Reply(text="", hold=asyncio.Event()), "for Bob", "more"])
    chat = await open_chat(make_app, model=model, adapter=FakeAdapter(managers=["alice"]), **PLAIN)
    await chat.ask("old business", channel=GROUP, mentions_me=True)
    await chat.model.wait_for(1)
    await chat.ask("my own question", author=BOB, channel=GROUP, mentions_me=True)
    await chat.ask("/reset", channel=GROUP)
    await chat.app.dispatcher.idle()
    assert chat.last_prompt == [("user", "Bob: my own question")]
    await chat.say("and?", author=BOB, channel=GROUP)
    assert chat.last_prompt == [("user", "Bob: my own question"), ("assistant", "for Bob"), ("user", "Bob: and?")]


async def test_retry_replaces_the_answer_at_the_same_position(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, model=ScriptedModel(["first try", "second try", "later"]), **PLAIN)
    await chat.say("tell me a joke")
    assert await chat.say("/retry") == ["second try"]
    assert chat.last_prompt == [("user", "tell me a joke")]
    assert chat.adapter.deleted == ["m1"]
    await chat.say("another")
    assert chat.last_prompt == [("user", "tell me a joke"), ("assistant", "second try"), ("user", "another")]
    assert ("first try", "superseded") in await standings(chat)


async def test_retry_does_not_read_what_came_after_the_burst(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, **PLAIN)
    await chat.say("what is it?", channel=GROUP)
    await chat.say("unrelated", author=BOB, channel=GROUP, mentions_me=False)
    await chat.say("/retry", channel=GROUP)
    assert chat.last_prompt == [("user", "Alice: what is it?")]
    assert chat.last_reply.reply_to is not None


@pytest.mark.parametrize("command", ["retry", "continue"])
async def test_a_command_of_the_menu_is_answered_by_the_turn_itself(make_app: MakeApp, command: str) -> None:
    chat = await open_chat(make_app, **PLAIN)
    await chat.say("hello")
    assert await chat.choose(command) == ["ok"]
    assert chat.last_reply.handle is not None


async def test_retry_works_on_an_answer_that_failed(make_app: MakeApp) -> None:
    model = ScriptedModel([Reply(text="", error=ModelUnreachable("m", "down")), "here it is"])
    chat = await open_chat(make_app, model=model, **PLAIN)
    (failure,) = await chat.say("hello?")
    assert await chat.say("/retry") == ["here it is"]
    assert failure not in str(chat.model.requests)
    assert chat.adapter.deleted == ["m1"]


@pytest.mark.parametrize("state", [PartState.UNCERTAIN, PartState.FAILED])
async def test_retry_sends_again_what_may_not_have_arrived(make_app: MakeApp, state: PartState) -> None:
    chat = await open_chat(make_app, adapter=FakeAdapter(state=state), **PLAIN)
    await chat.say("hello?")
    chat.adapter.state = PartState.SENT
    assert await chat.say("/retry") == ["ok"]
    assert "arrived" in await chat.ask("/status")


async def test_there_is_nothing_to_retry_once_the_question_is_deleted(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, **PLAIN)
    await chat.say("oops", message_id="7")
    await chat.say("", message_id="7", kind=InboundKind.DELETE)
    (told,) = await chat.choose("retry")
    assert "nothing here" in told
    assert chat.adapter.deleted == []


async def test_undo_takes_the_burst_and_its_answer_out_of_every_prompt(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, **PLAIN)
    await chat.say("keep this")
    await chat.say("forget this")
    (told,) = await chat.say("/undo")
    assert "Taken back" in told
    assert chat.adapter.deleted == ["m2"]
    await chat.say("and now?")
    assert chat.last_prompt == [("user", "keep this"), ("assistant", "ok"), ("user", "and now?")]


async def test_undo_goes_back_step_by_step(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, **PLAIN)
    await chat.say("one")
    await chat.say("two")
    await chat.say("/undo")
    await chat.say("/undo")
    assert "nothing here" in (await chat.say("/undo"))[0]
    await chat.say("three")
    assert chat.last_prompt == [("user", "three")]


async def test_continue_goes_on_from_the_last_answer_at_its_position(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, model=ScriptedModel(["Once upon a time", "there was a cat.", "end"]), **PLAIN)
    await chat.say("tell me a story")
    assert await chat.say("/continue") == ["there was a cat."]
    (_, first), (_, second), (role, note) = chat.last_prompt
    assert (first, second, role) == ("tell me a story", "Once upon a time", "user")
    assert note.startswith("[Go on")
    await chat.say("thanks")
    assert [text for _, text in chat.last_prompt] == [
        "tell me a story",
        "Once upon a time",
        "there was a cat.",
        "thanks",
    ]


async def test_retry_and_undo_take_the_continuation_along(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, model=ScriptedModel(["a", "b", "c"]), **PLAIN)
    await chat.say("go")
    await chat.say("/continue")
    await chat.say("/retry")
    assert chat.adapter.deleted == ["m1", "m2"]
    assert chat.last_prompt == [("user", "go")]


async def test_there_is_nothing_to_continue_after_a_failed_answer(make_app: MakeApp) -> None:
    model = ScriptedModel([Reply(text="", error=ModelUnreachable("m", "down"))])
    chat = await open_chat(make_app, model=model, **PLAIN)
    await chat.say("hello")
    assert "no answer" in (await chat.say("/continue"))[0]
    assert len(model.requests) == 1


async def test_stop_keeps_what_was_shown_marked_as_cut(make_app: MakeApp) -> None:
    model = ScriptedModel([Reply(text="half of it", hold=asyncio.Event()), "next"])
    chat = await open_chat(make_app, model=model, adapter=FakeAdapter(streams=True), **PLAIN)
    await chat.ask("tell me all")
    await until_shown(chat)
    await chat.say("/stop")
    assert sorted(chat.adapter.texts) == ["Stopped.", "half …"]
    await chat.say("go on")
    assert [text.strip() for _, text in chat.last_prompt] == ["tell me all", "half", "go on"]


async def test_a_stopped_turn_that_showed_nothing_can_be_tried_again(make_app: MakeApp) -> None:
    model = ScriptedModel([Reply(text="", hold=asyncio.Event()), "now"])
    chat = await open_chat(make_app, model=model, **PLAIN)
    await chat.ask("hello")
    await chat.model.wait_for(1)
    assert await chat.say("/stop") == ["Stopped."]
    assert await chat.say("/retry") == ["now"]


@pytest.mark.parametrize("command", ["/retry", "/undo", "/continue"])
async def test_while_an_answer_is_being_written_nothing_is_changed(make_app: MakeApp, command: str) -> None:
    gate = asyncio.Event()
    chat = await open_chat(make_app, model=ScriptedModel(["one", Reply(text="two", hold=gate)]), **PLAIN)
    await chat.say("first")
    await chat.ask("second")
    await chat.model.wait_for(2)
    assert "still answering" in await chat.ask(command)
    gate.set()
    await chat.app.dispatcher.idle()
    assert [standing for _, standing in await standings(chat)] == ["live"] * 4


@pytest.mark.parametrize("command", ["/retry", "/undo", "/continue", "/stop"])
async def test_with_nothing_there_each_command_says_so(make_app: MakeApp, command: str) -> None:
    chat = await open_chat(make_app, persona="bryony")
    await chat.say("/start")  # a greeting answers nobody
    (told,) = await chat.say(command)
    assert "Nothing" in told or "nothing" in told or "no answer" in told
    assert chat.model.requests == []


@pytest.mark.parametrize("command", ["/retry", "/undo", "/continue"])
async def test_others_may_not_change_an_answer_but_administrators_may(make_app: MakeApp, command: str) -> None:
    chat = await open_chat(make_app, **PLAIN)
    await chat.say("mine", channel=GROUP)
    (refusal,) = await chat.say(command, author=BOB, channel=GROUP)
    assert "Only the person who asked" in refusal
    assert [standing for _, standing in await standings(chat)] == ["live", "live"]
    chat.adapter.managers.add("bob")
    (answer,) = await chat.say(command, author=BOB, channel=GROUP)
    assert answer != refusal


async def test_only_the_asker_and_administrators_may_stop(make_app: MakeApp) -> None:
    model = ScriptedModel([Reply(text="", hold=asyncio.Event())])
    chat = await open_chat(make_app, model=model, adapter=FakeAdapter(managers=["carol"]), **PLAIN)
    await chat.ask("mine", channel=GROUP, mentions_me=True)
    await chat.model.wait_for(1)
    assert "Only the person who asked" in await chat.ask("/stop", author=BOB, channel=GROUP)
    assert chat.app.dispatcher.waiting_count(1) == 0
    assert await chat.say("/stop", channel=GROUP) == ["Stopped."]


async def test_stop_all_drops_what_else_its_caller_waits_for_and_nothing_of_others(make_app: MakeApp) -> None:
    model = ScriptedModel([Reply(text="half of it", hold=asyncio.Event()), "for Bob", "after the restart"])
    chat = await open_chat(make_app, model=model, adapter=FakeAdapter(streams=True), **PLAIN)
    await chat.ask("one", channel=GROUP, mentions_me=True)
    await until_shown(chat)
    await chat.ask("two", channel=GROUP, mentions_me=True)
    await chat.ask("mine", author=BOB, channel=GROUP, mentions_me=True)
    await chat.ask("three", channel=GROUP, mentions_me=True)
    assert chat.app.dispatcher.waiting_count(1) == 3
    await chat.say("/stop --all", channel=GROUP)
    assert sorted(chat.adapter.texts) == ["Stopped.", "for Bob", "half …"]
    await chat.app.close()
    again = await open_chat(make_app, adapter=FakeAdapter(), **PLAIN)
    await again.settled()
    assert again.adapter.texts == [], "what was dropped is not answered after a restart"


async def test_a_retry_by_an_administrator_runs_with_the_rights_of_the_asker(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, adapter=FakeAdapter(managers=["bob"]), **PLAIN)
    await chat.say("mine", channel=GROUP)
    await chat.say("/retry", author=BOB, channel=GROUP)
    assert chat.last_prompt[-1] == ("user", "Alice: mine")
    calls = await chat.app.core.db.read(
        lambda tx: tx.exec_driver_sql("SELECT author_key FROM model_call").scalars().all()
    )
    assert calls == ["fake:alice"] * 2


@pytest.mark.parametrize("command", ["/retry", "/undo", "/continue"])
async def test_what_is_in_memory_is_not_taken_back_here(make_app: MakeApp, command: str) -> None:
    chat = await open_chat(make_app, **PLAIN)
    await chat.say("hello")
    await chat.app.core.db.run(lambda tx: tx.execute(update(conversations).values(watermark=10)).rowcount)
    (told,) = await chat.say(command)
    assert "/memory undo" in told
    assert [standing for _, standing in await standings(chat)] == ["live", "live"]


async def test_retry_and_undo_make_a_compaction_under_way_stale(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, **PLAIN)
    await chat.say("hello")
    await chat.say("/retry")
    await chat.say("/undo")
    generations = await chat.app.core.db.read(lambda tx: tx.execute(select(conversations.c.generation)).scalars().all())
    assert generations == [2]


async def test_X10_retries_count_as_messages(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, quota={"messages_per_minute": 3}, **PLAIN)
    await chat.say("hello")
    told = [(await chat.say(command))[0] for command in ("/retry", "/continue", "/retry", "/continue")]
    assert len(chat.model.requests) == 3
    assert told[2] == told[3] != "ok"


async def test_messages_of_one_session_are_not_touched_by_commands_in_another(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, **PLAIN)
    await chat.say("in the group", channel=GROUP)
    await chat.say("/undo", channel=DM)
    await chat.say("/reset", channel=DM)
    await chat.say("still there?", channel=GROUP)
    assert chat.last_prompt[0] == ("user", "Alice: in the group")


async def test_the_asker_may_retry_in_a_group_without_any_right(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, **PLAIN)
    await chat.say("hello", author=ALICE, channel=GROUP)
    assert await chat.say("/retry", author=ALICE, channel=GROUP) == ["ok"]
