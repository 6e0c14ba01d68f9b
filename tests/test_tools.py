"""The shipped tools: the time and the dice, and what makes any tool fit for every model."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.llm.model import ToolCall, ToolSpec
from bot.overrides import SessionSettings
from bot.settings import PlaceSettings
from bot.testing import make_turn
from bot.tool_calls import MOST_AT_ONCE, TOO_MANY, ToolCalls
from bot.tools import TOOLS
from bot.tools.clock import tell_time
from bot.tools.dice import MAX_DICE, MAX_SIDES, roll_dice
from bot.tools.tool import Tool, ToolError
from bot.turn import Turn

IN_SHANGHAI = make_turn(settings=SessionSettings(values=PlaceSettings(timezone="Asia/Shanghai"), chain={}))


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({}, "Sunday, 2026-11-01 20:00 (Asia/Shanghai, UTC+0800)"),
        ({"timezone": ""}, "Sunday, 2026-11-01 20:00 (Asia/Shanghai, UTC+0800)"),
        ({"timezone": "America/New_York"}, "Sunday, 2026-11-01 07:00 (America/New_York, UTC-0500)"),
        ({"timezone": "UTC"}, "Sunday, 2026-11-01 12:00 (UTC, UTC+0000)"),
    ],
)
async def test_the_time_is_told_for_the_session_or_for_the_zone_asked(arguments: dict[str, Any], told: str) -> None:
    assert await tell_time(IN_SHANGHAI, arguments) == told


@pytest.mark.parametrize("zone", ["GMT+25", "Mars", "../etc/passwd", 5, ["UTC"]])
async def test_S15_an_unknown_zone_is_an_error_that_names_a_way_out(zone: object) -> None:
    with pytest.raises(ToolError, match="IANA name such as Europe/Berlin"):
        await tell_time(IN_SHANGHAI, {"timezone": zone})


@pytest.mark.parametrize(
    ("notation", "count", "sides", "bonus"),
    [
        ("1d6", 1, 6, 0),
        ("d20", 1, 20, 0),
        ("2D6+1", 2, 6, 1),
        (" 3 d 8 - 2 ", 3, 8, -2),
        ("100d1000000", 100, 1_000_000, 0),
        ("", 1, 6, 0),
    ],
)
async def test_dice_are_rolled_one_by_one_and_summed_up(notation: str, count: int, sides: int, bonus: int) -> None:
    for _ in range(20):
        told = await roll_dice(make_turn(), {"dice": notation})
        shown, total = told.partition(": ")[2].split(" = ")
        rolls = [int(roll) for roll in re.split(r" \+ | [+-] ", shown)][:count]
        assert len(rolls) == count
        assert all(1 <= roll <= sides for roll in rolls)
        assert int(total) == sum(rolls) + bonus


@pytest.mark.parametrize("notation", ["six", "2x6", "0d6", "101d6", "1d0", "1d1000001", "1d6+", "1d6;1d6", 6])
async def test_what_are_no_dice_is_an_error_that_names_a_way_out(notation: object) -> None:
    with pytest.raises(ToolError, match="dice"):
        await roll_dice(make_turn(), {"dice": notation})


@settings(deadline=None)
@given(st.integers(1, MAX_DICE), st.integers(1, MAX_SIDES), st.integers(0, 9_999_999))
async def test_every_fair_wish_is_rolled(count: int, sides: int, bonus: int) -> None:
    total = int((await roll_dice(make_turn(), {"dice": f"{count}d{sides}+{bonus}"})).rpartition(" = ")[2])
    assert count + bonus <= total <= count * sides + bonus


async def test_a_die_shows_every_side() -> None:
    seen = {await roll_dice(make_turn(), {"dice": "d4"}) for _ in range(200)}
    assert seen == {f"d4: {side} = {side}" for side in range(1, 5)}


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.spec.name)
def test_every_tool_has_a_name_that_all_servers_take_and_describes_itself(tool: Tool) -> None:
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", tool.spec.name)
    assert tool.spec.description.endswith(".")
    assert tool.spec.parameters["type"] == "object"
    assert tool.spec.parameters["additionalProperties"] is False
    assert {*tool.spec.parameters.get("required", ())} <= {*tool.spec.parameters["properties"]}


def test_no_two_tools_have_one_name() -> None:
    assert len({tool.spec.name for tool in TOOLS}) == len(TOOLS)


async def test_of_hundreds_of_calls_at_once_some_run_and_all_have_a_result() -> None:
    ran: list[str] = []

    async def run(_turn: Turn, arguments: Mapping[str, Any]) -> str:
        ran.append(arguments["word"])
        return "done"

    async def tell(_text: str) -> None: ...

    tool = Tool(spec=ToolSpec(name="note", description="Notes.", parameters={"type": "object"}), run=run)
    calls = [ToolCall(id=f"c{at}", name="note", arguments=f'{{"word": "{at}"}}') for at in range(300)]
    results = await ToolCalls().run_all(make_turn(), {"note": tool}, calls, tell)
    assert len(results) == 300
    assert (len(ran), results.count("done"), results[-1]) == (MOST_AT_ONCE, MOST_AT_ONCE, TOO_MANY)


async def test_half_a_character_neither_reaches_a_tool_nor_comes_from_one() -> None:
    async def run(_turn: Turn, arguments: Mapping[str, Any]) -> str:
        (given,) = arguments["words"]
        return str(given) + "\ud83d"

    async def tell(_text: str) -> None: ...

    tool = Tool(spec=ToolSpec(name="say", description="Says.", parameters={"type": "object"}), run=run)
    call = ToolCall(id="c1", name="say", arguments=r'{"words": ["cake \ud83d"]}')
    assert await ToolCalls().run_all(make_turn(), {"say": tool}, [call], tell) == ("cake ??",)
