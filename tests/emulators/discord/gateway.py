"""The gateway: websocket connections, sessions that can be resumed, intents. Knows no REST route."""

from __future__ import annotations

import asyncio
import copy
import json
import secrets
import time
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import discord
from aiohttp import WSMsgType, web
from simcord import intents as simcord_intents
from simcord.backend import serializers
from simcord.gateway import FakeWebSocket

from tests.emulators.discord.journal import Frame, Journal
from tests.emulators.discord.world import World

MAX_FRAME_BYTES = 4096
FRAMES_PER_MINUTE = 120
REPLAY_FRAMES = 1000


class Op(IntEnum):
    """Gateway operations that we send or understand."""

    DISPATCH = 0
    HEARTBEAT = 1
    IDENTIFY = 2
    PRESENCE = 3
    VOICE_STATE = 4
    RESUME = 6
    RECONNECT = 7
    REQUEST_MEMBERS = 8
    INVALID_SESSION = 9
    HELLO = 10
    HEARTBEAT_ACK = 11


class CloseCode(IntEnum):
    """Why the gateway hangs up."""

    UNKNOWN_OPCODE = 4001
    DECODE_ERROR = 4002
    NOT_AUTHENTICATED = 4003
    AUTHENTICATION_FAILED = 4004
    ALREADY_AUTHENTICATED = 4005
    RATE_LIMITED = 4008
    INVALID_VERSION = 4012
    INVALID_INTENTS = 4013
    DISALLOWED_INTENTS = 4014


class _HangUp(Exception):
    def __init__(self, code: CloseCode) -> None:
        self.code = code
        super().__init__(code.name)


@dataclass
class Session:
    """What a bot that reconnects may resume: its intents and the frames that it may have missed."""

    id: str
    intents: discord.Intents
    sequence: int = 0
    sent: list[dict[str, Any]] = field(default_factory=list)
    connection: Connection | None = None

    def dispatch(self, event: str, data: Any) -> None:
        """Number a frame, keep it for replay, and send it if the bot is connected."""
        self.sequence += 1
        frame = {"op": Op.DISPATCH, "t": event, "s": self.sequence, "d": data}
        self.sent.append(frame)
        del self.sent[:-REPLAY_FRAMES]
        if self.connection:
            self.connection.push(frame)


class Connection:
    """One websocket of the bot."""

    def __init__(self, socket: web.WebSocketResponse, request: web.Request, compression: str | None) -> None:
        self.socket = socket
        self.session: Session | None = None
        self._request = request
        self._outgoing: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._deflate = zlib.compressobj() if compression == "zlib-stream" else None
        self._frame_times: list[float] = []

    def push(self, frame: dict[str, Any]) -> None:
        """Queue a frame."""
        self._outgoing.put_nowait(frame)

    def push_op(self, op: Op, data: Any = None) -> None:
        """Queue a frame that is not an event."""
        self.push({"op": op, "d": data, "s": None, "t": None})

    def cut(self) -> None:
        """Cut the TCP connection without a close frame."""
        if self._request.transport:
            self._request.transport.abort()

    def parse(self, data: str | bytes) -> Frame:
        """A frame of the bot, within Discord's limits."""
        now = time.monotonic()
        self._frame_times = [at for at in self._frame_times if now - at < 60] + [now]
        if len(self._frame_times) > FRAMES_PER_MINUTE:
            raise _HangUp(CloseCode.RATE_LIMITED)
        if len(data) > MAX_FRAME_BYTES:
            raise _HangUp(CloseCode.DECODE_ERROR)
        try:
            frame = json.loads(data)
        except ValueError:
            raise _HangUp(CloseCode.DECODE_ERROR) from None
        return Frame(frame.get("op"), frame.get("d"))

    async def send_queued(self) -> None:
        """Send frames until cancelled."""
        while True:
            text = json.dumps(await self._outgoing.get(), separators=(",", ":"), default=str)
            if self._deflate:
                packed = self._deflate.compress(text.encode()) + self._deflate.flush(zlib.Z_SYNC_FLUSH)
                await self.socket.send_bytes(packed)
            else:
                await self.socket.send_str(text)


