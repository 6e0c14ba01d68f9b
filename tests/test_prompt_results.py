"""What tools say is capped where it comes in, so that one flood never takes the place of a talk."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select

from bot.llm.model import ContextTooLong, ModelRequest, Role, ToolCall, ToolSpec
from bot.prompt.build import PromptBuilder
from bot.prompt.messages import ToolExchange
from bot.prompt.shortening import cap
from bot.prompt.tokens import TokenCounter
from bot.settings import prompt_budget
from bot.store.tables import MessageKind, messages
from bot.testing import Reply, ScriptedModel, make_row, make_turn
from bot.tools import Tool
from bot.turn import Turn
from tests.conftest import MakeApp
from tests.talking import Chat, open_chat

WINDOW, RESERVE = 8_000, 500
SIZES: dict[str, Any] = {"persona": "none", "context_tokens": WINDOW, "max_output_tokens": RESERVE}


def flood(words: int) -> Tool:
    """A tool that says so many words."""

    async def run(_turn: Turn, _arguments: Mapping[str, Any]) -> str:
        return "BEGIN " + " ".join(f"w{number}" for number in range(words)) + " END"

    return Tool(spec=ToolSpec(name="flood", description="Says much.", parameters={"type": "object"}), run=run)


def calls(times: int, at_once: int = 1) -> Callable[[ModelRequest], Reply | str]:
    """A model that calls the tool where somebody says "flood", so many times in a row and so often at once."""

    def script(request: ModelRequest) -> Reply | str:
        asked = max(at for at, message in enumerate(request.messages) if message.role is Role.USER)
        rounds = sum(bool(message.tool_calls) or "earlier tool" in message.text for message in request.messages[asked:])
        if "flood" not in request.messages[asked].text or rounds >= times:
            return "as you say"
        made = (ToolCall(id=f"c{asked}-{rounds}-{number}", name="flood", arguments="{}") for number in range(at_once))
        return Reply(text="", tool_calls=tuple(made))

    return script


async def results(chat: Chat) -> list[Any]:
    kept = select(messages.c.text, messages.c.tokens).where(
        messages.c.kind == MessageKind.TOOL.value, messages.c.tool_call_id.is_not(None)
    )
    return list(await chat.app.core.db.read(lambda tx: tx.execute(kept).all()))


def size_of(chat: Chat, request: ModelRequest) -> int:
    """Tokens of a request as we count, tool definitions left out."""
    count = chat.app.core.counter.count
    said = (count(message.text) + sum(count(call.name) for call in message.tool_calls) for message in request.messages)
    return sum(said)


async def test_K02_a_result_larger_than_any_window_is_cut_to_its_cap_with_beginning_and_end_and_stored_so(
    make_app: MakeApp,
) -> None:
    chat = await open_chat(make_app, model=ScriptedModel(calls(1)), tools=[flood(150_000)], **SIZES)
    assert await chat.say("flood me") == ["as you say"]
    factor = chat.app.models.tokens.factor("test/scripted")
    ((text, tokens),) = await results(chat)
    assert 0.5 * 0.15 * WINDOW < tokens * factor <= 0.15 * WINDOW
    assert text.startswith("BEGIN w0 w1 ")
    assert text.endswith(" w149999 END")
    assert "characters left out]" in text
    assert chat.model.requests[1].messages[-1].text == text
    assert size_of(chat, chat.model.requests[1]) * factor <= prompt_budget(chat.app.core.settings, WINDOW, RESERVE)


async def test_K05_after_a_flood_the_last_messages_are_all_still_there(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, model=ScriptedModel(calls(1)), tools=[flood(50_000)], **SIZES)
    for number in range(10):
        await chat.say(f"before {number}")
    await chat.say("flood me")
    for number in range(10):
        await chat.say(f"after {number}")
    said = [message.text for message in chat.model.requests[-1].messages if message.role is Role.USER]
    assert said == [*(f"before {n}" for n in range(10)), "flood me", *(f"after {n}" for n in range(10))]


@pytest.mark.parametrize(("times", "at_once"), [(12, 1), (1, 12), (4, 4)])
async def test_however_much_tools_say_in_one_turn_every_request_of_it_fits(
    make_app: MakeApp, times: int, at_once: int
) -> None:
    chat = await open_chat(make_app, model=ScriptedModel(calls(times, at_once)), tools=[flood(50_000)], **SIZES)
    for number in range(5):
        await chat.say(f"before {number}")
    assert await chat.say("please flood me") == ["as you say"]
    factor = chat.app.models.tokens.factor("test/scripted")
    budget = prompt_budget(chat.app.core.settings, WINDOW, RESERVE)
    requests = chat.model.requests[5:]
    assert len(requests) == times + 1
    assert max(size_of(chat, request) * factor for request in requests) <= budget
    assert all("please flood me" in str(request.messages) for request in requests)
    assert len(await results(chat)) == times * at_once


async def test_M17_a_request_that_tools_made_too_long_is_tried_again_with_less_of_what_they_said(
    make_app: MakeApp,
) -> None:
    script = calls(3)
    refused = Reply(text="", error=ContextTooLong("test/scripted", "too long", limit=None, given=None))
    model = ScriptedModel(lambda request: refused if len(model.requests) == 3 else script(request))
    chat = await open_chat(make_app, model=model, tools=[flood(50_000)], **SIZES)
    assert await chat.say("flood me") == ["as you say"]
    third, again = model.requests[2:4]
    assert [message.role for message in again.messages] == [message.role for message in third.messages]
    assert 0.5 * size_of(chat, third) < size_of(chat, again) <= 0.7 * size_of(chat, third)
    assert len(await results(chat)) == 3  # no tool ran twice


@given(st.integers(250, 3_000), st.lists(st.lists(st.integers(1, 900), min_size=1, max_size=3), min_size=1, max_size=5))
async def test_the_same_rounds_are_cut_the_same_way_at_every_step_of_a_turn(
    budget: int, rounds: list[list[int]]
) -> None:
    builder = PromptBuilder(sections=(), count=lambda text: len(text.split()), section_timeout_ms=0)
    exchanges = [
        ToolExchange(
            calls=tuple(ToolCall(id=f"{at}-{n}", name="flood", arguments="{}") for n in range(len(sizes))),
            results=tuple("word " * size for size in sizes),
        )
        for at, sizes in enumerate(rounds)
    ]
    turn = make_turn(*(make_row("said " * 30) for _ in range(5)), budget=budget)
    first = await builder.build(turn, factor=1)
    once = builder.extend(first, exchanges, tools=())
    twice = builder.extend(once, exchanges, tools=())
    assert once.tokens <= budget
    assert twice.messages == once.messages
    assert twice.usage.prefix_break is None


COUNTER = TokenCounter()


@given(st.text(max_size=400), st.integers(1, 40), st.integers(1, 30))
def test_a_cap_holds_whatever_the_text_is_and_leaves_alone_what_fits(text: str, times: int, limit: int) -> None:
    text *= times
    capped = cap(text, limit, COUNTER.count)
    fits = COUNTER.count(text) <= limit
    # Below a dozen tokens the note alone may be more than there is room for.
    assert COUNTER.count(capped) <= max(limit, 12)
    assert (capped == text) or not fits or len(text.encode()) > limit
