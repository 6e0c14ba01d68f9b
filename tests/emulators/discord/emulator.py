"""One Discord for one test: its servers on loopback ports, its world, and the controls over both."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self

import discord
import discord.asset
import discord.gateway
import discord.http
import simcord.backend.cdn as simcord_cdn
import yarl
from aiohttp import web

from tests.emulators.discord.faults import Fault, RouteRules
from tests.emulators.discord.files import FileServer
from tests.emulators.discord.gateway import Gateway, Op, Session
from tests.emulators.discord.journal import Event, Journal, Request
from tests.emulators.discord.rest import Rest
from tests.emulators.discord.world import World


class DiscordEmulator:
    """Use as `async with DiscordEmulator() as discord:`; `approved` are the intents switched on in the portal.

    `world` builds guilds, channels and people and acts for them (see simcord's `Env`, `GuildHandle`, `MemberActor`).
    Actions return before the bot has reacted: wait on `events`, `requests`, `gateway.frames` or an own condition.
    """

    def __init__(
        self, *, approved: discord.Intents | None = None, heartbeat_ms: int = 41_250, compress: bool = True
    ) -> None:
        approved = approved or discord.Intents.all()
        self.world = World()
        self.events: Journal[Event] = Journal()
        self.rules = RouteRules()
        self.gateway = Gateway(self.world, approved=approved, heartbeat_ms=heartbeat_ms, compress=compress)
        self.rest = Rest(self.world, self.rules, approved=approved)
        self.files = FileServer(self.world)
        self._runner: web.AppRunner | None = None
        self._base = ""
        self._previous_cdn = simcord_cdn.CDN_BASE
        self.world.backend.subscribers.append(self._announce)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self, port: int = 0) -> None:
        """Listen on a loopback port, by default a free one."""
        app = web.Application(client_max_size=64 << 20)
        app.router.add_route("*", "/api/v10/{tail:.*}", self.rest.serve)
        app.router.add_get("/gateway/", self.gateway.serve)
        app.router.add_get("/gateway", self.gateway.serve)
        app.router.add_get("/attachments/{tail:.*}", self.files.serve)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", port).start()
        self._base = f"http://127.0.0.1:{self.port}"
        self.files.base = simcord_cdn.CDN_BASE = self._base
        self.gateway.url = self.rest.gateway_url = self.gateway_url

    async def stop(self) -> None:
        """Hang up and free the port; the world stays, so that `start(port)` may follow."""
        if self._runner:
            await self.gateway.close(1001)
            await self._runner.cleanup()
            self._runner = None
        simcord_cdn.CDN_BASE = self._previous_cdn

    @property
    def port(self) -> int:
        """Where the servers listen."""
        assert self._runner, "the emulator is not started"
        return int(self._runner.addresses[0][1])

    @property
    def rest_base(self) -> str:
        """What a bot uses as API base."""
        return f"{self._base}/api/v10"

    @property
    def gateway_url(self) -> str:
        """What a bot uses as gateway."""
        return f"{self._base.replace('http', 'ws', 1)}/gateway/"

    @property
    def token(self) -> str:
        """The only token that is accepted."""
        return self.world.token

    @property
    def bot_id(self) -> int:
        """The user id behind the token."""
        return self.world.backend.bot_user.id

    def is_bot(self, author_id: int) -> bool:
        """Whether an author is the bot, or a webhook of its own."""
        return author_id == self.bot_id or self.world.webhooks.owns(author_id)

    @property
    def requests(self) -> Journal[Request]:
        """Every REST request of the bot."""
        return self.rest.requests

    @property
    def mention(self) -> str:
        """How people write the bot's mention."""
        return f"<@{self.bot_id}>"

    def fault(self, method: str, path: str, **facts: Any) -> None:
        """Let the next requests to a route fail; see `Fault`."""
        self.rules.add_fault(Fault(method, path, **facts))

    async def connected(self, *, sessions: int = 1, within: float = 10.0) -> Session:
        """Wait until the bot has identified for the n-th time."""
        await self.gateway.started.first(lambda _: len(self.gateway.started) >= sessions, within=within)
        return self.gateway.started.entries[sessions - 1]

    async def bot_message(
        self, matches: Callable[[dict[str, Any]], bool] = lambda _: True, *, after: int = 0, within: float = 10.0
    ) -> dict[str, Any]:
        """Wait for a message that the bot posts or edits, in whichever face, and that matches."""

        def is_ours(event: Event) -> bool:
            return (
                event.name in ("MESSAGE_CREATE", "MESSAGE_UPDATE")
                and self.is_bot(int(event.data["author"]["id"]))
                and matches(event.data)
            )

        return (await self.events.first(is_ours, after=after, within=within)).data

    def cut(self) -> None:
        """Cut every gateway connection without a word."""
        for connection in list(self.gateway.connections):
            connection.cut()

    def ask_to_reconnect(self) -> None:
        """Send op 7."""
        for connection in self.gateway.connections:
            connection.push_op(Op.RECONNECT)

    def inject(self, event: str, payload: Mapping[str, Any]) -> None:
        """Send an event as given, however wrong it is."""
        self.gateway.announce(event, payload)

    def _announce(self, event: str, payload: Mapping[str, Any]) -> None:
        data = self.world.webhooks.with_owner(dict(payload))
        if event == "MESSAGE_CREATE" and self.rest.nonce:
            data["nonce"] = self.rest.nonce
        self.events.add(Event(event, data))
        self.gateway.announce(event, data)


@contextlib.contextmanager
def library_pointed_at(emulator: DiscordEmulator) -> Iterator[None]:
    """Make discord.py in this process talk to the emulator; the addresses are attributes of its classes."""
    rest, gateway, assets = (
        discord.http.Route.BASE,
        discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY,
        discord.asset.Asset.BASE,
    )
    discord.http.Route.BASE = emulator.rest_base
    discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(emulator.gateway_url)
    discord.asset.Asset.BASE = emulator.rest_base.removesuffix("/api/v10")
    try:
        yield
    finally:
        discord.http.Route.BASE = rest
        discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY = gateway
        discord.asset.Asset.BASE = assets
