"""The REST server: authorisation, faults, rate limits, and what simcord's routes leave out. Knows no gateway."""

from __future__ import annotations

import asyncio
import io
import json
from dataclasses import dataclass
from typing import Any

import discord
from aiohttp import BodyPartReader, web
from simcord.backend.errors import BackendError, invalid_form_body
from simcord.http import router, routes  # noqa: F401 - importing the routes registers them

from tests.emulators.discord.emojis import ROUTE
from tests.emulators.discord.faults import Fault, RouteRules
from tests.emulators.discord.journal import Journal, Request
from tests.emulators.discord.naming import demand_names
from tests.emulators.discord.world import World

NOT_SYSTEM = (0, 19, 20, 23)
"""Message types that can be replied to: plain, reply, slash command, context menu command."""


@dataclass
class _Upload:
    filename: str
    fp: io.BytesIO
    description: str | None


@dataclass
class _Call:
    method: str
    path: str
    query: dict[str, str]
    body: Any
    uploads: list[_Upload]
    authorization: str
    reason: str | None

    @property
    def needs_token(self) -> bool:
        parts = self.path.strip("/").split("/")
        return not (parts[0] == "interactions" or (parts[0] == "webhooks" and len(parts) > 2))

    @property
    def creates_message(self) -> bool:
        parts = self.path.strip("/").split("/")
        return self.method == "POST" and len(parts) == 3 and parts[0] == "channels" and parts[2] == "messages"


class Rest:
    """Answers `/api/v10/...` from simcord's backend."""

    def __init__(self, world: World, rules: RouteRules, *, approved: discord.Intents) -> None:
        self.arrived: Journal[tuple[str, str]] = Journal()
        """Method and path of every request, answered or not."""
        self.requests: Journal[Request] = Journal()
        self.application: dict[str, Any] = {"flags": _application_flags(approved)}
        """What the portal says of the application, beyond simcord's facts."""
        self.gateway_url = ""
        self.nonce: str | None = None
        """Of the message that is being created right now; the gateway's event carries it."""
        self._world = world
        self._rules = rules
        self._answers_by_nonce: dict[str, dict[str, Any]] = {}

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """One request of the bot."""
        arrived = asyncio.get_running_loop().time()
        call = await _read_call(request)
        self.arrived.add((call.method, call.path))
        fault = self._rules.take_fault(call.method, call.path)
        response = await self._fail(call, fault) if fault else self._answer(call)
        files = tuple((upload.filename, upload.fp.getvalue()) for upload in call.uploads)
        status = response.status if response else 0
        self.requests.add(Request(call.method, call.path, call.body, files, status, arrived))
        if response is None:
            assert request.transport
            request.transport.abort()
            return web.Response()
        return response

    async def _fail(self, call: _Call, fault: Fault) -> web.Response | None:
        await asyncio.sleep(fault.delay)
        if fault.until:
            await fault.until.wait()
        if fault.carried_out:
            self._answer(call)
        if fault.drop:
            return None
        if fault.status < 400:
            return self._answer(call)
        headers = {"Via": "1.1 emulator"} | fault.headers
        body = fault.body or {"message": "injected fault", "code": 0, "retry_after": 0.1, "global": False}
        return _json(body, status=fault.status, headers=headers)

    def _answer(self, call: _Call) -> web.Response:
        headers = {"Via": "1.1 emulator"}
        if call.needs_token and call.authorization != f"Bot {self._world.token}":
            return _json({"message": "401: Unauthorized", "code": 0}, status=401, headers=headers)
        if rate := self._rules.count(call.method, call.path):
            headers |= rate.headers
            if rate.retry_after is not None:
                body = {"message": "You are being rate limited.", "retry_after": rate.retry_after, "global": False}
                return _json(body, status=429, headers=headers)
        try:
            data = self._carry_out(call)
        except BackendError as error:
            return _json(error.to_json(), status=error.status, headers=headers)
        if data is None or not _wants_body(call):
            return web.Response(status=204, headers=headers)
        return _json(data, headers=headers)

    def _carry_out(self, call: _Call) -> Any:
        if call.path in ("/gateway", "/gateway/bot"):
            limit = {"total": 1000, "remaining": 1000, "reset_after": 0, "max_concurrency": 1}
            return {"url": self.gateway_url, "shards": 1, "session_start_limit": limit}
        if call.method == "PUT" and call.path.endswith("/commands"):
            demand_names(call.body)
        if ROUTE.fullmatch(call.path):
            return self._world.emojis.answer(call.method, call.path, call.body)
        if not call.creates_message:
            data = self._dispatch(call)
            if call.path == "/oauth2/applications/@me":
                data |= self.application
            if call.path == "/users/@me/guilds":
                backend = self._world.backend
                for guild in data:
                    granted = backend.compute_permissions(int(guild["id"]), backend.bot_user.id)
                    guild["permissions"] = str(granted)
            return data
        return self._create_message(call)

    def _create_message(self, call: _Call) -> Any:
        nonce = call.body.get("nonce")
        if nonce and call.body.get("enforce_nonce") and nonce in self._answers_by_nonce:
            return self._answers_by_nonce[nonce]
        self._check_reference(call)
        self.nonce = nonce
        try:
            data = self._dispatch(call)
        finally:
            self.nonce = None
        data["nonce"] = nonce
        if nonce:
            self._answers_by_nonce[nonce] = data
        return data

    def _check_reference(self, call: _Call) -> None:
        """simcord accepts replies to anything; Discord refuses what is gone and what is a system message."""
        reference = call.body.get("message_reference")
        if not reference or reference.get("type", 0) != 0:
            return
        channel_id = int(call.path.split("/")[2])
        target = self._world.backend.messages[channel_id].get(int(reference["message_id"]))
        if target is None and reference.get("fail_if_not_exists", True):
            raise _bad_reference("MESSAGE_REFERENCE_UNKNOWN_MESSAGE", "Unknown message")
        if target is None:
            del call.body["message_reference"]
        elif target.type not in NOT_SYSTEM:
            raise _bad_reference("REPLIES_CANNOT_REPLY_TO_SYSTEM_MESSAGE", "Cannot reply to a system message")

    def _dispatch(self, call: _Call) -> Any:
        with self._world.webhooks.ruled(call.method, call.path, call.query, call.body):
            data = router.dispatch(
                self._world.backend,
                call.method,
                call.path,
                json=call.body,
                params=call.query,
                files=call.uploads,
                reason=call.reason,
            )
        return self._world.webhooks.with_owner(data)


