"""How long a server is waited for, and how often it is asked, where another one can answer and where none can."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any

import pytest

from bot.llm.catalogue import ModelCatalogue
from bot.llm.client import OpenAIModel
from bot.llm.configured import configured_providers
from bot.llm.endpoints import Provider
from bot.llm.model import Attempt, Completion, Handover, ModelEvent, ModelUnreachable, TextDelta
from bot.llm.quirks import Quirks
from bot.llm.router import FIRST_PAUSE_SECONDS, Router
from bot.settings import Settings
from tests.emulators.openai import OpenAIEmulator, Refuse, Say, errors
from tests.emulators.openai.harness import asks
from tests.test_llm_router import ONE, SILENT, TWO, Clock, no_wait


async def test_a_server_is_tried_less_often_where_another_one_can_stand_in() -> None:
    async with AsyncExitStack() as stack:
        one, two = [await stack.enter_async_context(OpenAIEmulator(Refuse(status=503))) for _ in range(2)]
        providers = {name: Provider(name=name, base_url=it.base_url) for name, it in (("one", one), ("two", two))}
        router = Router(OpenAIModel(providers, Quirks(), ModelCatalogue(), sleep=no_wait), ModelCatalogue().limits)
        stack.push_async_callback(router.close)
        with pytest.raises(ModelUnreachable):
            [event async for event in router.stream(asks(model=ONE, fallbacks=(TWO,)))]
        assert (len(one.requests), len(two.requests)) == (2, 3)


@pytest.mark.parametrize(("fallbacks", "tries"), [((), 2), ((TWO,), 1)], ids=["alone", "with another"])
async def test_nobody_waits_for_a_server_that_asks_for_it_where_another_one_answers_at_once(
    fallbacks: tuple[str, ...], tries: int
) -> None:
    async with AsyncExitStack() as stack:
        one, two = [await stack.enter_async_context(OpenAIEmulator(Say(text="Here."))) for _ in range(2)]
        one.queue(errors.rate_limited(5))
        providers = {name: Provider(name=name, base_url=it.base_url) for name, it in (("one", one), ("two", two))}
        router = Router(OpenAIModel(providers, Quirks(), ModelCatalogue(), sleep=no_wait), ModelCatalogue().limits)
        stack.push_async_callback(router.close)
        *_, last = [event async for event in router.stream(asks(model=ONE, fallbacks=fallbacks))]
        assert isinstance(last, Completion)
        assert len(one.requests) == tries


CLOUD, HOME = "https://models.example/v1", "http://192.168.0.9:11434/v1"


@pytest.mark.parametrize(
    ("given", "model", "more", "seconds"),
    [
        ({"base_url": CLOUD}, "llama-3.3-70b", {"fallbacks": (TWO,)}, 25),
        ({"base_url": CLOUD}, "llama-3.3-70b", {}, 120),
        ({"base_url": HOME}, "llama-3.3-70b", {"fallbacks": (TWO,)}, 120),
        ({"base_url": HOME, "fallback_after": 40}, "llama-3.3-70b", {"fallbacks": (TWO,)}, 40),
        ({"base_url": CLOUD, "first_token_timeout": 10}, "llama-3.3-70b", {"fallbacks": (TWO,)}, 10),
        ({"base_url": CLOUD}, "qwen3-32b", {"fallbacks": (TWO,)}, 120),
        ({"base_url": CLOUD, "kind": "ollama"}, "qwen3-32b", {"fallbacks": (TWO,)}, 25),
        ({"base_url": CLOUD, "kind": "ollama"}, "qwen3-32b", {"fallbacks": (TWO,), "thinking": True}, 120),
    ],
    ids=["hosted", "alone", "at home", "as stated", "impatient anyway", "may think", "told not to", "thinks"],
)
def test_silence_is_borne_for_less_time_where_another_model_can_answer(
    given: dict[str, Any], model: str, more: dict[str, Any], seconds: float
) -> None:
    client = OpenAIModel(configured_providers(Settings(providers={"one": given}), None), Quirks(), ModelCatalogue())
    assert client.time_to_begin(asks(model=f"one/{model}", **more)) == seconds


async def test_a_silent_server_hands_over_soon_and_is_asked_last_until_it_is_tried_again() -> None:
    clock = Clock()
    async with AsyncExitStack() as stack:
        one = await stack.enter_async_context(OpenAIEmulator(SILENT))
        two = await stack.enter_async_context(OpenAIEmulator(Say(text="Here I am.")))
        providers = {
            name: Provider(name=name, base_url=it.base_url, fallback_after=0.05)
            for name, it in (("one", one), ("two", two))
        }
        quirks = Quirks()
        router = Router(OpenAIModel(providers, quirks, ModelCatalogue()), ModelCatalogue().limits, clock=clock)
        stack.push_async_callback(router.close)

        async def ask() -> list[ModelEvent]:
            return [event async for event in router.stream(asks(model=ONE, fallbacks=(TWO,)))]

        attempt, handover, *_ = await ask()
        assert isinstance(attempt, Attempt)
        assert (attempt.outcome, handover) == ("unreachable", Handover(model=TWO))
        assert "0.05 s for the first token" in router.health()[0].problem
        assert (await ask())[0] == Handover(model=TWO)
        assert len(one.requests) == 1, "it is left alone"
        one.queue(Say(text="Awake."))
        clock.now += FIRST_PAUSE_SECONDS + 1
        assert TextDelta(text="Awake.") in await ask()
        assert router.health() == []
        assert quirks.learned(providers["one"].endpoint, "a") == frozenset(), "silence is no lesson"
