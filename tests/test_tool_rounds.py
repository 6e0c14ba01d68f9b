"""Tool rounds over real sockets: what models call them with, and what servers demand of rounds that are over."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bot.llm.quirks import Quirk
from bot.testing import FakeAdapter, ScriptedModel, make_author
from tests.conftest import MakeApp
from tests.emulators.openai import Call, Chooser, Refuse, Reply, Request, Say, errors
from tests.emulators.openai.harness import Bench, bench
from tests.talking import GROUP, Chat


async def talk(make_app: MakeApp, it: Bench, **settings: Any) -> Chat:
    """A started app whose model is the real client."""
    adapter = FakeAdapter()
    app = await make_app(model=it.model, adapter=adapter, persona="none", **settings)
    return Chat(app=app, adapter=adapter, model=ScriptedModel())


def calling(*calls: Call, until: int = 1, said: str = "Done.") -> Chooser:
    """A model that makes the same calls until it has seen `until` results, if it has tools."""

    def script(request: Request) -> Reply:
        goes_on = "tools" in request.body and len(request.tool_results) < until
        return Say(calls=calls) if goes_on else Say(text=said)

    return script


@pytest.mark.parametrize("arguments", ["", "null", "{}"])
async def test_L09_a_tool_without_arguments_runs_on_an_empty_text_and_on_null(
    make_app: MakeApp, arguments: str
) -> None:
    async with bench(calling(Call(name="current_time", arguments=arguments))) as it:
        chat = await talk(make_app, it)
        assert await chat.say("what time is it?") == ["Done."]
        (result,) = it.openai.last.tool_results
        assert result == "Sunday, 2026-11-01 12:00 (UTC, UTC+0000)"
        called = it.openai.last.messages[-2]["tool_calls"][0]
        assert (called["function"]["arguments"], it.openai.last.messages[-1]["tool_call_id"]) == ("{}", called["id"])


async def test_L10_broken_arguments_run_no_tool_and_go_back_to_the_model_for_some_rounds_only(
    make_app: MakeApp,
) -> None:
    broken = Call(name="roll_dice", arguments='{"dice": "2d6",')
    async with bench(parsing(calling(broken, until=99))) as it:
        chat = await talk(make_app, it, max_tool_steps=2)
        assert await chat.say("roll") == ["Done."]
        assert [len(request.tool_results) for request in it.openai.requests] == [0, 1, 2]
        assert ["tools" in request.body for request in it.openai.requests] == [True, True, False]
        for result in it.openai.last.tool_results:
            assert result.startswith("Error: The arguments are no valid JSON")
            assert result.endswith('{"dice": "2d6",')
        assert await chat.say("and now?") == ["Done."]


def parsing(script: Chooser) -> Chooser:
    """A server that parses the arguments of earlier calls, as many templates do."""

    def strict(request: Request) -> Any:
        for message in request.messages:
            for call in message.get("tool_calls", ()):
                try:
                    json.loads(call["function"]["arguments"])
                except json.JSONDecodeError as error:
                    return errors.server_error(500, {"error": {"message": f"cannot parse arguments: {error}"}})
        return script(request)

    return strict


async def test_K04_an_unknown_tool_is_answered_with_the_names_of_those_there_are(make_app: MakeApp) -> None:
    async with bench(calling(Call(name="foo"))) as it:
        chat = await talk(make_app, it)
        assert await chat.say("do it") == ["Done."]
        offered = [tool["function"]["name"] for tool in it.openai.last.body["tools"]]
        (result,) = it.openai.last.tool_results
    assert result == f"Error: there is no tool 'foo'. The tools are: {', '.join(offered)}."


@pytest.mark.parametrize("name", ["foo", "roll_dice"])
async def test_K04_after_the_last_round_the_model_has_no_tools_and_answers(make_app: MakeApp, name: str) -> None:
    async with bench(calling(Call(name=name), until=99)) as it:
        chat = await talk(make_app, it, max_tool_steps=3)
        assert await chat.say("roll for ever") == ["Done."]
        assert ["tools" in request.body for request in it.openai.requests] == [True, True, True, False]
        assert len(it.openai.last.tool_results) == 3


PASSED_BACK = "The `reasoning_content` in the thinking mode must be passed back to the API."


def thinking(request: Request) -> Reply:
    """A server that thinks before it calls, and wants to see what it thought with every call that it made."""
    calls = [message for message in request.messages if message.get("tool_calls")]
    if not all(message.get("reasoning_content") for message in calls):
        return errors.openai_error(400, PASSED_BACK, kind="invalid_request_error")
    if "time" in request.last_user and not request.tool_results:
        return Say(calls=[Call(name="current_time")], reasoning="I must look")
    return Say(text="It is noon." if request.tool_results else "Yes.", reasoning="I know")


async def test_L27_a_tool_round_of_the_past_goes_as_text_where_its_reasoning_is_demanded(make_app: MakeApp) -> None:
    async with bench(thinking) as it:
        chat = await talk(make_app, it)
        assert await chat.say("what time is it?") == ["It is noon."]
        # Within its own turn the reasoning went back unchanged (L19).
        assert it.openai.last.messages[-2]["reasoning_content"] == "I must look"
        assert await chat.say("sure?") == ["Yes."]
        assert len(it.openai.requests) == 4
        shown = [(message["role"], message["content"]) for message in it.openai.last.messages[1:]]
        assert shown == [
            ("user", "what time is it?"),
            ("user", "[result of current_time: Sunday, 2026-11-01 12:00 (UTC, UTC+0000)]"),
            ("assistant", "It is noon."),
            ("user", "sure?"),
        ]
        assert [learned.quirk for learned in it.saved] == [Quirk.NO_BARE_TOOL_ROUNDS]
        # From then on neither old rounds nor new ones cost a refused request.
        assert await chat.say("and what time is it now?") == ["It is noon."]
        assert len(it.openai.requests) == 6
        assert it.openai.last.messages[-2]["reasoning_content"] == "I must look"


async def test_L27_a_server_that_never_thinks_aloud_but_demands_a_signature_gets_its_calls_as_text(
    make_app: MakeApp,
) -> None:
    def signing(request: Request) -> Reply:
        if any("tool_calls" in message for message in request.messages):
            return Refuse(status=400, body=[{"error": {"code": 400, "message": MISSING_SIGNATURE}}])
        is_told = "[result of current_time:" in request.last_user
        return Say(text="It is noon.") if is_told else Say(calls=[Call(name="current_time")])

    async with bench(signing) as it:
        chat = await talk(make_app, it)
        assert await chat.say("what time is it?") == ["It is noon."]
        assert len(it.openai.requests) == 3


MISSING_SIGNATURE = "Function call is missing a thought_signature in functionCall parts."


async def test_L17_odd_names_of_people_stand_in_the_text_and_never_in_the_name_of_a_message(make_app: MakeApp) -> None:
    names = ["a.b", "José 🎸", "x" * 70]
    async with bench() as it:
        chat = await talk(make_app, it)
        for name in names:
            await chat.say("hello", author=make_author(name), channel=GROUP)
        said = [message for message in it.openai.last.messages if message["role"] == "user"]
    for name, message in zip(names, said, strict=True):
        assert message["content"].startswith(f"{name}: hello")
        assert "name" not in message
