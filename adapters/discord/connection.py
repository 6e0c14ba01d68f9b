"""The library's client, logged in and kept connected; the one place that decides what ends it for good.

Knows no message: what arrives goes to a `Listener`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import aiohttp
import discord
import discord.gateway
import discord.http
import structlog
import yarl

from adapters.discord.lanes import Spawn
from adapters.discord.limits import limits_told
from adapters.discord.options import DiscordOptions
from adapters.pacing import Refused, Unreachable
from bot.errors import AdapterError
from bot.proxies import proxy_for

log = structlog.get_logger(__name__)

PORTAL = "https://discord.com/developers/applications"
LOGIN_SECONDS = 30.0
"""How long a request of ours waits for the first login."""
LONGEST_PAUSE_SECONDS = 60.0
CLOSE_SECONDS = 5.0
"""How long the gateway may take to say goodbye."""
RATE_LIMIT_SECONDS = 30.0
"""The library waits out shorter rate limits by itself; 30 is the least it allows."""

NO_PINGS = discord.AllowedMentions(everyone=False, users=False, roles=False, replied_user=False)
"""The client adds it to every message and edit, whoever sends it: nothing of ours pings anybody (D04, D28)."""

FATAL_CLOSES = {
    4004: ("the token was refused.", "Make a new one in the developer portal (Bot > Reset Token) as DISCORD__TOKEN."),
    4010: ("the shard was refused.", "Check what DISCORD__GATEWAY_URL points to."),
    4011: ("this bot is in so many servers that Discord demands shards.", "Familiar does not shard yet."),
    4012: ("the gateway speaks another version.", "Check what DISCORD__GATEWAY_URL points to."),
    4013: ("the gateway does not know our intents.", "Check what DISCORD__GATEWAY_URL points to."),
}
"""Close codes after which connecting again is pointless: the problem and its remedy."""
NO_CONTENT = "the Message Content Intent is switched off."
CONTENT_REMEDY = (
    f"Switch it on at {PORTAL} > your application > Bot > Privileged Gateway Intents, and start the bot again. Without "
    "it the bot hears only direct messages and messages that mention it."
)


class _OneLine(logging.Filter):
    """Shortens what the library tells of each failed attempt to connect: a traceback of a hundred lines at level ERROR,
    for something that passes by itself.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Keep the record, without its traceback."""
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, (OSError, aiohttp.ClientError, discord.ConnectionClosed, discord.GatewayNotFound)):
            record.msg, record.args = f"{record.getMessage()} after {error!r}", ()
            record.exc_info, record.levelno, record.levelname = None, logging.WARNING, "WARNING"
        return True


ONE_LINE = _OneLine()
"""One for all connections: a logger takes the same filter once."""


class Listener(Protocol):
    """Takes what the gateway sends. The plain methods must not wait: the order of calls is the order of events."""

    def on_message(self, message: discord.Message) -> None: ...

    def on_edit(self, message: discord.Message) -> None: ...

    def on_delete(self, channel_id: int, guild_id: int | None, message_ids: list[int]) -> None: ...

    async def on_interaction(self, interaction: discord.Interaction) -> None: ...


class _Client(discord.Client):
    """Keeps only what is needed: no messages, no members, no emoji."""

    def __init__(self, listener: Listener) -> None:
        discord.VoiceClient.warn_nacl = discord.VoiceClient.warn_dave = False
        super().__init__(
            intents=discord.Intents(guilds=True, guild_messages=True, dm_messages=True, message_content=True),
            max_messages=None,
            member_cache_flags=discord.MemberCacheFlags.none(),
            chunk_guilds_at_startup=False,
            allowed_mentions=NO_PINGS,
            max_ratelimit_timeout=RATE_LIMIT_SECONDS,
            proxy=proxy_for(discord.http.Route.BASE),
            http_trace=limits_told(),
        )
        self._listener = listener

    def do_without_content(self) -> None:
        """Ask for the privileged intent no longer (D11). A client made anew would have to log in again."""
        self._connection._intents.message_content = False

    async def on_message(self, message: discord.Message) -> None:
        self._listener.on_message(message)

    async def on_raw_message_edit(self, event: discord.RawMessageUpdateEvent) -> None:
        self._listener.on_edit(event.message)

    async def on_raw_message_delete(self, event: discord.RawMessageDeleteEvent) -> None:
        self._listener.on_delete(event.channel_id, event.guild_id, [event.message_id])

    async def on_raw_bulk_message_delete(self, event: discord.RawBulkMessageDeleteEvent) -> None:
        self._listener.on_delete(event.channel_id, event.guild_id, sorted(event.message_ids))

    async def on_interaction(self, interaction: discord.Interaction) -> None:
        await self._listener.on_interaction(interaction)

    async def on_error(self, event: str, /, *_: Any, **__: Any) -> None:
        log.exception("discord.event_failed", kind=event)


LoggedIn = Callable[[], Awaitable[discord.Client]]
"""Waits for the login (`Connection.logged_in`); raises `Unreachable` or `Refused`."""


class Connection:
    """One login and its gateway connection, which is opened again whenever it ends."""

    def __init__(
        self, token: str, listener: Listener, *, spawn: Spawn, options: DiscordOptions, on_login: Callable[[], None]
    ) -> None:
        self._token = token
        self._listener = listener
        self._spawn = spawn
        self._options = options
        self._on_login = on_login
        logging.getLogger("discord.client").addFilter(ONE_LINE)
        self._client: _Client | None = None
        self._logged_in = asyncio.Event()
        self._supervisor: asyncio.Task[AdapterError | None] | None = None
        self._closing = asyncio.Event()

    @property
    def client(self) -> discord.Client:
        """The client that is logged in; for use where an event has come through it."""
        assert self._client is not None
        return self._client

    async def until_login(self) -> None:
        """Wait for the first login, or for our end."""
        await self._logged_in.wait()

    async def logged_in(self) -> discord.Client:
        """The client, as soon as its requests can be made.

        Raises:
            Refused: we have closed.
            Unreachable: there was no login in time.
        """
        if not self._closing.is_set() and not self._logged_in.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._logged_in.wait(), LOGIN_SECONDS)
        if self._closing.is_set():
            raise Refused("the adapter is closed")
        if self._client is None:
            raise Unreachable("not logged in")
        return self._client

    async def run(self) -> None:
        """Stay connected until `close`.

        Raises:
            AdapterError: Discord refuses us for good.
        """
        if self._closing.is_set():
            return
        self._supervisor = self._spawn("discord.connection", self._supervise())
        try:
            if fault := await self._supervisor:
                raise fault
        except asyncio.CancelledError:
            if not self._closing.is_set():
                raise

    async def close(self) -> None:
        """Disconnect; safe at any moment (S18)."""
        self._closing.set()
        self._logged_in.set()
        if self._supervisor:
            self._supervisor.cancel()
            await asyncio.wait([self._supervisor])
        if self._client:
            await _close(self._client)

    async def _supervise(self) -> AdapterError | None:
        """Log in and connect again and again; returns what makes that pointless."""
        loop = asyncio.get_running_loop()
        pause = self._options.reconnect_seconds
        while not self._closing.is_set():
            began = loop.time()
            client = self._client
            try:
                client = client or await self._log_in()
                await client.connect()
            except discord.LoginFailure:
                return _refusal(4004)
            except discord.PrivilegedIntentsRequired:
                if client is None or not client.intents.message_content:
                    return _refusal(4014)
                log.warning("discord.message_content_missing", problem=NO_CONTENT, remedy=CONTENT_REMEDY)
                client.do_without_content()
            except discord.ConnectionClosed as closed:
                return _refusal(closed.code)
            except (discord.DiscordException, aiohttp.ClientError, OSError) as error:
                log.warning("discord.connection_failed", error=repr(error))
            except Exception as error:
                # The task boundary: the library lets any fault while it parses an event end the connection, and a
                # failed first connect surfaces as an AttributeError.
                log.warning("discord.connection_broke", error=repr(error), exc_info=error)
            if loop.time() - began > LONGEST_PAUSE_SECONDS:
                pause = self._options.reconnect_seconds
            await self._hang_up()
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE_SECONDS)
        return None

    async def _log_in(self) -> _Client:
        client = _Client(self._listener)
        try:
            await client.login(self._token)
        except BaseException:
            await _close(client)
            raise
        self._client = client
        self._logged_in.set()
        self._on_login()
        return client

    async def _hang_up(self) -> None:
        """Close the websocket that a fault left open; the HTTP session lives on for replies under way."""
        if self._client and self._client.ws:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._client.ws.close(), CLOSE_SECONDS)


def _refusal(code: int) -> AdapterError:
    unknown = (f"the gateway closed the connection for good with code {code}.", "Look the code up in Discord's docs.")
    return AdapterError("discord", *FATAL_CLOSES.get(code, unknown))


async def _close(client: discord.Client) -> None:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(client.close(), CLOSE_SECONDS)
    await client.http.close()


def point_library_at(api_base: str | None, gateway_url: str | None) -> None:
    """Send the library to a REST proxy or another gateway. It keeps both addresses in its classes, process-wide."""
    if api_base:
        discord.http.Route.BASE = api_base.rstrip("/")
    if gateway_url:
        discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(gateway_url)