async def _read_call(request: web.Request) -> _Call:
    body, uploads = await _read_body(request)
    return _Call(
        method=request.method,
        path="/" + request.match_info["tail"].replace("%40", "@"),
        query=dict(request.query),
        body=body,
        uploads=uploads,
        authorization=request.headers.get("Authorization", ""),
        reason=request.headers.get("X-Audit-Log-Reason"),
    )


async def _read_body(request: web.Request) -> tuple[Any, list[_Upload]]:
    if not request.content_type.startswith("multipart/"):
        raw = await request.read()
        return (json.loads(raw) if raw else None), []
    body: dict[str, Any] = {}
    files: list[tuple[str, str, bytes]] = []
    async for part in await request.multipart():
        assert isinstance(part, BodyPartReader)
        data = bytes(await part.read())
        if part.name == "payload_json":
            body = json.loads(data)
        else:
            files.append(((part.name or "").removeprefix("files[").removesuffix("]"), part.filename or "file", data))
    described = {str(item.get("id")): item.get("description") for item in body.get("attachments", [])}
    return body, [_Upload(name, io.BytesIO(data), described.get(index)) for index, name, data in files]


def _wants_body(call: _Call) -> bool:
    if call.path.endswith("/callback"):
        return call.query.get("with_response", "").lower() in ("true", "1")
    is_webhook = call.method == "POST" and call.path.startswith("/webhooks/") and call.path.count("/") == 3
    return not is_webhook or call.query.get("wait", "").lower() in ("true", "1")


def _bad_reference(code: str, message: str) -> BackendError:
    return invalid_form_body(errors={"message_reference": {"_errors": [{"code": code, "message": message}]}})


def _application_flags(approved: discord.Intents) -> int:
    flags = discord.ApplicationFlags()
    flags.gateway_presence_limited = approved.presences
    flags.gateway_guild_members_limited = approved.members
    flags.gateway_message_content_limited = approved.message_content
    return flags.value


def _json(data: Any, *, status: int = 200, headers: dict[str, str]) -> web.Response:
    # discord.py parses a body only when its type is exactly application/json, without a charset.
    response = web.Response(body=json.dumps(data, default=str).encode(), status=status, headers=headers)
    response.headers["Content-Type"] = "application/json"
    return response
