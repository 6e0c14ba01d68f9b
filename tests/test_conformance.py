"""Every kind of model server holds every conversation, and after the first time without a request too many."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from sqlalchemy import select

from bot.llm.model import ContextTooLong, ModelMessage, Role, ToolCall
from bot.store.tables import MessageKind, messages
from bot.testing import make_author, make_channel
from tests.conftest import MakeApp
from tests.conversations import CONVERSATIONS, Conversation, Stage, talker
from tests.emulators.openai.harness import HELLO, assistant, bench, user
from tests.emulators.openai.profiles import PROFILES, Profile, behaving_like
from tests.emulators.openai.script import (
    DONE,
    Cut,
    Pause,
    Plain,
    Raw,
    Refuse,
    Reply,
    Say,
    Script,
    Stall,
    Stream,
    When,
    chunk,
    said,
)

each_profile = pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
each_conversation = pytest.mark.parametrize("conversation", CONVERSATIONS, ids=lambda one: one.name)


@asynccontextmanager
async def staged(profile: Profile, script: Script, make_app: MakeApp, **provider: Any) -> AsyncIterator[Stage]:
    parameters = {"temperature": 0.8, "top_k": 40}
    async with bench(script, write_bytes=profile.write_bytes, parameters=parameters, **provider) as it:
        yield Stage(profile=profile, bench=it, make_app=make_app)


@each_profile
@each_conversation
async def test_every_server_holds_every_conversation(
    profile: Profile, conversation: Conversation, make_app: MakeApp
) -> None:
    async with staged(profile, behaving_like(profile, conversation.model), make_app) as stage:
        await conversation.hold(stage)
        taught = len(stage.bench.openai.requests)
        calls = await conversation.hold(stage)
        assert len(stage.bench.openai.requests) - taught == calls, "what a server cannot take is learned once"


@each_profile
async def test_L19_every_server_goes_on_behind_a_round_of_tools_that_another_one_called(
    profile: Profile, make_app: MakeApp
) -> None:
    signed = ToolCall(id="call_of_another_server", name="clock", arguments="{}", extra='{"signed": 1}', by="other/pro")
    thought = assistant("", signed, reasoning="It wants the time.")
    result = ModelMessage(role=Role.TOOL, text="noon", tool_call_id=signed.id, name="clock")
    async with staged(profile, behaving_like(profile, talker), make_app) as stage:
        await stage.ask(user("Hi"))  # from now on it is known where it wants its own reasoning back
        said, _ = await stage.ask(user("What time is it?"), thought, result)
        assert said
        sent = str([request.body for request in stage.bench.openai.requests])
    assert "signed" not in sent
    assert "It wants the time." not in sent


@pytest.mark.parametrize("profile", [one for one in PROFILES if one.overflow], ids=lambda profile: profile.name)
async def test_M17_every_server_that_says_so_is_understood_when_a_prompt_does_not_fit(
    profile: Profile, make_app: MakeApp
) -> None:
    async with staged(profile, behaving_like(profile, talker), make_app) as stage:
        await stage.ask(user("Hi"))
        with pytest.raises(ContextTooLong) as caught:
            await stage.ask(user("word " * (profile.window + 1)))
    assert profile.overflow is not None
    if "{limit}" in profile.overflow.words:
        assert caught.value.limit == profile.window
        assert (caught.value.given or 0) > profile.window


async def test_L11_a_tool_whose_call_comes_without_index_and_id_runs_once_and_its_result_finds_the_call(
    make_app: MakeApp,
) -> None:
    parts: list[Any] = [
        {"id": None, "type": "function", "function": {"name": "current_time", "arguments": ""}},
        {"function": {"arguments": '{"timezone": "As'}},
        {"function": {"arguments": 'ia/Tokyo"}'}},
    ]
    asks = Stream([*(chunk({"tool_calls": [part]}) for part in parts), chunk({}, finish="stop"), DONE])
    script = [When(tool_result=".", reply=Say(text="So late.")), When(reply=asks)]
    async with staged(PROFILES[0], script, make_app) as it:
        bot = await it.bot()
        assert (await bot.hear("What time is it?", make_channel(dm=True), make_author("Alice")))[-1] == "So late."
    *_, call, result = it.last.messages
    assert (call["tool_calls"][0]["function"]["arguments"], result["content"]) == (
        '{"timezone": "Asia/Tokyo"}',
        "Sunday, 2026-11-01 21:00 (Asia/Tokyo, UTC+0900)",
    )
    assert result["tool_call_id"] == call["tool_calls"][0]["id"] != ""
    assert len(it.bench.openai.requests) == 2


async def test_L18_an_answer_that_is_all_reasoning_is_a_notice_and_never_blank(make_app: MakeApp) -> None:
    starved = Say(reasoning="hm", finish="length")
    async with staged(PROFILES[0], starved, make_app) as it:
        bot = await it.bot()
        *_, heard = await bot.hear("Hello.", make_channel(dm=True), make_author("Alice"))
        assert heard == bot.app.core.catalogue.text("model-length", "en")
    assert len(it.bench.openai.requests) == 1, "reasoning was asked for, with all the room that there is"


HALF = said("Half a ")
ERROR = {"message": "upstream is gone", "code": 502}
FAULTS: dict[str, Reply] = {
    "cut": Stream([*HALF, Cut()]),
    "stalled": Stream([*HALF, Stall()]),
    "stalled from the start": Stream([Stall()]),
    "thinking for ever": Stream(
        itertools.chain.from_iterable(itertools.repeat((chunk({"reasoning": "hm"}), Pause(0.02))))
    ),
    "an error in the stream": Stream([*HALF, {"error": ERROR}]),
    "an error without its key": Stream([*HALF, {"object": "error", **ERROR}]),
    "an error for a finish": Stream([*HALF, chunk({}, finish="error")]),
    "no chunk": Stream([*HALF, Raw(b"data: [1, 2\n\n")]),
    "an error with status 200": Plain(body={"error": ERROR}),
    "nothing with status 200": Plain(body=None),
    "a page with status 200": Refuse(status=200, body="<html><h1>Welcome</h1></html>"),
}


GOES_ON = ("cut", "stalled", "an error in the stream", "an error without its key", "an error for a finish")
"""After these the half that was shown can be gone on from: nothing of it was wrong."""


@pytest.mark.parametrize("fault", FAULTS)
async def test_L21_whatever_a_hostile_server_does_it_ends_and_half_an_answer_is_never_a_whole_one(
    fault: str, make_app: MakeApp
) -> None:
    alice, dm = make_author("Alice"), make_channel(dm=True)
    async with staged(
        PROFILES[-1], lambda _: FAULTS[fault], make_app, first_token_timeout=0.2, total_timeout=0.6
    ) as it:
        bot = await it.bot()
        async with asyncio.timeout(20):
            *_, heard = await bot.hear("Hello.", dm, alice)
        unfinished = f"Half a …\n\n*{bot.app.core.catalogue.text('answer-unfinished', 'en')}*"
        assert heard == unfinished if fault in GOES_ON else bot.adapter.replies[-1].failed and "Half" not in heard
        it.bench.openai.script = HELLO
        assert await bot.hear("And now?", dm, alice) == ["Hello!"]
        whole = select(messages.c.text).where(messages.c.kind == MessageKind.REPLY.value, ~messages.c.cut)
        assert "Half a" not in str(await bot.app.core.db.read(lambda tx: tx.execute(whole).scalars().all()))
