"""More tools than a request has room for: some stay out, and the talk goes on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bot.llm.model import ToolSpec
from bot.prompt.tool_room import MOST_TOOLS, fit_tools
from bot.tools import Tool
from bot.turn import Turn
from tests.conftest import MakeApp
from tests.talking import open_chat


async def nothing(_turn: Turn, _arguments: Mapping[str, Any]) -> str:
    return "nothing"


def tool(name: str, words: int) -> Tool:
    part = {"type": "string", "description": "word " * words}
    parameters = {"type": "object", "properties": {"part": part}}
    return Tool(spec=ToolSpec(name=name, description=name, parameters=parameters), run=nothing)


async def test_tools_that_would_fill_the_window_are_left_out_the_talk_goes_on_and_tools_tells(
    make_app: MakeApp,
) -> None:
    tools = [tool("small_one", 5), *(tool(f"huge_{number}", 900) for number in range(30)), tool("small_two", 5)]
    chat = await open_chat(make_app, tools=tools, persona="none")
    assert await chat.say("hello") == ["ok"]
    offered = [one.name for one in chat.model.requests[-1].tools]
    assert (offered[0], offered[-1]) == ("small_one", "small_two")
    assert 2 < len(offered) < 10
    told = (await chat.say("/tools"))[0]
    left_out = [one.spec.name for one in tools if one.spec.name not in offered]
    assert f"cannot use them: {', '.join(left_out)}." in told


async def test_no_request_has_more_tools_than_servers_take(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, tools=[tool(f"t{number}", 1) for number in range(MOST_TOOLS + 9)], persona="none")
    await chat.say("hello")
    assert len(chat.model.requests[-1].tools) <= MOST_TOOLS


async def test_where_all_have_room_tools_tells_of_none_that_has_not(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    await chat.say("hello")
    assert "cannot use them" not in (await chat.say("/tools"))[0]


@given(costs=st.lists(st.integers(1, 60), max_size=12), budget=st.integers(0, 300))
def test_what_fits_stays_in_its_order_within_half_of_the_budget(costs: list[int], budget: int) -> None:
    tools = [ToolSpec(name=str(at), description="", parameters={"cost": cost}) for at, cost in enumerate(costs)]
    kept, used = fit_tools(tools, budget, lambda one: int(one.parameters["cost"]))
    assert list(kept) == [one for one in tools if one in kept]
    assert used == sum(int(one.parameters["cost"]) for one in kept) <= budget // 2
    if sum(costs) <= budget // 2:
        assert list(kept) == tools
