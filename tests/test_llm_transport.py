"""The SDK's requests over aiohttp: whole, compressed and broken-off answers, kept connections, proxies."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import httpx2
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from bot.llm.transport import AiohttpTransport

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def serving(handler: Handler) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", handler)
    async with TestServer(app) as server:
        yield str(server.make_url(""))


@asynccontextmanager
async def client_for(address: str) -> AsyncIterator[httpx2.AsyncClient]:
    transport = AiohttpTransport(address, connect_seconds=5, idle_seconds=5)
    async with httpx2.AsyncClient(transport=transport, base_url=address, follow_redirects=True) as client:
        yield client


async def test_a_request_arrives_with_its_body_and_headers_and_its_answer_comes_back() -> None:
    async def echo(request: web.Request) -> web.Response:
        return web.Response(status=429, body=await request.read(), headers={"retry-after": request.headers["x-wait"]})

    async with serving(echo) as address, client_for(address) as client:
        answer = await client.post("/v1/chat", json={"text": "漢"}, headers={"x-wait": "7"})
    assert (answer.status_code, answer.json(), answer.headers["retry-after"]) == (429, {"text": "漢"}, "7")


async def test_a_compressed_answer_is_read_and_a_redirect_followed() -> None:
    async def answer(request: web.Request) -> web.Response:
        if request.path == "/old":
            raise web.HTTPTemporaryRedirect("/new")
        packed = web.json_response({"path": request.path})
        packed.enable_compression(web.ContentCoding.gzip)
        return packed

    async with serving(answer) as address, client_for(address) as client:
        got = await client.post("/old", json={})
    assert got.headers["content-encoding"] == "gzip"
    assert got.json() == {"path": "/new"}


@pytest.mark.parametrize(("reads_all", "connections"), [(True, 1), (False, 2)])
async def test_a_connection_is_kept_after_a_whole_answer_and_closed_after_one_that_was_left(
    reads_all: bool, connections: int
) -> None:
    seen: set[object] = set()

    async def stream(request: web.Request) -> web.StreamResponse:
        seen.add(request.transport)
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"data: 1\n\n")
        if reads_all:
            await response.write_eof()
        while not reads_all:  # until the client is gone
            await response.write(b"data: more\n\n" * 1000)
        return response

    async with serving(stream) as address, client_for(address) as client:
        for _ in range(2):
            async with client.stream("POST", "/", json={}) as answer:
                async for _chunk in answer.aiter_bytes():
                    if not reads_all:
                        break
    assert len(seen) == connections


@pytest.mark.parametrize(("elsewhere", "answerer"), [(True, "proxy"), (False, "server")])
async def test_the_proxy_that_the_environment_names_is_used_but_not_for_this_machine(
    monkeypatch: pytest.MonkeyPatch, elsewhere: bool, answerer: str
) -> None:
    async def proxy(request: web.Request) -> web.Response:
        return web.Response(text=f"proxy for {request.raw_path}")

    async def answer(request: web.Request) -> web.Response:
        return web.Response(text=f"server for {request.raw_path}")

    async with serving(proxy) as between, serving(answer) as here:
        monkeypatch.setenv("http_proxy", between)
        monkeypatch.setenv("no_proxy", "")
        address = "http://models.test:80" if elsewhere else here
        async with client_for(address) as client:
            text = (await client.get("models")).text
    assert text.startswith(f"{answerer} for ")
