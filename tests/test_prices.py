"""What is known of prices by a model's name."""

from __future__ import annotations

import pytest

from bot.llm.prices import cached_price


@pytest.mark.parametrize(
    ("model", "price"),
    [
        ("openai/gpt-5-mini", 0.1),
        ("openrouter/openai/GPT-5.4", 0.1),
        ("openai/gpt-5.2-pro", None),
        ("openai/gpt-4.1-nano", 0.25),
        ("openai/o3", 0.25),
        ("openai/o3-mini", 0.5),
        ("openai/gpt-4o-mini", 0.5),
        ("openai/chatgpt-4o-latest", None),
        ("openai/gpt-3.5-turbo", None),
        ("openrouter/anthropic/claude-3-haiku", 0.12),
        ("openrouter/anthropic/claude-sonnet-5", 0.1),
        ("gemini/gemini-3.8-flash", 0.1),
        ("gemini/gemini-3.8-flash-tts", None),
        ("gemini/gemini-2.0-flash", 0.25),
        ("gemini/gemini-2.0-flash-lite", None),
        ("deepseek/deepseek-chat", 0.26),
        ("mistral/mistral-large-2512", 0.1),
        ("mistral/mistral-large-2407", None),
        ("groq/openai/gpt-oss-20b", None),
        ("local/qwen2.5-1.5b-instruct", None),
        ("test/scripted", None),
    ],
)
def test_the_price_of_a_cached_token_is_known_by_the_models_name(model: str, price: float | None) -> None:
    assert cached_price(model) == price
