"""The one way out: every message, edit and follow-up goes through here.

Knows no pacing, which `adapters.pacing` decides, and no mentions: `NO_PINGS` of the client forbids all of them.
"""

from __future__ import annotations

import contextlib
import re
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

import aiohttp
import discord
import structlog

from adapters.discord.connection import LoggedIn
from adapters.discord.faults import BadReference, Expired, Gone, faults_told, was_repeated
from adapters.discord.lanes import Spawn
from adapters.discord.parts import Part, edited, posted
from adapters.discord.personas import Face, FacedMessage
from adapters.discord.refusals import Refusals
from adapters.markup import to_discord
from adapters.pacing import PacedReply, Refused, Uncertain, Unreachable, Wait
from adapters.split import split, utf16_length
from bot.chat import BeforeSend, ChannelRef, Outbound, OutFile, PartShown, SentPart

log = structlog.get_logger(__name__)

MESSAGE_LENGTH = 2_000
"""Characters that Discord takes in one message. It does not document how it counts those outside the basic plane, so we
count UTF-16 units, which are never fewer (D03)."""

MENTION_LENGTH = len("<@> ") + 20
"""What calling somebody takes of a message at most: an id has up to 20 digits."""

BLANK = "…"
"""Stands for an instant where everybody sees it, as Discord takes no empty message."""

THINKING = (discord.InteractionType.application_command, discord.InteractionType.modal_submit)
"""Interactions whose deferral shows us as thinking; that of a pressed button leaves its message as it is."""

BLOCK = re.compile(r"```|#{1,3} |-# |[-*>] |\d+\. ")
"""What Discord reads as a block only at the start of a line, where a name cannot stand before it."""


@dataclass(frozen=True, slots=True)
class InteractionHandle:
    """What `open_reply` needs in order to answer a command or a pressed button."""

    interaction: discord.Interaction
    ephemeral: bool


