"""What the adapter says about login, webhook and privacy mode, and who may manage a chat."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from adapters.telegram.options import WebhookOptions
from bot.chat import Severity
from tests.emulators.telegram import TelegramEmulator
from tests.emulators.telegram.stage import Stage, channel
from tests.emulators.telegram.updates import Webhook

OK, WARNING, FAULT = Severity.OK, Severity.WARNING, Severity.FAULT


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with TelegramEmulator() as telegram:
        yield Stage(telegram)


async def test_a_healthy_bot_is_found_healthy_without_running(stage: Stage) -> None:
    findings = await stage.adapter().check(is_served=True)
    assert [finding.severity for finding in findings] == [OK, OK, OK]
    assert "@FamiliarBot" in findings[0].message


async def test_T18_privacy_mode_is_a_warning_with_its_remedy() -> None:
    async with TelegramEmulator(privacy=True) as telegram:
        *_, privacy = await Stage(telegram).adapter().check(is_served=True)
    assert privacy.severity is WARNING
    assert "/setprivacy" in privacy.remedy
    assert "add it again" in privacy.remedy


async def test_a_wrong_token_is_a_fault_with_its_remedy(stage: Stage) -> None:
    (finding,) = await stage.adapter(token="4242:wrong").check()
    assert finding.severity is FAULT
    assert "BotFather" in finding.remedy


async def test_a_server_that_is_down_is_a_fault_with_its_remedy(stage: Stage) -> None:
    await stage.telegram.go_away()
    (finding,) = await stage.adapter().check()
    await stage.telegram.come_back()
    assert finding.severity is FAULT
    assert "TELEGRAM__BASE_URL" in finding.remedy


async def test_T25_a_webhook_in_the_way_of_polling_is_named_by_its_host_alone(stage: Stage) -> None:
    stage.telegram.updates.webhook = Webhook(url="https://old.example.org/secret-path", secret="")
    _, updates, _ = await stage.adapter().check()
    assert "old.example.org" in updates.message
    assert "secret-path" not in updates.message


async def test_what_telegram_reports_about_our_webhook_is_a_warning(stage: Stage) -> None:
    url = "https://bot.example.org/hook"
    stage.telegram.updates.webhook = Webhook(url=url, secret="", last_error="Connection refused")
    _, updates, _ = await stage.adapter(webhook=WebhookOptions(url=url)).check()
    assert updates.severity is WARNING
    assert "Connection refused" in updates.message


async def test_T13_another_poller_is_a_fault_with_its_remedy(stage: Stage) -> None:
    async with stage.running():
        *_, poller = await stage.adapter().check()
    assert (poller.severity, poller.subject) == (FAULT, "Telegram updates")
    assert "Another program polls" in poller.message
    assert "BotFather" in poller.remedy


async def test_T13_our_own_poller_is_left_alone(stage: Stage) -> None:
    async with stage.running():
        findings = await stage.adapter().check(is_served=True)
        assert all(call.status == 200 for call in stage.telegram.calls_of("getUpdates"))
    assert [finding.severity for finding in findings] == [OK, OK, OK]


async def test_T19_looking_for_another_poller_confirms_no_update(stage: Stage) -> None:
    stage.telegram.updates.inject({"message": {}})
    findings = await stage.adapter().check()
    assert [finding.severity for finding in findings] == [OK, OK, OK]
    assert len(stage.telegram.updates.pending) == 1


@pytest.mark.parametrize(
    ("said", "remedy"),
    [
        ("Wrong response from the webhook: 404 Not Found", "TELEGRAM__WEBHOOK__PATH"),
        ("Wrong response from the webhook: 403 Forbidden", "The secret is wrong"),
        ("Wrong response from the webhook: 401 Unauthorized", "asks for a password"),
        ("Connection refused", "TELEGRAM__WEBHOOK__LISTEN"),
        ("SSL error {error:0A000086:SSL routines::certificate verify failed}", "certificate"),
    ],
)
async def test_what_is_wrong_with_a_webhook_is_told_with_its_remedy(stage: Stage, said: str, remedy: str) -> None:
    url = "https://bot.example.org/hook"
    stage.telegram.updates.webhook = Webhook(url=url, secret="", last_error=said)
    _, updates, _ = await stage.adapter(webhook=WebhookOptions(url=url)).check()
    assert remedy in updates.remedy


async def test_a_path_that_the_webhooks_address_does_not_lead_to_is_a_warning_without_the_path(stage: Stage) -> None:
    webhook = WebhookOptions(url="https://bot.example.org/prefix/secret-hook", path="/other-secret")
    _, updates, _ = await stage.adapter(webhook=webhook).check()
    assert updates.severity is WARNING
    assert "TELEGRAM__WEBHOOK__PATH" in updates.message
    assert "secret" not in updates.message + updates.remedy
    behind_proxy = WebhookOptions(url="https://bot.example.org/prefix/hook", path="/hook")
    _, updates, _ = await stage.adapter(webhook=behind_proxy).check()
    assert (updates.severity, "made at each start" in updates.message) == (OK, True)


# Rights


async def test_administrators_may_manage_and_are_asked_for_once_a_minute(stage: Stage) -> None:
    now = 1000.0
    stage.group.administrators.add(stage.alice.id)
    async with stage.running(clock=lambda: now) as (adapter, _):
        for _ in range(3):
            assert await adapter.may_manage(channel(stage.group), str(stage.alice.id))
            assert not await adapter.may_manage(channel(stage.group, thread="7"), str(stage.bob.id))
        assert len(stage.telegram.calls_of("getChatMember")) == 2
        stage.group.administrators.clear()
        now += 60
        assert not await adapter.may_manage(channel(stage.group), str(stage.alice.id))


async def test_in_a_private_chat_everybody_may(stage: Stage) -> None:
    async with stage.running() as (adapter, _):
        assert await adapter.may_manage(channel(stage.private), str(stage.alice.id))
    assert stage.telegram.calls_of("getChatMember") == []


async def test_T11_who_speaks_for_the_chat_itself_may_and_stand_ins_may_not(stage: Stage) -> None:
    other = stage.telegram.group("Elsewhere")
    async with stage.running() as (adapter, _):
        assert await adapter.may_manage(channel(stage.group), str(stage.group.id))
        for identity in ("777000", "1087968824", "136817688", str(other.id), "nobody"):
            assert not await adapter.may_manage(channel(stage.group), identity)
    assert stage.telegram.calls_of("getChatMember") == []


async def test_who_is_unknown_may_not(stage: Stage) -> None:
    async with stage.running() as (adapter, _):
        assert not await adapter.may_manage(channel(stage.group), "999")
