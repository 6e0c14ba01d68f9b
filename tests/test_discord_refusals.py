"""What the operator hears of channels that refuse the bot: once, with the remedy, until they take something again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from structlog.testing import capture_logs

from bot.chat import PartState
from tests.emulators.discord.harness import Scene, staged, states


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    async with staged() as scene:
        yield scene


def told(logs: list[Any]) -> list[tuple[int, str]]:
    return [(entry["channel"], entry["reason"]) for entry in logs if entry["event"] == "discord.send_refused"]


def refuse(scene: Scene, code: int, *, times: int = 1) -> None:
    scene.emulator.fault("POST", scene.posts, status=403, body={"code": code, "message": "no"}, times=times)


async def test_D14_a_channel_that_refuses_us_is_told_once_until_it_takes_something_again(scene: Scene) -> None:
    with capture_logs() as logs:
        refuse(scene, 50013, times=3)
        for _ in range(3):
            assert states(await scene.bot.reply(await scene.asked(), "hello")) == [PartState.FAILED]
        assert states(await scene.bot.reply(await scene.asked(), "hello")) == [PartState.SENT]
        refuse(scene, 50013)
        await scene.bot.reply(await scene.asked(), "hello")
    assert told(logs) == [(scene.channel.id, "403 (code 50013)")] * 2


async def test_D14_another_reason_is_told_as_well(scene: Scene) -> None:
    with capture_logs() as logs:
        for code in (50001, 50013):
            refuse(scene, code)
            await scene.bot.reply(await scene.asked(), "hello")
    assert [reason for _, reason in told(logs)] == ["403 (code 50001)", "403 (code 50013)"]


@pytest.mark.parametrize(
    ("code", "remedy"),
    [(50001, "View Channel"), (50013, "Send Messages"), (50083, "archived"), (160005, "Unlock"), (50007, "Nothing")],
)
async def test_a_refusal_is_told_with_what_to_do_about_it(scene: Scene, code: int, remedy: str) -> None:
    refuse(scene, code)
    with capture_logs() as logs:
        await scene.bot.reply(await scene.asked(), "hello")
    (entry,) = [entry for entry in logs if entry["event"] == "discord.send_refused"]
    assert remedy in entry["remedy"]