class DiscordTransport:
    """One reply's way to one channel, or through the interaction that asked for it while that can be answered.

    A message to the channel wears the `face` where one can be had; the first one without it names its persona instead.
    """

    drafts = False

    def __init__(
        self,
        logged_in: LoggedIn,
        channel: ChannelRef,
        *,
        reply_to: str | None,
        handle: InteractionHandle | None,
        max_parts: int,
        refusals: Refusals,
        face: Face | None = None,
    ) -> None:
        self._logged_in, self._refusals = logged_in, refusals
        self._channel_id = spot_id(channel)
        self._reply_to = int(reply_to) if reply_to else None
        self._handle = handle
        self._max_parts = max_parts
        self._deferral_is_open = handle is not None
        self._face = face
        self._named_ordinal: int | None = None  # of the part that names the persona

    def render(self, outbound: Outbound, *, final: bool) -> list[Part]:
        """The messages for a text; what goes beyond the allowed number is in the file under the last one. Speech is a
        message of its own, which people play where they read.
        """
        if outbound.voice:
            return [Part(text="", file=outbound.voice)]
        room = MESSAGE_LENGTH - (utf16_length(self._face.label) + 1 if self._face else 0)
        room -= MENTION_LENGTH if outbound.mention else 0
        texts = [text for text in split(to_discord(outbound.text), room, length=utf16_length) if text.strip()]
        parts = [Part(text=text, private=outbound.private) for text in texts]
        if parts and outbound.mention:
            user_id = int(outbound.mention.user_key.removeprefix("discord:"))
            parts[0] = replace(parts[0], text=f"<@{user_id}> {parts[0].text}", mention=user_id)
        if parts and final:
            parts[-1] = _with_picture(replace(parts[-1], buttons=outbound.buttons), outbound.picture)
            if outbound.file:
                parts[-1] = self._with_file(parts[-1], outbound.file)
        if final and len(parts) > self._max_parts:
            instead = tuple(parts[self._max_parts - 1 :])
            last = replace(
                instead[0], buttons=outbound.buttons, whole=outbound.text, file=outbound.file, instead=instead
            )
            return [*parts[: self._max_parts - 1], last]
        return parts[: self._max_parts]

    def _with_file(self, part: Part, file: OutFile) -> Part:
        """A message with a file; without the right to attach one, its text goes in messages of their own (T15)."""
        texts = split(file.text, MESSAGE_LENGTH, length=utf16_length)
        shown = (Part(text=text, private=part.private) for text in texts if text.strip())
        return replace(part, file=file, instead=(part, *shown))

    async def send(self, part: Part, ordinal: int) -> str:
        """Send a message, or complete the deferred answer with it."""
        try:
            message_id = await self._send(part, ordinal)
        except Refused as refusal:
            self._refusals.tell(self._channel_id, refusal)
            if part.instead:
                raise Refused(str(refusal), instead=part.instead) from refusal.__cause__
            raise
        self._refusals.heal(self._channel_id)
        return message_id

    async def edit(self, message_id: str, part: Part, ordinal: int) -> None:
        """Make a message of this reply show `part`."""
        fields = edited(part if self._faced(message_id) else self._named(part, ordinal))
        await self._on_message(message_id, lambda message: message.edit(**fields))

    async def draft(self, part: Part) -> None:
        """Never asked for: Discord shows intermediate text by edits."""

    async def delete(self, message_id: str) -> None:
        """Remove a message of this reply; one that is gone is fine."""
        with contextlib.suppress(Gone):
            await self._on_message(message_id, lambda message: message.delete())

    async def withdraw(self) -> None:
        """Take back a deferral that nothing will complete, or we would be shown as thinking for 15 minutes. That of a
        pressed button shows nothing; what can be deleted there is the message with the button.
        """
        interaction = self._open_interaction() if self._deferral_is_open else None
        if interaction and interaction.type in THINKING:
            self._deferral_is_open = False
            with contextlib.suppress(Wait, Refused, Unreachable):
                async with faults_told(repeatable=True):
                    await interaction.delete_original_response()

    async def tell_hint(self) -> None:
        """Tell the admins what keeps the persona from its face here, if nobody has (D32)."""
        if self._face and (hint := self._face.hint):
            with contextlib.suppress(Wait, Refused, Unreachable, Uncertain):
                await self._send_to_channel(Part(text=f"-# {hint}"), None)

    async def typing(self) -> None:
        """Show the typing sign; a deferred answer has one of its own."""
        if self._handle is None:
            channel = (await self._logged_in()).get_partial_messageable(self._channel_id)
            async with faults_told(repeatable=True):
                await channel.typing()

    async def _send(self, part: Part, ordinal: int) -> str:
        if interaction := self._open_interaction():
            with contextlib.suppress(Expired):
                return await self._send_by_interaction(interaction, self._named(part, ordinal))
        elif self._face and (message_id := await self._face.send(lambda: posted(part))):
            return message_id
        return await self._send_to_channel(self._named(part, ordinal), self._reply_to if ordinal == 0 else None)

    def _named(self, part: Part, ordinal: int) -> Part:
        """A part without a face, with the persona's name before it if it is the first such part (D32)."""
        if self._face is None or self._named_ordinal not in (None, ordinal):
            return part
        self._named_ordinal = ordinal
        separator = "\n" if BLOCK.match(part.text) else " "
        return replace(part, text=f"{self._face.label}{separator}{part.text}")

    def _faced(self, message_id: str) -> FacedMessage | None:
        return self._face.message(message_id) if self._face else None

    def _open_interaction(self) -> discord.Interaction | None:
        """The interaction while it can be answered."""
        if self._handle and self._handle.interaction.is_expired():
            self._give_up_interaction()
        return self._handle.interaction if self._handle else None

    def _give_up_interaction(self) -> None:
        """Go on in the channel; but what only one person was to see is never sent there."""
        if self._handle and self._handle.ephemeral:
            raise Refused("the interaction has expired, and its answer is not for everybody")
        self._handle = None

    async def _send_by_interaction(self, interaction: discord.Interaction, part: Part) -> str:
        is_command = interaction.type in THINKING
        ephemeral = self._handle is not None and self._handle.ephemeral
        try:
            if part.private and not (is_command and ephemeral):
                return await self._send_privately(interaction, part, withdraws=is_command and self._deferral_is_open)
            if self._deferral_is_open:
                async with faults_told(repeatable=True):
                    message: discord.Message = await interaction.edit_original_response(**edited(part))
                self._deferral_is_open = False
            else:
                async with faults_told(repeatable=False):
                    message = await interaction.followup.send(**posted(part), wait=True, ephemeral=ephemeral)
        except Expired:
            self._give_up_interaction()
            raise
        return str(message.id)

    async def _send_privately(self, interaction: discord.Interaction, part: Part, *, withdraws: bool) -> str:
        """Send to the caller alone; the message under a pressed button stays as it is. What comes first after a public
        deferral is public whatever its flags say, so to withdraw that, something blank takes the place and goes.
        """
        if withdraws:
            async with faults_told(repeatable=True):
                await interaction.edit_original_response(content=BLANK)
        self._deferral_is_open = False
        self._handle = InteractionHandle(interaction, ephemeral=True)
        try:
            async with faults_told(repeatable=False):
                message = await interaction.followup.send(**posted(part), wait=True, ephemeral=True)
        finally:
            if withdraws:
                with contextlib.suppress(discord.DiscordException, aiohttp.ClientError, OSError):
                    await interaction.delete_original_response()
        return str(message.id)

    async def _send_to_channel(self, part: Part, reply_to: int | None) -> str:
        """Send with a nonce that Discord enforces, so that a repeated request cannot make a second message."""
        nonce = secrets.randbits(63)
        try:
            return await self._post(part, reply_to, nonce)
        except Uncertain as lost:
            if was_repeated(lost.__cause__):
                raise
            log.info("discord.send_repeated", channel=self._channel_id, error=repr(lost.__cause__))
        try:
            return await self._post(part, reply_to, nonce)
        except Unreachable as error:
            raise Uncertain from error

    async def _post(self, part: Part, reply_to: int | None, nonce: int) -> str:
        channel = (await self._logged_in()).get_partial_messageable(self._channel_id)
        if reply_to is not None:
            # Without `fail_if_not_exists` a deleted message is no fault; other refusals come once (D05, D06).
            reference = discord.MessageReference(
                message_id=reply_to, channel_id=self._channel_id, fail_if_not_exists=False
            )
            with contextlib.suppress(BadReference):
                async with faults_told(repeatable=False):
                    return str((await channel.send(**posted(part), reference=reference, nonce=nonce)).id)
        async with faults_told(repeatable=False):
            return str((await channel.send(**posted(part), nonce=nonce)).id)

    async def _on_message(self, message_id: str, action: Callable[[_Message], Awaitable[object]]) -> None:
        """Do something to a message of ours: through its face, or the interaction while that works."""
        if faced := self._faced(message_id):
            async with faults_told(repeatable=True):
                await action(faced)
            return
        if interaction := self._open_interaction():
            try:
                async with faults_told(repeatable=True):
                    await action(_InteractionMessage(interaction, int(message_id)))
                return
            except Expired:
                self._give_up_interaction()
        channel = (await self._logged_in()).get_partial_messageable(self._channel_id)
        async with faults_told(repeatable=True):
            await action(channel.get_partial_message(int(message_id)))


