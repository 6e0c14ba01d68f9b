"""What completion offers for the values of /session set, and for the keys of /session reset."""

from __future__ import annotations

from typing import Any

import pytest

from bot.commands.zones import zones
from bot.settings import place_keys
from tests.conftest import MakeApp
from tests.emulators.openai import OpenAIEmulator
from tests.talking import Chat, open_chat


async def values(chat: Chat, key: str, typed: str = "") -> list[str]:
    return await chat.offers("session set", "value", typed, key=key)


async def reset_keys(chat: Chat, typed: str = "", reach: str = "here") -> list[str]:
    given: dict[str, Any] = {"for": reach}  # a word of Python's own
    return await chat.offers("session reset", "key", typed, **given)


@pytest.mark.parametrize(
    ("key", "typed", "offered"),
    [
        ("activation", "", ["mention", "always", "keyword", "random"]),
        ("ACTIVATION", "ALW", ["always"]),
        ("notices", "", ["on", "off"]),
        ("summary.trigger.type", "", [*place_keys()["summary__trigger__type"].choices]),
        ("language", "", ["auto", "en", "zh"]),
        ("language", "z", ["zh"]),
        ("persona", "bry", ["Bryony"]),
        ("persona", "no", ["none"]),
        ("model", "oth", ["test/other"]),
        ("timezone", "tokyo", ["Asia/Tokyo"]),
        ("timezone", "asia/tok", ["Asia/Tokyo"]),
        ("context_tokens", "", ["16000"]),
        ("summary.hard_ratio", "", ["0.9"]),
        ("max_output_tokens", "", []),
        ("system_prompt", "", []),
        ("name", "", []),
        ("no such key", "o", []),
    ],
)
async def test_only_values_that_the_key_takes_are_offered(
    make_app: MakeApp, key: str, typed: str, offered: list[str]
) -> None:
    async with OpenAIEmulator(models=["scripted", "other"]) as server:
        chat = await open_chat(
            make_app,
            providers={"test": {"base_url": server.base_url}},
            summary={"hard_ratio": 0.9},
            context_tokens=16000,
        )
        assert await values(chat, key, typed) == offered


async def test_where_a_key_takes_any_number_or_text_the_value_in_force_and_the_default_are_offered(
    make_app: MakeApp,
) -> None:
    chat = await open_chat(make_app, burst_ms=1500)
    await chat.ask("/session set burst_ms 200")
    await chat.ask("/session set activation_keywords tea, 茶")
    await chat.ask("/session set timezone Asia/Tokyo")
    assert await values(chat, "burst_ms") == ["200", "1500"]
    assert await values(chat, "burst_ms", "15") == ["1500"]
    assert await values(chat, "activation_keywords") == ["tea, 茶"]
    assert (await values(chat, "timezone"))[:2] == ["Asia/Tokyo", "UTC"]


@pytest.mark.parametrize(
    "name", sorted(place_keys().keys() - {"summary__trigger__type"})
)  # whose values need another key
async def test_every_value_that_is_offered_is_taken(make_app: MakeApp, name: str) -> None:
    chat = await open_chat(make_app)
    for value in (await values(chat, name))[:5]:
        assert f"`{name}` = " in await chat.ask(f"/session set {name} {value}")


@pytest.mark.parametrize("given", [{}, {"key": ""}, {"key": "  "}, {"persona": "Bryony"}])
async def test_before_a_key_is_chosen_values_of_any_key_are_offered(make_app: MakeApp, given: dict[str, Any]) -> None:
    chat = await open_chat(make_app)
    offered = await chat.offers("session set", "value", "al", **given)
    assert offered[0] == "always"
    assert set(offered) & set(zones())


async def test_reset_offers_first_what_is_set_where_it_would_be_reset(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    assert (await reset_keys(chat))[:2] == ["model", "persona"]
    assert "all" not in await reset_keys(chat, "al")
    await chat.ask("/session set timezone Asia/Tokyo")
    await chat.ask("/session set notices off --for place")
    assert (await reset_keys(chat))[:3] == ["timezone", "all", "model"]
    assert (await reset_keys(chat, reach="place"))[:3] == ["notices", "all", "model"]
    assert (await reset_keys(chat, reach="pla"))[0] == "timezone"
    assert (await reset_keys(chat, "al"))[0] == "all"
