"""Discord behind `bot.chat.Adapter`: this file joins the parts, each of which knows one thing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

import structlog

from adapters.discord.commands import command_payload, register
from adapters.discord.connection import Connection, point_library_at
from adapters.discord.doctor import examine
from adapters.discord.faults import Denied, Gone, faults_told
from adapters.discord.files import Files
from adapters.discord.hearing import Hearing
from adapters.discord.inbound import PLATFORM
from adapters.discord.lanes import Spawn
from adapters.discord.options import DiscordOptions
from adapters.discord.outbound import DiscordReply, DiscordTransport, InteractionHandle, spot_id
from adapters.discord.personas import Face, Faces
from adapters.discord.refusals import Refusals
from adapters.discord.rights import Rights
from adapters.pacing import Refused, Unreachable, Wait
from bot.chat import (
    MOST_PARTS,
    ChannelRef,
    CommandMenu,
    Deliver,
    Finding,
    ReplyOptions,
    ReplyStream,
    WantsFiles,
    wants_files_for_us,
)

log = structlog.get_logger(__name__)


class DiscordAdapter:
    """One bot account. `spawn` starts its background tasks; `menu` becomes Discord's command menu; files are fetched
    of messages that `wants_files`.
    """

    def __init__(
        self,
        *,
        token: str,
        menu: CommandMenu,
        spawn: Spawn,
        wants_files: WantsFiles = wants_files_for_us,
        api_base: str | None = None,
        gateway_url: str | None = None,
        options: DiscordOptions | None = None,
    ) -> None:
        self._token = token
        self._spawn = spawn
        self._addresses = api_base, gateway_url
        self._options = options or DiscordOptions()
        self._commands = command_payload(menu)
        self._files = Files(self._options)
        self._rights = Rights()
        self._refusals = Refusals()
        self._hearing = Hearing(
            client=lambda: self._connection.client,
            menu=menu,
            files=self._files,
            wants_files=wants_files,
            rights=self._rights,
            spawn=spawn,
        )
        self._connection = Connection(
            token, self._hearing, spawn=spawn, options=self._options, on_login=self._register_commands
        )
        self._faces = Faces(self._connection.logged_in, menu.translate)

    @property
    def platform(self) -> str:
        """The word that starts every key."""
        return PLATFORM

    async def run(self, deliver: Deliver) -> None:
        """Connect and hand every inbound to `deliver` until `close`. Reconnects by itself.

        Raises:
            AdapterError: Discord refuses us for good.
        """
        point_library_at(*self._addresses)
        self._hearing.begin(deliver)
        await self._connection.run()

    async def ready(self) -> None:
        """Wait for the first login."""
        await self._connection.until_login()

    async def stop_listening(self) -> None:
        """Take nothing more, and wait shortly until what was taken is delivered; replies can still be finished."""
        await self._hearing.stop()

    async def close(self) -> None:
        """Disconnect and release everything; safe at any moment, also before `run` (S18)."""
        await self._connection.close()
        await self._files.close()

    async def open_reply(self, channel: ChannelRef, **options: Unpack[ReplyOptions]) -> ReplyStream:
        """Begin an answer: shows the typing sign, sends nothing yet. A speaker has its own face in a server, if that
        is wanted, but in the answer to a command its name alone, and in a private chat none.
        """
        speaker, handle = options.get("speaker"), options.get("handle")
        wears_face = speaker is not None and speaker.has_own_face and self._options.faces and not channel.is_dm
        face = Face(self._faces, channel, speaker) if speaker and wears_face else None
        transport = DiscordTransport(
            self._connection.logged_in,
            channel,
            reply_to=options.get("reply_to"),
            handle=handle if isinstance(handle, InteractionHandle) else None,
            max_parts=options.get("max_parts", MOST_PARTS),
            refusals=self._refusals,
            face=face,
        )
        return DiscordReply(
            transport,
            spawn=self._spawn,
            before_send=options.get("before_send"),
            part_shown=options.get("part_shown"),
        )

    async def delete(self, channel: ChannelRef, message_ids: Sequence[str]) -> None:
        """Delete messages of ours; those already gone, or out of reach, are fine."""
        for message_id in message_ids:
            try:
                await self._delete(channel, int(message_id))
            except Gone:
                pass
            except (Wait, Refused, Unreachable) as fault:
                log.warning("discord.delete_failed", channel=channel.session_key, error=repr(fault))

    async def _delete(self, channel: ChannelRef, message_id: int) -> None:
        """A message with a face is the webhook's, and ours to delete only by it, or by the right to delete any."""
        spot = (await self._connection.logged_in()).get_partial_messageable(spot_id(channel))
        try:
            async with faults_told(repeatable=True):
                await spot.get_partial_message(message_id).delete()
        except Denied:
            if channel.is_dm:
                raise
            await self._faces.delete(channel, message_id)

    async def may_manage(self, channel: ChannelRef, user_id: str, *, whole_place: bool = False) -> bool:
        """Whether this user may manage the channel, or all channels of the guild; in a DM everybody may."""
        if channel.is_dm:
            return True
        try:
            client = await self._connection.logged_in()
        except (Refused, Unreachable):
            return False
        return await self._rights.may_manage(client, channel, int(user_id), whole_place=whole_place)

    async def hears_everything(self, channel: ChannelRef) -> bool:
        """Whether messages come with their text where they do not mention us (D11)."""
        return self._connection.client.intents.message_content

    def link(self, channel: ChannelRef, message_id: str) -> str | None:
        """The address that "Copy Message Link" gives."""
        place = "@me" if channel.is_dm else channel.place
        return f"https://discord.com/channels/{place}/{spot_id(channel)}/{message_id}" if message_id.isdigit() else None

    async def check(self, *, is_served: bool = False) -> Sequence[Finding]:
        """Look at login, intents and gateway by real calls, whether or not `run` is under way."""
        point_library_at(*self._addresses)
        return await examine(self._token)

    def _register_commands(self) -> None:
        """After the one login of this process, so that commands are never registered twice (D15)."""
        self._spawn("discord.commands", register(self._connection.client, self._commands, self._options))
