"""What a cached token costs of an uncached one: by family, by the operator's word, at home."""

from __future__ import annotations

from typing import Any

import pytest

from bot.llm.configured import configured_providers, model_prices
from bot.llm.prices import AT_HOME, Prices, family_price
from bot.settings import Settings
from bot.testing import ScriptedModel
from tests.conftest import MakeApp


@pytest.mark.parametrize(
    ("model", "price"),
    [
        ("openai/gpt-5-mini", 0.1),
        ("openai/gpt-5.6-sol", 0.1),
        ("openai/gpt-6.1-terra", 0.05),
        ("openai/gpt-5-pro", None),
        ("openrouter/openai/GPT-5.4", 0.1),
        ("openai/gpt-4.1-nano", 0.25),
        ("openai/chatgpt-4o-latest", None),
        ("groq/openai/gpt-oss-20b", None),
        ("openai/gpt-4o-mini", 0.5),
        ("openai/gpt-4-turbo", None),
        ("openai/gpt-3.5-turbo", None),
        ("openai/o3", 0.25),
        ("openai/o3-mini", 0.5),
        ("openai/o4-mini", 0.25),
        ("openrouter/anthropic/claude-sonnet-4.5", 0.1),
        ("openrouter/anthropic/claude-opus-5.5", 0.05),
        ("openrouter/anthropic/claude-3-haiku", 0.12),
        ("gemini/gemini-3.5-flash", 0.1),
        ("gemini/gemini-3.8-flash-tts", None),
        ("gemini/gemini-2.0-flash", 0.25),
        ("gemini/gemini-2.0-flash-lite", None),
        ("deepseek/deepseek-chat", 0.26),
        ("deepseek/deepseek-v4-pro", 0.04),
        ("openrouter/x-ai/grok-4.6", 0.25),
        ("openrouter/moonshotai/kimi-k2.6", 0.2),
        ("openrouter/z-ai/glm-5.2", 0.21),
        ("mistral/mistral-small-latest", 0.1),
        ("mistral/mistral-large-2512", 0.1),
        ("mistral/mistral-large-2407", None),
        ("mistral/open-mistral-nemo", None),
        ("groq/llama-3.3-70b-versatile", None),
        ("any/model-that-nobody-knows", None),
        ("", None),
    ],
)
def test_a_cached_token_costs_what_its_vendor_asks(model: str, price: float | None) -> None:
    assert family_price(model) == price


def prices_of(**given: Any) -> Prices:
    settings = Settings(**given)
    return model_prices(settings, configured_providers(settings, None))


REMOTE = {"base_url": "https://api.example.com/v1"}


@pytest.mark.parametrize(
    ("model", "price"),
    [("shop/gpt-4o", 0.3), ("shop/claude-sonnet-5", 0.0), ("openai/gpt-4o", 0.5), ("shop/whatever", 0.3)],
)
def test_the_operators_word_counts_first_for_a_model_then_for_its_server(model: str, price: float) -> None:
    prices = prices_of(
        providers={"shop": {**REMOTE, "cached_price": 0.3}, "openai": {}},
        models={"shop/claude-sonnet-5": {"cached_price": 0}},
    )
    assert prices.cached_price(model) == price


@pytest.mark.parametrize(
    ("base_url", "price"),
    [
        ("http://127.0.0.1:11434/v1", AT_HOME),
        ("http://192.168.1.5:8080/v1", AT_HOME),
        ("http://llama:8080/v1", AT_HOME),
        ("https://api.example.com/v1", 0.5),
    ],
)
def test_at_home_a_cached_token_costs_next_to_nothing_whatever_the_model(base_url: str, price: float) -> None:
    assert prices_of(providers={"mine": {"base_url": base_url}}).cached_price("mine/gpt-4o") == price


async def test_an_app_knows_the_prices_of_its_models(make_app: MakeApp) -> None:
    app = await make_app(model=ScriptedModel(), providers={"openai": {}}, model_name="openai/gpt-4.1")
    assert app.models.prices.cached_price("openai/gpt-4.1") == 0.25
