"""What becomes of a turn when something fails around it: whoever waits is told, and no answer is lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from dataclasses import replace
from datetime import timedelta
from typing import Any, Unpack

import pytest
from sqlalchemy import text
from structlog.testing import capture_logs

from adapters.pacing import PacedReply, Uncertain, Unreachable, Wait
from bot.app import App
from bot.chat import Author, ChannelRef, ReplyOptions, ReplyStream
from bot.dispatch import TurnRequest
from bot.llm.model import ModelError, ModelRequest, ModelUnreachable
from bot.store.database import Tx
from bot.tasks import Tasks
from bot.testing import FakeAdapter, FakeReply, Reply, ScriptedModel, make_author, make_inbound
from tests.conftest import MakeApp
from tests.pacing_stage import Clock, Stage
from tests.talking import DM, GROUP, open_chat

FAILED = f"model-{ModelError.kind}"


class Platform(Stage):
    """A scripted platform that tells when it is first asked to send."""

    def __init__(self) -> None:
        super().__init__(Clock(), limit=2000)
        self.asked = asyncio.Event()

    async def send(self, part: str, ordinal: int) -> str:
        """Send, or meet with a fault."""
        self.asked.set()
        return await super().send(part, ordinal)


class Staged(FakeAdapter):
    """An adapter whose answers take the way that those of real platforms take; its platform keeps them."""

    def __init__(self, tasks: Tasks) -> None:
        super().__init__()
        self.stage = Platform()
        self._tasks = tasks
        self.grows = asyncio.Event()
        self.growing: list[asyncio.Task[None]] = []

    def _spawn(self, name: str, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = self._tasks.spawn(name, work)
        if name == "growing reply":
            self.growing.append(task)
            self.grows.set()
        return task

    async def open_reply(self, channel: ChannelRef, **options: Unpack[ReplyOptions]) -> ReplyStream:
        """An answer that is shown at once."""
        clock, sleep = self.stage.clock, self.stage.clock.sleep
        return PacedReply(
            self.stage,
            spawn=self._spawn,
            before_send=options.get("before_send"),
            part_shown=options.get("part_shown"),
            quiet=timedelta(0),
            clock=clock,
            sleep=sleep,
        )


@pytest.fixture
async def staged() -> AsyncIterator[Staged]:
    tasks = Tasks()
    yield Staged(tasks)
    await tasks.close()


async def execute(app: App, *statements: str) -> None:
    def run(tx: Tx) -> None:
        for statement in statements:
            tx.execute(text(statement))

    await app.core.db.run(run)


BREAK = "ALTER TABLE memory_item RENAME TO gone"
"""Turns cannot be opened then, while messages are heard."""


@pytest.mark.parametrize("channel", [DM, GROUP])
async def test_a_turn_that_cannot_be_opened_is_told_to_whoever_asked(make_app: MakeApp, channel: ChannelRef) -> None:
    chat = await open_chat(make_app, persona="none")
    await chat.say("hello", channel=channel)
    await execute(chat.app, BREAK)
    assert await chat.say("and now?", channel=channel) == [chat.app.core.catalogue.text(FAILED, "en")]
    await execute(chat.app, "ALTER TABLE gone RENAME TO memory_item")
    assert await chat.say("and now?", channel=channel) == ["ok"]


async def test_D07_no_bot_is_told_that_its_turn_cannot_be_opened(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="none", bots={"answer": True})
    await chat.say("hello", channel=GROUP)
    await execute(chat.app, BREAK)
    assert await chat.say("and now?", channel=GROUP, author=make_author("Robo", is_bot=True)) == []


class Discarding(FakeAdapter):
    """An adapter that keeps what became of every answer that it began."""

    def __init__(self) -> None:
        super().__init__()
        self.opened: list[tuple[object | None, FakeReply]] = []

    async def open_reply(self, channel: ChannelRef, *, handle: object | None = None, **more: Any) -> Any:
        """A stream that is remembered with its handle."""
        stream = await super().open_reply(channel, handle=handle, **more)
        self.opened.append((handle, stream._reply))
        return stream


async def test_D10_a_command_whose_burst_was_answered_meanwhile_does_not_think_for_ever(make_app: MakeApp) -> None:
    adapter, handle = Discarding(), object()
    chat = await open_chat(make_app, persona="none", adapter=adapter)
    await chat.say("hello")
    request = TurnRequest(session_id=1, author_key="fake:alice", message_id=1, channel=DM)
    chat.app.dispatcher.request_turn(replace(request, reply_handle=handle), burst_ms=0)
    await chat.app.dispatcher.idle()
    chat.app.dispatcher.request_turn(request, burst_ms=0)
    await chat.app.dispatcher.idle()
    assert [reply.discarded for opened, reply in adapter.opened[1:]] == [True]
    assert adapter.opened[1][0] is handle


async def test_D10_a_command_that_comes_while_the_process_ends_does_not_think_for_ever(make_app: MakeApp) -> None:
    adapter, handle = Discarding(), object()
    chat = await open_chat(make_app, persona="none", adapter=adapter)
    await chat.say("hello")
    await chat.app.dispatcher.drain(1)
    await chat.app.pipeline.deliver(make_inbound("/retry", reply_handle=handle))
    await chat.app.dispatcher.drain(1)
    assert [reply.discarded for opened, reply in adapter.opened if opened is handle] == [True]


async def test_a_passing_fault_of_the_database_costs_no_answer(make_app: MakeApp, staged: Staged) -> None:
    gate = asyncio.Event()
    app = await make_app(adapter=staged, persona="none", model=ScriptedModel([Reply(text="one two", hold=gate)]))
    await execute(
        app,
        "CREATE TRIGGER fault BEFORE INSERT ON message WHEN NEW.kind = 'reply' BEGIN SELECT RAISE(ABORT, 'no'); END",
    )
    await app.pipeline.deliver(make_inbound("hello"))
    await asyncio.wait_for(staged.grows.wait(), 10)
    await asyncio.wait(staged.growing)
    await execute(app, "DROP TRIGGER fault")
    gate.set()
    await asyncio.wait_for(app.dispatcher.idle(), 10)
    rows = await app.core.db.read(
        lambda tx: tx.execute(text("SELECT state, text FROM message WHERE kind = 'reply'")).all()
    )
    assert [*staged.stage.messages.values()] == ["one two"]
    assert [tuple(row) for row in rows] == [("sent", "one two")]


async def test_a_part_that_cannot_be_noted_costs_no_answer(make_app: MakeApp) -> None:
    gate, adapter = asyncio.Event(), FakeAdapter(streams=True)
    app = await make_app(adapter=adapter, persona="none", model=ScriptedModel([Reply(text="one two", hold=gate)]))
    fault = "BEFORE UPDATE ON sent_part WHEN NEW.state = 'sending' BEGIN SELECT RAISE(ABORT, 'no'); END"
    await execute(app, f"CREATE TRIGGER fault {fault}")
    with capture_logs() as logs:
        await app.pipeline.deliver(make_inbound("hello"))
        await asyncio.wait_for(adapter.changed.wait(), 10)
        gate.set()
        await asyncio.wait_for(app.dispatcher.idle(), 10)
    assert adapter.texts == ["one two"]
    assert [entry["task"] for entry in logs if entry["event"] == "task.failed"] == ["note part"]


@pytest.mark.parametrize("channel", [DM, GROUP])
async def test_a_command_that_breaks_is_told_however_it_was_given(make_app: MakeApp, channel: ChannelRef) -> None:
    chat = await open_chat(make_app, persona="none")
    await chat.say("hello", channel=channel)
    await execute(chat.app, "ALTER TABLE sent_part RENAME TO gone")
    told = [chat.app.core.catalogue.text("error-internal", "en")]
    assert await chat.say("/retry", channel=channel) == told
    assert await chat.say("/retry", channel=channel, mentions_me=False) == told
    assert await chat.choose("retry", channel=channel) == told
    assert await chat.press("retry", channel=channel) == told


async def test_a_message_that_cannot_be_stored_is_told_to_whoever_spoke_to_us_alone(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="none")
    await execute(chat.app, "ALTER TABLE message RENAME TO gone")
    told = [chat.app.core.catalogue.text("error-internal", "en")]
    assert await chat.say("hello") == told
    assert await chat.say("hello", channel=GROUP) == told
    assert await chat.say("hello", channel=GROUP, mentions_me=False) == []
    assert await chat.say("hello", channel=GROUP, author=make_author("Robo", is_bot=True)) == []


async def test_a_turn_that_breaks_is_told_once_and_can_be_tried_again(make_app: MakeApp) -> None:
    faults = iter([ValueError("unforeseen")])

    def script(_request: ModelRequest) -> str:
        for fault in faults:
            raise fault
        return "now"

    chat = await open_chat(make_app, persona="none", model=ScriptedModel(script))
    assert await chat.say("hello") == [chat.app.core.catalogue.text(FAILED, "en")]
    assert await chat.say("/retry") == ["now"]
    assert chat.last_prompt == [("user", "hello")]


@pytest.mark.parametrize(("command", "answers"), [("/retry", ["whole"]), ("/undo", [])])
async def test_S16_half_an_answer_that_the_last_run_left_is_taken_away(
    make_app: MakeApp, command: str, answers: list[str]
) -> None:
    growing = FakeAdapter(streams=True)
    half = ScriptedModel([Reply(text="half of it", hold=asyncio.Event())])
    app = await make_app(adapter=growing, model=half, persona="none")
    await app.pipeline.deliver(make_inbound("hello"))
    await asyncio.wait_for(growing.changed.wait(), 10)
    await app.close()
    chat = await open_chat(make_app, model=ScriptedModel(["whole"]), persona="none")
    await chat.adapter.wait_shown()
    assert chat.adapter.texts == [chat.app.core.catalogue.text("answer-broken-off", "en")]
    assert chat.last_reply.reply_to == "m1"
    assert "don't know" in await chat.ask("/status")
    told = await chat.say(command)
    assert told[-1:] == (answers or [chat.app.core.catalogue.text("undo-done", "en")])
    assert chat.adapter.deleted == ["m1", "m1"], "the half of the last run, and what was told of it in this one"


@pytest.mark.parametrize(
    ("fault", "answered"),
    [(Wait(60), ["once"]), (Wait(1800), ["once"]), (Unreachable(), ["once"]), (Uncertain(), [])],
)
async def test_S13_what_a_platform_kept_waiting_until_the_process_ended_is_answered_after_the_restart(
    make_app: MakeApp, staged: Staged, fault: Exception, answered: list[str]
) -> None:
    """An answer that may have been seen is not sent again (S16)."""
    staged.stage.faults = {"send": [fault, Wait(60)]}  # type: ignore[list-item]
    app = await make_app(adapter=staged, persona="none", model=ScriptedModel(["once"]))
    await app.pipeline.deliver(make_inbound("hello?"))
    await asyncio.wait_for(staged.stage.asked.wait(), 10)
    await app.close()
    after = FakeAdapter()
    app = await make_app(adapter=after, persona="none", model=ScriptedModel(["once"]))
    await app.dispatcher.idle()
    assert after.texts == answered


@pytest.mark.parametrize(
    ("author", "language", "told_in"),
    [
        (make_author("Wei", locale="zh"), "auto", "zh"),
        (make_author("Wei", locale="zh"), "en", "en"),
        (make_author("Robo", is_bot=True), "auto", None),
    ],
)
async def test_D07_after_a_restart_people_are_told_in_their_language_and_bots_of_no_failure(
    make_app: MakeApp, author: Author, language: str, told_in: str | None
) -> None:
    settings: dict[str, Any] = {"persona": "none", "bots": {"answer": True}, "language": language}
    never = ScriptedModel([Reply(text="", hold=asyncio.Event())])
    app = await make_app(model=never, **settings)
    await app.pipeline.deliver(make_inbound("hello?", channel=GROUP, author=author, mentions_me=True))
    await never.wait_for(1)
    await app.close()
    adapter, failing = FakeAdapter(), ScriptedModel([Reply(text="", error=ModelUnreachable("test/scripted", "gone"))])
    app = await make_app(adapter=adapter, model=failing, **settings)
    await app.dispatcher.idle()
    assert len(failing.requests) == 1
    assert adapter.texts == ([app.core.catalogue.text("model-unreachable", told_in)] if told_in else [])
