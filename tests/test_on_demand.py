"""The embedded model as a fallback: it stands by, and is loaded when no server answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from bot.app.embedded import standing_by
from bot.cli.embedded import local_model_for
from bot.llm.catalogue import ModelCatalogue
from bot.llm.client import OpenAIModel
from bot.llm.configured import LocalModel, configured_providers
from bot.llm.local import LocalModelError
from bot.llm.model import Completion, ModelUnreachable
from bot.llm.quirks import Quirks
from bot.llm.router import Router
from bot.settings import Settings
from tests.emulators.openai import OpenAIEmulator, Refuse, Say
from tests.emulators.openai.harness import asks

SMALL, LAB = "local/small", "lab/a"


def settings_with(base_url: str, *fallbacks: str) -> Settings:
    return Settings(providers={"lab": {"base_url": base_url}}, model=LAB, fallbacks=fallbacks)


@asynccontextmanager
async def routed(load: Callable[[LocalModel], LocalModel]) -> AsyncIterator[tuple[Router, OpenAIEmulator]]:
    """A router to a server `lab`, and to an embedded model that says so, once `load` has told where it is."""
    async with OpenAIEmulator(Say(text="From the lab.")) as lab, OpenAIEmulator(Say(text="From inside.")) as inside:
        there = LocalModel(
            name="small", base_url="http://127.0.0.1/v1", api_key="", context_window=4_096, parameters={}, headers={}
        )
        local = replace(there, start=lambda: load(replace(there, base_url=inside.base_url)))
        client = OpenAIModel(configured_providers(settings_with(lab.base_url), local), Quirks(), ModelCatalogue())
        router = Router(standing_by(client, local), ModelCatalogue().limits)
        yield router, lab
        await router.close()


async def answer(router: Router) -> str:
    *_, last = [event async for event in router.stream(asks(model=LAB, fallbacks=(SMALL,), max_output_tokens=4))]
    assert isinstance(last, Completion)
    return last.text


async def test_it_is_loaded_once_and_only_when_the_server_does_not_answer() -> None:
    loaded: list[str] = []

    def load(local: LocalModel) -> LocalModel:
        loaded.append(local.name)
        return local

    async with routed(load) as (router, lab):
        assert await answer(router) == "From the lab."
        assert loaded == []
        lab.script = Refuse(status=402)
        assert await asyncio.gather(answer(router), answer(router)) == ["From inside."] * 2
        assert loaded == ["small"]


async def test_one_that_cannot_be_loaded_is_a_model_that_does_not_answer() -> None:
    def load(_local: LocalModel) -> LocalModel:
        raise LocalModelError(Path("small.gguf"), "needs 2 GB of memory and 1 GB are free", "Close other programs.")

    async with routed(load) as (router, lab):
        lab.script = Refuse(status=402)
        with pytest.raises(ModelUnreachable):
            await answer(router)
        assert {health.name for health in router.health()} == {"lab", "local"}


@pytest.mark.inference
@pytest.mark.xdist_group("inference")
def test_beside_a_model_server_it_answers_for_real(capsys: pytest.CaptureFixture[str]) -> None:
    settings = settings_with("http://127.0.0.1:9/v1", SMALL)

    async def ask(local: LocalModel) -> str:
        client = OpenAIModel(configured_providers(settings, local), Quirks(), ModelCatalogue())
        router = Router(standing_by(client, local), ModelCatalogue().limits)
        try:
            return await answer(router)
        finally:
            await router.close()

    with local_model_for(settings) as local:
        assert local is not None
        assert local.start is not None
        assert "local/small is here" in capsys.readouterr().out
        assert asyncio.run(ask(local))


def test_without_such_a_fallback_there_is_none_beside_a_model_server() -> None:
    with local_model_for(settings_with("http://127.0.0.1:9/v1", "lab/b")) as local:
        assert local is None
