"""Summaries by a real model in this process: how its server takes what we ask, and that a poor model harms nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic import SecretStr

from bot.llm.catalogue import ModelCatalogue
from bot.llm.client import OpenAIModel
from bot.llm.endpoints import Provider
from bot.llm.install import cache_directory, is_installed, path_of
from bot.llm.local import REQUEST_HEADERS, REQUEST_PARAMETERS, LocalServer
from bot.llm.model import Completion, Finish, ModelEvent, ModelRequest
from bot.llm.model_files import SMALL
from bot.llm.quirks import Quirks
from bot.store.memories import read_memory
from tests.conftest import MakeApp
from tests.talking import Chat, open_chat

pytestmark = [pytest.mark.inference, pytest.mark.xdist_group("inference")]

WINDOW = 4_096
SAID = (
    "I am Bob, and I live in Oslo. I would never want to move away from the sea, the ships and the long summer days.",
    "I like green tea and old maps. I have been collecting both of them for many years, they fill my flat by now.",
    "My cat is called Tom. He sleeps on the maps all day, and he does not care for tea, for ships or for anybody.",
)
SETTINGS: dict[str, Any] = {
    "persona": "none",
    "context_tokens": WINDOW,
    "max_output_tokens": 16,
    "summary": {"keep_recent": 1, "trigger": {"type": "off"}, "reuse_prefix": "on"},
}


@pytest.fixture(scope="module")
def server() -> Iterator[LocalServer]:
    cache = cache_directory()
    if not is_installed(SMALL, cache):
        pytest.fail("The small model is missing. Install it with: familiar model install small")
    server = LocalServer.start(path_of(SMALL, cache), context_tokens=WINDOW, free_memory=None)
    yield server
    asyncio.run(server.close())


@dataclass
class Listening:
    """The real client; keeps what is asked for summaries, and how that ended."""

    real: OpenAIModel
    asked: list[tuple[ModelRequest, Completion]] = field(default_factory=list)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        is_summary = request.json_schema is not None or "tool_choice" in request.parameters
        async for event in self.real.stream(request):
            if is_summary and isinstance(event, Completion):
                self.asked.append((request, event))
            yield event

    async def close(self) -> None:
        """The test closes it."""


@pytest.fixture
async def model(server: LocalServer) -> AsyncIterator[Listening]:
    shared: dict[str, Any] = {"base_url": server.base_url, "api_key": SecretStr(server.api_key)}
    providers = {
        name: Provider(name=name, **shared, headers=REQUEST_HEADERS, parameters={**REQUEST_PARAMETERS, "seed": 7})
        for name in ("test", "local")
    }
    real = OpenAIModel(providers, Quirks(), ModelCatalogue())
    yield Listening(real)
    await real.close()


async def told(make_app: MakeApp, model: Listening, name: str, max_tokens: int) -> Chat:
    """A chat that `/compact` may fold."""
    settings = {**SETTINGS, "summary": {**SETTINGS["summary"], "max_tokens": max_tokens}}
    chat = await open_chat(make_app, model=model, model_name=name, **settings)  # type: ignore[arg-type]
    for text in SAID:
        await chat.say(text)
    return chat


async def test_its_server_takes_a_summary_behind_the_last_request_and_a_bad_one_is_asked_for_in_a_prompt_of_its_own(
    make_app: MakeApp, model: Listening
) -> None:
    chat = await told(make_app, model, "test/small", max_tokens=64)  # cut: whole, they would be no better
    await chat.say("/compact")
    behind = [(asked, done) for asked, done in model.asked if asked.json_schema is None]
    own = [asked for asked, _ in model.asked if asked.json_schema is not None]
    assert len(behind) == len(own) == 2
    for asked, done in behind:
        assert asked.tools
        assert asked.parameters["tool_choice"] == "none"
        assert (done.tool_calls, done.usage is not None) == ((), True)
    first = behind[0][1].usage
    assert first is not None
    assert first.cached_tokens > 100  # what the chat had sent before
    assert "not finished (length)" in "\n".join(await chat.say("/status"))
    assert SAID[0] in "\n".join(await chat.say("/history"))
    assert await chat.say("Are you still there?") != []


async def test_whatever_the_smallest_model_chooses_only_what_was_said_is_noted(
    make_app: MakeApp, model: Listening
) -> None:
    chat = await told(make_app, model, "local/small", max_tokens=256)
    await chat.say("/compact")
    assert model.asked
    assert all(done.finish is Finish.STOP for _, done in model.asked)
    memory = await chat.app.core.db.read(lambda tx: read_memory(tx, 1))
    assert memory.items or memory.gist
    assert all(item.new.text.removeprefix("Alice: ") in SAID for item in memory.items)
