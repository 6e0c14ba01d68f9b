"""Servers of tools on the wire: a question that takes two tools at once, on both platforms, and what is left behind."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import psutil
import pytest

from tests.emulators.openai.script import Call, Request, Say
from tests.mcp_servers.journal import HERE, over_http
from tests.scenarios.bot_process import running_bot
from tests.scenarios.discord_lab import discord_lab
from tests.scenarios.telegram_lab import telegram_lab

pytestmark = [pytest.mark.wire, pytest.mark.xdist_group("wire-mcp")]

WORD = "word-sentinel-0123"


def both_at_once(request: Request) -> Say:
    """A model that calls two tools at once, and says what they said."""
    if len(request.tool_results) == 2:
        return Say(text=" and ".join(request.tool_results) + ".")
    return Say(
        calls=[Call(name="lab__meet", arguments=json.dumps({"name": one}), id=f"c-{one}") for one in ("Ada", "Bo")]
    )


async def test_two_tools_of_a_program_answer_a_question_on_discord(tmp_path: Path, migrated_database: Path) -> None:
    async with discord_lab(tmp_path / "lab", migrated_database) as lab:
        lab.model.script = both_at_once
        program = {"COMMAND": sys.executable, "ARGS": json.dumps([str(HERE / "sdk.py"), "stdio"]), "ENV__WORD": WORD}
        settings = {f"MCP__LAB__{name}": value for name, value in program.items()}
        broken = {"MCP__GONE__COMMAND": "/no/such/program", "TOOL_GROUPS": "*", "LOG_LEVEL": "debug"}
        spot = lab.spot("general")
        async with lab.running(**settings, **broken) as bot:
            await bot.logs("mcp.failed")
            await bot.logs("mcp.connected")
            await spot.ask(lab.bob, "Who was there?")
            await spot.says("Ada was there and Bo was there.")
            children = psutil.Process(bot.pid).children(recursive=True)
            assert [child for child in children if "sdk.py" in " ".join(child.cmdline())]
            assert await bot.stop() == 0
        assert not [child for child in children if child.is_running()]
        assert WORD not in bot.output
        assert "Traceback" not in bot.output


async def test_two_tools_of_an_address_answer_a_question_on_telegram(tmp_path: Path, migrated_database: Path) -> None:
    async with telegram_lab(tmp_path, migrated_database) as lab, over_http(WORD=WORD) as served:
        lab.model.script = both_at_once
        address = {"URL": f"http://127.0.0.1:{served.port}/mcp", "HEADERS__X_WORD": WORD, "GROUP": "friends"}
        settings = {f"MCP__LAB__{name}": value for name, value in address.items()}
        given = {**lab.settings, **settings, "TOOL_GROUPS": "friends", "LOG_LEVEL": "debug", "BURST_MS": "0"}
        async with running_bot(lab.folder, given) as bot:
            await bot.logs("mcp.connected")
            await bot.until(lab.polled())
            _, bob, group = lab.people()
            lab.telegram.say(bob, group, "@FamiliarBot Who was there?")
            await lab.telegram.wait_for_text(group, "Ada was there and Bo was there.", timeout_s=20)
            assert await bot.stop() == 0
        assert WORD not in bot.output


async def test_the_doctor_connects_each_server_of_tools(tmp_path: Path) -> None:
    async with over_http(WORD=WORD) as served:
        url = f"http://127.0.0.1:{served.port}/mcp"
        settings = {
            "MODEL": "lab/none",
            "PROVIDERS__LAB__BASE_URL": "http://127.0.0.1:9/v1",
            "MCP__GOOD__URL": url,
            "MCP__GOOD__HEADERS__X_WORD": WORD,
            "MCP__WRONG__URL": url,
            "MCP__WRONG__HEADERS__X_WORD": "wrong-sentinel",
            "MCP__GONE__COMMAND": "/no/such/program",
        }
        async with running_bot(tmp_path, settings, arguments=("doctor",)) as bot:
            assert await bot.ended(40) == 1
    told = {line.split("tools of ")[1].split(":")[0]: line for line in bot.lines if "tools of " in line}
    assert told["good"].startswith("ok")
    assert "where TOOL_GROUPS has good: good__weather, good__calendar_read" in told["good"]
    assert told["wrong"].startswith("fault")
    assert "HTTP 401" in told["wrong"]
    assert "there is no program '/no/such/program'" in told["gone"]
    assert "sentinel" not in bot.output
