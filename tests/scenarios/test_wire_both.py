"""Both platforms in one process, on the wire: side by side, one failing, no secret told, stops at any moment."""

from __future__ import annotations

import json
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.emulators.openai import errors
from tests.emulators.openai.script import Say
from tests.emulators.telegram.server import TelegramEmulator
from tests.scenarios.bot_process import ROOT, running_bot
from tests.scenarios.discord_lab import KEY, DiscordLab, discord_lab

pytestmark = [pytest.mark.wire, pytest.mark.xdist_group("wire-both")]

WRONG = {
    "discord": "MTIzNDU2Nzg5MDEyMzQ1Njc4.Gsenti.sentinel-of-a-wrong-discord-token-xyz",
    "telegram": "123456:AAwrong-sentinel-of-a-telegram-token",
}


@dataclass
class Both:
    """A Discord, a Telegram and a model server."""

    lab: DiscordLab
    telegram: TelegramEmulator

    @property
    def settings(self) -> dict[str, str]:
        """What joins the bot to all three."""
        return {
            **self.lab.settings,
            "TELEGRAM__TOKEN": self.telegram.token,
            "TELEGRAM__BASE_URL": self.telegram.base_url,
            "TELEGRAM__BASE_FILE_URL": self.telegram.base_file_url,
        }

    async def polled(self) -> None:
        """Wait until Telegram is listened to."""
        await self.telegram.wait_for(lambda: self.telegram.polling, timeout_s=30)


@pytest.fixture
async def both(tmp_path: Path, migrated_database: Path) -> AsyncIterator[Both]:
    async with discord_lab(tmp_path / "lab", migrated_database) as lab, TelegramEmulator() as telegram:
        yield Both(lab, telegram)


async def test_S11_X01_both_platforms_live_in_one_process_and_no_secret_leaves_it(both: Both) -> None:
    lab, telegram, spot = both.lab, both.telegram, both.lab.spot("general")
    group = telegram.group("Lab", telegram.user("Ada"))
    ada = next(iter(group.members.values()))
    async with lab.running(**both.settings, LOG_LEVEL="debug", DEBUG_LOGGING="on") as bot:
        await bot.until(both.polled())
        await spot.ask(lab.bob, "on Discord")
        telegram.say(ada, group, "@FamiliarBot on Telegram")
        await spot.says("answer to: Bob: on Discord")
        await telegram.wait_for_text(group, "answer to: Ada: on Telegram")

        await telegram.go_away()  # one platform flaps, the other does not notice
        await spot.ask(lab.bob, "still here?")
        await spot.says("answer to: Bob: still here?")
        await telegram.come_back()
        lab.discord.cut()
        telegram.say(ada, group, "@FamiliarBot and now?")
        await telegram.wait_for_text(group, "answer to: Ada: and now?", timeout_s=20)

        refused = "Forbidden: bot was kicked"
        telegram.fail("sendMessage", status=403, description=refused)
        telegram.fail("getUpdates", status=502, description="Bad Gateway")
        lab.discord.fault("POST", f"/channels/{spot.channel.id}/messages", status=403, body={"code": 50013})
        lab.model.queue(errors.unauthorized(KEY), errors.unauthorized(KEY))
        telegram.say(ada, group, "@FamiliarBot fails")
        await spot.ask(lab.bob, "fails")
        await bot.logs("discord.send_refused")
        await telegram.wait_for(lambda: [call for call in telegram.calls if call.description == refused])
        bot.signal(signal.SIGTERM)
        assert await bot.ended(10) == 0
    assert [json.loads(line)["level"] for line in bot.lines], "every line is a record"
    assert bot.events("turn.failed")
    assert "Traceback" not in bot.output
    assert "Unclosed" not in bot.output
    for secret in (KEY, lab.discord.token, telegram.token):
        assert secret not in bot.output


async def test_X10_a_flood_costs_no_call_beyond_the_limit_and_is_told_once_where_it_happens(both: Both) -> None:
    lab, telegram, spot = both.lab, both.telegram, both.lab.spot("general")
    group = telegram.group("Lab", telegram.user("Ada"))
    ada = next(iter(group.members.values()))
    lab.model.script = lambda _request: Say(text="Here.", usage={"prompt_tokens": 800, "completion_tokens": 100})
    limits = {"QUOTA__PLACE__TOKENS_PER_DAY": "2000", "QUOTA__WARN_AT": "1", "MAX_OUTPUT_TOKENS": "100"}
    async with lab.running(**both.settings, **limits) as bot:
        await bot.until(both.polled())
        for count in (1, 2):
            await spot.ask(lab.bob, f"question {count}")
            await lab.discord.requests.first(lambda _, count=count: spot.posts.count("Here.") == count)
        for _ in range(10):
            await spot.ask(lab.bob, "and again")
        await spot.says(lambda text: "2,000 tokens" in text)
        for count in (1, 2):
            telegram.say(ada, group, f"@FamiliarBot question {count}")
            await telegram.wait_for(lambda count=count: telegram.bot_texts(group).count("Here.") == count)
        for _ in range(10):
            telegram.say(ada, group, "@FamiliarBot and again")
        await telegram.wait_for(lambda: any("2,000 tokens" in text for text in telegram.bot_texts(group)))
        told = await spot.slash(lab.alice, "quota")
        assert "1,800 of 2,000 tokens (90 %)" in told.response.content
        assert await bot.stop() == 0
    assert len(lab.model.requests) == 4, "two answers on each"
    for texts in (spot.posts, telegram.bot_texts(group)):
        assert len([text for text in texts if "2,000 tokens" in text]) == 1
    assert "Traceback" not in bot.output


