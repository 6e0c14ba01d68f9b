"""The Discord adapter's own duties: who may manage a channel, and what the doctor finds."""

from __future__ import annotations

from collections.abc import AsyncIterator

import discord
import pytest

from bot.chat import Severity
from bot.tasks import Tasks
from tests.emulators.discord import DiscordEmulator
from tests.emulators.discord.harness import Scene, make_adapter, staged


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    async with staged() as scene:
        yield scene


@pytest.fixture
async def emulator() -> AsyncIterator[DiscordEmulator]:
    async with DiscordEmulator() as emulator:
        yield emulator


async def test_managers_are_known_by_the_channels_permissions(scene: Scene) -> None:
    manage = scene.guild.create_role("Mods", permissions=discord.Permissions(manage_channels=True))
    admin = scene.guild.create_role("Admins", permissions=discord.Permissions(administrator=True))
    people = [
        scene.guild.add_member(scene.world.create_user("mod"), roles=[manage]),
        scene.guild.add_member(scene.world.create_user("admin"), roles=[admin]),
        scene.guild.add_member(scene.world.create_user("anybody")),
    ]
    await people[2].send(scene.channel, "hi")
    ref = (await scene.bot.hears()).channel
    assert [await scene.bot.adapter.may_manage(ref, str(person.id)) for person in people] == [True, True, False]
    assert not await scene.bot.adapter.may_manage(ref, "123456789012345678")
    asked = scene.emulator.requests.matching(lambda r: r.is_for("GET", "/guilds/*/members/*"))
    assert str(people[2].id) not in {request.path.rsplit("/", 1)[-1] for request in asked}


async def test_in_a_dm_everybody_manages(scene: Scene) -> None:
    await scene.bob.send_dm("hi")
    assert await scene.bot.adapter.may_manage((await scene.bot.hears()).channel, str(scene.bob.id))


async def test_the_doctor_finds_a_healthy_bot_healthy(emulator: DiscordEmulator) -> None:
    emulator.world.create_guild("Lab")
    findings = await make_adapter(emulator, Tasks()).check()
    assert [finding.severity for finding in findings] == [Severity.OK] * 5
    assert "scope=bot+applications.commands" in findings[0].message


async def test_the_doctor_names_a_refused_token(emulator: DiscordEmulator) -> None:
    (finding,) = await make_adapter(emulator, Tasks(), token="wrong.token.sentinel").check()
    assert finding.severity is Severity.FAULT
    assert "DISCORD__TOKEN" in finding.remedy
    assert "sentinel" not in repr(finding)


async def test_the_doctor_names_a_missing_intent_and_where_to_switch_it_on() -> None:
    approved = discord.Intents.all()
    approved.message_content = False
    async with DiscordEmulator(approved=approved) as emulator:
        findings = {finding.subject: finding for finding in await make_adapter(emulator, Tasks()).check()}
        finding = findings["discord: message content intent"]
        assert finding.severity is Severity.FAULT
        assert "Privileged Gateway Intents" in finding.remedy


async def test_the_doctor_names_the_servers_in_which_rights_are_missing(emulator: DiscordEmulator) -> None:
    emulator.world.create_guild("Lab")
    poor = emulator.world.create_guild("Poor")
    for role in emulator.world.backend.guilds[poor.id].roles.values():
        role.permissions &= ~discord.Permissions(administrator=True, manage_webhooks=True).value
    findings = await make_adapter(emulator, Tasks()).check()
    (finding,) = [finding for finding in findings if finding.severity is not Severity.OK]
    assert (finding.severity, finding.subject) == (Severity.WARNING, "discord: server Poor")
    assert "Manage Webhooks" in finding.message


async def test_the_doctor_says_that_the_bot_is_in_no_server_yet(emulator: DiscordEmulator) -> None:
    findings = {finding.subject: finding for finding in await make_adapter(emulator, Tasks()).check()}
    assert findings["discord: servers"].severity is Severity.WARNING


async def test_the_doctor_names_an_endpoint_that_takes_the_commands_away(emulator: DiscordEmulator) -> None:
    emulator.rest.application["interactions_endpoint_url"] = "https://example.org/interactions"
    findings = {finding.subject: finding for finding in await make_adapter(emulator, Tasks()).check()}
    assert findings["discord: commands"].severity is Severity.FAULT


async def test_the_doctor_names_a_gateway_that_does_not_answer(emulator: DiscordEmulator) -> None:
    adapter = make_adapter(emulator, Tasks())
    adapter._addresses = (emulator.rest_base, "ws://127.0.0.1:9/gateway/")
    finding = (await adapter.check())[-1]
    assert (finding.severity, finding.subject) == (Severity.FAULT, "discord: gateway")
