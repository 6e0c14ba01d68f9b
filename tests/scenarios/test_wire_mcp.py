"""Servers of tools on the wire, on both platforms, with every kind of model server, and what is left behind."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import psutil
import pytest

from tests.emulators.telegram.server import TelegramEmulator
from tests.emulators.telegram.world import Chat
from tests.mcp_servers.journal import HERE, over_http
from tests.scenarios.bot_process import running_bot
from tests.scenarios.discord_lab import discord_lab
from tests.scenarios.every_kind import QUESTION, every_kind
from tests.scenarios.telegram_lab import telegram_lab

pytestmark = [pytest.mark.wire, pytest.mark.xdist_group("wire-mcp")]

WORD = "word-sentinel-0123"
ZONE = "Asia/Kolkata"
"""Half an hour off every other clock in the test: a reminder in a wrong zone is over, or hours away."""


async def test_two_tools_at_once_and_a_reminder_through_every_kind_of_model_server_on_discord(
    tmp_path: Path, migrated_database: Path
) -> None:
    program = {"COMMAND": sys.executable, "ARGS": json.dumps([str(HERE / "sdk.py"), "stdio"]), "ENV__WORD": WORD}
    tools = {f"MCP__LAB__{name}": value for name, value in program.items()}
    broken = {"MCP__GONE__COMMAND": "/no/such/program", "TOOL_GROUPS": "*", "LOG_LEVEL": "debug"}
    async with (
        discord_lab(tmp_path / "lab", migrated_database) as lab,
        every_kind(ZONE) as kinds,
        lab.running(**tools, **broken, **kinds.settings) as bot,
    ):
        await bot.logs("mcp.failed")
        await bot.logs("mcp.connected")
        spots = {kind: lab.spot(kind.place) for kind in kinds}
        for kind, spot in spots.items():
            await spot.slash(lab.alice, "session set", model=kind.model)
            await spot.ask(lab.bob, QUESTION)
        for kind, spot in spots.items():
            await spot.says(kind.shows)
        for kind, spot in spots.items():
            if kind.has_tools:
                told = await spot.says(lambda text: "⏰" in text, within=30)
                assert told["content"] == f"<@{lab.bob.id}> ⏰ {kind.reminder}"
                sent = [one for one in spot.requests if "⏰" in str(one.body)]
                assert sent[-1].body["allowed_mentions"] == {"parse": [], "users": [lab.bob.id]}, (
                    "it calls its asker alone"
                )
        first = next(iter(spots.values()))
        await first.ask(lab.bob, "Wait.")
        await first.says("*using `lab__wait` …*")
        await first.slash(lab.bob, "stop")
        await first.ask(lab.bob, "Does anybody wait?")
        await first.says("0")
        assert "*using `lab__wait` …*" not in first.posts
        children = psutil.Process(bot.pid).children(recursive=True)
        assert [child for child in children if "sdk.py" in " ".join(child.cmdline())]
        assert await bot.stop() == 0
    assert not [child for child in children if child.is_running()]
    assert WORD not in bot.output
    assert "Traceback" not in bot.output


async def test_two_tools_at_once_and_a_reminder_through_every_kind_of_model_server_on_telegram(
    tmp_path: Path, migrated_database: Path
) -> None:
    async with (
        telegram_lab(tmp_path, migrated_database) as lab,
        over_http(WORD=WORD) as served,
        every_kind(ZONE) as kinds,
    ):
        address = {"URL": f"http://127.0.0.1:{served.port}/mcp", "HEADERS__X_WORD": WORD, "GROUP": "friends"}
        tools = {f"MCP__LAB__{name}": value for name, value in address.items()}
        given = {**lab.settings, **tools, **kinds.settings, "TOOL_GROUPS": "friends", "BURST_MS": "0"}
        bob = lab.telegram.user("Bob")
        groups = {kind: lab.group(kind.place, bob) for kind in kinds}
        async with running_bot(lab.folder, {**given, "LOG_LEVEL": "debug"}) as bot:
            await bot.logs("mcp.connected")
            await bot.until(lab.polled())
            for kind, group in groups.items():
                lab.telegram.say(bob, group, f"/session set -m {kind.model}")
                lab.telegram.say(bob, group, f"@FamiliarBot {QUESTION}")
            for kind, group in groups.items():
                await lab.telegram.wait_for(partial(_has, lab.telegram, group, kind.shows), timeout_s=20)
            for kind, group in groups.items():
                if kind.has_tools:
                    await lab.telegram.wait_for_text(group, f"Bob ⏰ {kind.reminder}", timeout_s=30)
                    mention = lab.telegram.bot_messages(group)[-1]["entities"][0]
                    assert (mention["type"], mention["offset"], mention["length"]) == ("text_mention", 0, 3)
            assert await bot.stop() == 0
    assert WORD not in bot.output
    assert "Traceback" not in bot.output


def _has(telegram: TelegramEmulator, group: Chat, shows: Callable[[str], bool]) -> bool:
    return any(map(shows, telegram.bot_texts(group)))


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
