"""The other side of the wire for benchmarks: a bare Telegram Bot API and an OpenAI-compatible stub on one port.

They do as little as possible, so that what is measured is the bot. Correctness is tested against `tests/emulators`.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

REPLY = " ".join(["Of course I remember, and I would gladly hear the rest of it whenever you like."] * 4)
"""About 80 tokens, as the peers were measured with."""

ME = {
    "id": 42,
    "is_bot": True,
    "first_name": "bench",
    "username": "bench_bot",
    "can_join_groups": True,
    "can_read_all_group_messages": True,
    "supports_inline_queries": False,
}
LONGEST_POLL_S = 30.0
CHUNK_WORDS = 8


@dataclass(slots=True)
class World:
    """What the two servers share with the driver."""

    model_delay_s: float = 0.0
    reply: str = REPLY
    updates: deque[dict[str, Any]] = field(default_factory=deque)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    calls: Counter[str] = field(default_factory=Counter)
    waiting: dict[int, asyncio.Future[float]] = field(default_factory=dict)
    model_calls: int = 0
    ids: Any = field(default_factory=lambda: itertools.count(1))

    def say(self, user: int, text: str) -> asyncio.Future[float]:
        """Queue a private message; the future gets the time at which the answer arrived."""
        number = next(self.ids)
        person = {"id": user, "first_name": f"u{user}", "username": f"user{user}"}
        message = {
            "message_id": number,
            "date": int(time.time()),
            "chat": {**person, "type": "private"},
            "from": {**person, "is_bot": False, "language_code": "en"},
            "text": text,
        }
        answered = self.waiting[user] = asyncio.get_running_loop().create_future()
        self.updates.append({"update_id": number, "message": message})
        self.arrived.set()
        return answered


class BenchServers:
    """Serves a `World` on a free loopback port."""

    def __init__(self, world: World) -> None:
        self._world = world
        app = web.Application(client_max_size=64 << 20)
        app.router.add_route("*", "/bot{token}/{method}", self._telegram)
        app.router.add_post("/v1/chat/completions", self._completion)
        app.router.add_get("/v1/models", self._models)
        self._runner = web.AppRunner(app, access_log=None)
        self.port = 0

    async def __aenter__(self) -> BenchServers:
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def _telegram(self, request: web.Request) -> web.Response:
        method = request.match_info["method"].lower()
        given = await _parameters(request)
        self._world.calls[method] += 1
        match method:
            case "getme":
                result: Any = ME
            case "getupdates":
                result = await self._poll(int(given.get("offset") or 0), float(given.get("timeout") or 0))
            case "sendmessage" | "editmessagetext":
                result = self._take_message(int(given["chat_id"]), given.get("text", ""))
            case "getmycommands":
                result = []
            case _:
                result = True
        return web.json_response({"ok": True, "result": result})

    async def _poll(self, offset: int, timeout: float) -> list[dict[str, Any]]:
        world, end = self._world, time.monotonic() + min(timeout, LONGEST_POLL_S)
        while world.updates and world.updates[0]["update_id"] < offset:
            world.updates.popleft()
        while not world.updates and time.monotonic() < end:
            world.arrived.clear()
            try:
                await asyncio.wait_for(world.arrived.wait(), max(0.01, end - time.monotonic()))
            except TimeoutError:
                break
        return list(world.updates)[:100]

    def _take_message(self, chat: int, text: str) -> dict[str, Any]:
        answered = self._world.waiting.get(chat)
        if self._world.reply[:40] in text and answered is not None and not answered.done():
            answered.set_result(time.perf_counter())
        person = {"id": chat, "type": "private", "first_name": f"u{chat}"}
        return {"message_id": 1_000_000 + next(self._world.ids), "date": int(time.time()), "chat": person, "text": text}

    async def _models(self, _request: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": "stub", "object": "model"}]})

    async def _completion(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self._world.model_calls += 1
        if self._world.model_delay_s:
            await asyncio.sleep(self._world.model_delay_s)
        prompt = sum(len(str(message.get("content"))) for message in body["messages"]) // 4
        usage = {"prompt_tokens": prompt, "completion_tokens": 80, "total_tokens": prompt + 80}
        if not body.get("stream"):
            message = {"role": "assistant", "content": self._world.reply}
            choice = {"index": 0, "finish_reason": "stop", "message": message}
            head = {"id": "x", "object": "chat.completion", "created": 1, "model": "stub"}
            return web.json_response({**head, "choices": [choice], "usage": usage})
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for event in _chunks(self._world.reply, usage):
            await response.write(event)
        await response.write_eof()
        return response


async def _parameters(request: web.Request) -> dict[str, Any]:
    given = dict(request.query)
    if request.method == "POST":
        given |= await request.json() if request.content_type == "application/json" else dict(await request.post())
    return given


def _chunks(reply: str, usage: dict[str, int]) -> list[bytes]:
    words = reply.split(" ")
    parts = [" ".join(words[start : start + CHUNK_WORDS]) for start in range(0, len(words), CHUNK_WORDS)]
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": part if part is parts[-1] else part + " "} for part in parts]
    choices = [[{"index": 0, "delta": delta, "finish_reason": None}] for delta in deltas]
    choices.append([{"index": 0, "delta": {}, "finish_reason": "stop"}])
    head = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "stub"}
    events = [{**head, "choices": choice} for choice in choices] + [{**head, "choices": [], "usage": usage}]
    return [f"data: {json.dumps(event)}\n\n".encode() for event in events] + [b"data: [DONE]\n\n"]
