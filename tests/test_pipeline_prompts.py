"""What the pipeline does with tools, files, floods and long histories."""

from __future__ import annotations

import asyncio

import pytest
from sqlalchemy import select
from structlog.testing import capture_logs

from bot.app import App
from bot.chat import Attachment, AttachmentKind
from bot.llm.model import Finish, ModelRequest, ModelUnreachable, ToolCall, Usage
from bot.store.ledger_tables import model_calls
from bot.store.tables import messages
from bot.testing import FakeAdapter, Reply, ScriptedModel, make_author, make_channel, make_inbound
from tests.conftest import MakeApp
from tests.talking import history

GROUP = make_channel()
ALICE, BOB = make_author("Alice"), make_author("Bob")


async def test_tools_run_and_their_round_is_in_the_next_prompt_as_one_group(make_app: MakeApp) -> None:
    calls = (ToolCall(id="c1", name="current_time", arguments=""), ToolCall(id="c2", name="nonsense", arguments="{}"))
    model = ScriptedModel([Reply(text="", tool_calls=calls), "It is noon.", "Yes."])
    app = await make_app(model=model, persona="none")
    await app.pipeline.deliver(make_inbound("what time is it?"))
    await app.dispatcher.idle()
    await app.pipeline.deliver(make_inbound("sure?"))
    await app.dispatcher.idle()
    shown = [(m.role.value, m.text, len(m.tool_calls)) for m in model.requests[2].messages[1:]]
    assert shown[0] == ("user", "what time is it?", 0)
    assert shown[1] == ("assistant", "", 2)
    assert "2026-11-01 12:00" in shown[2][1]
    assert "no tool 'nonsense'" in shown[3][1]
    assert shown[4:] == [("assistant", "It is noon.", 0), ("user", "sure?", 0)]


async def test_K04_a_model_that_calls_for_ever_gets_a_last_round_without_tools(make_app: MakeApp) -> None:
    def script(request: ModelRequest) -> Reply:
        roll = ToolCall(id="c", name="roll_dice", arguments='{"dice":"d6"}')
        return Reply(text="", tool_calls=(roll,)) if request.tools else Reply(text="enough")

    model, adapter = ScriptedModel(script), FakeAdapter()
    app = await make_app(model=model, adapter=adapter, persona="none", max_tool_steps=3)
    await app.pipeline.deliver(make_inbound("roll"))
    assert await adapter.wait_for(1) == ["enough"]
    await app.dispatcher.idle()
    assert len(model.requests) == 4


async def test_L12_a_filtered_answer_is_told_neutrally_and_not_tried_again(make_app: MakeApp) -> None:
    model, adapter = ScriptedModel([Reply(text="", finish=Finish.FILTERED)]), FakeAdapter()
    app = await make_app(model=model, adapter=adapter, persona="none")
    await app.pipeline.deliver(make_inbound("hello"))
    await adapter.wait_for(1)
    await app.dispatcher.idle()
    replies = await app.core.db.read(lambda tx: tx.execute(select(messages.c.kind)).scalars().all())
    assert (len(model.requests), replies) == (1, ["said", "notice"])


async def test_attachments_reach_the_prompt_as_text_and_images_only_with_vision(make_app: MakeApp) -> None:
    note = Attachment(kind=AttachmentKind.TEXT, name="message.txt", text="long story", note="first 10 of 90 bytes")
    image = Attachment(kind=AttachmentKind.IMAGE, name="cat.png", media_type="image/png", data=b"\x89PNG")
    inbound = make_inbound("", attachments=(note, image))
    blind, seeing = ScriptedModel(), ScriptedModel()
    app = await make_app(model=blind, persona="none")
    await app.pipeline.deliver(inbound)
    await app.dispatcher.idle()
    app = await make_app(model=seeing, persona="none", models={"test/scripted": {"vision": True}})
    await app.pipeline.deliver(make_inbound("", attachments=(image,)))
    await app.dispatcher.idle()
    text = blind.requests[0].messages[-1].text
    assert "long story" in text
    assert "first 10 of 90 bytes" in text
    assert "[image cat.png]" in text
    assert blind.requests[0].messages[-1].images == ()
    assert seeing.requests[0].messages[-1].images[0].data == b"\x89PNG"


