"""Tools and crashes: a round that has ended is kept, no tool runs twice, and nothing is left once it is answered."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from sqlalchemy import func, select

from bot.llm.model import Role, ToolCall, ToolSpec
from bot.store.database import Tx
from bot.store.rounds import running_rounds
from bot.store.tables import MessageKind, messages
from bot.testing import FakeAdapter, Reply, ScriptedModel, make_inbound
from bot.tools import Tool
from bot.turn import Turn
from tests.conftest import MakeApp
from tests.talking import Chat, open_chat

CALL = Reply(text="", tool_calls=(ToolCall(id="c1", name="count", arguments="{}"),))


class Counting:
    """A tool that counts its runs; `hold` keeps each from ending."""

    def __init__(self, *, progress: str | None = None, hold: asyncio.Event | None = None) -> None:
        self.runs, self.hold, self.began, self.was_cancelled = 0, hold, asyncio.Event(), False
        spec = ToolSpec(name="count", description="Counts.", parameters={"type": "object", "properties": {}})
        self.tool = Tool(spec=spec, run=self, progress=progress)

    async def __call__(self, _turn: Turn, _arguments: Mapping[str, Any]) -> str:
        self.runs += 1
        self.began.set()
        try:
            if self.hold is not None:
                await self.hold.wait()
        except asyncio.CancelledError:
            self.was_cancelled = True
            raise
        return f"run {self.runs}"


def kept(tx: Tx) -> int:
    return int(tx.execute(select(func.count()).select_from(running_rounds)).scalar_one())


def tool_rows(tx: Tx) -> int:
    is_tool = messages.c.kind == MessageKind.TOOL.value
    return int(tx.execute(select(func.count()).select_from(messages).where(is_tool)).scalar_one())


async def begin(chat: Chat, text: str = "count", **more: Any) -> None:
    """Say something whose answer does not end by itself."""
    await chat.app.pipeline.deliver(make_inbound(text, **more))


async def test_after_a_crash_the_answer_goes_on_behind_the_tools_that_have_run(make_app: MakeApp) -> None:
    counting, never = Counting(), asyncio.Event()
    model = ScriptedModel([CALL, Reply(text="", hold=never)])
    chat = await open_chat(make_app, model=model, persona="none", tools=[counting.tool], stop_grace=0)
    await begin(chat)
    await model.wait_for(2)
    assert await chat.app.core.db.read(kept) == 1
    await chat.app.close()  # as by a crash: the answer to the second request never came

    again = await open_chat(make_app, model=ScriptedModel(["One."]), persona="none", tools=[counting.tool])
    assert await again.adapter.wait_for(1) == ["One."]
    assert counting.runs == 1
    asked = again.model.requests[0].messages
    assert [message.role for message in asked[-3:]] == [Role.USER, Role.ASSISTANT, Role.TOOL]
    assert asked[-1].text == "run 1"
    await again.settled()
    assert (await again.app.core.db.read(kept), await again.app.core.db.read(tool_rows)) == (0, 2)


async def test_an_answer_leaves_its_rounds_among_the_messages_alone(make_app: MakeApp) -> None:
    counting = Counting()
    chat = await open_chat(make_app, model=ScriptedModel([CALL, "One."]), persona="none", tools=[counting.tool])
    assert await chat.say("count") == ["One."]
    assert (await chat.app.core.db.read(kept), await chat.app.core.db.read(tool_rows)) == (0, 2)


async def test_stop_ends_a_tool_that_runs_and_nothing_of_it_is_left(make_app: MakeApp) -> None:
    counting = Counting(hold=asyncio.Event())
    chat = await open_chat(make_app, model=ScriptedModel([CALL, "One."]), persona="none", tools=[counting.tool])
    await begin(chat)
    await counting.began.wait()
    await chat.ask("/stop")
    await chat.settled()
    assert (counting.was_cancelled, len(chat.model.requests)) == (True, 1)
    assert (await chat.app.core.db.read(kept), await chat.app.core.db.read(tool_rows)) == (0, 0)


async def test_of_somebody_who_wants_privacy_no_round_is_kept(make_app: MakeApp) -> None:
    counting, never = Counting(), asyncio.Event()
    model = ScriptedModel([CALL, Reply(text="", hold=never)])
    chat = await open_chat(make_app, model=model, persona="none", tools=[counting.tool])
    await chat.ask("/privacy on")
    await begin(chat)
    await model.wait_for(2)
    assert await chat.app.core.db.read(kept) == 0
    never.set()
    await chat.settled()


async def open_slow(make_app: MakeApp, counting: Counting, *replies: Reply | str) -> Chat:
    """A chat in which people are told at once what a tool does."""
    adapter = FakeAdapter(streams=True)
    chat = await open_chat(
        make_app, model=ScriptedModel([*replies]), adapter=adapter, persona="none", tools=[counting.tool]
    )
    tell_at_once(chat)
    return chat


def tell_at_once(chat: Chat) -> None:
    """Let people read of every tool that has words for it, however fast it is."""
    agent: Any = chat.app.desk.gauge.agent
    object.__setattr__(agent._calls, "progress_after", 0)


async def test_people_read_what_a_slow_tool_does_until_the_answer_takes_its_place(make_app: MakeApp) -> None:
    counting = Counting(progress="progress-tool", hold=asyncio.Event())
    chat = await open_slow(make_app, counting, CALL, "One.")
    await begin(chat)
    await chat.adapter.wait_shown()
    assert chat.last_reply.shown == ["*using `count` …*"]
    assert counting.hold is not None
    counting.hold.set()
    assert await chat.adapter.wait_for(1) == ["One."]
    assert len(chat.adapter.replies) == 1


async def test_of_a_fast_tool_nothing_is_told(make_app: MakeApp) -> None:
    counting = Counting()
    chat = await open_slow(make_app, counting, CALL, "One.")
    await chat.say("count")
    assert not any("using" in shown for shown in chat.last_reply.shown)


async def test_a_stop_takes_away_what_was_told_of_a_tool(make_app: MakeApp) -> None:
    counting = Counting(progress="progress-tool", hold=asyncio.Event())
    chat = await open_slow(make_app, counting, CALL, "One.")
    await begin(chat)
    await chat.adapter.wait_shown()
    await chat.ask("/stop")
    await chat.settled()
    assert (chat.adapter.replies[0].outbound, counting.was_cancelled) == (None, True)
    assert await chat.say("/retry") != []
    assert counting.runs == 1
