"""Telegram pushes updates to us: only it may, they are confirmed when delivered, and heard like polled ones."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator

import aiohttp
import pytest

from adapters.telegram.options import WebhookOptions
from bot.errors import AdapterError
from tests.emulators.telegram import TelegramEmulator
from tests.emulators.telegram.stage import PNG, Ears, Stage
from tests.emulators.telegram.updates import SECRET_HEADER


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with TelegramEmulator() as telegram:
        yield Stage(telegram)


@pytest.fixture
def webhook() -> WebhookOptions:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    return WebhookOptions(url=f"http://127.0.0.1:{port}/hook", port=port, secret_token="s3cret")


async def test_updates_are_pushed_in_order_with_only_the_kinds_we_use(stage: Stage, webhook: WebhookOptions) -> None:
    async with stage.running(webhook=webhook) as (_, ears):
        for text in ("one", "two", "three"):
            stage.telegram.say(stage.alice, stage.private, text)
        await ears.hear(3)
        assert ears.texts == ["one", "two", "three"]
        await stage.telegram.wait_for(lambda: not stage.telegram.updates.pending)
        assert stage.telegram.updates.allowed == {"message", "edited_message", "callback_query"}
    assert stage.telegram.calls_of("getUpdates", "deleteWebhook") == [], "and it stays set when we stop"


async def test_T19_a_push_is_confirmed_once_it_is_delivered(stage: Stage, webhook: WebhookOptions) -> None:
    async with stage.running(webhook=webhook) as (adapter, ears):
        stage.telegram.say(stage.alice, stage.private, "first")
        await stage.telegram.wait_for(lambda: not stage.telegram.updates.pending)
        assert ears.texts == ["first"]
        ears.hold["slow"] = asyncio.Event()
        stage.telegram.say(stage.alice, stage.private, "slow")
        await ears.begin("slow")
        async with asyncio.timeout(5):
            await adapter.stop_listening()
        assert len(stage.telegram.updates.pending) == 1, "it comes again after the next start"


async def test_an_update_that_takes_too_long_is_taken_once_however_often_it_is_pushed(
    stage: Stage, webhook: WebhookOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adapters.telegram.webhook.DELIVER_S", 0.01)
    async with stage.running(webhook=webhook) as (_, ears):
        gate = ears.hold["slow"] = asyncio.Event()
        stage.telegram.say(stage.alice, stage.private, "slow")
        pushed = stage.telegram.updates.webhook
        assert pushed is not None
        await stage.telegram.wait_for(lambda: pushed.statuses.count(503) == 2)
        gate.set()
        await stage.telegram.wait_for(lambda: not stage.telegram.updates.pending)
    assert ears.texts == ["slow"]


async def test_T16_the_parts_of_an_album_are_pushed_one_by_one_and_joined(
    stage: Stage, webhook: WebhookOptions
) -> None:
    async with stage.running(webhook=webhook) as (_, ears):
        for caption in ("look", "here"):
            stage.telegram.say(
                stage.alice, stage.private, media_group_id="9", caption=caption, **stage.telegram.photo(PNG)
            )
        await ears.hear(1)
    assert ears.texts == ["look\nhere"]


@pytest.mark.parametrize(
    ("secret", "body", "status"),
    [
        ("s3cret", b'{"update_id": 1}', 200),
        ("s3cre", b'{"update_id": 1}', 403),
        ("", b'{"update_id": 1}', 403),
        ("s3crét", b'{"update_id": 1}', 403),
        ("s3cret", b"nonsense", 400),
        ("s3cret", b"[]", 400),
    ],
)
async def test_only_who_knows_the_secret_may_push(
    stage: Stage, webhook: WebhookOptions, secret: str, body: bytes, status: int
) -> None:
    async with stage.running(webhook=webhook) as (_, ears), aiohttp.ClientSession() as session:
        headers = {SECRET_HEADER: secret} if secret else {}
        async with session.post(webhook.url, data=body, headers=headers) as answer:
            assert answer.status == status
    assert ears.inbounds == []


async def test_a_proxy_may_change_the_path_and_a_secret_is_made_where_none_is_set(
    stage: Stage, webhook: WebhookOptions
) -> None:
    behind = WebhookOptions(url=webhook.url, port=webhook.port, path="/inner")
    async with stage.running(webhook=behind), aiohttp.ClientSession() as session:
        set_up = stage.telegram.updates.webhook
        assert set_up is not None
        assert len(set_up.secret) >= 32
        headers = {SECRET_HEADER: set_up.secret}
        async with session.post(webhook.url, json={"update_id": 1}, headers=headers) as answer:
            assert answer.status == 404
        async with session.post(webhook.url.replace("/hook", "/inner"), json={}, headers=headers) as answer:
            assert answer.status == 200


async def test_an_address_that_telegram_refuses_is_said_clearly(stage: Stage, webhook: WebhookOptions) -> None:
    refused = WebhookOptions(url="http://example.org/hook", port=webhook.port)
    with pytest.raises(AdapterError, match=r"https url must be provided.*TELEGRAM__WEBHOOK__URL"):
        await stage.adapter(webhook=refused).run(Ears())


async def test_a_port_that_is_taken_is_said_clearly(stage: Stage, webhook: WebhookOptions) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", webhook.port))
        taken.listen()
        with pytest.raises(AdapterError, match="TELEGRAM__WEBHOOK__PORT"):
            await stage.adapter(webhook=webhook).run(Ears())