async def test_every_model_call_is_in_the_ledger_with_its_purpose(make_app: MakeApp) -> None:
    app = await make_app(persona="none")
    await app.pipeline.deliver(make_inbound("hello"))
    await app.dispatcher.idle()
    (call,) = await app.core.db.read(lambda tx: tx.execute(select(model_calls)).all())
    assert (call.purpose, call.model, call.author_key, call.outcome) == ("chat", "test/scripted", "fake:alice", "stop")


async def test_a_failed_model_call_is_in_the_ledger_too(make_app: MakeApp) -> None:
    failing = Reply(text="", error=ModelUnreachable("test/scripted", "down"))
    app = await make_app(model=ScriptedModel([failing]), persona="none")
    await app.pipeline.deliver(make_inbound("hello"))
    await app.dispatcher.idle()
    outcomes = await app.core.db.read(lambda tx: tx.execute(select(model_calls.c.outcome)).scalars().all())
    assert outcomes == ["unreachable"]


async def test_X10_a_stranger_who_floods_costs_a_bounded_number_of_calls_and_hears_one_notice(
    make_app: MakeApp,
) -> None:
    model, adapter = ScriptedModel(), FakeAdapter()
    app = await make_app(model=model, adapter=adapter, persona="none", quota={"messages_per_minute": 5})
    for number in range(50):
        await app.pipeline.deliver(make_inbound(f"message {number}"))
        await app.dispatcher.idle()
    assert len(model.requests) == 5
    assert len(adapter.texts) == 6


async def test_history_is_pruned_to_the_budget_with_the_system_prompt_and_the_last_message_kept(
    make_app: MakeApp,
) -> None:
    model = ScriptedModel(["reply " * 60])
    app = await make_app(model=model, persona="none", context_tokens=2600, system_prompt="RULES")
    for number in range(40):
        await app.pipeline.deliver(make_inbound(f"question {number} " + "word " * 30))
        await app.dispatcher.idle()
    last = model.requests[-1]
    assert last.messages[0].text.startswith("RULES")
    assert "question 39" in last.messages[-1].text
    assert "question 0 " not in str(last)
    stored = await app.core.db.read(lambda tx: len(tx.execute(select(messages.c.id)).all()))
    assert stored == 80


async def test_between_cuts_one_request_is_a_prefix_of_the_next(make_app: MakeApp) -> None:
    model = ScriptedModel(["reply " * 40])
    app = await make_app(model=model, persona="none", context_tokens=4000)
    for number in range(40):
        await app.pipeline.deliver(make_inbound(f"question {number} " + "word " * 30))
        await app.dispatcher.idle()
    pairs = list(zip(model.requests, model.requests[1:], strict=False))
    stable = [old.messages == new.messages[: len(old.messages)] for old, new in pairs]
    assert stable.count(False) <= 8  # each cut makes room for several turns
    assert len(stable) - stable.count(False) >= 30


async def test_L20_a_file_larger_than_the_window_is_shortened_and_the_persona_stays(make_app: MakeApp) -> None:
    model = ScriptedModel()
    app = await make_app(model=model, persona="none", system_prompt="RULES", context_tokens=4_096)
    words = " ".join(f"w{number}" for number in range(20_000))
    paste = Attachment(kind=AttachmentKind.TEXT, name="message.txt", text=words)
    for inbound in (make_inbound("what is this?", attachments=(paste,)), make_inbound("and the first word?")):
        await app.pipeline.deliver(inbound)
        await app.dispatcher.idle()
    first, second = model.requests
    assert first.messages[0].text.startswith("RULES")
    line = first.messages[1].text
    assert line.startswith("what is this?\n[file message.txt]\nw0 w1")
    assert line.endswith("w19999\n[end of file]")
    assert "characters left out]" in line
    assert app.core.counter.count(line) * 1.35 < 4_096 - 512 - 512
    assert second.messages[:2] == first.messages
    stored = await app.core.db.read(lambda tx: tx.execute(select(messages.c.text)).scalars().first())
    assert stored is not None
    assert words in stored


