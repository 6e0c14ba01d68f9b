"""Names of models: what a configured or typed name means, what can be chosen, and how long a listing is believed."""

from __future__ import annotations

import asyncio

import pytest

from bot.errors import UserError
from bot.llm.directory import LISTING_SECONDS, SILENCE_SECONDS, ModelDirectory
from bot.llm.model import ModelUnreachable

OFFERED: dict[str, tuple[str, ...] | None] = {
    "openai": ("gpt-5", "gpt-5-mini", "o4"),
    "router": ("meta/llama-4", "openai/gpt-5", "mistral-large"),
    "quiet": None,
}
"""What each server lists; `None` = it does not answer."""


class Servers:
    """Servers that can be asked, and how often they were."""

    def __init__(self) -> None:
        self.offered = dict(OFFERED)
        self.asked: list[str] = []
        self.now = 0.0

    async def list_models(self, provider: str) -> tuple[str, ...]:
        self.asked.append(provider)
        await asyncio.sleep(0)
        offered = self.offered[provider]
        if offered is None:
            raise ModelUnreachable(provider, "no connection")
        return offered

    def directory(self, default: str = "openai/gpt-5") -> ModelDirectory:
        return ModelDirectory(tuple(OFFERED), default, self.list_models, clock=lambda: self.now)


@pytest.fixture
def servers() -> Servers:
    return Servers()


@pytest.mark.parametrize(
    ("configured", "full"),
    [
        ("", "openai/gpt-5"),
        ("o4", "openai/o4"),
        ("router/meta/llama-4", "router/meta/llama-4"),
        ("meta/llama-4", "openai/meta/llama-4"),
        ("/models/mine.gguf", "local//models/mine.gguf"),
        ("./mine.gguf", "local/./mine.gguf"),
        ("~/mine.gguf", "local/~/mine.gguf"),
    ],
)
def test_a_configured_name_means_one_model(servers: Servers, configured: str, full: str) -> None:
    assert servers.directory().effective(configured) == full


@pytest.mark.parametrize(
    ("typed", "current", "full"),
    [
        ("o4", "openai/gpt-5", "openai/o4"),
        ("openai/o4", "router/meta/llama-4", "openai/o4"),
        ("meta/llama-4", "router/mistral-large", "router/meta/llama-4"),
        ("mistral-large", "openai/gpt-5", "router/mistral-large"),
        ("meta/llama-4", "openai/gpt-5", "router/meta/llama-4"),
        ("anything", "quiet/x", "quiet/anything"),
        ("quiet/anything", "openai/gpt-5", "quiet/anything"),
    ],
)
async def test_a_typed_name_means_the_current_servers_model_or_the_only_one_of_that_name(
    servers: Servers, typed: str, current: str, full: str
) -> None:
    assert await servers.directory().resolve(typed, current) == full


async def test_the_default_is_believed_although_its_server_does_not_list_it(servers: Servers) -> None:
    directory = servers.directory("openai/my-deployment")
    assert await directory.resolve("my-deployment", "openai/o4") == "openai/my-deployment"
    assert (await directory.all_models())[0] == "openai/my-deployment"


async def test_an_unknown_model_is_refused_with_near_ones(servers: Servers) -> None:
    with pytest.raises(UserError) as caught:
        await servers.directory().resolve("gpt-5-mimi", "openai/o4")
    assert caught.value.message_id == "model-unknown"
    assert caught.value.facts["near"] == "openai/gpt-5-mini"


async def test_near_ones_are_near_by_their_own_names_whatever_their_servers_are_called(servers: Servers) -> None:
    with pytest.raises(UserError) as caught:
        await servers.directory().resolve("llama-5", "openai/o4")
    assert str(caught.value.facts["near"]).startswith("router/meta/llama-4")


async def test_a_name_like_no_other_is_refused_without_a_guess(servers: Servers) -> None:
    with pytest.raises(UserError) as caught:
        await servers.directory().resolve("漢字", "openai/o4")
    assert (caught.value.message_id, caught.value.facts) == ("model-unlike", {"model": "漢字"})


async def test_a_model_of_a_server_that_is_no_longer_configured_is_refused_with_those_that_are(
    servers: Servers,
) -> None:
    with pytest.raises(UserError) as caught:
        await servers.directory().resolve("o4", "gone/gpt-5")
    assert caught.value.facts == {"provider": "gone", "providers": "openai, router, quiet"}


@pytest.mark.parametrize(
    ("keyword", "found"),
    [
        ("gpt", ["openai/gpt-5", "openai/gpt-5-mini", "router/openai/gpt-5"]),
        ("GPT mini", ["openai/gpt-5-mini"]),
        ("router gpt", ["router/openai/gpt-5"]),
        ("nothing", []),
    ],
)
async def test_a_search_finds_models_with_every_word(servers: Servers, keyword: str, found: list[str]) -> None:
    assert await servers.directory().search(keyword) == found


async def test_servers_that_do_not_answer_are_left_out_and_asked_again_after_a_while(servers: Servers) -> None:
    directory = servers.directory()
    assert len(await directory.all_models()) == 6
    servers.offered["quiet"] = ("late",)
    servers.now = SILENCE_SECONDS - 1
    assert len(await directory.all_models()) == 6
    assert servers.asked.count("quiet") == 1
    servers.now = SILENCE_SECONDS
    assert "quiet/late" in await directory.all_models()


async def test_who_looks_at_once_asks_each_server_once(servers: Servers) -> None:
    directory = servers.directory()
    await asyncio.gather(*(directory.search(typed) for typed in ("g", "gp", "gpt")))
    assert sorted(servers.asked) == ["openai", "quiet", "router"]


async def test_a_listing_is_believed_for_a_while(servers: Servers) -> None:
    directory = servers.directory()
    await directory.all_models()
    servers.offered["openai"] = ("new",)
    servers.now = LISTING_SECONDS - 1
    assert "openai/new" not in await directory.all_models()
    servers.now = LISTING_SECONDS
    assert "openai/new" in await directory.all_models()
