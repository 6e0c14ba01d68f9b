"""A prompt that the server finds too long: tried once more with less, and what that teaches."""

from __future__ import annotations

from typing import Any

import pytest

from bot.llm.model import ContextTooLong, Role, ToolCall
from bot.testing import FakeAdapter, Reply, ScriptedModel, make_inbound
from tests.conftest import MakeApp

TOO_LONG = ContextTooLong("test/scripted", "context_length_exceeded", limit=8192, given=8400)


LONG_TALK = {"persona": "none", "context_tokens": 8192, "system_prompt": "RULES"}


async def talk(make_app: MakeApp, model: ScriptedModel, *, turns: int, **settings: Any) -> FakeAdapter:
    adapter = FakeAdapter()
    app = await make_app(model=model, adapter=adapter, **{**LONG_TALK, **settings})
    for number in range(turns):
        await app.pipeline.deliver(make_inbound(f"question {number} " + "word " * 300))
        await app.dispatcher.idle()
    return adapter


async def test_M17_a_prompt_too_long_for_the_server_is_tried_once_with_less_and_the_ratio_is_learned(
    make_app: MakeApp,
) -> None:
    overflowing = {10}
    model = ScriptedModel(lambda _: Reply(text="", error=TOO_LONG) if len(model.requests) in overflowing else "ok")
    adapter = await talk(make_app, model, turns=12)
    refused, retried, following = model.requests[9:12]
    assert len(retried.messages) < len(refused.messages)
    assert retried.messages[0] == refused.messages[0]
    assert retried.messages[-1] == refused.messages[-1]
    assert retried.messages == refused.messages[:1] + refused.messages[-len(retried.messages) + 1 :]
    # The one after it fits by what was learned, so that the emergency's cut was for that request alone.
    assert len(following.messages) > len(retried.messages) + 2
    assert adapter.texts == ["ok"] * 12


async def test_M17_a_prompt_that_is_still_too_long_is_told_and_not_tried_for_ever(make_app: MakeApp) -> None:
    model = ScriptedModel([Reply(text="", error=TOO_LONG)])
    adapter = await talk(make_app, model, turns=1)
    assert (len(model.requests), len(adapter.texts)) == (2, 1)


@pytest.mark.parametrize("limit", [2048, 1024, 512, None])
async def test_M17_the_retry_leaves_room_for_the_answer_in_the_window_that_the_server_names(
    make_app: MakeApp, limit: int | None
) -> None:
    error = ContextTooLong("test/scripted", "too long", limit=limit, given=None)
    model = ScriptedModel(lambda _: Reply(text="", error=error) if len(model.requests) == 6 else "ok")
    await talk(make_app, model, turns=6)
    words = sum(message.text.count("word ") for message in model.requests[-1].messages)
    expected = {2048: 300, 1024: 300, 512: 300, None: 5 * 300}
    assert words <= expected[limit]
    assert "question 5" in model.requests[-1].messages[-1].text


async def test_M17_tools_that_ran_before_the_prompt_became_too_long_are_not_run_again(make_app: MakeApp) -> None:
    first = Reply(text="Let me see.", tool_calls=(ToolCall(id="c", name="current_time", arguments="{}"),))
    script: list[Reply | str] = [first, Reply(text="", error=TOO_LONG), "Noon."]
    model, adapter = ScriptedModel(script), FakeAdapter()
    app = await make_app(model=model, adapter=adapter, persona="none")
    await app.pipeline.deliver(make_inbound("what time is it?"))
    await app.dispatcher.idle()
    assert adapter.texts == ["Let me see.\n\nNoon."]
    assert [message.role for message in model.requests[2].messages[1:]] == [Role.USER, Role.ASSISTANT, Role.TOOL]
