"""Tools of servers in turns: with each kind of model server, where their group is on, and as /status tells of them."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from bot.chat import Author
from bot.llm.model import ToolCall
from bot.testing import Reply, ScriptedModel, make_author, make_channel
from tests.conftest import MakeApp
from tests.emulators.openai.profiles import PROFILES, Profile, behaving_like
from tests.emulators.openai.script import Call, Request, Say
from tests.mcp_servers.journal import HERE, journal, plain
from tests.talking import open_chat
from tests.test_conformance import staged

OPERATOR = make_author("Olga")


@pytest.fixture(scope="module")
def served() -> Iterator[dict[str, Any]]:
    """The address of a server of tools."""
    words = [sys.executable, str(HERE / "sdk.py"), "http"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        yield {"lab": {"url": f"http://127.0.0.1:{port}/mcp"}}
        process.kill()


def both_at_once(request: Request) -> Say:
    """A model that calls two tools at once, and says what they said."""
    if len(request.tool_results) == 2:
        return Say(text=" and ".join(request.tool_results) + ".")
    names = {tool["function"]["name"] for tool in request.body.get("tools", ())}
    assert "lab__meet" in names
    return Say(
        calls=[Call(name="lab__meet", arguments=json.dumps({"name": one}), id=f"c-{one}") for one in ("Ada", "Bo")]
    )


@pytest.mark.parametrize(
    "profile", [profile for profile in PROFILES if profile.has_tools], ids=lambda profile: profile.name
)
async def test_two_tools_of_a_server_run_at_once_with_every_model_server(
    profile: Profile, make_app: MakeApp, served: dict[str, Any]
) -> None:
    with journal() as told:
        async with staged(profile, behaving_like(profile, both_at_once), make_app) as stage:
            bot = await stage.bot(mcp=served, tool_groups=("lab",))
            await told.until("mcp.connected")
            *_, heard = await bot.hear("Who was there?", make_channel(dm=True), make_author("Alice"))
            assert stage.heard(heard, "Ada was there and Bo was there.")
            await bot.app.close()


@pytest.mark.parametrize(("groups", "is_on"), [((), False), (("web",), False), (("shelf",), True), (("*",), True)])
async def test_tools_of_a_server_are_on_where_its_group_is(
    make_app: MakeApp, groups: tuple[str, ...], is_on: bool
) -> None:
    with journal() as told:
        chat = await open_chat(make_app, persona="none", mcp={"lab": plain(group="shelf")}, tool_groups=groups)
        await told.until("mcp.connected")
        await chat.say("hello")
        names = [tool.name for tool in chat.model.requests[-1].tools]
        assert ("lab__hello" in names) == is_on
        assert ("lab" in await chat.ask("/status")) == is_on
        await chat.app.close()


async def test_K02_a_huge_result_of_a_server_is_cut_and_an_image_is_told_in_words(make_app: MakeApp) -> None:
    call = ToolCall(id="1", name="lab__hello", arguments="{}")
    model = ScriptedModel([Reply(tool_calls=(call,)), "seen"])
    with journal() as told:
        chat = await open_chat(
            make_app, model=model, persona="none", mcp={"lab": plain(calls={"hello": "flood"})}, tool_groups=("lab",)
        )
        await told.until("mcp.connected")
        await chat.say("hello")
        result = chat.model.requests[-1].messages[-1].text
        await chat.app.close()
    assert result.startswith("begin word")
    assert result.endswith("[image, image/png, 6 bytes; it cannot be shown here]")
    assert len(result) < 20_000


@pytest.mark.parametrize("who", [OPERATOR, make_author("Bob")], ids=["operator", "anybody"])
async def test_X13_status_and_tools_tell_why_a_server_is_away_to_the_operator_alone(
    make_app: MakeApp, who: Author
) -> None:
    settings: dict[str, Any] = {"access": {"admins": (OPERATOR.key,)}, "tool_groups": ("lab",), "persona": "none"}
    with journal() as told:
        chat = await open_chat(make_app, mcp={"lab": plain(never="no module named secret")}, **settings)
        await told.until("mcp.failed")
        status = await chat.ask("/status", author=who)
        tools = await chat.ask("/tools", author=who)
        await chat.app.close()
    assert "`lab` is on (default): The server lab is not connected" in tools
    for told_where in (status, tools):
        assert "The server lab is not connected" in told_where
        assert ("no module named secret" in told_where) == (who is OPERATOR)


async def test_K03_a_server_that_is_silent_keeps_no_start_and_no_turn_waiting(make_app: MakeApp) -> None:
    began = time.monotonic()
    chat = await open_chat(make_app, mcp={"lab": plain(is_silent=True)}, tool_groups=("*",), persona="none")
    assert await chat.say("hello") == ["ok"]
    assert time.monotonic() - began < 5
    await chat.app.close()


def test_nothing_of_it_is_loaded_where_no_server_is_configured() -> None:
    script = "import sys, bot.app.build, bot.cli.doctor; sys.exit(bool({'mcp', 'bot.tools.mcp'} & {*sys.modules}))"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
