"""Our own Discord adapter on an emulator, in one process, with what it delivers written down."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import discord
from simcord.actors import MemberActor
from simcord.builders import ChannelHandle, GuildHandle, UserHandle
from simcord.results import InteractionResult

from adapters.discord.adapter import DiscordAdapter
from adapters.discord.options import DiscordOptions
from adapters.discord.outbound import DiscordTransport, InteractionHandle
from adapters.discord.personas import Face
from adapters.discord.refusals import Refusals
from bot.chat import (
    Button,
    CommandMenu,
    CommandSpec,
    Inbound,
    InboundKind,
    OptionSpec,
    Outbound,
    PartState,
    SentPart,
    Speaker,
    ValueQuery,
    WantsFiles,
    wants_files_for_us,
)
from bot.tasks import Tasks
from tests.emulators.discord.emulator import DiscordEmulator
from tests.emulators.discord.journal import Journal, Request
from tests.emulators.discord.world import World

SPECS = (
    CommandSpec(path=("status",), ephemeral=True),
    CommandSpec(path=("retry",)),
    CommandSpec(path=("persona", "use"), options=(OptionSpec(name="name", required=True, completes=True),)),
)


async def complete(query: ValueQuery) -> list[str]:
    """Completions that show what was asked; for "slow" they never come."""
    if query.typed == "slow":
        await asyncio.Event().wait()
    return [f"{' '.join(query.path)} {query.option} {query.typed}", "x" * 101, *(f"name {n}" for n in range(40))]


MENU = CommandMenu(specs=SPECS, translate=lambda message_id, _: message_id, locales=("en", "zh"), complete=complete)
OPTIONS = DiscordOptions(reconnect_seconds=0.02)


@dataclass
class Hosted:
    """A running adapter; `answer` is called for each inbound after it was written down."""

    adapter: DiscordAdapter
    tasks: Tasks
    heard: Journal[Inbound] = field(default_factory=Journal)
    answer: Callable[[Inbound], Awaitable[object]] | None = None

    async def deliver(self, inbound: Inbound) -> None:
        """Stands in for the pipeline."""
        self.heard.add(inbound)
        if self.answer:
            await self.answer(inbound)

    async def hears(self, kind: InboundKind = InboundKind.MESSAGE, *, after: int = 0, **facts: Any) -> Inbound:
        """Wait for an inbound of this kind with these attributes."""

        def matches(inbound: Inbound) -> bool:
            return inbound.kind is kind and all(getattr(inbound, name) == value for name, value in facts.items())

        return await self.heard.first(matches, after=after)

    async def reply(
        self,
        inbound: Inbound,
        text: str,
        *,
        reply_to: str | None = None,
        buttons: tuple[tuple[Button, ...], ...] = (),
        max_parts: int = 5,
    ) -> tuple[SentPart, ...]:
        """Answer an inbound in one go: through its interaction if it has one, else as a reply to it."""
        handle = inbound.reply_handle
        reply_to = reply_to or (None if handle else inbound.message_id)
        stream = await self.adapter.open_reply(inbound.channel, reply_to=reply_to, handle=handle, max_parts=max_parts)
        return await stream.finish(Outbound(text=text, buttons=buttons))


def make_adapter(
    emulator: DiscordEmulator,
    tasks: Tasks,
    *,
    options: DiscordOptions = OPTIONS,
    token: str = "",
    wants_files: WantsFiles = wants_files_for_us,
    menu: CommandMenu = MENU,
) -> DiscordAdapter:
    """An adapter pointed at the emulator."""
    return DiscordAdapter(
        token=token or emulator.token,
        menu=menu,
        spawn=tasks.spawn,
        wants_files=wants_files,
        api_base=emulator.rest_base,
        gateway_url=emulator.gateway_url,
        options=options,
    )


@contextlib.asynccontextmanager
async def hosted(
    emulator: DiscordEmulator,
    *,
    options: DiscordOptions = OPTIONS,
    wants_files: WantsFiles = wants_files_for_us,
    menu: CommandMenu = MENU,
) -> AsyncIterator[Hosted]:
    """An adapter that is connected; at the end it is stopped as the product stops it."""
    tasks = Tasks()
    bot = Hosted(make_adapter(emulator, tasks, options=options, wants_files=wants_files, menu=menu), tasks)
    sessions = len(emulator.gateway.started)
    running = asyncio.ensure_future(bot.adapter.run(bot.deliver))
    try:
        await emulator.connected(sessions=sessions + 1)
        yield bot
    finally:
        await bot.adapter.stop_listening()
        await bot.adapter.close()
        await running
        await tasks.close()


@dataclass
class Scene:
    """A connected bot, a guild with a channel, and two people: Alice is in the guild, Bob talks in his DM."""

    emulator: DiscordEmulator
    bot: Hosted
    guild: GuildHandle
    channel: ChannelHandle
    alice: MemberActor
    bob: UserHandle
    result: InteractionResult = field(init=False)
    """Of the latest slash command."""

    @property
    def world(self) -> World:
        """Where more of everything can be made."""
        return self.emulator.world

    @property
    def mention(self) -> str:
        """How people write the bot's mention."""
        return self.emulator.mention

    @property
    def posts(self) -> str:
        """The path of sends to the channel."""
        return f"/channels/{self.channel.id}/messages"

    def transport(self, inbound: Inbound, *, speaker: Speaker | None = None) -> DiscordTransport:
        """The bare way out to where an inbound came from, without pacing."""
        logged_in, handle = self.bot.adapter._connection.logged_in, inbound.reply_handle
        assert isinstance(handle, InteractionHandle | None)
        face = Face(self.bot.adapter._faces, inbound.channel, speaker) if speaker else None
        return DiscordTransport(
            logged_in, inbound.channel, reply_to=None, handle=handle, max_parts=5, refusals=Refusals(), face=face
        )

    def sends(self) -> list[Request]:
        """The bot's sends to the channel."""
        return self.emulator.requests.matching(lambda request: request.is_for("POST", self.posts))

    def posted(self) -> list[str]:
        """What the bot's messages in the channel say now."""
        messages = self.emulator.world.backend.messages[self.channel.id].values()
        return [message.content for message in messages if message.author_id == self.emulator.bot_id]

    async def asked(self) -> Inbound:
        """The bot hears a question."""
        message = await self.alice.send(self.channel, f"{self.emulator.mention} hi")
        return await self.bot.hears(message_id=str(message.id))

    async def registered(self) -> None:
        """The bot's commands can be used."""
        await self.emulator.requests.first(lambda r: r.method == "PUT" and r.path.endswith("/commands"))

    async def commanded(self, name: str, **options: str) -> Inbound:
        """The bot hears a slash command, which it has deferred."""
        await self.registered()
        mark = self.bot.heard.mark()
        self.result = await self.alice.slash(self.channel, name, **options)
        return await self.bot.hears(InboundKind.COMMAND, after=mark)


@contextlib.asynccontextmanager
async def staged(
    *,
    options: DiscordOptions = OPTIONS,
    approved: discord.Intents | None = None,
    wants_files: WantsFiles = wants_files_for_us,
    menu: CommandMenu = MENU,
) -> AsyncIterator[Scene]:
    """A scene that is ready."""
    async with DiscordEmulator(approved=approved) as emulator:
        guild = emulator.world.create_guild("Lab")
        channel = guild.create_text_channel("general")
        alice = guild.add_member(emulator.world.create_user("alice"))
        bob = emulator.world.create_user("bob", global_name="Bob")
        async with hosted(emulator, options=options, wants_files=wants_files, menu=menu) as bot:
            yield Scene(emulator, bot, guild, channel, alice, bob)


def states(parts: tuple[SentPart, ...]) -> list[PartState]:
    """What became of each part."""
    return [part.state for part in parts]
