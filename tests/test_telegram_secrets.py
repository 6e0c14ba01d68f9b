"""The token is in no log, no error and no finding, and what people write is in no log above DEBUG (X01)."""

from __future__ import annotations

import logging
import traceback
from collections.abc import AsyncIterator

import pytest
from structlog.testing import capture_logs
from telegram.error import TelegramError

from adapters.telegram.options import Timeouts, WebhookOptions
from adapters.telegram.request import TelegramRequest
from tests.emulators.telegram import Fault, TelegramEmulator
from tests.emulators.telegram.stage import PNG, Stage, channel

pytestmark = pytest.mark.filterwarnings("ignore::telegram.warnings.PTBDeprecationWarning")


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with TelegramEmulator() as telegram:
        yield Stage(telegram)


def secret_of(telegram: TelegramEmulator) -> str:
    return telegram.token.partition(":")[2]


async def test_X01_neither_token_nor_text_is_in_any_log(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    page = f"<html>cannot reach /bot{stage.telegram.token}/getUpdates</html>".encode()
    caplog.set_level(logging.DEBUG)
    with capture_logs() as logs:
        async with stage.running() as (adapter, ears):
            for fault in (
                Fault(method="getUpdates", status=502, body=page),
                Fault(method="getUpdates", status=409, description=f"Conflict: {stage.telegram.token}"),
                Fault(method="getUpdates", status=418, body=page),
                Fault(method="getUpdates", reset=True),
                Fault(method="getFile", status=400, description=f"Bad Request: {stage.telegram.token}"),
            ):
                stage.telegram.faults.append(fault)
            stage.telegram.say(stage.alice, stage.private, caption="sentinel-words", **stage.telegram.photo(PNG))
            await ears.hear(1)
            await adapter.may_manage(channel(stage.group), "999")
            await adapter.check()
    assert ears.texts == ["sentinel-words"]
    assert len(logs) > 3
    assert secret_of(stage.telegram) not in caplog.text + str(logs)
    shouted = [record.getMessage() for record in caplog.records if record.levelno > logging.DEBUG]
    quiet = {"debug"}
    assert "sentinel-words" not in str(shouted) + str([entry for entry in logs if entry["log_level"] not in quiet])


async def test_X01_the_webhooks_secret_is_in_no_log(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    webhook = WebhookOptions(url="https://bot.example.org/hook", port=0, secret_token="sentinel-hook")
    with capture_logs() as logs:
        async with stage.running(webhook=webhook):
            pass
    assert "sentinel-hook" not in caplog.text + str(logs)


@pytest.mark.parametrize(
    "fault",
    [
        {"status": 401, "description": "Unauthorized {token}"},
        {"status": 403, "body": "<html>{token}</html>"},
        {"status": 404, "body": "<html>{token}</html>"},
        {"status": 413, "body": "<html>{token}</html>"},
        {"status": 502, "body": "<html>{token}</html>"},
        {"status": 200, "body": "<html>{token}</html>"},
        {"reset": True},
        {"delay_s": 5},
    ],
)
async def test_X01_an_error_does_not_hold_the_token(stage: Stage, fault: dict[str, object]) -> None:
    telegram = stage.telegram
    filled = {
        key: value.format(token=telegram.token) if isinstance(value, str) else value for key, value in fault.items()
    }
    if isinstance(body := filled.get("body"), str):
        filled["body"] = body.encode()
    telegram.faults.append(Fault(method="getMe", **filled))  # type: ignore[arg-type] # a table of its fields
    await _raises_without_token(telegram)


async def test_X01_no_connection_and_a_wrong_address_do_not_tell_the_token(stage: Stage) -> None:
    await stage.telegram.go_away()
    await _raises_without_token(stage.telegram)
    await stage.telegram.come_back()
    await _raises_without_token(stage.telegram, base_url="no-scheme:///bot")
    await _raises_without_token(stage.telegram, base_url="http://127.0.0.1:1/bot")


async def _raises_without_token(telegram: TelegramEmulator, **address: str) -> None:
    addresses = {"base_url": telegram.base_url, "base_file_url": telegram.base_file_url, **address}
    request = TelegramRequest(telegram.token, **addresses, timeouts=Timeouts(read=0.2))
    async with request:
        with pytest.raises(TelegramError) as raised:
            await request.make_bot().get_me()
    told = "".join(traceback.format_exception(raised.value)) + repr(raised.value) + repr(request)
    assert secret_of(telegram) not in told


async def test_X01_a_redirect_is_not_followed_with_the_token(stage: Stage) -> None:
    stage.telegram.fail("getMe", 302, "moved")
    await _raises_without_token(stage.telegram)
    assert len(stage.telegram.calls) == 1
