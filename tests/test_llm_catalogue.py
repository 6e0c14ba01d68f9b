"""What is known about models by name, what the operator may change, and how a cut prompt is noticed."""

from __future__ import annotations

import pytest

from bot.llm.catalogue import LimitsOverride, ModelCatalogue, ModelLimits, family_limits, token_factor, was_prompt_cut


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("openai/gpt-4o", 128_000),
        ("openai/gpt-4o-mini-2024-07-18", 128_000),
        ("openai/gpt-4", 8_192),
        ("openai/gpt-4.1-nano", 1_000_000),
        ("openai/gpt-5-mini", 400_000),
        ("openai/gpt-5.2-chat-latest", 128_000),
        ("openai/gpt-5.4-mini", 400_000),
        ("openai/gpt-5.5-pro", 1_000_000),
        ("openai/o3-mini", 200_000),
        ("openai/o4-mini", 200_000),
        ("groq/openai/gpt-oss-120b", 131_072),
        ("openrouter/anthropic/claude-3.5-sonnet", 200_000),
        ("anthropic/claude-3-7-sonnet-latest", 200_000),
        ("anthropic/claude-opus-4-20250514", 200_000),
        ("anthropic/claude-sonnet-4-5-20250929", 200_000),
        ("anthropic/claude-haiku-4-5", 200_000),
        ("anthropic/claude-opus-4-6", 1_000_000),
        ("openrouter/anthropic/claude-sonnet-4.6", 1_000_000),
        ("anthropic/claude-sonnet-5", 1_000_000),
        ("gemini/gemini-2.5-flash", 1_000_000),
        ("gemini/gemini-1.5-pro", 1_000_000),
        ("google/claude-4-opus", 200_000),
        ("z/glm-4.6v", 65_536),
        ("deepseek/deepseek-chat", 64_000),
        ("openrouter/deepseek/deepseek-v4-flash", 1_000_000),
        ("x/deepseek-r1:7b", 32_768),
        ("x/Qwen/Qwen2.5-7B-Instruct", 32_768),
        ("x/qwen3:8b", 32_768),
        ("x/qwen3.8-27b", 262_144),
        ("x/llama3.1:8b-instruct-q4_K_M", 131_072),
        ("groq/llama-3.3-70b-versatile", 131_072),
        ("x/Meta-Llama-3-8B-Instruct", 8_192),
        ("mistral/mistral-small-latest", 32_768),
        ("mistral/mistral-large-2512", 131_072),
        ("x/gemma3:1b", 32_768),
        ("x/gemma-3-12b-it", 131_072),
        ("x/gemma2:9b", 8_192),
        ("z/glm-4.6", 200_000),
        ("moonshot/kimi-k2-0711-preview", 131_072),
        ("xai/grok-4-0709", 256_000),
        ("x/phi-4", 16_384),
    ],
)
def test_families_are_known_by_name_whatever_is_around_it(model: str, window: int) -> None:
    limits = ModelCatalogue().limits(model)
    assert (limits.context_window, limits.source) == (window, "catalogue")


@pytest.mark.parametrize("model", ["x/alias-fast", "", "/", "model", "x/foo-o3x", "a/b/c/d"])
def test_M14_an_unknown_model_gets_cautious_limits(model: str) -> None:
    assert ModelCatalogue().limits(model) == ModelLimits(context_window=8_192)


def test_L20_ollama_runs_with_4096_tokens_unless_told_otherwise() -> None:
    assert ModelCatalogue().limits("ollama/llama3.1:8b").context_window == 4_096
    assert ModelCatalogue().limits("ollama/whatever").context_window == 4_096
    told = ModelCatalogue({"ollama": LimitsOverride(context_window=32_768)}).limits("ollama/llama3.1:8b")
    assert (told.context_window, told.source, told.tools) == (32_768, "configured", True)


def test_the_operators_word_about_a_model_beats_that_about_its_server_and_the_table() -> None:
    catalogue = ModelCatalogue(
        {
            "home": LimitsOverride(context_window=10_000, vision=True, max_output_tokens=500),
            "home/gpt-4o": LimitsOverride(context_window=20_000, tools=False, thinking=True),
        }
    )
    assert catalogue.limits("home/gpt-4o") == ModelLimits(
        context_window=20_000, max_output_tokens=500, vision=True, tools=False, thinking=True, source="configured"
    )
    assert catalogue.limits("home/other").context_window == 10_000
    assert catalogue.limits("elsewhere/gpt-4o").context_window == 128_000


@pytest.mark.parametrize(
    ("model", "vision", "thinking", "tools"),
    [
        ("openai/gpt-4o", True, False, True),
        ("openai/o3-mini", False, True, True),
        ("openai/o1-mini", False, True, False),
        ("x/gemma-3-4b", True, False, False),
        ("x/deepseek-r1", False, True, True),
        ("x/llama-3-8b", False, False, False),
    ],
)
def test_abilities_come_with_the_family(model: str, *, vision: bool, thinking: bool, tools: bool) -> None:
    limits = family_limits(model)
    assert (limits.vision, limits.thinking, limits.tools) == (vision, thinking, tools)


@pytest.mark.parametrize(
    ("model", "factor"),
    [
        ("openai/gpt-4o", 1.0),
        ("openai/gpt-5.1", 1.0),
        ("openai/o3", 1.0),
        ("openai/gpt-3.5-turbo", 1.43),
        ("anthropic/claude-sonnet-4-5", 1.5),
        ("deepseek/deepseek-chat", 1.07),
        ("x/qwen3:8b", 1.1),
        ("local/smollm2-135m", 2.3),
        ("x/unknown", 1.35),
    ],
)
def test_token_factors_cover_the_dearest_language_of_the_family(model: str, factor: float) -> None:
    assert token_factor(model) == factor


@pytest.mark.parametrize(
    ("estimated", "counted", "is_cut"),
    [
        (16_000, 4_096, True),
        (16_000, 12_000, False),
        (16_000, 7_700, False),
        (900, 100, False),
        (16_000, 0, False),
    ],
)
def test_L20_a_silently_cut_prompt_shows_in_the_count(estimated: int, counted: int, *, is_cut: bool) -> None:
    assert was_prompt_cut(estimated_tokens=estimated, input_tokens=counted) is is_cut
