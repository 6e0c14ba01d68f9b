"""Tools on both wires: what a slow one does is read, and a dangerous one waits for a button."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.emulators.openai.script import Call, Request, Say
from tests.scenarios.bot_process import ROOT, running_bot
from tests.scenarios.discord_lab import DiscordLab, discord_lab
from tests.scenarios.telegram_lab import TelegramLab, telegram_lab

pytestmark = [pytest.mark.wire, pytest.mark.xdist_group("wire-tools")]

EXTENSION = """
import asyncio
from pathlib import Path

from bot.llm.model import ToolSpec
from bot.tools import Tool
from bot.tools.tool import PROGRESS

NOTHING = {"type": "object", "properties": {}}


async def burn(turn, arguments):
    return f"burnt for {turn.asker.name}"


async def dig(turn, arguments):
    while not Path("go").exists():
        await asyncio.sleep(0.02)
    return "dug"


TOOLS = (
    Tool(spec=ToolSpec(name="burn", description="Burns.", parameters=NOTHING), run=burn, asks=True),
    Tool(spec=ToolSpec(name="dig", description="Digs.", parameters=NOTHING), run=dig, progress=PROGRESS),
)
"""
"""A tool that asks, and one that takes until the file `go` is there."""

CALLS = {
    "burn": Call(name="burn"),
    "dig": Call(name="dig"),
}


def tooled(request: Request) -> Say:
    """Calls the tool that the last message names, then tells its result."""
    if request.tool_results:
        return Say(text=f"It is so: {request.tool_results[-1]}")
    named = next((word for word in CALLS if word in request.last_user), None)
    return Say(calls=(CALLS[named],)) if named else Say(text="Hm.")


def extended(folder: Path) -> dict[str, str]:
    """Settings with which the bot has the extension."""
    (folder / "tooling.py").write_text(EXTENSION, encoding="utf-8")
    return {"EXTENSIONS": "tooling", "PYTHONPATH": f"{ROOT}:{folder}"}


@pytest.fixture
async def on_discord(tmp_path: Path, migrated_database: Path) -> AsyncIterator[DiscordLab]:
    async with discord_lab(tmp_path, migrated_database) as lab:
        lab.model.script = tooled
        yield lab


@pytest.fixture
async def on_telegram(tmp_path: Path, migrated_database: Path) -> AsyncIterator[TelegramLab]:
    async with telegram_lab(tmp_path, migrated_database) as lab:
        lab.model.script = tooled
        yield lab


async def test_X04_on_discord_slow_tools_are_told_dangerous_ones_asked_for_and_what_is_refused_is_told(
    on_discord: DiscordLab,
) -> None:
    lab, spot = on_discord, on_discord.spot("general")
    lab.model.judge = lambda text: "gore" in text
    async with lab.running(**extended(lab.folder), MODERATION__MODEL="lab/omni") as bot:
        await spot.ask(lab.bob, "dig")
        await spot.says("*using `dig` …*")
        (lab.folder / "go").touch()
        await spot.says("It is so: dug")
        assert "*using `dig` …*" not in spot.posts, "the answer takes its place"

        await spot.ask(lab.bob, "burn")
        await spot.says(lambda text: "May this be done?" in text)
        question = next(message for message in spot.messages if "May this be done?" in message.content)
        await spot.click(lab.bob, question, "Allow")
        await spot.says("It is so: burnt for Bob")
        await spot.says(lambda text: text.startswith("Bob has allowed `burn`"))

        for key in ("moderation__input", "moderation__output"):
            await spot.slash(lab.alice, "session set", key=key, value="on")
        await spot.ask(lab.bob, "much gore")
        await spot.says("That was refused by the rules of moderation here, so nothing answers it.")
        lab.model.script = Say(text=["So ", "much ", "gore."])
        asked = len(lab.model.requests)
        await spot.ask(lab.bob, "tell me")
        await spot.says(lambda text: text.startswith("The answer was refused by the rules of moderation here"))
        assert len(lab.model.requests) == asked + 1
        assert not any("gore" in str(request.body) for request in spot.requests)
        assert await bot.stop() == 0
    assert "Traceback" not in bot.output


async def test_X04_on_telegram_slow_tools_are_told_and_dangerous_ones_asked_for(on_telegram: TelegramLab) -> None:
    lab, telegram = on_telegram, on_telegram.telegram
    alice, bob, group = lab.people()
    async with running_bot(lab.folder, {**lab.settings, **extended(lab.folder)}) as bot:
        await lab.polled()
        telegram.say(bob, group, "@FamiliarBot dig")
        await telegram.wait_for_text(group, "using dig …")
        (lab.folder / "go").touch()
        await telegram.wait_for_text(group, "It is so: dug")

        telegram.say(alice, group, "@FamiliarBot burn")
        question = await telegram.wait_for(
            lambda: next((one for one in telegram.bot_messages(group) if "May this be done?" in one["text"]), None)
        )
        telegram.press(bob, question, "Allow")
        await telegram.wait_for_text(group, "Only the person who asked, or an administrator, can do that.")
        assert any("May this be done?" in text for text in telegram.bot_texts(group)), "the question stays open"
        telegram.press(alice, question, "Allow")
        await telegram.wait_for_text(group, "It is so: burnt for Alice")
        assert await bot.stop() == 0
    assert "Traceback" not in bot.output
