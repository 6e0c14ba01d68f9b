"""The HTTP front: tokens, methods, faults, the request log, file downloads, and waiting for what a bot does."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from aiohttp import web

from tests.emulators.telegram.errors import ApiError
from tests.emulators.telegram.faults import After, Fault, take_fault
from tests.emulators.telegram.methods import METHODS
from tests.emulators.telegram.params import Params
from tests.emulators.telegram.rules import Pace
from tests.emulators.telegram.world import Chat, Json, User, World

T = TypeVar("T")
ENDLESS_CHUNK = b"x" * 65536


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """One call of the bot, as it came and as it went."""

    method: str
    values: dict[str, Any]
    status: int
    """HTTP status of the answer; 0 = the connection was cut or left silent."""
    description: str = ""
    at: float = 0.0
    """Seconds of the event loop's clock when it arrived."""


class TelegramEmulator(World):
    """`async with TelegramEmulator() as telegram:`. Calls of unknown methods and parameters that no method reads are
    mistakes of the bot (or of this server): they fail the test when the server closes.
    """

    def __init__(
        self,
        *,
        token: str = "4242:AAH-sentinel_" + "s" * 24,
        username: str = "FamiliarBot",
        privacy: bool = False,
        drafts: bool = True,
        clock: Callable[[], float] = time.time,
    ) -> None:
        bot_id = int(token.partition(":")[0])
        bot = User(id=bot_id, first_name="Familiar", username=username, is_bot=True, language_code=None)
        super().__init__(bot=bot, privacy=privacy, clock=clock)
        self.token, self.drafts = token, drafts
        self.pace: Pace | None = None
        self.draft_pace: Pace | None = None
        self.begun: list[str] = []
        """Methods of all calls that came in, ended or not."""
        self.calls: list[Call] = []
        self.faults: list[Fault] = []
        self.mistakes: list[str] = []
        self.endless_files: set[str] = set()
        """Ids of files whose download never ends."""
        self._port = 0

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=60 << 20)
        app.router.add_route("*", "/bot{token}/{method}", self._call)
        app.router.add_get("/file/bot{token}/{path:.*}", self._download)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self._port).start()
        self._port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_exc: object) -> None:
        await self.updates.close()
        await self._runner.cleanup()
        if self.mistakes:
            raise AssertionError("; ".join(self.mistakes))

    async def go_away(self) -> None:
        """Stop listening, so that connections are refused; `come_back` listens on the same port again."""
        await self.updates.close()
        await self._runner.cleanup()
        await asyncio.sleep(0)  # a step in which its clients see that

    async def come_back(self) -> None:
        """Listen again."""
        await self.__aenter__()

    @property
    def base_url(self) -> str:
        """For clients that append the token."""
        return f"http://127.0.0.1:{self._port}/bot"

    @property
    def base_file_url(self) -> str:
        """For clients that append the token."""
        return f"http://127.0.0.1:{self._port}/file/bot"

    @property
    def polling(self) -> bool:
        """Whether somebody waits in a long poll."""
        return self.updates.waiting > 0

    def fail(self, method: str, status: int = 0, description: str = "", **fields: Any) -> Fault:
        """Order a fault for the next call of `method`; `fields` as in `Fault`."""
        fault = Fault(method=method, status=status, description=description, **fields)
        self.faults.append(fault)
        return fault

    def calls_of(self, *methods: str) -> list[Call]:
        """The calls of these methods that have ended, oldest first."""
        return [call for call in self.calls if call.method in methods]

    async def wait_for(self, find: Callable[[], T | None], *, timeout_s: float = 10.0) -> T:
        """The first true result of `find`, which is asked again after every change on this server."""
        async with asyncio.timeout(timeout_s):
            while True:
                changed = self.updates.signal.changed()
                if found := find():
                    return found
                await changed.wait()

    async def wait_for_text(self, chat: Chat, text: str, *, timeout_s: float = 10.0) -> Json:
        """The bot's message in `chat` that reads `text`."""
        return await self.wait_for(
            lambda: next((m for m in self.bot_messages(chat) if m.get("text", m.get("caption")) == text), None),
            timeout_s=timeout_s,
        )

    async def _call(self, request: web.Request) -> web.StreamResponse:
        name, at = request.match_info["method"], asyncio.get_running_loop().time()
        params = await Params.of(request)
        self.begun.append(name)
        self.updates.signal.notify()
        fault = take_fault(self.faults, name)
        try:
            if fault:
                await self._meet(fault, request)
            answer = web.json_response({"ok": True, "result": await self._carry_out(request, name, params)})
            description = ""
        except ApiError as error:
            answer, description = web.json_response(error.body(), status=error.code), error.description
            if fault and fault.body is not None:
                answer = web.Response(status=error.code, body=fault.body)
        except ConnectionAbortedError:
            answer, description = _cut(request), "reset"
        status = answer.status
        if fault and fault.after is not After.ANSWER:
            status, description = 0, fault.after
        self.calls.append(Call(method=name, values=params.values, status=status, description=description, at=at))
        self.updates.signal.notify()
        if fault and fault.after is After.SILENCE:
            await asyncio.Event().wait()
        return _cut(request) if fault and fault.after is After.CUT else answer

    async def _meet(self, fault: Fault, request: web.Request) -> None:
        await asyncio.sleep(fault.delay_s)
        if fault.reset:
            raise ConnectionAbortedError
        if fault.status:
            raise ApiError(fault.status, fault.description, **fault.parameters)

    async def _carry_out(self, request: web.Request, name: str, params: Params) -> Any:
        if request.match_info["token"] != self.token:
            raise ApiError(401, "Unauthorized")
        method = METHODS.get(name.lower())
        if method is None or (name == "sendMessageDraft" and not self.drafts):
            if method is None:
                self.mistakes.append(f"unknown method {name}")
            raise ApiError(404, "Not Found")
        result = method(self, params)
        if inspect.isawaitable(result):
            result = await result
        if unread := params.unread():
            self.mistakes.append(f"{name} does not know {sorted(unread)}")
        return result

    async def _download(self, request: web.Request) -> web.StreamResponse:
        if request.match_info["token"] != self.token:
            return web.json_response(ApiError(401, "Unauthorized").body(), status=401)
        for file_id, (path, data) in self.files.items():
            if path == request.match_info["path"]:
                return await self._endless(request) if file_id in self.endless_files else web.Response(body=data)
        return web.json_response(ApiError(404, "Not Found").body(), status=404)

    async def _endless(self, request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse()
        await answer.prepare(request)
        while True:
            await answer.write(ENDLESS_CHUNK)


def _cut(request: web.Request) -> web.Response:
    if request.transport:
        request.transport.abort()
    return web.Response(status=500)
