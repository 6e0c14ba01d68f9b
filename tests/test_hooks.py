"""Each hook as a stranger's extension uses it, in a running bot."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest

from bot.chat import ChannelRef, Inbound, InboundKind, Outbound
from bot.hooks import DROP, Drop, Hooks, ModelInput, Origin, Phase, Refusal
from bot.llm.model import ModelMessage, ModelUnreachable, Role, ToolCall
from bot.testing import FakeAdapter, Reply, ScriptedModel, make_inbound
from bot.turn import Turn
from tests.conftest import MakeApp
from tests.folding import GIST
from tests.talking import BOB, DM, GROUP, Chat, open_chat

CALL = ToolCall(id="1", name="roll_dice", arguments='{"dice": "1d6"}')

OpenHooked = Callable[..., Awaitable[Chat]]


class Seen(list[Any]):
    """An observer that keeps the last of what it is given at each call."""

    async def __call__(self, *values: Any) -> None:
        self.append(values[-1])


@pytest.fixture
def open_hooked(make_app: MakeApp, monkeypatch: pytest.MonkeyPatch) -> OpenHooked:
    """`await open_hooked(on_inbound=..., **settings)`: a chat with a bot that has an extension of these hooks."""

    async def open_it(**given: Any) -> Chat:
        module: Any = ModuleType("stranger")
        module.HOOKS = Hooks(**{name: given.pop(name) for name in [*given] if name in Hooks.__slots__})
        monkeypatch.setitem(sys.modules, "stranger", module)
        return await open_chat(make_app, extensions=("stranger",), **given)

    return open_it


# What comes in


async def test_an_inbound_is_heard_as_a_hook_makes_it(open_hooked: OpenHooked) -> None:
    async def translate(inbound: Inbound) -> Inbound:
        return replace(inbound, text=inbound.text.replace("bonjour", "good day"))

    chat = await open_hooked(on_inbound=translate)
    await chat.say("bonjour")
    assert chat.last_prompt[-1] == ("user", "good day")


async def test_what_a_hook_drops_is_neither_asked_nor_kept(open_hooked: OpenHooked) -> None:
    async def drop(inbound: Inbound) -> Drop | None:
        return DROP if "spam" in inbound.text else None

    chat = await open_hooked(on_inbound=drop)
    assert await chat.say("spam!") == []
    assert chat.model.requests == []
    await chat.say("hello")
    assert [text for _, text in chat.last_prompt if "spam" in text] == []


async def test_D10_a_dropped_command_does_not_keep_its_caller_waiting(open_hooked: OpenHooked) -> None:
    async def drop(inbound: Inbound) -> Drop | None:
        return DROP if inbound.kind is InboundKind.COMMAND else None

    discarded: list[object] = []

    class Waiting(FakeAdapter):
        async def open_reply(self, channel: ChannelRef, **given: Any) -> Any:
            stream, discard = await super().open_reply(channel, **given), discarded.append
            stream.discard = lambda: _noted(discard, given["handle"])  # type: ignore[method-assign]  # to see it
            return stream

    chat = await open_hooked(on_inbound=drop, adapter=Waiting())
    assert await chat.choose("status") == []
    assert len(discarded) == 1
    assert discarded[0] is not None


async def _noted(note: Callable[[object], None], what: object) -> bool:
    note(what)
    return False


# What the model is asked


async def test_a_hook_replaces_all_that_a_model_is_asked(open_hooked: OpenHooked) -> None:
    wanted = ModelInput(
        messages=(ModelMessage(role=Role.SYSTEM, text="Be a gull."), ModelMessage(role=Role.USER, text="Squawk?"))
    )

    async def rewrite(_turn: Turn, _given: ModelInput) -> ModelInput:
        return wanted

    chat = await open_hooked(before_model=rewrite)
    await chat.say("hello")
    request = chat.model.requests[-1]
    assert (request.messages, request.tools) == (wanted.messages, ())


async def test_a_hook_sees_and_changes_every_step_of_a_tool_loop(open_hooked: OpenHooked) -> None:
    seen: list[ModelInput] = []

    async def shorten(_turn: Turn, given: ModelInput) -> ModelInput:
        seen.append(given)
        messages = [
            replace(message, text="six") if message.role is Role.TOOL else message for message in given.messages
        ]
        return replace(given, messages=tuple(messages))

    model = ScriptedModel([Reply(text="", tool_calls=(CALL,)), "Done."])
    chat = await open_hooked(before_model=shorten, model=model)
    await chat.say("roll")
    assert [message.role for message in seen[1].messages[-2:]] == [Role.ASSISTANT, Role.TOOL]
    assert "1d6: " in seen[1].messages[-1].text
    first, second = model.requests
    assert second.messages[: len(first.messages)] == first.messages
    assert (second.messages[-2].tool_calls, second.messages[-1].text) == ((CALL,), "six")
    assert second.messages[-1].tool_call_id == CALL.id


async def test_a_hook_takes_tools_away(open_hooked: OpenHooked) -> None:
    async def without_dice(_turn: Turn, given: ModelInput) -> ModelInput:
        return replace(given, tools=tuple(tool for tool in given.tools if tool.name != "roll_dice"))

    model = ScriptedModel([Reply(text="", tool_calls=(CALL,)), "Done."])
    chat = await open_hooked(before_model=without_dice, model=model)
    await chat.say("roll")
    assert "roll_dice" not in [tool.name for tool in model.requests[0].tools]
    assert model.requests[1].messages[-1].text.startswith("Error: there is no tool 'roll_dice'")


async def test_what_a_hook_asks_is_fitted_into_the_window(open_hooked: OpenHooked) -> None:
    flood = tuple(ModelMessage(role=Role.USER, text=f"line {number} " + "wave " * 200) for number in range(100))

    async def pour(_turn: Turn, given: ModelInput) -> ModelInput:
        return replace(given, messages=(*given.messages[:-1], *flood, given.messages[-1]))

    chat = await open_hooked(before_model=pour, context_tokens=8_000)
    await chat.say("hello")
    last = chat.last_prompt
    assert last[-1] == ("user", "hello")
    assert 5 < len(last) < 50
    assert last[-2][1].startswith("line 99 ")


async def test_a_request_that_a_hook_rewrote_does_not_teach_the_token_factor_nonsense(open_hooked: OpenHooked) -> None:
    async def rewrite(_turn: Turn, given: ModelInput) -> ModelInput:
        return ModelInput(messages=(ModelMessage(role=Role.USER, text="hi"),))

    usages = Seen()
    chat = await open_hooked(before_model=rewrite, on_usage=usages)
    await chat.say("hello " * 500)
    assert usages[0].used - usages[0].max_tokens < 50


async def test_hooks_read_each_answer_of_the_model_and_what_each_request_fills(open_hooked: OpenHooked) -> None:
    completions, usages = Seen(), Seen()
    model = ScriptedModel([Reply(text="", tool_calls=(CALL,)), "Done."])
    chat = await open_hooked(after_model=completions, on_usage=usages, model=model)
    await chat.say("roll")
    assert [(completion.text, completion.tool_calls) for completion in completions] == [("", (CALL,)), ("Done.", ())]
    assert len(usages) == 2
    assert 0 < usages[0].used < usages[1].used
    assert sum(usages[1].parts.values()) == usages[1].used


# Tools


async def test_a_refused_tool_does_not_run_and_the_model_reads_why(open_hooked: OpenHooked) -> None:
    async def refuse(_turn: Turn, call: ToolCall) -> Refusal:
        return Refusal(reason=f"{call.name} is resting.")

    model = ScriptedModel([Reply(text="", tool_calls=(CALL,)), "Done."])
    chat = await open_hooked(before_tool=refuse, model=model)
    await chat.say("roll")
    assert model.requests[-1].messages[-1].text == "Error: roll_dice is resting."


async def test_what_a_tool_said_is_what_a_hook_makes_of_it_for_good(open_hooked: OpenHooked) -> None:
    async def cheat(_turn: Turn, _call: ToolCall, _result: str) -> str:
        return "1d6: 6 = 6"

    model = ScriptedModel([Reply(text="", tool_calls=(CALL,)), "A six.", "Yes."])
    chat = await open_hooked(after_tool=cheat, model=model)
    await chat.say("roll")
    await chat.say("really?")
    assert ("tool", "1d6: 6 = 6") in chat.last_prompt


# What goes out


async def test_an_answer_is_replaced_before_anybody_sees_any_of_it(open_hooked: OpenHooked) -> None:
    async def censor(_turn: Turn, text: str) -> str:
        return text.replace("darn", "d***")

    adapter = FakeAdapter(streams=True)
    chat = await open_hooked(before_reply=censor, adapter=adapter, model=ScriptedModel(["oh darn it all"]))
    assert (await chat.say("hello"))[-1] == "oh d*** it all"
    assert chat.last_reply.shown == []
    await chat.say("what?")
    assert ("assistant", "oh d*** it all") in chat.last_prompt


async def test_every_send_goes_through_on_outbound(open_hooked: OpenHooked) -> None:
    async def stamp(channel: ChannelRef, outbound: Outbound) -> Outbound:
        return replace(outbound, text=f"{outbound.text} [{channel.place}]")

    adapter = FakeAdapter(streams=True)
    error = ModelUnreachable("test/scripted", "no route")
    model = ScriptedModel(["Aye.", Reply(text="", error=error)])
    chat = await open_hooked(on_outbound=stamp, adapter=adapter, model=model)
    shown = [*await chat.say("hello"), *await chat.say("/help"), *await chat.say("fail"), *await chat.say("/nonsense")]
    assert len(shown) == 5  # a greeting, an answer, help, a failure, a refusal
    assert all(text.endswith(" [dm-room]") for text in shown)
    assert [reply.shown for reply in adapter.replies] == [[]] * 5
    await chat.say("again")
    assert ("assistant", "Aye.") in chat.last_prompt


async def test_an_answer_that_is_dropped_on_its_way_was_not_said(open_hooked: OpenHooked) -> None:
    async def drop(_channel: ChannelRef, outbound: Outbound) -> Drop | None:
        return DROP if "secret" in outbound.text else None

    chat = await open_hooked(on_outbound=drop, model=ScriptedModel(["the secret", "well"]))
    assert await chat.say("tell me", channel=GROUP) == []
    assert await chat.say("and now?", channel=GROUP) == ["well"]
    assert [text for _, text in chat.last_prompt if "secret" in text] == []


# What happened


async def test_a_turn_is_told_with_what_came_of_it(open_hooked: OpenHooked) -> None:
    answers = Seen()
    chat = await open_hooked(after_turn=answers)
    await chat.say("hello", author=BOB, channel=GROUP)
    (answered,) = answers
    assert (answered.text, answered.is_cut) == ("ok", False)
    assert [part.message_id for part in answered.parts] == ["m1"]


async def test_compactions_are_told_from_start_to_end(open_hooked: OpenHooked) -> None:
    steps = Seen()
    model = ScriptedModel(summaries=[GIST, "nonsense"])
    chat = await open_hooked(on_compaction=steps, model=model, summary={"keep_recent": 2})
    for text in "abcde":
        await chat.say(f"{text} and so on and on, as people do")
    await chat.say("/compact")
    await chat.settled()
    assert [(step.phase, step.reason) for step in steps] == [(Phase.START, "manual"), (Phase.DONE, "manual")]
    assert steps[0].session.channel == DM
    assert steps[1].tokens_before == steps[0].tokens_before > 0
    assert steps[1].tokens_after > 0
    for text in "fghij":
        await chat.say(text)
    await chat.say("/compact")
    await chat.settled()
    assert [step.phase for step in steps[2:]] == [Phase.START, Phase.ERROR]


async def test_clearing_is_told_with_what_and_how_much(open_hooked: OpenHooked) -> None:
    clearings = Seen()
    chat = await open_hooked(on_memory_cleared=clearings)
    await chat.say("hello")
    await chat.say("/memory clear all")
    assert clearings == []
    await chat.say("/memory clear all -y")
    (clearing,) = clearings
    assert (clearing.what, clearing.session.channel) == ("all", DM)
    assert clearing.count > 0


async def test_failures_are_told_with_their_place(open_hooked: OpenHooked) -> None:
    failures = Seen()
    error = ModelUnreachable("test/scripted", "no route")
    model = ScriptedModel([Reply(text="", error=error)])
    chat = await open_hooked(on_error=failures, model=model)
    await chat.say("hello")
    assert [(failure.origin, failure.channel) for failure in failures] == [(Origin.MODEL, DM)]
    assert failures[0].error is error
    await chat.app.pipeline.deliver(make_inbound("/status", sent_at=None))  # type: ignore[arg-type]  # breaks it
    assert failures[-1].origin is Origin.INBOUND


async def test_no_hook_is_called_where_there_is_none(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    await chat.say("hello")
    assert chat.app.core.added.extensions == ()
    assert chat.app.core.platforms["fake"] is chat.adapter


async def test_an_answer_that_is_stopped_while_a_hook_words_it_is_not_shown(open_hooked: OpenHooked) -> None:
    begun = asyncio.Event()

    async def ponder(_turn: Turn, _text: str) -> None:
        begun.set()
        await asyncio.Event().wait()

    chat = await open_hooked(before_reply=ponder, seconds=60)
    await chat.app.pipeline.deliver(make_inbound("hello", channel=GROUP, mentions_me=True))
    await begun.wait()
    await chat.say("/stop", channel=GROUP)
    assert "ok" not in chat.adapter.texts
