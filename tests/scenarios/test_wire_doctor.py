"""`familiar doctor` on the wire: every fault is named with its remedy, and no secret is."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import discord
import pytest

from tests.emulators.openai import errors
from tests.emulators.openai.script import Refuse, Request, Say
from tests.emulators.telegram.server import TelegramEmulator
from tests.emulators.telegram.updates import Webhook
from tests.scenarios.bot_process import BotProcess, running_bot
from tests.scenarios.discord_lab import KEY, DiscordLab, discord_lab, echo

pytestmark = [pytest.mark.wire, pytest.mark.xdist_group("wire-doctor")]

WRONG_DISCORD = "MTIzNDU2Nzg5MDEyMzQ1Njc4.Gsenti.sentinel-of-a-wrong-discord-token-xyz"
WRONG_TELEGRAM = "123456:AAwrong-sentinel-of-a-telegram-token"


@dataclass
class Clinic:
    """Everything that the doctor looks at, and what it said of it."""

    lab: DiscordLab
    telegram: TelegramEmulator

    async def examine(self, **settings: str) -> tuple[int, list[str]]:
        """The exit code, and one line per finding, its remedy after an arrow."""
        window = {"PROVIDERS__LAB__CONTEXT_WINDOW": "16000"}
        joined = {**self.lab.settings, **self._telegram_settings, **window, **settings}
        async with running_bot(self.lab.folder, joined, arguments=("doctor",)) as bot:
            code = await bot.ended(30)
        assert "Traceback" not in bot.output
        for secret in (KEY, self.lab.discord.token, self.telegram.token, WRONG_DISCORD, WRONG_TELEGRAM):
            assert secret not in bot.output
        return code, bot.output.replace("\n         →", " →").splitlines()

    @property
    def _telegram_settings(self) -> dict[str, str]:
        return {
            "TELEGRAM__TOKEN": self.telegram.token,
            "TELEGRAM__BASE_URL": self.telegram.base_url,
            "TELEGRAM__BASE_FILE_URL": self.telegram.base_file_url,
        }

    @asynccontextmanager
    async def running(self) -> AsyncIterator[BotProcess]:
        """The bot itself, on both platforms."""
        async with self.lab.running(**self._telegram_settings) as bot:
            yield bot


@asynccontextmanager
async def clinic(folder: Path, database: Path, *, content: bool = True) -> AsyncIterator[Clinic]:
    approved = discord.Intents.all()
    approved.message_content = content
    async with discord_lab(folder / "lab", database, approved=approved) as lab, TelegramEmulator() as telegram:
        yield Clinic(lab, telegram)


async def test_a_healthy_set_up_is_told_line_by_line(tmp_path: Path, migrated_database: Path) -> None:
    async with clinic(tmp_path, migrated_database) as here:
        code, lines = await here.examine(MODERATION__MODEL="lab/omni")
        requests = here.lab.discord.rest.arrived
    assert code == 0
    assert all(line.startswith("ok ") for line in lines)
    subjects = [line.removeprefix("ok").strip().partition(":")[0] for line in lines]
    asked = ("provider lab", "model lab/scripted", "moderation by lab/omni")
    for subject in ("settings", "database", "personas", *asked, "discord", "Telegram"):
        assert subject in subjects
    assert all(method == "GET" for method, _ in requests), "it looks and changes nothing"


async def test_all_that_is_wrong_is_told_in_one_go(tmp_path: Path, migrated_database: Path) -> None:
    async with clinic(tmp_path, migrated_database) as here:
        _make_newer(here.lab.folder / "data" / "familiar.db")
        nowhere = "http://127.0.0.1:9/v1"
        code, lines = await here.examine(
            DISCORD__TOKEN=WRONG_DISCORD,
            TELEGRAM__TOKEN=WRONG_TELEGRAM,
            PROVIDERS__LAB__BASE_URL=nowhere,
            MODERATION__MODEL="lab/omni",
        )
    assert code == 1
    _tells(lines, "fault", "database: made by a newer version", "Update Familiar, or restore a backup")
    server = "Check PROVIDERS__LAB__BASE_URL, and that the server runs."
    _tells(lines, "fault", "provider lab: no connection to http://127.0.0.1:9/v1", server)
    _tells(lines, "fault", "model lab/scripted: no connection", server)
    _tells(lines, "fault", "moderation by lab/omni: no connection", server)
    _tells(lines, "fault", "discord: login: the token was refused.", "DISCORD__TOKEN")
    _tells(lines, "fault", "Telegram: the server does not accept the token", "TELEGRAM__TOKEN")


async def test_D11_T18_switches_and_keys_that_are_wrong_are_named(tmp_path: Path, migrated_database: Path) -> None:
    async with clinic(tmp_path, migrated_database, content=False) as here:
        here.telegram.privacy = True
        here.lab.model.api_key = "another key"
        here.lab.model.script = errors.unauthorized(KEY)
        code, lines = await here.examine(TOOL_GROUPS="wbe", WEB__FETCH="on")
    assert code == 1
    _tells(lines, "fault", "provider lab: the server refused the key", "Check PROVIDERS__LAB__API_KEY.")
    _tells(lines, "fault", "model lab/scripted: the server refused the key", "Check PROVIDERS__LAB__API_KEY.")
    _tells(lines, "warning", "settings: TOOL_GROUPS names wbe, a group that no tool has", "did you mean web?")
    intents = "https://discord.com/developers/applications > your application > Bot > Privileged Gateway Intents"
    _tells(lines, "fault", "discord: message content intent: the Message Content Intent is switched off.", intents)
    _tells(lines, "warning", "Telegram groups: Privacy mode is on.", "/setprivacy to @BotFather")


async def test_D15_where_commands_come_and_which_rights_are_missing_is_told(
    tmp_path: Path, migrated_database: Path
) -> None:
    async with clinic(tmp_path, migrated_database) as here:
        here.lab.discord.rest.application["interactions_endpoint_url"] = "https://old.example.org/interactions"
        for role in here.lab.discord.world.backend.guilds[here.lab.guild.id].roles.values():
            taken = discord.Permissions(administrator=True, send_messages=True, read_message_history=True)
            role.permissions &= ~taken.value
        code, lines = await here.examine(TELEGRAM__TOKEN="")
    assert code == 1
    _tells(lines, "fault", "discord: commands: an interactions endpoint URL is set", "Clear it at")
    _tells(lines, "warning", "discord: server Lab: the bot may not: ", "Server Settings > Roles")
    _tells(lines, "warning", "Send Messages, Read Message History", "Grant it")


async def test_T13_T25_who_else_takes_telegrams_updates_is_told(tmp_path: Path, migrated_database: Path) -> None:
    async with clinic(tmp_path, migrated_database) as here:
        given = {"DISCORD__TOKEN": ""}
        conflict = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
        here.telegram.fail("getUpdates", 409, conflict)
        code, lines = await here.examine(**given)
        assert code == 1
        _tells(lines, "fault", "Telegram updates: Another program polls with this token", "/revoke")
        here.telegram.updates.webhook = Webhook(url="https://old.example.org/secret-path", secret="")
        code, lines = await here.examine(**given)
    assert code == 0
    _tells(lines, "ok", "removes the webhook at old.example.org at start")
    assert not [line for line in lines if "secret-path" in line]


async def test_a_webhook_that_does_not_arrive_is_told_by_what_telegram_reports(
    tmp_path: Path, migrated_database: Path
) -> None:
    async with clinic(tmp_path, migrated_database) as here:
        url = "https://bot.example.org/hook"
        said = "Wrong response from the webhook: 404 Not Found"
        here.telegram.updates.webhook = Webhook(url=url, secret="", last_error=said)
        code, lines = await here.examine(DISCORD__TOKEN="", TELEGRAM__WEBHOOK__URL=url)
    assert code == 0
    _tells(lines, "warning", f"Pushed to bot.example.org, 0 waiting; Telegram reports: {said}", "The path is wrong")


async def test_while_the_bot_runs_it_is_told_and_left_alone(tmp_path: Path, migrated_database: Path) -> None:
    async with clinic(tmp_path, migrated_database) as here, here.running() as bot:
        await here.telegram.wait_for(lambda: bool(here.telegram.updates.waiting))
        code, lines = await here.examine()
        assert bot.is_running
        assert not [call for call in here.telegram.calls_of("getUpdates") if call.status == 409]
        assert await bot.stop() == 0
    assert code == 0
    _tells(lines, "ok", "process: Familiar runs on this data, as ")


async def test_L20_what_is_assumed_of_a_model_is_told_with_how_to_say_better(
    tmp_path: Path, migrated_database: Path
) -> None:
    silent = {"DISCORD__TOKEN": "", "TELEGRAM__TOKEN": ""}
    async with clinic(tmp_path, migrated_database) as here:
        unknown = {"PROVIDERS__LAB__CONTEXT_WINDOW": "", "PROVIDERS__LAB__VISION": ""}
        code, lines = await here.examine(**silent, **unknown)
        assert code == 0
        known = "Set PROVIDERS__LAB__CONTEXT_WINDOW to the tokens that the server runs it with"
        _tells(lines, "warning", "is of no known family, so that a window of 8192 tokens is assumed", known)
        _tells(lines, "ok", "is told of pictures in words", "If it does: PROVIDERS__LAB__VISION=on")
        ollama = {"PROVIDERS__OLLAMA__BASE_URL": here.lab.model.base_url, "PROVIDERS__OLLAMA__API_KEY": KEY}
        code, lines = await here.examine(**silent, **ollama, MODEL="ollama/qwen3:8b")
        assert code == 0
        length = "OLLAMA_CONTEXT_LENGTH), then PROVIDERS__OLLAMA__CONTEXT_WINDOW likewise"
        _tells(lines, "warning", "model ollama/qwen3:8b: is sent at most 4096 tokens", length)


async def test_a_data_folder_that_takes_nothing_is_a_fault(tmp_path: Path, migrated_database: Path) -> None:
    async with clinic(tmp_path, migrated_database) as here:
        (tmp_path / "file").touch()
        given = {"DISCORD__TOKEN": "", "TELEGRAM__TOKEN": "", "DATA_DIR": str(tmp_path / "file" / "data")}
        code, lines = await here.examine(**given)
    assert code == 1
    _tells(lines, "fault", "cannot be written to: Not a directory. Check its owner", "")


async def test_S15_an_unknown_time_zone_is_told(tmp_path: Path) -> None:
    async with running_bot(tmp_path, {"TIMEZONE": "GMT+25"}, arguments=("doctor",)) as bot:
        assert await bot.ended(30) == 1
    assert "TIMEZONE is refused: no time zone has that name; use one such as Europe/Berlin" in bot.output


async def test_a_model_that_the_server_does_not_have_is_named(tmp_path: Path, migrated_database: Path) -> None:
    async with clinic(tmp_path, migrated_database) as here:
        here.lab.model.script = errors.not_found("scripted")
        code, lines = await here.examine()
    assert code == 1
    _tells(lines, "fault", "model lab/scripted: not found: The model `scripted` does not exist.", "the model's name")
    assert [line for line in lines if not line.startswith("ok ")] == [line for line in lines if "model lab" in line]


async def test_before_the_first_start_nothing_is_missing_but_tables(tmp_path: Path, migrated_database: Path) -> None:
    """A model with quirks is asked as well: what is learned of it has no table yet."""

    def without_max_tokens(request: Request) -> Say | Refuse:
        known = "max_completion_tokens" in request.body
        return echo(request) if known else errors.unsupported_parameter("max_tokens", "max_completion_tokens")

    async with clinic(tmp_path, migrated_database) as here:
        here.lab.model.script = without_max_tokens
        given = {"DATA_DIR": str(tmp_path / "new"), "DISCORD__TOKEN": "", "TELEGRAM__TOKEN": ""}
        code, lines = await here.examine(**given)
    assert code == 0
    _tells(lines, "ok", "database: can be written; the first start makes its tables")
    _tells(lines, "ok", "model lab/scripted: answers")
    _tells(lines, "ok", "provider lab: answers and offers 1 model")
    assert "1 models" not in str(lines)
    _tells(lines, "warning", "platforms: no token is set", "README.md tells how to get them")


async def test_settings_that_are_broken_end_the_examination_at_once(tmp_path: Path) -> None:
    given = {"ACTIVATION": "sometimes", "PROVIDERS__LAB__API_KEY": KEY, "MODEL": "lab/x"}
    async with running_bot(tmp_path, given, arguments=("doctor",)) as bot:
        assert await bot.ended(30) == 1
    _tells(bot.lines, "fault", "settings: ACTIVATION must be mention, always, keyword or random")
    _tells(bot.lines, "fault", "settings: PROVIDERS__LAB__BASE_URL is needed")
    _tells(bot.lines, "warning", "the rest is looked at once these are mended (read from the environment; no ")
    assert "model lab/x" not in bot.output
    assert KEY not in bot.output


def _tells(lines: list[str], severity: str, message: str, remedy: str = "") -> None:
    assert [line for line in lines if line.startswith(severity) and message in line and remedy in line], lines


def _make_newer(database: Path) -> None:
    connection = sqlite3.connect(database)
    with connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