class Gateway:
    """Every session and connection of the bot."""

    def __init__(self, world: World, *, approved: discord.Intents, heartbeat_ms: int, compress: bool) -> None:
        self.approved = approved
        self.url = ""
        self.frames: Journal[Frame] = Journal()
        self.started: Journal[Session] = Journal()
        self.resumed: Journal[Session] = Journal()
        self.connections: list[Connection] = []
        self._world = world
        self._sessions: dict[str, Session] = {}
        self._heartbeat_ms = heartbeat_ms
        self._compress = compress

    def announce(self, event: str, payload: Mapping[str, Any]) -> None:
        """Send an event to every session whose intents cover it."""
        for session in self._sessions.values():
            intent = simcord_intents.required_intent(event, payload)
            if intent is None or getattr(session.intents, intent):
                self._deliver(session, event, payload)

    async def serve(self, request: web.Request) -> web.WebSocketResponse:
        """One connection of the bot, from HELLO to its end."""
        socket = web.WebSocketResponse(max_msg_size=1 << 20, compress=False)
        await socket.prepare(request)
        compression = request.query.get("compress") if self._compress else None
        connection = Connection(socket, request, compression)
        self.connections.append(connection)
        writer = asyncio.create_task(connection.send_queued())
        try:
            if request.query.get("v") != "10" or request.query.get("encoding") != "json":
                raise _HangUp(CloseCode.INVALID_VERSION)
            connection.push_op(Op.HELLO, {"heartbeat_interval": self._heartbeat_ms})
            async for message in socket:
                if message.type not in (WSMsgType.TEXT, WSMsgType.BINARY):
                    break
                frame = connection.parse(message.data)
                self.frames.add(frame)
                await self._obey(connection, frame)
        except _HangUp as reason:
            await socket.close(code=reason.code)
        finally:
            writer.cancel()
            self.connections.remove(connection)
            if connection.session and connection.session.connection is connection:
                connection.session.connection = None
        return socket

    async def close(self, code: int) -> None:
        """Close every connection with this code."""
        for connection in list(self.connections):
            await connection.socket.close(code=code)

    async def _obey(self, connection: Connection, frame: Frame) -> None:
        match frame.op:
            case Op.HEARTBEAT:
                connection.push_op(Op.HEARTBEAT_ACK)
            case Op.IDENTIFY:
                self._identify(connection, frame.data)
            case Op.RESUME:
                self._resume(connection, frame.data)
            case _ if connection.session is None:
                raise _HangUp(CloseCode.NOT_AUTHENTICATED)
            case Op.REQUEST_MEMBERS:
                await self._send_members(connection.session, frame.data)
            case Op.PRESENCE | Op.VOICE_STATE:
                pass
            case _:
                raise _HangUp(CloseCode.UNKNOWN_OPCODE)

    def _identify(self, connection: Connection, data: dict[str, Any]) -> None:
        if connection.session:
            raise _HangUp(CloseCode.ALREADY_AUTHENTICATED)
        self._check_token(data)
        value = data.get("intents")
        if not isinstance(value, int) or not 0 <= value < 1 << 26:
            raise _HangUp(CloseCode.INVALID_INTENTS)
        intents = discord.Intents._from_value(value)
        if simcord_intents.missing_privileged_intents(intents, self.approved):
            raise _HangUp(CloseCode.DISALLOWED_INTENTS)
        session = Session(secrets.token_hex(16), intents, connection=connection)
        connection.session = session
        self._sessions[session.id] = session
        session.dispatch("READY", self._ready(session))
        for guild in self._world.backend.guilds.values():
            self._deliver(session, "GUILD_CREATE", self._world.guild_payload(guild))
        self.started.add(session)

    def _ready(self, session: Session) -> dict[str, Any]:
        backend = self._world.backend
        return {
            "v": 10,
            "user": dict(serializers.user_payload(backend.bot_user)),
            "guilds": [{"id": str(guild_id), "unavailable": True} for guild_id in backend.guilds],
            "session_id": session.id,
            "session_type": "normal",
            "resume_gateway_url": self.url,
            "shard": [0, 1],
            "application": {"id": str(backend.application_id), "flags": 0},
            "private_channels": [],
        }

    def _resume(self, connection: Connection, data: dict[str, Any]) -> None:
        self._check_token(data)
        session, sequence = self._sessions.get(data.get("session_id", "")), data.get("seq")
        if session is None or not isinstance(sequence, int) or not self._can_replay(session, sequence):
            connection.push_op(Op.INVALID_SESSION, False)
            return
        session.connection, connection.session = connection, session
        for frame in session.sent:
            if frame["s"] > sequence:
                connection.push(frame)
        session.dispatch("RESUMED", {})
        self.resumed.add(session)

    @staticmethod
    def _can_replay(session: Session, sequence: int) -> bool:
        return sequence <= session.sequence and session.sent[0]["s"] <= sequence + 1

    def invalidate(self, *, resumable: bool) -> None:
        """Send op 9; unless resumable, the sessions are forgotten."""
        for connection in self.connections:
            connection.push_op(Op.INVALID_SESSION, resumable)
        if not resumable:
            self._sessions.clear()

    def _check_token(self, data: dict[str, Any]) -> None:
        if str(data.get("token", "")).removeprefix("Bot ") != self._world.token:
            raise _HangUp(CloseCode.AUTHENTICATION_FAILED)

    def _deliver(self, session: Session, event: str, payload: Mapping[str, Any]) -> None:
        data = copy.deepcopy(dict(payload))
        backend = self._world.backend
        if event in ("MESSAGE_CREATE", "MESSAGE_UPDATE"):
            self._add_member(data)
            if not session.intents.message_content:
                simcord_intents.censor_message(data, backend.bot_user.id, backend=backend)
        if event == "GUILD_CREATE":
            simcord_intents.prune_guild_create(data, session.intents, backend.bot_user.id)
        session.dispatch(event, data)

    def _add_member(self, data: dict[str, Any]) -> None:
        """simcord sends the author's roles with new messages only, Discord with updates too."""
        guild = self._world.backend.guilds.get(int(data.get("guild_id") or 0))
        if guild is None or "member" in data:
            return
        if member := guild.members.get(int(data["author"]["id"])):
            data["member"] = serializers.member_payload(self._world.backend, guild, member, with_user=False)

    async def _send_members(self, session: Session | None, data: dict[str, Any]) -> None:
        assert session is not None
        asked = _MemberRequest(lambda event, payload: self._deliver(session, event, payload))
        source = FakeWebSocket(self._world.backend, asked)  # type: ignore[arg-type] # only these two are used
        user_ids = data.get("user_ids")
        await source.request_chunks(
            int(data["guild_id"]),
            data.get("query"),
            limit=data.get("limit", 0),
            presences=bool(data.get("presences")),
            user_ids=[int(user) for user in user_ids] if isinstance(user_ids, list) else None,
            nonce=data.get("nonce"),
        )
        if source._chunk_task:
            await asyncio.gather(source._chunk_task, return_exceptions=True)


class _MemberRequest:
    """Stands in for simcord's in-process gateway, so that its chunking of members can be used."""

    _state = None

    def __init__(self, deliver: Any) -> None:
        self.deliver = deliver