@pytest.mark.parametrize("bad", ["discord", "telegram"])
async def test_S12_a_platform_that_refuses_us_leaves_the_other_alone(both: Both, bad: str) -> None:
    spot = both.lab.spot("general")
    chat = both.telegram.private(both.telegram.user("Ada"))
    given = {**both.settings, f"{bad.upper()}__TOKEN": WRONG[bad]}
    async with running_bot(both.lab.folder, given) as bot:
        failed = await bot.logs("adapter.failed")
        if bad == "discord":
            await bot.until(both.polled())
            both.telegram.say(next(iter(chat.members.values())), chat, "hello")
            await both.telegram.wait_for_text(chat, "answer to: hello")
        else:
            await bot.until(both.lab.discord.connected(within=30))
            await spot.ask(both.lab.bob, "hello")
            await spot.says("answer to: Bob: hello")
        assert await bot.stop() == 0
    assert (failed["platform"], failed["level"]) == (bad, "error")
    assert f"{bad.upper()}__TOKEN" in failed["remedy"]
    assert len(bot.events("adapter.failed")) == 1
    assert WRONG[bad] not in bot.output
    assert "Traceback" not in bot.output


@pytest.mark.parametrize(
    "given",
    [
        {"TELEGRAM__TOKEN": WRONG["telegram"], "ON_ADAPTER_FAILURE": "exit"},
        {"TELEGRAM__TOKEN": WRONG["telegram"], "DISCORD__TOKEN": WRONG["discord"]},
    ],
    ids=["one, and the operator wants to stop then", "both"],
)
async def test_S12_with_nothing_left_to_serve_the_process_ends_as_failed(both: Both, given: dict[str, str]) -> None:
    async with running_bot(both.lab.folder, {**both.settings, **given}) as bot:
        assert await bot.ended(30) == 1
    failed = {record["platform"] for record in bot.events("adapter.failed")}
    assert failed == {name for name in WRONG if f"{name.upper()}__TOKEN" in given}
    assert "Traceback" not in bot.output
    assert "Unclosed" not in bot.output


# Stops at awkward moments. A `sitecustomize` of ours runs in the process before anything of the bot.

INTERRUPT_AT_IMPORT = """
import signal, sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "{module}":
            sys.meta_path.remove(self)
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
"""

NO_LOOP_HANDLERS = """
import asyncio

def refuse(self, *_):
    raise NotImplementedError

asyncio.SelectorEventLoop.add_signal_handler = refuse
"""


def customised(folder: Path, code: str) -> dict[str, str]:
    """Settings with which `code` runs first in the process."""
    (folder / "custom").mkdir()
    (folder / "custom" / "sitecustomize.py").write_text(code)
    return {"PYTHONPATH": f"{folder / 'custom'}:{ROOT}"}


@pytest.mark.parametrize("module", ["openai", "discord", "telegram"])
async def test_S18_an_interrupt_while_modules_are_read_ends_quietly(both: Both, module: str) -> None:
    given = {**both.settings, **customised(both.lab.folder, INTERRUPT_AT_IMPORT.format(module=module))}
    async with running_bot(both.lab.folder, given) as bot:
        assert await bot.ended(10) in (0, 130)
    assert "Traceback" not in bot.output
    assert "Unclosed" not in bot.output
    assert not both.telegram.polling


async def test_S18_an_interrupt_before_anything_is_connected_ends_at_once(both: Both) -> None:
    both.telegram.fail("getMe", delay_s=30)
    both.lab.discord.fault("GET", "/users/@me", status=200, delay=30)
    async with running_bot(both.lab.folder, both.settings) as bot:
        await both.lab.discord.rest.arrived.first(lambda call: call[1] == "/users/@me", within=30)
        await both.telegram.wait_for(lambda: "getMe" in both.telegram.begun)
        bot.signal(signal.SIGINT)
        assert await bot.ended(5) == 0
    assert "Traceback" not in bot.output
    assert "Unclosed" not in bot.output
    assert "never awaited" not in bot.output


async def test_S14_where_loops_take_no_signal_handlers_it_stops_as_gently(both: Both) -> None:
    given = {**both.settings, **customised(both.lab.folder, NO_LOOP_HANDLERS)}
    async with running_bot(both.lab.folder, given) as bot:
        await bot.until(both.polled())
        bot.signal(signal.SIGINT)
        assert await bot.ended(10) == 0
    assert bot.events("app.stopping")
    assert "Traceback" not in bot.output
