"""Who may switch groups of tools on: by /tools on, by /session set, and by what a card asks for."""

from __future__ import annotations

import pytest

from bot.chat import ChannelRef
from bot.testing import FakeAdapter
from bot.tools import TOOLS
from tests.conftest import MakeApp
from tests.talking import DM, GROUP, open_chat
from tests.test_commands_personas import MIRA, answered, button, upload
from tests.test_tool_consent import ADMIN, Burning

ALL_TOOLS = (*TOOLS, Burning().tool)
ON = ["/tools on fire", "/tools on * --for place", "/session set tool_groups fire", "/session set tool_groups *"]


@pytest.mark.parametrize("command", ON)
@pytest.mark.parametrize("channel", [DM, GROUP])
async def test_X11_only_the_operator_switches_on_tools_that_are_left_to_nobody(
    make_app: MakeApp, command: str, channel: ChannelRef
) -> None:
    chat = await open_chat(
        make_app,
        tools=ALL_TOOLS,
        adapter=FakeAdapter(managers=["ada", "alice"]),
        access={"admins": [ADMIN.key], "tool_groups": ["water"]},
    )
    assert "`ACCESS__TOOL_GROUPS`" in await chat.ask(command, channel=channel)
    await chat.say("hello", channel=channel)
    assert "burn" not in [tool.name for tool in chat.model.requests[-1].tools]
    assert "ACCESS" not in await chat.ask(command, author=ADMIN, channel=channel)
    await chat.say("hello", channel=channel)
    assert "burn" in [tool.name for tool in chat.model.requests[-1].tools]


@pytest.mark.parametrize("command", ON[::2])
async def test_groups_that_are_left_to_others_are_switched_on_by_them(make_app: MakeApp, command: str) -> None:
    chat = await open_chat(make_app, tools=ALL_TOOLS, access={"tool_groups": ["fire"]})
    assert "ACCESS" not in await chat.ask(command)
    assert "`ACCESS__TOOL_GROUPS`" in await chat.ask("/tools on *")
    await chat.say("hello")
    assert "burn" in [tool.name for tool in chat.model.requests[-1].tools]


async def test_what_the_settings_switch_on_may_be_switched_off_and_inherited_again(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, tools=ALL_TOOLS, tool_groups=("fire",))
    assert "are off" in await chat.ask("/tools off fire")
    await chat.ask("/session reset tool_groups")
    await chat.say("hello")
    assert "burn" in [tool.name for tool in chat.model.requests[-1].tools]


async def test_P24_tools_that_the_operator_left_to_nobody_come_with_no_card(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    told = await chat.ask("/persona import --yes --accept", attachments=upload(MIRA))
    assert "web" in told
    assert "`ACCESS__TOOL_GROUPS`" in told
    await chat.ask("/persona import --yes")
    persona = chat.app.core.library.get(button(chat).removeprefix("persona use "))
    assert persona
    assert not persona.granted


@pytest.mark.parametrize("left", [(), ("web",)])
async def test_P24_yes_to_all_is_offered_to_those_alone_who_may_press_it(
    make_app: MakeApp, left: tuple[str, ...]
) -> None:
    chat = await open_chat(make_app, access={"tool_groups": left})
    told = await chat.ask("/persona import", attachments=upload(MIRA))
    offered = [one.command for row in answered(chat).buttons for one in row]
    assert any(" -a " in command for command in offered) is bool(left)
    assert ("`ACCESS__TOOL_GROUPS`" in told) is not bool(left)
