"""The embedded model for real: a server inside this process and our own client; structure of answers, never content."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import pytest
from pydantic import SecretStr

from bot.llm.catalogue import ModelCatalogue
from bot.llm.client import OpenAIModel
from bot.llm.endpoints import Provider
from bot.llm.install import cache_directory, is_installed, path_of
from bot.llm.local import (
    REQUEST_HEADERS,
    REQUEST_PARAMETERS,
    LocalModelError,
    LocalServer,
    available_memory,
    engine_threads,
    needed_memory,
    warm,
)
from bot.llm.model import (
    Completion,
    ContextTooLong,
    Finish,
    ModelMessage,
    ModelRefused,
    ModelRequest,
    Role,
    TextDelta,
)
from bot.llm.model_files import SMALL
from bot.llm.quirks import Quirks

CONTEXT_TOKENS = 2048

PERSONA = "You are Mara, a lighthouse keeper on a small island. " + "You like tea, fog and old maps. " * 20

# One worker runs them all, so that two models never fight for the same cores.
inference = [pytest.mark.inference, pytest.mark.xdist_group("inference")]


@pytest.fixture(scope="module")
def small_model() -> Path:
    cache = cache_directory()
    if not is_installed(SMALL, cache):
        pytest.fail("The small model is missing. Install it with: familiar model install small")
    return path_of(SMALL, cache)


@pytest.fixture(scope="module")
def server(small_model: Path) -> Iterator[LocalServer]:
    server = LocalServer.start(small_model, context_tokens=CONTEXT_TOKENS, free_memory=None)
    yield server
    asyncio.run(server.close())


def client_for(server: LocalServer, api_key: str | None = None) -> OpenAIModel:
    key = SecretStr(api_key or server.api_key)
    provider = Provider(name="local", base_url=server.base_url, api_key=key, headers=REQUEST_HEADERS)
    return OpenAIModel({"local": provider}, Quirks(), ModelCatalogue(), sleep=no_second_attempt)


async def no_second_attempt(_seconds: float) -> None:
    raise AssertionError("the first attempt has failed")


@pytest.fixture
async def model(server: LocalServer) -> AsyncIterator[OpenAIModel]:
    model = client_for(server)
    yield model
    await model.close()


def request(*texts: str, limit: int = 24, system: str = PERSONA, **more: Any) -> ModelRequest:
    said = [ModelMessage(role=Role.USER if at % 2 == 0 else Role.ASSISTANT, text=text) for at, text in enumerate(texts)]
    return ModelRequest(
        model="local/small",
        messages=(ModelMessage(role=Role.SYSTEM, text=system), *said),
        max_output_tokens=limit,
        parameters={**REQUEST_PARAMETERS, "seed": 7},
        **more,
    )


async def answer(model: OpenAIModel, asked: ModelRequest) -> Completion:
    async with aclosing(model.stream(asked)) as events:
        *_, completion = [event async for event in events]
    assert isinstance(completion, Completion)
    return completion


async def until_open(server: LocalServer, requests: int) -> None:
    async with asyncio.timeout(10):
        while server.open_requests() < requests:  # noqa: ASYNC110 - the engine has no event for it
            await asyncio.sleep(0.01)


def prompt_tokens_read(server: LocalServer) -> int:
    found = re.search(r"^llamacpp:prompt_tokens_total (\d+)", server._engine.handle_metrics(), re.M)
    assert found
    return int(found[1])


class TestAnswers:
    pytestmark = inference

    async def test_an_answer_streams_and_its_usage_is_counted(self, model: OpenAIModel) -> None:
        events = [event async for event in model.stream(request("Tell me about the sea."))]
        deltas, completion = events[:-1], events[-1]
        assert isinstance(completion, Completion)
        assert len(deltas) > 3
        assert "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)) == completion.text
        assert completion.finish is Finish.LENGTH
        assert completion.usage is not None
        assert completion.usage.output_tokens == 24
        assert 150 < completion.usage.input_tokens < 400
        assert completion.first_token_ms <= completion.total_ms

    async def test_a_broken_off_answer_leaves_the_model_free_for_the_next_one(self, model: OpenAIModel) -> None:
        async with aclosing(model.stream(request("Count to ten thousand.", limit=1500))) as events:
            async for _ in events:
                break
        async with asyncio.timeout(10):  # 1,500 tokens would take half a minute
            assert (await answer(model, request("Hello!", limit=4))).usage is not None

    async def test_a_waiting_request_that_is_broken_off_is_not_read(
        self, server: LocalServer, model: OpenAIModel
    ) -> None:
        async with aclosing(model.stream(request("Tell me about the sea.", limit=80))) as talking:
            await anext(talking)
            before = prompt_tokens_read(server)
            waiting = asyncio.ensure_future(answer(model, request("word " * 1700, system="Be brief.")))
            await until_open(server, 2)
            waiting.cancel()
            await asyncio.wait([waiting])
            async for _ in talking:
                pass
        await answer(model, request("Hello!", limit=1, system="Be brief."))
        assert prompt_tokens_read(server) - before < 1000

    async def test_requests_right_behind_each_other_need_no_second_attempt(self, model: OpenAIModel) -> None:
        for _ in range(5):
            assert (await answer(model, request("Hi!", limit=2, system="Be brief."))).usage is not None

    async def test_what_was_warmed_is_not_read_again(self, model: OpenAIModel) -> None:
        persona = PERSONA.replace("Mara", "Ilse")
        await warm(model, request("(nothing yet)", system=persona))
        completion = await answer(model, request("Good evening!", limit=4, system=persona))
        assert completion.usage is not None
        assert completion.usage.cached_tokens > 150

    async def test_two_conversations_at_once_get_their_own_answers(self, model: OpenAIModel) -> None:
        short, long = request("Hi!", limit=6), request("Hi!", "Hello.", "How was your day, and the fog?", limit=9)
        one, other = await asyncio.gather(answer(model, short), answer(model, long))
        assert one.usage is not None
        assert other.usage is not None
        assert (one.usage.output_tokens, other.usage.output_tokens) == (6, 9)
        assert one.usage.input_tokens < other.usage.input_tokens

    async def test_M17_a_prompt_beyond_the_window_is_refused_with_both_counts(self, model: OpenAIModel) -> None:
        with pytest.raises(ContextTooLong) as refused:
            await answer(model, request("word " * 3 * CONTEXT_TOKENS))
        assert refused.value.limit == CONTEXT_TOKENS
        assert refused.value.given is not None
        assert refused.value.given > 3 * CONTEXT_TOKENS

    async def test_a_schema_binds_the_answer(self, model: OpenAIModel) -> None:
        schema = {
            "type": "object",
            "properties": {
                "summary": {"type": "string", "maxLength": 80},
                "people": {"type": "array", "maxItems": 2, "items": {"type": "string", "maxLength": 20}},
                "mood": {"enum": ["glad", "sad", "neutral"]},
            },
            "required": ["summary", "people", "mood"],
            "additionalProperties": False,
        }
        asked = request("Anna lands in Lisbon on Friday. Summarise.", limit=200, system="Answer in JSON.")
        completion = await answer(model, replace(asked, json_schema=schema))
        assert completion.finish is Finish.STOP
        found = json.loads(completion.text)
        assert set(found) == {"summary", "people", "mood"}
        assert found["mood"] in ("glad", "sad", "neutral")
        assert len(found["summary"]) <= 80
        assert len(found["people"]) <= 2

    async def test_a_wrong_key_is_refused(self, server: LocalServer) -> None:
        model = client_for(server, api_key="guessed")
        with pytest.raises(ModelRefused):
            await answer(model, request("Hi!"))
        await model.close()

    async def test_web_pages_are_not_let_in(self, server: LocalServer) -> None:
        headers = {"Origin": "http://pages.example", "Authorization": f"Bearer {server.api_key}"}
        async with (
            aiohttp.ClientSession(headers=headers) as session,
            session.get(f"{server.base_url}/models") as response,
        ):
            assert response.headers.get("Access-Control-Allow-Origin") not in ("*", "http://pages.example")

    def test_it_listens_on_loopback_alone(self, server: LocalServer) -> None:
        assert server.base_url.startswith("http://127.0.0.1:")
        assert len(server.api_key) >= 32


class TestStartAndClose:
    pytestmark = inference

    async def test_it_can_be_closed_right_after_its_start_and_twice(self, small_model: Path) -> None:
        for _ in range(5):
            server = LocalServer.start(small_model, context_tokens=512, free_memory=None)
            await server.close()
            await server.close()

    async def test_it_closes_although_requests_were_waiting_for_their_turn(self, small_model: Path) -> None:
        server = LocalServer.start(small_model, context_tokens=CONTEXT_TOKENS, free_memory=None)
        model = client_for(server)
        asked = [asyncio.ensure_future(answer(model, request(f"Story {n}!", limit=900))) for n in range(4)]
        await until_open(server, 4)
        for waiting in asked:
            waiting.cancel()
        await asyncio.wait(asked)
        async with asyncio.timeout(10):
            await server.close()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", urlsplit(server.base_url).port)
        await model.close()

    def test_a_damaged_file_is_told_with_a_remedy(self, small_model: Path, tmp_path: Path) -> None:
        damaged = tmp_path / "damaged.gguf"
        damaged.write_bytes(small_model.read_bytes()[:2_000_000])
        with pytest.raises(LocalModelError, match=r"damaged\.gguf could not be loaded\. .*MODEL"):
            LocalServer.start(damaged, context_tokens=512, free_memory=None)

    def test_a_machine_without_the_engine_is_told_to_use_a_server(
        self, small_model: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "xllamacpp", None)
        with pytest.raises(LocalModelError, match=r"no engine on this machine.*MODEL=provider/model"):
            LocalServer.start(small_model, context_tokens=512, free_memory=None)


def test_a_missing_file_is_told_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(LocalModelError, match=r"cannot be read \(No such file.*familiar model install"):
        LocalServer.start(tmp_path / "none.gguf", context_tokens=512, free_memory=None)


def test_a_folder_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(LocalModelError, match="cannot be read"):
        LocalServer.start(tmp_path, context_tokens=512, free_memory=None)


@pytest.mark.parametrize("content", [b"", b"GGU", b"GGML....", b"version https://git-lfs.github.com/spec/v1"])
def test_a_file_of_another_kind_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "model.gguf"
    file.write_bytes(content)
    with pytest.raises(LocalModelError, match="is no GGUF file"):
        LocalServer.start(file, context_tokens=512, free_memory=None)


def test_too_little_memory_is_told_before_anything_is_loaded(tmp_path: Path) -> None:
    file = tmp_path / "model.gguf"
    with file.open("wb") as opened:
        opened.write(b"GGUF")
        opened.truncate(1_117_320_768)  # sparse
    with pytest.raises(LocalModelError, match=r"needs 1\.9 GB of memory and 1\.5 GB are free\. .*MODEL=local/small"):
        LocalServer.start(file, context_tokens=512, free_memory=1_500_000_000)


def test_more_than_the_file_is_needed_in_memory() -> None:
    assert needed_memory(1_117_320_768) == pytest.approx(1.94e9, rel=0.01)


@pytest.mark.parametrize(
    ("cores", "ci", "threads"),
    [(1, False, 1), (2, False, 1), (3, False, 2), (8, False, 7), (8, True, 1)],
)
def test_the_engine_leaves_a_core_to_others(cores: int, ci: bool, threads: int) -> None:
    assert engine_threads(cores, ci=ci) == threads


MEMINFO = "MemTotal:       24683504 kB\nMemFree:  100 kB\nMemAvailable:    4000000 kB\nBuffers: 1 kB\n"


@pytest.mark.parametrize(
    ("meminfo", "limit", "used", "free"),
    [
        (MEMINFO, None, None, 4_096_000_000),
        (MEMINFO, "max", "123", 4_096_000_000),
        (MEMINFO, "2000000000", "500000000", 1_500_000_000),
        (MEMINFO, "9000000000", "500000000", 4_096_000_000),
        ("MemTotal: 1 kB\n", "2000000000", "500000000", 1_500_000_000),
        ("MemTotal: 1 kB\n", None, None, None),
        (None, None, None, None),
    ],
)
def test_free_memory_is_what_system_and_container_leave(
    tmp_path: Path, meminfo: str | None, limit: str | None, used: str | None, free: int | None
) -> None:
    for name, content in (("meminfo", meminfo), ("memory.max", limit), ("memory.current", used)):
        if content is not None:
            (tmp_path / name).write_text(content + "\n", encoding="ascii")
    assert available_memory(tmp_path, tmp_path) == free


async def test_a_model_that_cannot_be_warmed_is_no_fault_yet() -> None:
    nobody = Provider(name="local", base_url="http://127.0.0.1:9/v1", total_timeout=5)
    model = OpenAIModel({"local": nobody}, Quirks(), ModelCatalogue(), sleep=lambda _: asyncio.sleep(0))
    await warm(model, request("Hi!"))
    await model.close()
