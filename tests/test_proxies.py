"""The way to the platforms where the environment names a proxy."""

from __future__ import annotations

import discord
import pytest

from bot.proxies import proxy_for
from bot.tasks import Tasks
from tests.emulators.discord import DiscordEmulator
from tests.emulators.discord.harness import make_adapter


@pytest.fixture(autouse=True)
def _proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("https_proxy", "http://10.0.0.1:3128")
    monkeypatch.setenv("no_proxy", "near.example")


@pytest.mark.parametrize(
    ("address", "leads"),
    [
        ("https://discord.com/api/v10", True),
        ("wss://gateway.discord.gg", True),
        ("https://near.example/bot", False),
        ("https://localhost:8443/bot", False),
        ("http://plain.example/bot", False),
    ],
)
def test_an_address_goes_by_the_proxy_of_its_scheme_unless_it_is_near(address: str, leads: bool) -> None:
    assert proxy_for(address) == ("http://10.0.0.1:3128" if leads else None)


async def test_discord_is_reached_through_the_proxy_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    async with DiscordEmulator() as emulator:
        tasks = Tasks()
        monkeypatch.setenv("http_proxy", emulator.rest_base.removesuffix("/api/v10"))
        adapter = make_adapter(emulator, tasks)
        monkeypatch.setattr(discord.http.Route, "BASE", "http://discord.example/api/v10")
        running = tasks.spawn("run", adapter.run(_ignore))
        await emulator.requests.first(lambda request: request.is_for("GET", "/users/@me"))
        await adapter.close()
        await running
        await tasks.close()


async def _ignore(_: object) -> None:
    pass
