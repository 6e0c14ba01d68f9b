"""/tools where a group is named that no tool has, or where there are no groups at all: what is told, and the remedy."""

from __future__ import annotations

import pytest

from bot.tools import TOOLS
from tests.conftest import MakeApp
from tests.talking import open_chat
from tests.test_tool_consent import Burning

ALL_TOOLS = (*TOOLS, Burning().tool)


async def test_a_group_that_no_tool_has_is_told_and_can_be_left_out(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, tools=ALL_TOOLS, tool_groups=("fire", "wbe"), access={"tool_groups": ["*"]})
    assert "`tool_groups` (default) also names what no tool has: wbe." in await chat.ask("/tools")
    await chat.ask("/tools off wbe")
    told = await chat.ask("/tools")
    assert "wbe" not in told
    assert "`fire` is on (this session): burn" in told


@pytest.mark.parametrize(
    "line", ["/session set tool_groups frie", "/tools on frie", "/session set tool_groups fire, frie"]
)
async def test_a_group_that_no_tool_has_is_refused_with_near_ones(make_app: MakeApp, line: str) -> None:
    chat = await open_chat(make_app, tools=ALL_TOOLS, access={"tool_groups": ["*"]})
    told = await chat.ask(line)
    assert "There is no group of tools `frie`. There are: fire." in told
    assert "`fire` is off" in await chat.ask("/tools")


async def test_a_group_is_set_under_its_own_name_in_any_case(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, tools=ALL_TOOLS, access={"tool_groups": ["*"]})
    assert "`tool_groups` = fire" in await chat.ask("/session set tool_groups FIRE")
    assert "`tool_groups` = *" in (await chat.ask("/session set tool_groups *")).replace("\\", "")


@pytest.mark.parametrize(
    "line", ["/tools", "/tools on", "/tools on web", "/tools off web", "/session set tool_groups web"]
)
async def test_where_there_are_no_groups_the_settings_that_bring_some_are_named(make_app: MakeApp, line: str) -> None:
    chat = await open_chat(make_app)
    told = await chat.ask(line)
    assert "`WEB__FETCH=on`" in told
    assert "`MCP__NAME__COMMAND`" in told


async def test_without_a_group_those_that_there_are_are_named(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, tools=ALL_TOOLS)
    assert await chat.ask("/tools on") == "Which group of tools? There are: fire."


async def test_all_groups_at_once_are_told_in_words(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, tools=ALL_TOOLS, access={"tool_groups": ["*"]})
    assert await chat.ask("/tools on *") == "All groups of tools are on, those that are yet to come as well."
    told = await chat.ask("/tools")
    assert "`fire` is on (this session): burn" in told
    assert "`/tools on GROUP` and `/tools off GROUP` switch a group." in told
    assert await chat.ask("/tools off *") == "All groups of tools are off."


async def test_where_there_are_no_groups_not_even_all_of_them_can_be_on(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    assert "There are no groups of tools to switch on" in await chat.ask("/tools on *")
    assert "/tools on GROUP" not in await chat.ask("/tools")
