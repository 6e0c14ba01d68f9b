"""/model tells what a model takes, gives and costs, by whose word it answers, and who stands in for it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from bot.llm.configured import LocalModel, model_catalogue
from bot.settings import Settings
from bot.testing import FakeAdapter
from tests.conftest import MakeApp
from tests.emulators.openai import OpenAIEmulator
from tests.talking import ALICE, BOB, GROUP, Chat, open_chat

MINI = {"input_price": 0.15, "output_price": 0.6, "cached_price": 0.5}

Open = Callable[..., Awaitable[Chat]]


@pytest.fixture
async def opened(make_app: MakeApp) -> AsyncIterator[Open]:
    """Opens a chat beside a server `shop` at home, whose smallest model costs something by the operator's word."""
    async with OpenAIEmulator(models=("gpt-4o-mini", "gpt-4.1", "mystery")) as shop:

        async def open_one(**settings: Any) -> Chat:
            servers = {"test": {"base_url": "http://127.0.0.1:9/v1"}, "shop": {"base_url": shop.base_url}}
            models = {"shop/gpt-4o-mini": MINI, **settings.pop("models", {})}
            return await open_chat(make_app, providers=servers, models=models, persona="none", **settings)

        yield open_one


async def test_each_model_of_a_list_has_its_window_and_its_price(opened: Open) -> None:
    chat = await opened()
    lines = (await chat.ask("/model")).splitlines()
    assert "- test/scripted ✅" in lines
    assert "- shop/gpt-4o-mini – 128k, 0.15/0.6 USD" in lines
    assert "- shop/gpt-4.1 – 1000k" in lines
    assert "- shop/mystery" in lines
    assert "- shop/gpt-4.1" in (await chat.ask("/model 4.1"))


async def test_info_tells_of_any_model_what_it_takes_gives_and_costs(opened: Open) -> None:
    chat = await opened()
    told = (await chat.ask("/model info shop/gpt-4o-mini")).splitlines()
    assert told == [
        "- **shop/gpt-4o-mini** does not answer here; `/model use shop/gpt-4o-mini` lets it.",
        "- It reads up to 128,000 tokens at once (as is known of its family).",
        "- It writes up to 16,384 tokens at once.",
        "- It can: see images, use tools.",
        "- A million tokens cost 0.15 USD to read, 0.075 where its server has them cached, 0.6 to write.",
    ]
    assert "mistyped" in await chat.ask("/model info mistyped")


@pytest.mark.parametrize(
    ("models", "told"),
    [
        ({}, "- It costs nothing."),
        ({"input_price": 2, "output_price": 3, "currency": "EUR"}, "- A million tokens cost 2 EUR to read, 2 where"),
        ({"input_price": 0, "output_price": 0}, "- It costs nothing."),
        ({"context_window": 9000}, "- It reads up to 9,000 tokens at once (as whoever runs me says)."),
    ],
)
async def test_what_the_operator_states_counts(opened: Open, models: dict[str, Any], told: str) -> None:
    chat = await opened(models={"shop/mystery": models})
    assert told in await chat.ask("/model info shop/mystery")


def test_the_window_of_the_embedded_model_is_ours_to_state() -> None:
    local = LocalModel(
        name="small", base_url="http://127.0.0.1/v1", api_key="", context_window=4_096, parameters={}, headers={}
    )
    assert model_catalogue(Settings(), local).limits("local/small").source == "embedded"
    stated = Settings(models={"local/small": {"context_window": 2_048}})
    assert model_catalogue(stated, local).limits("local/small").source == "configured"


async def test_info_tells_who_chose_the_model_of_a_place(opened: Open) -> None:
    chat = await opened(adapter=FakeAdapter(managers=("alice",)))
    assert "Chosen by" not in await chat.ask("/model info")
    await chat.say("hello", author=ALICE, channel=GROUP)
    await chat.say("/session set model shop/gpt-4.1 --for place", author=ALICE, channel=GROUP)
    told = (await chat.ask("/model info", author=BOB, channel=GROUP, mentions_me=True)).splitlines()
    assert told[:2] == ["- **shop/gpt-4.1** answers here (the whole place).", "- Chosen by Alice on 2026-11-01."]


async def test_info_tells_who_stands_in(opened: Open) -> None:
    chat = await opened(fallbacks=("shop/gpt-4.1", "test/other"))
    line = "- While its server is away, these answer, in this order: shop/gpt-4.1, test/other."
    assert line in await chat.ask("/model info")


async def test_what_nobody_knows_the_price_of_says_so(make_app: MakeApp) -> None:
    away = {"test": {"base_url": "https://api.example.com/v1"}}
    chat = await open_chat(make_app, providers=away, persona="none")
    assert "- What it costs is not known here." in await chat.ask("/model info")
