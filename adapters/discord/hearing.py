"""From the gateway's events to delivered inbounds: in order within a channel, files and quotes fetched on the way.

What an inbound looks like is `adapters.discord.inbound`'s business.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from typing import cast

import aiohttp
import discord
import structlog

from adapters.discord.files import Files
from adapters.discord.inbound import (
    PLATFORM,
    SAID,
    Me,
    channel_ref,
    files_of,
    is_addressed,
    is_blank,
    to_delete,
    to_inbound,
    to_starter,
)
from adapters.discord.interactions import Interactions
from adapters.discord.lanes import Lanes, Spawn
from adapters.discord.rights import Rights
from bot.chat import SLASHES, ChannelRef, CommandMenu, Deliver, Inbound, InboundKind, Visibility, WantsFiles

log = structlog.get_logger(__name__)

DRAIN_SECONDS = 1.5
"""How long what was taken may need to be delivered when we stop."""
KNOWN_THREADS = 1_000
"""For how many threads we keep in mind that their starter was told, the latest; others are asked for again."""
STARTER_SECONDS = 5.0
"""How long the words that are heard in a thread wait for its starter."""


class Hearing:
    """The connection's listener. `client` gives the client that events come from."""

    def __init__(
        self,
        *,
        client: Callable[[], discord.Client],
        menu: CommandMenu,
        files: Files,
        wants_files: WantsFiles,
        rights: Rights,
        spawn: Spawn,
    ) -> None:
        self._client = client
        self._files = files
        self._wants_files = wants_files
        self._rights = rights
        self._lanes = Lanes(spawn)
        self._interactions = Interactions(menu, files, self._hand_on)
        self._deliver: Deliver | None = None
        self._known_threads: OrderedDict[int, None] = OrderedDict()

    def begin(self, deliver: Deliver) -> None:
        """From now on, hand everything to `deliver`."""
        self._deliver = deliver

    async def stop(self) -> None:
        """Take nothing more, give downloads up, and wait until what was taken is delivered, if that is soon."""
        self._deliver = None
        self._files.stop()
        try:
            async with asyncio.timeout(DRAIN_SECONDS):
                await self._lanes.drain()
        except TimeoutError:
            log.warning("discord.stopped_before_all_was_delivered")

    def on_message(self, message: discord.Message) -> None:
        """Somebody wrote something."""
        if (deliver := self._deliver) and self._is_heard(message):
            self._rights.remember(message.author)
            self._lanes.put(message.channel.id, lambda: self._hear(message, deliver))

    def on_edit(self, message: discord.Message) -> None:
        """A message changed. Discord also says so when it adds a preview or a pin, which changes no word."""
        if (deliver := self._deliver) and message.edited_at and self._is_heard(message):
            self._lanes.put(message.channel.id, lambda: self._hear_edit(message, deliver))

    def on_delete(self, channel_id: int, guild_id: int | None, message_ids: list[int]) -> None:
        """Messages were deleted, ours perhaps among them."""
        if deliver := self._deliver:
            self._lanes.put(channel_id, lambda: self._hear_delete(channel_id, guild_id, message_ids, deliver))

    async def on_interaction(self, interaction: discord.Interaction) -> None:
        """Somebody used a command, is typing one, or pressed a button."""
        if self._deliver:
            self._rights.remember(interaction.user)
            await self._interactions.take(interaction)

    def _hand_on(self, channel_id: int, inbound: Inbound) -> None:
        if deliver := self._deliver:
            self._lanes.put(channel_id, lambda: deliver(inbound))

    def _is_heard(self, message: discord.Message) -> bool:
        if self._me.wrote(message) or message.type not in SAID:
            return False
        return not is_blank(message) or is_addressed(message, self._me)

    async def _hear(self, message: discord.Message, deliver: Deliver) -> None:
        await self._find_channel(message)
        await self._hear_starter(message, deliver)
        inbound = to_inbound(message, self._me)
        if inbound and inbound.attachments and await self._wants_files(inbound):
            inbound = replace(inbound, attachments=await self._files.read(files_of(message)))
        elif inbound and inbound.text.startswith(SLASHES):
            inbound = replace(inbound, attachments=self._files.offer(message))
        if inbound:
            await deliver(inbound)

    async def _hear_edit(self, message: discord.Message, deliver: Deliver) -> None:
        await self._find_channel(message)
        if inbound := to_inbound(message, self._me, kind=InboundKind.EDIT):
            await deliver(inbound)
        thread = self._thread_under(message.channel.id, message.id)
        if thread is None or thread.id not in self._known_threads:
            return  # of a thread whose starter was not told, its newest words will be
        if inbound := to_starter(message, thread, self._me, kind=InboundKind.EDIT):
            await deliver(inbound)

    async def _hear_delete(
        self, channel_id: int, guild_id: int | None, message_ids: list[int], deliver: Deliver
    ) -> None:
        channel = channel_ref(self._client().get_channel(channel_id) or await self._fetch_channel(channel_id, guild_id))
        if channel is None and guild_id is None:
            channel = ChannelRef(platform=PLATFORM, place=str(channel_id), visibility=Visibility.DM)
        if channel is not None:
            for message_id in message_ids:
                await deliver(to_delete(channel, message_id))
                thread = channel_ref(self._thread_under(channel_id, message_id))
                if thread is not None:
                    await deliver(to_delete(thread, message_id))

    async def _find_channel(self, message: discord.Message) -> None:
        """The library does not know threads that were archived when it connected; their parent is needed (D17)."""
        if message.guild and isinstance(message.channel, discord.PartialMessageable):
            found = await self._fetch_channel(message.channel.id, message.guild.id)
            message.channel = cast("discord.Thread", found or message.channel)

    async def _fetch_channel(self, channel_id: int, guild_id: int | None) -> object:
        if guild_id is None:
            return None
        try:
            return await self._client().fetch_channel(channel_id)
        except (discord.DiscordException, aiohttp.ClientError, OSError) as error:
            log.warning("discord.channel_unknown", channel=channel_id, error=repr(error))
            return None

    async def _hear_starter(self, message: discord.Message, deliver: Deliver) -> None:
        """Before the first words that we hear in a thread, tell what it was opened about (D16). A post of a forum opens
        with its starter; where it cannot be had now, the next words ask for it again.
        """
        thread = message.channel
        if not isinstance(thread, discord.Thread) or thread.id in self._known_threads:
            return
        if message.id != thread.id:
            try:
                async with asyncio.timeout(STARTER_SECONDS):
                    starter = await self._fetch_starter(thread)
            except (discord.DiscordException, aiohttp.ClientError, OSError) as error:  # late is an OSError, too
                log.warning("discord.starter_not_read", thread=thread.id, error=repr(error))
                return
            if starter and (inbound := to_starter(starter, thread, self._me)):
                await deliver(inbound)
        self._known_threads[thread.id] = None
        if len(self._known_threads) > KNOWN_THREADS:
            self._known_threads.popitem(last=False)

    async def _fetch_starter(self, thread: discord.Thread) -> discord.Message | None:
        """The message of the thread's own id; `None` where there is none, or none for us to read."""
        # A forum post holds its own starter, another thread hangs under a message of its parent.
        home = thread.id if isinstance(thread.parent, discord.ForumChannel) else thread.parent_id
        channel = self._client().get_partial_messageable(home, guild_id=thread.guild.id)
        try:
            return await channel.fetch_message(thread.id)
        except (discord.NotFound, discord.Forbidden) as error:
            log.debug("discord.no_starter", thread=thread.id, error=repr(error))
            return None

    def _thread_under(self, channel_id: int, message_id: int) -> discord.Thread | None:
        """The thread that hangs under a message of another channel."""
        thread = self._client().get_channel(message_id)
        return thread if isinstance(thread, discord.Thread) and channel_id != message_id else None

    @property
    def _me(self) -> Me:
        client = self._client()
        assert client.user is not None, "events come after the login"
        return Me(client.user.id, client.application_id or client.user.id)
