"""Every request to a model leaves one row in the ledger, however its turn ends: how it ended, and what it cost."""

from __future__ import annotations

import asyncio
from itertools import accumulate

import pytest
from sqlalchemy import select

from bot.app import App
from bot.llm.model import Attempt, Completion, ContextTooLong, Finish, ModelUnreachable, ToolCall, Usage
from bot.store.ledger_tables import model_calls
from bot.testing import FakeAdapter, Reply, ScriptedModel, make_inbound
from tests.conftest import MakeApp
from tests.emulators.openai import Say, errors
from tests.emulators.openai.harness import asks, bench
from tests.talking import open_chat

Row = tuple[str, int | None]
"""Outcome of a call and the tokens that it wrote, as the server said or, where it did not, as we count."""

ROLL = Reply(
    text="", usage=Usage(output_tokens=7), tool_calls=(ToolCall(id="1", name="roll_dice", arguments='{"dice": "d6"}'),)
)
SHORT = Attempt(outcome="length", usage=Usage(output_tokens=100))
DONE = Reply(text="done", usage=Usage(output_tokens=3))
TOO_LONG = Reply(text="", error=ContextTooLong("m", "long"))
GONE = Reply(text="", error=ModelUnreachable("m", "gone"), attempts=(SHORT,))


def held(text: str = "") -> Reply:
    return Reply(text=text, hold=asyncio.Event())


async def ledger(app: App) -> list[Row]:
    """What the ledger holds, oldest first; every row knows whose call it was and what its request filled."""
    rows = await app.core.db.read(lambda tx: tx.execute(select(model_calls).order_by(model_calls.c.id)).all())
    assert all(row.author_key == "fake:alice" and row.session_id for row in rows)
    asked_before = accumulate([False] + [row.outcome == "tool_calls" for row in rows], max)
    purposes = ["tool" if has_tools else "chat" for has_tools in asked_before][: len(rows)]
    assert [row.purpose for row in rows] == purposes, "what goes on behind tools is told apart"
    assert all(row.estimated_tokens > 0 and row.prompt_usage for row in rows)
    return [(row.outcome, row.output_tokens) for row in rows]


@pytest.mark.parametrize("command", ["/stop", "/reset"])
@pytest.mark.parametrize("shows", [False, True])
async def test_an_interrupted_turn_pays_for_its_tool_rounds_and_the_call_under_way(
    make_app: MakeApp, command: str, shows: bool
) -> None:
    adapter = FakeAdapter(streams=True)
    model = ScriptedModel([ROLL, held("It shows a")] if shows else [ROLL, held()])
    chat = await open_chat(make_app, model=model, adapter=adapter, persona="none")
    await chat.app.pipeline.deliver(make_inbound("roll a die"))
    await (asyncio.wait_for(adapter.changed.wait(), 10) if shows else model.wait_for(2))
    await chat.say(command)
    first, (outcome, written) = await ledger(chat.app)
    assert (first, outcome, bool(written)) == (("tool_calls", 7), "interrupted", shows)


async def test_a_burst_that_is_restarted_pays_for_the_call_that_was_given_up(make_app: MakeApp) -> None:
    model = ScriptedModel([held(), DONE])
    chat = await open_chat(make_app, model=model, persona="none", burst_ms=60_000)
    await chat.app.pipeline.deliver(make_inbound("hello"))
    await model.wait_for(1)
    await chat.say("and how are you?")
    assert await ledger(chat.app) == [("interrupted", 0), ("stop", 3)]


@pytest.mark.parametrize("gently", [False, True])
async def test_the_end_of_the_process_leaves_no_call_unpaid(make_app: MakeApp, gently: bool) -> None:
    model = ScriptedModel([ROLL, held()])
    app = await make_app(model=model, persona="none")
    await app.pipeline.deliver(make_inbound("roll a die"))
    await model.wait_for(2)
    if gently:
        await app.dispatcher.drain(0)
    await app.close()
    again = await make_app(model=ScriptedModel([DONE]), persona="none")
    await again.dispatcher.idle()
    assert await ledger(again) == [("tool_calls", 7), ("interrupted", 0), ("stop", 3)]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ([DONE], [("stop", 3)]),
        ([ROLL, DONE], [("tool_calls", 7), ("stop", 3)]),
        ([Reply(text="done", attempts=(SHORT,))], [("length", 100), ("stop", 1)]),
        ([TOO_LONG, DONE], [("too-long", None), ("stop", 3)]),
        ([ROLL, TOO_LONG, DONE], [("tool_calls", 7), ("too-long", None), ("stop", 3)]),
        ([GONE], [("length", 100), ("unreachable", None)]),
    ],
)
async def test_L18_M17_what_was_asked_again_is_paid_twice(
    make_app: MakeApp, script: list[Reply | str], expected: list[Row]
) -> None:
    chat = await open_chat(make_app, model=ScriptedModel(script), persona="none")
    await chat.say("hello")
    assert await ledger(chat.app) == expected


async def test_a_fault_of_ours_leaves_its_call_as_failed(make_app: MakeApp) -> None:
    def script(_request: object) -> str:
        raise ZeroDivisionError

    chat = await open_chat(make_app, model=ScriptedModel(script), persona="none")
    await chat.say("hello")
    assert await ledger(chat.app) == [("failed", None)]


async def test_L18_the_client_tells_of_attempts_that_brought_no_answer() -> None:
    starved = Say(text="", finish="length", usage={"completion_tokens": 100})
    async with bench(Say(text="Here.", usage={"completion_tokens": 2})) as it:
        it.openai.queue(errors.server_error(503, "busy"), starved)
        *events, last = [event async for event in it.model.stream(asks())]
    attempts = [(event.outcome, event.usage) for event in events if isinstance(event, Attempt)]
    assert attempts == [("unreachable", None), ("length", Usage(output_tokens=100))]
    assert isinstance(last, Completion)
    assert (last.finish, last.usage) == (Finish.STOP, Usage(output_tokens=2))


async def test_L18_where_the_attempt_with_more_room_fails_nothing_is_paid_twice() -> None:
    starved = Say(text="", finish="length", usage={"completion_tokens": 100})
    async with bench(errors.openai_error(400, "no.")) as it:
        it.openai.queue(starved)
        attempt, last = [event async for event in it.model.stream(asks())]
        assert len(it.openai.requests) == 2
    assert isinstance(attempt, Attempt)
    assert isinstance(last, Completion)
    assert (attempt.usage, last.finish, last.usage) == (Usage(output_tokens=100), Finish.LENGTH, None)