def _with_picture(part: Part, picture: bytes) -> Part:
    """A message with a picture; without the right to attach one, the message alone."""
    return replace(part, picture=picture, instead=(part,)) if picture else part


def spot_id(channel: ChannelRef) -> int:
    """The channel, thread or private chat that a reference means, by Discord's id."""
    return int(channel.thread or channel.channel or channel.place)


class DiscordReply(PacedReply[Part]):
    """A paced reply that leaves no deferral open."""

    def __init__(
        self,
        transport: DiscordTransport,
        *,
        spawn: Spawn,
        before_send: BeforeSend | None,
        part_shown: PartShown | None,
    ) -> None:
        super().__init__(transport, spawn=spawn, before_send=before_send, part_shown=part_shown)
        self._withdraw, self._tell_hint = transport.withdraw, transport.tell_hint

    async def finish(self, outbound: Outbound) -> tuple[SentPart, ...]:
        """Show the whole text, and what its persona lacks here."""
        parts = await super().finish(outbound)
        await self._tell_hint()
        return parts

    async def discard(self) -> bool:
        """Stop at once, and take back the deferral."""
        may_be_seen = await super().discard()
        await self._withdraw()
        return may_be_seen


class _InteractionMessage:
    """A message that is reached by the interaction's token, as an ephemeral one must be."""

    def __init__(self, interaction: discord.Interaction, message_id: int) -> None:
        self._webhook = interaction.followup
        self._id = message_id

    async def edit(self, **fields: Any) -> None:
        await self._webhook.edit_message(self._id, **fields)

    async def delete(self) -> None:
        await self._webhook.delete_message(self._id)


_Message = discord.PartialMessage | _InteractionMessage | FacedMessage