async def chatter(app: App, numbers: range) -> None:
    for number in numbers:
        await app.pipeline.deliver(make_inbound(f"question {number} " + "word " * 30))
        await app.dispatcher.idle()


async def test_with_a_larger_window_what_had_no_room_before_comes_back(make_app: MakeApp) -> None:
    model = ScriptedModel(["reply " * 40])
    app = await make_app(model=model, persona="none", context_tokens=2_600, access={"admins": ["fake:alice"]})
    await chatter(app, range(30))
    assert "question 0 " not in str(model.requests[-1])
    await app.pipeline.deliver(make_inbound("/session set context_tokens 16000"))
    await chatter(app, range(30, 31))
    assert len(history(model.requests[-1])) == 61


async def test_with_a_history_limit_one_request_is_a_prefix_of_the_next_between_cuts(make_app: MakeApp) -> None:
    model = ScriptedModel(["reply"])
    app = await make_app(model=model, persona="none", history_limit=20)
    await chatter(app, range(30))
    lengths = [len(history(request)) for request in model.requests]
    assert max(lengths) <= 20
    pairs = list(zip(model.requests, model.requests[1:], strict=False))
    breaks = [old.messages != new.messages[: len(old.messages)] for old, new in pairs].count(True)
    assert 5 <= breaks <= 9


async def test_what_a_reply_teaches_does_not_depend_on_what_others_taught_meanwhile(make_app: MakeApp) -> None:
    text, held, usage = "word " * 400, asyncio.Event(), dict[str, Usage]()
    model = ScriptedModel(lambda request: Reply(usage=usage.get(name := first_word(request)), hold=holds.get(name)))
    holds, adapter = {"slow": held}, FakeAdapter()
    app = await make_app(model=model, adapter=adapter, persona="none")
    await app.pipeline.deliver(make_inbound(f"once {text}", channel=make_channel("a", dm=True)))
    await app.dispatcher.idle()
    calls = await app.core.db.read(lambda tx: tx.execute(select(model_calls.c.estimated_tokens)).scalars().all())
    usage |= {"slow": Usage(input_tokens=calls[0]), "fast": Usage(input_tokens=2 * calls[0])}
    await app.pipeline.deliver(make_inbound(f"slow {text}", channel=make_channel("b", dm=True)))
    await model.wait_for(2)
    await app.pipeline.deliver(make_inbound(f"fast {text}", channel=make_channel("c", dm=True)))
    await adapter.wait_for(2)
    risen = app.models.tokens.factor("test/scripted")
    assert risen > 2
    held.set()
    await app.dispatcher.idle()
    assert app.models.tokens.factor("test/scripted") == pytest.approx(risen - 0.05 * (risen - 1.35), abs=0.01)


def first_word(request: ModelRequest) -> str:
    return request.messages[-1].text.split()[0]


async def test_a_card_that_fills_the_window_is_told_to_the_asker_and_its_sum_to_the_operator(make_app: MakeApp) -> None:
    model, adapter = ScriptedModel(), FakeAdapter()
    rules = "rule " * 3_000
    app = await make_app(model=model, adapter=adapter, persona="none", context_tokens=4_096, system_prompt=rules)
    with capture_logs() as logs:
        await app.pipeline.deliver(make_inbound("hello " * 200))
        await app.dispatcher.idle()
    assert model.requests == []
    assert adapter.texts == [app.core.catalogue.text("model-no-room", "en")]
    (failed,) = [entry for entry in logs if entry["event"] == "turn.failed"]
    assert "3,072 tokens that a prompt may fill (window 4,096, of which 512" in failed["error"]
