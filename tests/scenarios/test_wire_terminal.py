"""The terminal, on the wire: `run` without a token and `chat` as processes with a pipe, and the `db` commands."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.store import schema
from tests.emulators.openai.emulator import OpenAIEmulator
from tests.emulators.openai.script import Say, text_of
from tests.scenarios.bot_process import running_bot
from tests.scenarios.discord_lab import KEY, echo

pytestmark = [pytest.mark.wire, pytest.mark.xdist_group("wire-terminal")]


@pytest.fixture
async def model() -> AsyncIterator[OpenAIEmulator]:
    async with OpenAIEmulator(echo) as model:
        yield model


def settings(model: OpenAIEmulator) -> dict[str, str]:
    return {"PROVIDERS__LAB__BASE_URL": model.base_url, "PROVIDERS__LAB__API_KEY": KEY, "MODEL": "lab/scripted"}


async def test_without_a_token_run_talks_in_the_terminal_and_chat_goes_on_there(
    model: OpenAIEmulator, tmp_path: Path
) -> None:
    typed = b"my dog is Rex\n/status\n/nonsense\n"
    given = {**settings(model), "TOOL_GROUPS": "web", "DATA_DIRS": "x"}
    async with running_bot(tmp_path, given, stdin=typed) as bot:
        assert await bot.ended(30) == 0
    opening, near, in_vain, greeting, answer, *status, unknown = bot.lines
    assert opening.startswith("No platform token is set")
    assert near == "DATA_DIRS is no setting; did you mean DATA_DIR?"
    assert in_vain == "TOOL_GROUPS names web, a group that no tool has; WEB__FETCH=on brings it"
    assert "Bryony speaking" in greeting
    assert answer == "answer to: my dog is Rex"
    assert "• Bryony speaks here." in status
    assert unknown == "I don't know that command. /help shows those I do."
    async with running_bot(tmp_path, settings(model), arguments=("chat",), stdin=b"what is its name?") as bot:
        assert await bot.ended(30) == 0
    assert bot.lines == ["answer to: what is its name?"], "the persona greets once"
    said = [text_of(message) for message in model.last.messages[1:]]
    assert said == [greeting, "my dog is Rex", "answer to: my dog is Rex", "what is its name?"]


async def test_a_failing_model_server_is_told_without_its_key_and_ends_nothing(
    model: OpenAIEmulator, tmp_path: Path
) -> None:
    model.api_key = "another-key-9876543210"
    refusing = {"MODERATION__INPUT": "on", "MODERATION__WORDS": "spade"}
    given = {**settings(model), **refusing, "LOG_LEVEL": "debug"}
    async with running_bot(tmp_path, given, arguments=("chat",), stdin=b"hello\n/retry\na spade\n/help\n") as bot:
        assert await bot.ended(30) == 0
    assert bot.output.count("My language model turned the request down") == 2
    assert bot.output.count(f"Check PROVIDERS__LAB__API_KEY. (more in {tmp_path / 'data' / 'chat.log'})") == 2
    assert "refused by the rules" in bot.output
    assert bot.output.count("(more in ") == 2  # what is refused did not fail
    assert "• /model – " in bot.output
    log = (tmp_path / "data" / "chat.log").read_text()
    assert "Check PROVIDERS__LAB__API_KEY." in log
    assert KEY not in bot.output + log


async def test_S13_sigterm_ends_a_chat_whose_answer_does_not_come(model: OpenAIEmulator, tmp_path: Path) -> None:
    model.script = Say(text="never said", gate=asyncio.Event())
    given = {**settings(model), "STOP_GRACE": "0.2", "PERSONA": "none"}
    async with running_bot(tmp_path, given, arguments=("chat",), stdin=b"hello\n") as bot:
        await bot.until(model.request(1))
        bot.signal(signal.SIGTERM)
        assert await bot.ended(10) == 0
    assert "Traceback" not in bot.output


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="Windows has no such signal")
async def test_S13_a_terminal_that_is_closed_ends_the_chat_gently(model: OpenAIEmulator, tmp_path: Path) -> None:
    model.script = Say(text="never said", gate=asyncio.Event())
    given = {**settings(model), "STOP_GRACE": "0.2", "PERSONA": "none"}
    async with running_bot(tmp_path, given, arguments=("chat",), stdin=b"hello\n") as bot:
        await bot.until(model.request(1))
        bot.signal(signal.SIGHUP)
        assert await bot.ended(10) == 0
    assert "app.stopping" in (tmp_path / "data" / "chat.log").read_text()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
async def test_a_full_disk_takes_the_log_and_leaves_the_chat(model: OpenAIEmulator, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    for name in ("chat.log", "chat.history"):
        (tmp_path / "data" / name).symlink_to("/dev/full")
    given = {**settings(model), "PERSONA": "none", "LOG_LEVEL": "debug", "DEBUG_LOGGING": "on"}
    async with running_bot(tmp_path, given, arguments=("chat",), stdin=b"one\ntwo\n") as bot:
        assert await bot.ended(30) == 0
    assert bot.lines == ["answer to: one", "answer to: two"]


async def test_a_second_process_on_the_same_data_is_refused_and_looking_is_not(
    model: OpenAIEmulator, tmp_path: Path
) -> None:
    model.script = Say(text="never said", gate=asyncio.Event())
    given = {**settings(model), "STOP_GRACE": "0.2", "PERSONA": "none"}
    async with running_bot(tmp_path, given, arguments=("chat",), stdin=b"hello\n") as first:
        await first.until(model.request(1))
        token = {"TELEGRAM__TOKEN": "1:x", "TELEGRAM__BASE_URL": "http://127.0.0.1:9/bot"}
        for arguments, more in ((("chat",), {}), (("run",), token)):
            async with running_bot(tmp_path, {**given, **more}, arguments=arguments, stdin=b"") as second:
                assert await second.ended(30) == 1
            (line,) = second.lines
            assert line.startswith("Familiar runs already on ")
            assert line.endswith("Stop that one first, or give this one a DATA_DIR of its own")
        async with running_bot(tmp_path, given, arguments=("db", "check")) as check:
            assert (await check.ended(30), check.output) == (0, "The database is up to date.")
        assert await first.stop() == 0


async def test_wrong_settings_are_told_all_at_once(tmp_path: Path) -> None:
    wrong = ("CONTEXT_TOKENS=many", "TIMEZONE=GMT+25", "MODEL=nobody/x", "DISCORD__TOKN=x-sentinel", "LOG_LEVEL=loud")
    (tmp_path / ".env").write_text("\n".join(wrong))
    async with running_bot(tmp_path, {}) as bot:
        assert await bot.ended(30) == 1
    place = tmp_path / ".env"
    assert bot.lines[0] == f"These settings need your attention (read from the environment and {place}):"
    told = [line.split()[1] for line in bot.lines[1:]]
    assert sorted(told) == ["CONTEXT_TOKENS", "DISCORD__TOKN", "LOG_LEVEL", "MODEL", "TIMEZONE"]
    assert "did you mean DISCORD__TOKEN?" in bot.output
    assert "sentinel" not in bot.output


async def test_a_data_folder_that_cannot_be_is_told_in_a_sentence(model: OpenAIEmulator, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    given = {**settings(model), "DATA_DIR": os.fspath(tmp_path / "file" / "data")}
    async with running_bot(tmp_path, given, arguments=("chat",), stdin=b"") as bot:
        assert await bot.ended(30) == 1
    (line,) = bot.lines
    assert line.startswith("The data folder ")
    assert line.endswith("or set DATA_DIR to another one")


async def test_S10_a_database_is_checked_and_upgraded_by_hand(tmp_path: Path) -> None:
    told = []
    for command in ("check", "upgrade", "upgrade", "check"):
        async with running_bot(tmp_path, {}, arguments=("db", command)) as bot:
            told.append((command, await bot.ended(30), bot.output))
    assert told == [
        ("check", 1, "The database is empty; run `familiar db upgrade`."),
        ("upgrade", 0, f"The database is up to date now (revision {schema.HEAD})."),
        ("upgrade", 0, f"The database was up to date (revision {schema.HEAD})."),
        ("check", 0, "The database is up to date."),
    ]
