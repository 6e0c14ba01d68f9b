"""Model servers of this machine: found when they answer, left out when they do not, and never waited for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from aiohttp import web

from bot.llm.discovery import FoundServer, find_local_servers

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def serving(handler: Handler) -> AsyncIterator[int]:
    """A server whose /v1/models is the handler; its port."""
    app = web.Application()
    app.router.add_get("/v1/models", handler)
    runner = web.AppRunner(app, shutdown_timeout=1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    yield runner.addresses[0][1]
    await runner.cleanup()


async def two_models(_request: web.Request) -> web.Response:
    return web.json_response({"object": "list", "data": [{"id": "qwen3:8b"}, {"id": "gemma3"}]})


async def no_models(_request: web.Request) -> web.Response:
    return web.json_response({"object": "list", "data": None})


async def a_page(_request: web.Request) -> web.Response:
    return web.Response(text="<html>hello</html>", content_type="text/html")


async def another_shape(_request: web.Request) -> web.Response:
    return web.json_response([1, 2, 3])


async def refused(_request: web.Request) -> web.Response:
    return web.json_response({"data": [{"id": "x"}]}, status=401)


async def elsewhere(_request: web.Request) -> web.Response:
    raise web.HTTPFound("http://192.0.2.1/v1/models")


async def test_servers_that_answer_are_found_with_their_models() -> None:
    async with serving(two_models) as one, serving(no_models) as other:
        found = await find_local_servers({"ollama": one, "lmstudio": other}, patience=timedelta(seconds=5))
        assert found == [
            FoundServer(name="ollama", base_url=f"http://127.0.0.1:{one}/v1", models=("qwen3:8b", "gemma3")),
            FoundServer(name="lmstudio", base_url=f"http://127.0.0.1:{other}/v1", models=()),
        ]


@pytest.mark.parametrize("handler", [a_page, another_shape, refused, elsewhere])
async def test_whatever_else_listens_there_is_left_out(handler: Handler) -> None:
    async with serving(handler) as port:
        assert await find_local_servers({"ollama": port}, patience=timedelta(seconds=5)) == []


async def test_nobody_there_is_no_fault() -> None:
    assert await find_local_servers({"ollama": 9, "lmstudio": 1}) == []


@asynccontextmanager
async def answering(first_words: bytes | None) -> AsyncIterator[int]:
    """Something that is no HTTP server: it says its words and hangs up, or takes connections and says nothing."""
    done = asyncio.Event()

    async def take(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if first_words is None:
            await done.wait()
        else:
            writer.write(first_words)
        writer.close()

    async with await asyncio.start_server(take, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]
        done.set()


async def test_a_silent_server_is_not_waited_for_and_hides_no_other() -> None:
    async with answering(None) as one, answering(None) as two, serving(two_models) as three:
        found = await find_local_servers({"a": one, "b": two, "c": three})
        assert [server.name for server in found] == ["c"]


@pytest.mark.parametrize(
    "words", [b"", b"220 mail.example ESMTP\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{"]
)
async def test_what_hangs_up_or_speaks_no_http_is_left_out(words: bytes) -> None:
    async with answering(words) as port:
        assert await find_local_servers({"ollama": port}, patience=timedelta(seconds=5)) == []
