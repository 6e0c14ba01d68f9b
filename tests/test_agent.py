"""The model/tool loop: what tools and models may do wrong and what is shown while it runs."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncGenerator, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.agent import Agent, Answer
from bot.llm.catalogue import ModelLimits
from bot.llm.model import (
    Completion,
    ContextTooLong,
    Finish,
    Model,
    ModelEvent,
    ModelRequest,
    ModelUnreachable,
    Role,
    TextDelta,
    ToolCall,
    ToolSpec,
)
from bot.overrides import SessionSettings
from bot.personas.card import PersonaCard
from bot.personas.library import Persona
from bot.prompt.build import PromptBuilder
from bot.settings import PlaceSettings
from bot.testing import FakeAdapter, Reply, ScriptedModel, make_inbound, make_row, make_turn
from bot.tools import Tool
from bot.tools.tool import ToolError
from bot.tools.toolbox import Toolbox
from bot.turn import Turn
from tests.conftest import MakeApp

BUILDER = PromptBuilder(sections=(), count=len, section_timeout_ms=0)


async def echo(_turn: Turn, arguments: Mapping[str, Any]) -> str:
    return f"echo {dict(arguments)}"


async def refuse(_turn: Turn, _arguments: Mapping[str, Any]) -> str:
    raise ToolError("Only on Sundays.")


async def crash(_turn: Turn, _arguments: Mapping[str, Any]) -> str:
    raise ZeroDivisionError("secret of the tool")


def tool(name: str, run: Any = echo) -> Tool:
    return Tool(spec=ToolSpec(name=name, description=name, parameters={"type": "object"}), run=run)


TOOLS = (tool("echo"), tool("refuse", refuse), tool("crash", crash))


def call(name: str, arguments: str = "{}", call_id: str = "") -> ToolCall:
    return ToolCall(id=call_id or name, name=name, arguments=arguments)


def calls(*made: ToolCall, text: str = "") -> Reply:
    return Reply(text=text, tool_calls=made)


async def answer(
    model: Model, turn: Turn | None = None, *, tools: Iterable[Tool] = TOOLS, steps: int = 5, into: Answer | None = None
) -> tuple[Answer, list[str]]:
    """What came of a turn, and every text that was shown on the way."""
    given, shown = into or Answer(), list[str]()

    async def show(text: str, *, doing: str = "") -> None:
        shown.append(text)

    turn = turn or make_turn()
    agent = Agent(model, Toolbox([*tools]), builder=BUILDER, max_steps=steps)
    prompt = await BUILDER.build(turn, factor=1, tools=[one.spec for one in agent.tools_for(turn)])
    await agent.answer(turn, prompt, given, show)
    return given, shown


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (call("echo", '{"a": 1}'), "echo {'a': 1}"),
        (call("echo", '{"a": '), "Error: The arguments are no valid JSON"),
        (call("echo", '{"a": 1}{"a": 1}'), "Error: The arguments are no valid JSON"),
        (call("echo", "[" * 100_000), "Error: The arguments are no valid JSON"),
        (call("echo", "9" * 5_000), "Error: The arguments are no valid JSON"),
        (call("echo", "[1]"), "Error: The arguments must be a JSON object."),
        (call("echo", '"text"'), "Error: The arguments must be a JSON object."),
        (call("refuse"), "Error: Only on Sundays."),
        (call("crash"), "Error: the tool failed. Go on without it."),
        (call("nonsense"), "Error: there is no tool 'nonsense'. The tools are: echo, refuse, crash."),
    ],
)
async def test_K04_whatever_goes_wrong_with_a_call_goes_back_to_the_model_as_its_result(
    made: ToolCall, told: str
) -> None:
    model = ScriptedModel([calls(made), "done"])
    given, _ = await answer(model)
    asked, result = model.requests[1].messages[-2:]
    assert (asked.role, asked.tool_calls) == (Role.ASSISTANT, (made,))
    assert (result.role, result.tool_call_id, result.name) == (Role.TOOL, made.id, made.name)
    assert result.text.startswith(told)
    assert "secret" not in result.text
    assert (given.text, given.finish) == ("done", Finish.STOP)


@pytest.mark.parametrize("arguments", ["", " ", "null", "{}", " {} "])
async def test_L09_a_call_without_arguments_runs_however_the_server_writes_none(arguments: str) -> None:
    model = ScriptedModel([calls(call("echo", arguments)), "done"])
    await answer(model)
    assert model.requests[1].messages[-1].text == "echo {}"


async def test_calls_of_one_round_run_side_by_side_and_their_results_keep_the_order_of_the_calls() -> None:
    slow_is_done, both = asyncio.Event(), asyncio.Barrier(2)

    async def slow(_turn: Turn, _arguments: Mapping[str, Any]) -> str:
        async with both:
            await slow_is_done.wait()
        return "slow"

    async def quick(_turn: Turn, _arguments: Mapping[str, Any]) -> str:
        async with both:
            slow_is_done.set()
        return "quick"

    model = ScriptedModel([calls(call("slow", call_id="c1"), call("quick", call_id="c2")), "done"])
    async with asyncio.timeout(5):
        given, _ = await answer(model, tools=(tool("slow", slow), tool("quick", quick)))
    assert [message.text for message in model.requests[1].messages[-2:]] == ["slow", "quick"]
    assert given.exchanges[0].results == ("slow", "quick")


async def test_text_before_a_tool_call_stays_above_the_text_after_it() -> None:
    model = ScriptedModel([calls(call("echo"), text="Let me look."), calls(call("echo")), "It is noon."])
    given, shown = await answer(model)
    assert given.text == "Let me look.\n\nIt is noon."
    assert all(later.startswith(earlier) for earlier, later in itertools.pairwise(shown))
    assert model.requests[1].messages[-2].text == "Let me look."


async def test_after_the_last_round_the_model_has_no_tools_and_its_calls_count_no_more() -> None:
    model = ScriptedModel([calls(call("echo"))])
    given, _ = await answer(model, steps=2)
    assert [len(request.tools) for request in model.requests] == [3, 3, 0]
    assert (len(given.exchanges), given.text, given.finish) == (2, "", Finish.TOOL_CALLS)


async def test_a_model_that_cannot_call_tools_is_offered_none() -> None:
    model = ScriptedModel()
    await answer(model, make_turn(limits=ModelLimits(context_window=8192, tools=False)))
    assert model.requests[0].tools == ()


@pytest.mark.parametrize(
    ("groups", "offered"),
    [((), ["echo"]), (("web",), ["echo", "fetch"]), (("web", "lab"), ["echo", "fetch", "burn"]), (("*",), None)],
)
async def test_a_tool_of_a_group_is_offered_only_where_the_group_is_on(
    groups: tuple[str, ...], offered: list[str] | None
) -> None:
    model, settings = ScriptedModel(), SessionSettings(values=PlaceSettings(tool_groups=groups), chain={})
    tools = (tool("echo"), replace(tool("fetch"), group="web"), replace(tool("burn"), group="lab"))
    await answer(model, make_turn(settings=settings), tools=tools)
    names = [spec.name for spec in model.requests[0].tools]
    assert names == (offered or ["echo", "fetch", "burn"])


async def test_a_tool_whose_group_is_off_runs_for_nobody_who_calls_it_all_the_same() -> None:
    model = ScriptedModel([calls(call("fetch")), "done"])
    given, _ = await answer(model, tools=(tool("echo"), replace(tool("fetch"), group="web")))
    assert given.exchanges[0].results == ("Error: there is no tool 'fetch'. The tools are: echo.",)


async def test_a_request_carries_the_turns_model_reserve_and_thinking() -> None:
    model, settings = ScriptedModel(), SessionSettings(values=PlaceSettings(thinking=True), chain={})
    await answer(model, make_turn(model="a/b", reserve=77, settings=settings))
    request = model.requests[0]
    assert (request.model, request.max_output_tokens, request.thinking) == ("a/b", 77, True)


async def test_L16_a_model_that_begins_to_speak_for_others_is_cut_off_on_the_wire() -> None:
    model = ScriptedModel(["Good evening. \nBob: I would like a beer. \nMira: Here it is."])
    turn = make_turn(make_row("hi", author_name="Bob"), persona_name="Mira")
    given, shown = await answer(model, turn)
    assert (given.text, given.finish, model.cancelled) == ("Good evening. ", Finish.STOP, 1)
    assert "beer" not in str(shown)


async def test_L15_the_personas_own_label_is_not_shown() -> None:
    given, shown = await answer(ScriptedModel(["Mira: Good evening."]), make_turn(persona_name="Mira"))
    assert (given.text, shown[0][:4]) == ("Good evening.", "Good")


@pytest.mark.parametrize("label", ["Mira", "Mirabelle Ash", "**Mirabelle Ash**", "mirabelle ash: Mira"])
async def test_L15_both_the_nickname_and_the_full_name_of_the_card_are_labels(label: str) -> None:
    card = PersonaCard(name="Mirabelle Ash", nickname="Mira")
    turn = make_turn(persona=Persona(id="mira", card=card, source_path=Path("mira")), persona_name="Mira")
    given, shown = await answer(ScriptedModel([f"{label}: Good evening."]), turn)
    assert (given.text, shown[0][:4]) == ("Good evening.", "Good")


class Events:
    """A model that yields given events."""

    def __init__(self, *events: ModelEvent) -> None:
        self._events = events

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        for event in self._events:
            yield event

    async def close(self) -> None:
        """Nothing to release."""


async def test_L03_what_turned_out_to_be_reasoning_is_no_part_of_the_answer() -> None:
    end = Completion(text="Mira: Noon.", finish=Finish.STOP, replaces_deltas=True)
    given, _ = await answer(Events(TextDelta(text="He asks for the time. "), end), make_turn(persona_name="Mira"))
    assert given.text == "Noon."


async def test_L03_an_answer_that_was_nothing_but_reasoning_is_empty() -> None:
    end = Completion(text="", finish=Finish.STOP, replaces_deltas=True)
    given, _ = await answer(Events(TextDelta(text="He asks for the time. "), end))
    assert given.text == ""


async def test_L19_reasoning_goes_back_to_the_model_with_the_calls_it_led_to() -> None:
    first = Completion(text="", finish=Finish.TOOL_CALLS, tool_calls=(call("echo"),), reasoning="I must ask.")
    requests: list[ModelRequest] = []

    class Thinker(Events):
        async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
            requests.append(request)
            yield first if len(requests) == 1 else Completion(text="", finish=Finish.STOP)

    await answer(Thinker())
    assert requests[1].messages[-2].reasoning == "I must ask."


async def test_a_call_that_fails_leaves_what_was_shown_and_done_so_far() -> None:
    failure = ModelUnreachable("a/b", "connection lost")
    model = ScriptedModel([calls(call("echo"), text="First."), Reply(text="Then", error=failure)])
    given = Answer()
    with pytest.raises(ModelUnreachable):
        await answer(model, into=given)
    assert (given.text, len(given.exchanges), len(given.completions)) == ("First.\n\nThen", 1, 1)


async def test_an_answer_goes_on_behind_the_rounds_it_has_without_running_them_again() -> None:
    model = ScriptedModel([calls(call("echo"), text="First."), "Second."])
    given = Answer()
    too_long = ScriptedModel([calls(call("echo"), text="First."), Reply(text="", error=ContextTooLong("a/b", "long"))])
    with pytest.raises(ContextTooLong):
        await answer(too_long, into=given)
    model = ScriptedModel(["Second."])
    await answer(model, into=given, steps=1)
    assert [message.role for message in model.requests[0].messages] == [Role.USER, Role.ASSISTANT, Role.TOOL]
    assert model.requests[0].tools == ()
    assert (given.text, len(given.exchanges)) == ("First.\n\nSecond.", 1)


async def test_a_turn_that_breaks_is_told_and_the_next_one_runs(make_app: MakeApp) -> None:
    def script(request: ModelRequest) -> str:
        if "break" in request.messages[-1].text:
            raise ZeroDivisionError("a fault of ours")
        return "fine"

    model, adapter = ScriptedModel(script), FakeAdapter()
    app = await make_app(model=model, adapter=adapter, persona="none")
    for text in ("break", "hello"):
        await app.pipeline.deliver(make_inbound(text))
        await app.dispatcher.idle()
    assert adapter.texts[1:] == ["fine"]
    assert "ZeroDivision" not in adapter.texts[0]
    await app.close()
    again = ScriptedModel()
    app = await make_app(model=again, persona="none")
    await app.dispatcher.idle()
    assert again.requests == []
