"""An OpenAI-compatible server on a loopback socket that answers by script and remembers what it was asked."""

from __future__ import annotations

import asyncio
import inspect
import socket
import struct
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from tests.emulators.openai.audio import Audio
from tests.emulators.openai.script import (
    Cut,
    Pause,
    Plain,
    Raw,
    Refuse,
    Reply,
    Request,
    Reset,
    Say,
    Script,
    Stall,
    Step,
    Stream,
    Wait,
    event,
)

Judge = Callable[[str], bool | Awaitable[bool]]

JOURNAL_SECONDS = 10.0
"""How long a test waits for a request before it fails."""


class OpenAIEmulator:
    """`async with OpenAIEmulator(Say(text="Hi")) as openai:` serves at `openai.base_url`.

    Queued replies go out first, each once; then the script answers. A request that nothing fits gets 503. With
    `write_bytes` every event leaves in pieces of that size, so that lines and characters are cut anywhere.
    """

    def __init__(
        self,
        script: Script = Say(text="Hello!"),  # noqa: B008 -- frozen
        *,
        models: Sequence[str] = ("scripted",),
        api_key: str | None = None,
        write_bytes: int | None = None,
        port: int = 0,
    ) -> None:
        self.script = script
        self.models = list(models)
        self.api_key = api_key
        self.requests: list[Request] = []
        """Every chat request, in order of arrival."""
        self.connections = 0
        """TCP connections taken so far."""
        self.audio = Audio()
        self.judge: Judge | Refuse = lambda _text: False
        """Which texts the moderation endpoint flags."""
        self.judged: list[list[str]] = []
        """The texts of every request to it."""
        self._write_bytes = write_bytes
        self._port = port
        self._queue: deque[Reply] = deque()
        self._arrived = asyncio.Condition()
        self._transports: set[int] = set()
        self._runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=64 << 20)
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_get("/v1/models", self._list_models)
        app.router.add_post("/openai/deployments/{name}/chat/completions", self._chat)
        app.router.add_get("/openai/models", self._list_models)
        app.router.add_routes(self.audio.routes())
        app.router.add_post("/v1/moderations", self._moderate)
        # Handlers are cancelled when the client goes away: that is how we know.
        self._runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self._port).start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    @property
    def base_url(self) -> str:
        """Ends with `/v1`."""
        assert self._runner is not None
        host, port = self._runner.addresses[0][:2]
        return f"http://{host}:{port}/v1"

    @property
    def last(self) -> Request:
        """The newest request."""
        return self.requests[-1]

    def queue(self, *replies: Reply) -> None:
        """Answer the next requests so, each once, before the script is asked."""
        self._queue.extend(replies)

    async def request(self, number: int) -> Request:
        """The request of that number (from 1), as soon as it has arrived."""
        async with asyncio.timeout(JOURNAL_SECONDS), self._arrived:
            await self._arrived.wait_for(lambda: len(self.requests) >= number)
        return self.requests[number - 1]

    # Serving

    async def _chat(self, http: web.Request) -> web.StreamResponse:
        self._count_connection(http)
        refused = self._check_key(http)
        request = Request(
            number=len(self.requests) + 1,
            path=http.path,
            query=dict(http.query),
            headers=dict(http.headers),
            body=await http.json(),
        )
        async with self._arrived:
            self.requests.append(request)
            self._arrived.notify_all()
        try:
            return await self._answer(http, request, refused or await self._choose(request))
        except (asyncio.CancelledError, ConnectionError):
            request.was_cancelled = True
            raise
        finally:
            request.ended.set()

    async def _list_models(self, http: web.Request) -> web.StreamResponse:
        if refused := self._check_key(http):
            return _refusal(refused)
        return web.json_response({"object": "list", "data": [{"id": name, "object": "model"} for name in self.models]})

    async def _moderate(self, http: web.Request) -> web.StreamResponse:
        if refused := self._check_key(http):
            return _refusal(refused)
        body = await http.json()
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        self.judged.append(texts)
        if isinstance(self.judge, Refuse):
            return _refusal(self.judge)
        flags = [await flag if inspect.isawaitable(flag := self.judge(text)) else flag for text in texts]
        results = [{"flagged": flag, "categories": {}, "category_scores": {}} for flag in flags]
        return web.json_response({"id": "modr-1", "model": body["model"], "results": results})

    def _check_key(self, http: web.Request) -> Refuse | None:
        if self.api_key is None or http.headers.get("Authorization") == f"Bearer {self.api_key}":
            return None
        return Refuse(status=401, body={"error": {"message": "Invalid API key", "code": "invalid_api_key"}})

    def _count_connection(self, http: web.Request) -> None:
        if id(http.transport) not in self._transports:
            self._transports.add(id(http.transport))
            self.connections += 1

    async def _choose(self, request: Request) -> Reply:
        if self._queue:
            return self._queue.popleft()
        if callable(self.script):
            chosen = self.script(request)
            reply = await chosen if inspect.isawaitable(chosen) else chosen
        elif isinstance(self.script, Sequence):
            reply = next((rule.reply for rule in self.script if rule.fits(request)), None)
        else:
            reply = self.script
        return reply or Refuse(status=503, body={"error": {"message": "no rule of the script fits this request"}})

    async def _answer(self, http: web.Request, request: Request, reply: Reply) -> web.StreamResponse:
        match reply:
            case Refuse():
                return _refusal(reply)
            case Reset():
                _reset(http)
                return web.Response()
            case Plain():
                return web.json_response(reply.body)
            case Say() if not request.body.get("stream"):
                if reply.gate is not None:
                    await reply.gate.wait()
                return web.json_response(reply.whole(request))
            case Say():
                return await self._stream(http, reply.steps(request))
            case Stream():
                return await self._stream(http, reply.steps)

    async def _stream(self, http: web.Request, steps: Iterable[Step]) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
        await response.prepare(http)
        for step in steps:
            match step:
                case Wait(event=gate):
                    await gate.wait()
                case Pause(seconds=seconds):
                    await asyncio.sleep(seconds)
                case Stall():
                    await asyncio.Event().wait()
                case Cut():
                    _reset(http)
                    return response
                case Raw(data=data):
                    await self._write(response, data)
                case _:
                    await self._write(response, event(step))
        await response.write_eof()
        return response

    async def _write(self, response: web.StreamResponse, data: bytes) -> None:
        size = self._write_bytes or len(data)
        for start in range(0, len(data), size):
            await response.write(data[start : start + size])
            if self._write_bytes:
                await asyncio.sleep(0)


def _refusal(reply: Refuse) -> web.Response:
    if isinstance(reply.body, str) or reply.body is None:
        return web.Response(status=reply.status, text=reply.body or "", headers=reply.headers)
    return web.json_response(reply.body, status=reply.status, headers=reply.headers)


def _reset(http: web.Request) -> None:
    """Close the socket so that the other side sees a reset, not an orderly end."""
    transport: Any = http.transport
    if transport is not None:
        sock = transport.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        transport.abort()
