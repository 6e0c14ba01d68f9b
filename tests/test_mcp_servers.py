"""Real servers of tools: what they offer, and what becomes of those that hang, crash, lie or never start."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import AsyncExitStack
from pathlib import Path

import psutil
import pytest

from bot.settings import McpSettings
from bot.tools.mcp.server import McpServer
from bot.tools.tool import ToolError
from tests.mcp_servers.journal import HttpServer, Lab, by_sdk, kept_connected, over_http, plain


def children() -> list[psutil.Process]:
    return psutil.Process().children(recursive=True)


@pytest.fixture(params=["pipes", "http"])
async def lab(request: pytest.FixtureRequest) -> Lab:  # type: ignore[misc]  # a generator, as pytest wants it
    """The server of the SDK, either way."""
    async with AsyncExitStack() as stack:
        if request.param == "http":
            served: HttpServer = await stack.enter_async_context(over_http())
            settings = served.settings()
        else:
            settings = by_sdk()
        yield await stack.enter_async_context(kept_connected(settings))


async def test_tools_of_a_server_are_offered_and_run(lab: Lab) -> None:
    weather = lab.tool("weather")
    assert weather.group == "lab"
    assert not weather.is_on([])
    assert weather.spec.description == "Tells the weather."
    place = weather.spec.parameters["properties"]["place"]
    assert place["properties"] == {"city": {"type": "string"}, "country": {"type": "string"}}
    told = await asyncio.gather(lab.call("weather", place={"city": "Oslo"}, days=2), lab.call("calendar_read", day="x"))
    assert told == ["sunny in Oslo for 2 days", "nothing on x"]
    assert json.loads(await lab.call("total", numbers=[1, 2])) == {"total": 3.0}


async def test_K01_a_name_that_a_model_server_refuses_still_reaches_its_tool(lab: Lab) -> None:
    assert await lab.call("calendar_read", day="Monday") == "nothing on Monday"


async def test_what_a_tool_says_of_its_failure_is_told_to_the_model(lab: Lab) -> None:
    with pytest.raises(ToolError, match="Error executing tool fail"):
        await lab.call("fail")
    with pytest.raises(ToolError, match="place"):
        await lab.call("weather", place=3)
    assert lab.server.health.is_connected


async def test_a_tool_that_cannot_be_taken_back_asks_first(lab: Lab) -> None:
    assert lab.tool("delete_everything").asks
    assert not lab.tool("weather").asks


@pytest.mark.parametrize(("asks", "who"), [("marked", {"loud"}), ("always", {"loud", "quiet"}), ("never", set())])
async def test_which_tools_of_a_server_ask_first_is_the_operators_to_choose(asks: str, who: set[str]) -> None:
    marked = {"name": "loud", "annotations": {"destructiveHint": True}}
    settings = plain(tools=["quiet", marked]).model_copy(update={"asks": asks})
    async with kept_connected(settings) as lab:
        assert {tool.spec.name.removeprefix("lab__") for tool in lab.server.tools if tool.asks} == who


async def test_tools_that_come_later_are_there_without_a_restart(lab: Lab) -> None:
    assert await lab.call("grow") == "grown"
    await lab.told.until("mcp.connected", times=2)
    assert await lab.call("grown") == "grown"


async def test_K03_a_server_that_dies_in_a_call_is_told_and_left(lab: Lab) -> None:
    with pytest.raises(ToolError, match="lab is not connected now"):
        await lab.call("die")
    await lab.told.until("mcp.lost")
    assert not lab.server.health.is_connected or len(lab.told.of("mcp.connected")) > 1


async def test_K03_a_call_that_hangs_ends_and_leaves_the_others_alone() -> None:
    async with over_http() as served, kept_connected(served.settings(timeout=0.5)) as lab:
        hanging = asyncio.gather(lab.call("wait"), return_exceptions=True)
        assert await lab.call("calendar_read", day="x") == "nothing on x"
        (error,) = await hanging
        assert str(error) == "lab did not answer within 0.5 seconds. Go on without it."
        assert lab.server.health.is_connected


async def test_who_stops_waiting_ends_the_call_there_and_leaves_the_connection_whole(lab: Lab) -> None:
    calling = asyncio.ensure_future(lab.call("wait"))
    assert await lab.call("count_waiting", until=1) == "1"
    calling.cancel()
    await asyncio.gather(calling, return_exceptions=True)
    assert calling.cancelled()
    assert await lab.call("count_waiting", until=0) == "0"


async def test_K03_a_server_that_was_killed_is_connected_again() -> None:
    async with kept_connected(plain()) as lab:
        for child in children():
            child.kill()
        await lab.told.until("mcp.connected", times=2)
        assert await lab.call("hello") == "hello {}"
        assert lab.pauses == [1.0]


async def test_K03_an_address_that_comes_back_is_connected_again() -> None:
    async with AsyncExitStack() as stack:
        served = await stack.enter_async_context(over_http())
        lab = await stack.enter_async_context(kept_connected(served.settings()))
        lab.goes_on.clear()
        await served.kill()
        with pytest.raises(ToolError, match="lab is not connected now"):
            await lab.call("calendar_read", day="x")
        await lab.told.until("mcp.lost")
        assert len(lab.server.tools) == 11
        lab.goes_on.set()
        await lab.told.until("mcp.failed")
        lab.goes_on.clear()
        assert lab.pauses[:2] == [1.0, 2.0]
        await stack.enter_async_context(over_http(port=served.port))
        assert lab.server.tools == ()
        lab.goes_on.set()
        await lab.told.until("mcp.connected", times=2)
        assert await lab.call("calendar_read", day="x") == "nothing on x"


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        (plain(never="no module named x"), "it has ended: no module named x"),
        (
            McpSettings(command=sys.executable, args=("-c", "def go():\n  import not_there\ngo()")),
            "it has ended: ModuleNotFoundError: No module named 'not_there'",
        ),
        (McpSettings(url="http://127.0.0.1:9/mcp"), "nothing answers at its address"),
        (McpSettings(command="/etc/passwd"), "its program may not be run: /etc/passwd"),
        (plain(timeout=0.2, is_silent=True), "it does not answer"),
        (plain().model_copy(update={"command": "/no/such/program"}), "there is no program '/no/such/program'"),
        (McpSettings(command="cat"), "it speaks no MCP"),
        (plain(calls={}, tools=[{"name": 5}]), "it says what is not of the protocol"),
    ],
)
async def test_K03_a_server_that_never_starts_is_tried_again_and_tells_why(settings: object, problem: str) -> None:
    async with kept_connected(settings, is_up=False) as lab:  # type: ignore[arg-type]  # a table of settings
        told = await lab.told.until("mcp.failed", times=2)
        assert (told["level"], told["server"]) == ("warning", "lab")
        assert told["problem"].startswith(problem)
        assert lab.server.health.problem == told["problem"]
        assert lab.server.tools == ()
        assert lab.pauses[0] == 1.0


async def test_X01_an_address_that_lets_us_in_gets_the_word_and_no_log_does() -> None:
    async with over_http(WORD="word-sentinel") as served:
        async with kept_connected(served.settings(x_word="word-sentinel")) as lab:
            assert await lab.call("calendar_read", day="x") == "nothing on x"
            assert "sentinel" not in str(lab.told.records)
        async with kept_connected(served.settings(x_word="wrong-sentinel"), is_up=False) as lab:
            told = await lab.told.until("mcp.failed")
            assert "HTTP 401" in told["problem"]
            assert "sentinel" not in str(lab.told.records)


@pytest.mark.parametrize("word", ["word-sentinel\nand-sentinel", "Bearer word-sentinel\r"])
async def test_X01_a_word_that_no_header_can_have_is_not_told_by_its_refusal(word: str) -> None:
    async with over_http() as served, kept_connected(served.settings(x_word=word), is_up=False) as lab:
        told = await lab.told.until("mcp.failed")
        assert "header" in told["problem"]
        assert "sentinel" not in lab.server.health.problem + str(lab.told.records)


async def test_X01_what_a_program_writes_of_its_secrets_is_told_to_nobody() -> None:
    tells = McpSettings(command="sh", args=("-c", "echo no entry with $KEY >&2"), env={"KEY": "word-sentinel"})
    async with kept_connected(tells, is_up=False) as lab:
        told = await lab.told.until("mcp.failed")
        assert "no entry with ***" in told["problem"]
        assert "sentinel" not in lab.server.health.problem


async def test_a_program_gets_its_own_environment_and_none_of_our_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCORD__TOKEN", "token-sentinel")
    async with kept_connected(by_sdk(KEY="x")) as lab:
        names = (await lab.call("tell_environment")).split()
    assert "KEY" in names
    assert "PATH" in names
    assert "DISCORD__TOKEN" not in names


async def test_a_server_of_an_older_protocol_tells_of_its_changes(tmp_path: Path) -> None:
    file = tmp_path / "tools.json"
    file.write_text('["first", "change"]')
    async with kept_connected(plain(file=str(file), calls={"change": "change"})) as lab:
        file.write_text('["first", "second"]')
        await lab.call("change", a=1)
        await lab.told.until("mcp.connected", times=2)
        assert lab.server.health.tools == ("lab__first", "lab__second")


async def test_lines_that_are_no_messages_are_passed_over_and_logged_nowhere() -> None:
    async with kept_connected(plain(calls={"hello": "babble"})) as lab:
        assert await lab.call("hello", word="sentinel") == 'hello {"word": "sentinel"}'
        assert [record for record in lab.told.records if record["level"] != "debug"] == lab.told.of("mcp.connected")


async def test_what_a_server_wrote_at_work_is_in_no_log_above_debug() -> None:
    async with kept_connected(plain(calls={"hello": "die"})) as lab:
        with pytest.raises(ToolError):
            await lab.call("hello")
        told = await lab.told.until("mcp.lost")
        assert told["problem"] == "the connection has ended"


async def test_the_first_hundred_tools_of_a_server_are_taken() -> None:
    async with kept_connected(plain(tools=[f"tool_{number}" for number in range(120)])) as lab:
        assert len(lab.server.tools) == 100
        assert lab.told.of("mcp.too_many_tools")[0]["tools"] == 120


@pytest.mark.parametrize("is_stubborn", [False, True])
async def test_no_program_is_left_behind(is_stubborn: bool) -> None:
    async with kept_connected(plain(is_stubborn=is_stubborn)):
        assert len(children()) == 1
    assert children() == []


async def test_a_result_that_no_model_could_read_is_an_error_in_words() -> None:
    calls = {"hello": {"result": {"content": "not a list"}}, "no": {"error": {"code": 1, "message": "not today"}}}
    async with kept_connected(plain(tools=["hello", "no"], calls=calls)) as lab:
        with pytest.raises(ToolError, match="could not be read"):
            await lab.call("hello")
    async with kept_connected(plain(tools=["hello", "no"], calls=calls)) as lab:
        with pytest.raises(ToolError, match="not today"):
            await lab.call("no")


def test_of_a_server_that_nobody_has_tried_yet_no_fault_is_told() -> None:
    health = McpServer("lab", McpSettings(command="npx")).health
    assert (health.is_connected, health.problem) == (False, "")
