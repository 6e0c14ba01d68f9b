"""Faces: a persona's messages under its own name, by one webhook of ours per channel, found or made when first needed.

A webhook takes a name and the address of a picture for each message. Knows no pacing and no parts.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from weakref import WeakValueDictionary

import discord
import structlog

from adapters.discord.avatars import Avatars
from adapters.discord.connection import LoggedIn
from adapters.discord.faults import NO_ROOM, Denied, Expired, faults_told
from adapters.incoming import inert
from adapters.pacing import Refused
from adapters.split import utf16_length
from bot.chat import ChannelRef, Speaker, Translate

log = structlog.get_logger(__name__)

WEBHOOK_NAME = "Familiar"
"""Of our webhooks, as the channel's settings show it; people read the personas' names."""
NAME_LENGTH = 80
"""Characters that Discord takes as a webhook's name."""
NAMELESS = "Persona"
"""Shown for a persona whose name has nothing that can be shown."""
FORBIDDEN = re.compile("clyde|discord", re.IGNORECASE)
"""Words that Discord allows in no webhook's name (D19)."""
HAIR_SPACE = "\u200a"
"""Between their first letters, where it is hardly seen."""

_Channel = discord.TextChannel | discord.ForumChannel | discord.VoiceChannel | discord.StageChannel
REFUSED_SECONDS = 600.0
"""How long a channel is left alone that allows us no webhook; its settings may change meanwhile."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Refusal:
    code: int
    at: float
    locale: str
    """Of the server whose admins can change it."""


class Faces:
    """Our webhooks by the channel they belong to. What refuses us one is told once to the operator and once in each
    server, by `translate`.
    """

    def __init__(
        self, logged_in: LoggedIn, translate: Translate, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._logged_in, self._translate, self._clock = logged_in, translate, clock
        self.avatars = Avatars(logged_in, clock=clock)
        self._webhooks: dict[int, discord.Webhook] = {}
        self._refusals: dict[int, _Refusal] = {}
        # Two answers at once must not make two webhooks of a channel; a lock is gone with the last one that awaits it.
        self._finding: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()
        self._hinted: set[str] = set()

    async def webhook(self, home: int, *, makes: bool = True) -> discord.Webhook:
        """The webhook of a channel, made where there is none if `makes`.

        Raises:
            Refused: there is and will be none, for the time being.
            Wait, Unreachable: as every request.
        """
        if home in self._webhooks:
            return self._webhooks[home]
        async with self._finding.setdefault(home, asyncio.Lock()):
            if home not in self._webhooks:
                self._webhooks[home] = await self._find_or_make(home, makes=makes)
            return self._webhooks[home]

    async def _find_or_make(self, home: int, *, makes: bool) -> discord.Webhook:
        self._demand_no_refusal(home)
        channel = (await self._logged_in()).get_channel(home)
        if not isinstance(channel, _Channel):
            raise Refused("no channel with webhooks")
        try:
            return await _find(channel) or await _make(channel, makes=makes)
        except Denied as denied:
            self._refuse(channel, denied)
            raise

    def forget(self, home: int, webhook: discord.Webhook) -> None:
        """A webhook is gone, as when somebody has deleted it."""
        if self._webhooks.get(home) == webhook:
            del self._webhooks[home]

    async def delete(self, channel: ChannelRef, message_id: int) -> None:
        """Remove a message that a face of ours has sent; one that is gone is fine."""
        webhook = await self.webhook(_home(channel), makes=False)
        async with faults_told(repeatable=True):
            await webhook.delete_message(message_id, thread=_thread(channel))

    def take_hint(self, channel: ChannelRef) -> str | None:
        """Why there is no face here, once per place: its admins can change that (D32)."""
        refusal = self._refusals.get(_home(channel))
        if refusal is None or channel.place_key in self._hinted:
            return None
        self._hinted.add(channel.place_key)
        return self._translate("faces-no-room" if refusal.code in NO_ROOM else "faces-no-right", refusal.locale)

    def _demand_no_refusal(self, home: int) -> None:
        refusal = self._refusals.get(home)
        if refusal and self._clock() - refusal.at < REFUSED_SECONDS:
            raise Refused(f"no webhook here (code {refusal.code})")

    def _refuse(self, channel: _Channel, denied: Denied) -> None:
        if channel.id not in self._refusals:
            log.warning("discord.no_face", channel=channel.id, reason=str(denied), remedy=denied.remedy)
        locale = str(channel.guild.preferred_locale)
        self._refusals[channel.id] = _Refusal(code=denied.code, at=self._clock(), locale=locale)


class Face:
    """One persona's way to one channel for the time of one reply.

    What it sends is no reply in Discord's sense: a webhook's message can carry no reference to another, so that it
    stands plainly below what it answers (D29).
    """

    def __init__(self, faces: Faces, channel: ChannelRef, speaker: Speaker) -> None:
        self._faces, self._channel, self._speaker = faces, channel, speaker
        self._name = face_name(speaker.name)
        self.label = f"**{discord.utils.escape_markdown(self._name)}**:"
        """Names the persona where its face cannot be worn."""
        self._sent_by: dict[str, discord.Webhook] = {}
        self._is_given_up = False

    @property
    def hint(self) -> str | None:
        """What the admins of this place should hear, if that was not told before."""
        return self._faces.take_hint(self._channel) if self._is_given_up else None

    async def send(self, fields: Callable[[], dict[str, Any]]) -> str | None:
        """Send a new message, whose fields are made for each request; `None` where this face cannot be worn, which
        stays so for the rest of the reply.
        """
        if self._is_given_up:
            return None
        try:
            try:
                return await self._send(fields)
            except Expired:  # the webhook was deleted: a new one, once
                return await self._send(fields)
        except Refused as refusal:
            log.info("discord.face_given_up", channel=self._channel.session_key, reason=str(refusal))
            self._is_given_up = True
            return None

    def message(self, message_id: str) -> FacedMessage | None:
        """A message of this reply that wears the face."""
        webhook = self._sent_by.get(message_id)
        return FacedMessage(webhook, int(message_id), _thread(self._channel)) if webhook else None

    async def _send(self, fields: Callable[[], dict[str, Any]]) -> str:
        home, thread = _home(self._channel), _thread(self._channel)
        webhook = await self._faces.webhook(home)
        avatar = await self._faces.avatars.address(self._speaker) or discord.utils.MISSING
        try:
            async with faults_told(repeatable=False):
                message = await webhook.send(
                    **fields(), username=self._name, avatar_url=avatar, thread=thread, wait=True
                )
        except Expired:
            self._faces.forget(home, webhook)
            raise
        self._sent_by[str(message.id)] = webhook
        return str(message.id)


class FacedMessage:
    """A message that is reached by the webhook that sent it."""

    def __init__(self, webhook: discord.Webhook, message_id: int, thread: discord.Object) -> None:
        self._webhook, self._id, self._thread = webhook, message_id, thread

    async def edit(self, **fields: Any) -> None:
        """Change it."""
        await self._webhook.edit_message(self._id, **fields, thread=self._thread)

    async def delete(self) -> None:
        """Remove it."""
        await self._webhook.delete_message(self._id, thread=self._thread)


def face_name(name: str) -> str:
    """A persona's name as Discord takes it for a message: 1 to 80 characters and no word that it forbids (D19)."""
    shown = FORBIDDEN.sub(lambda word: f"{word[0][0]}{HAIR_SPACE}{word[0][1:]}", inert(name))
    while utf16_length(shown) > NAME_LENGTH:
        shown = shown[:-1].rstrip()
    return shown or NAMELESS


def _home(channel: ChannelRef) -> int:
    """The channel that a webhook belongs to; threads and forum posts have their parent's (D18)."""
    return int(channel.channel)


def _thread(channel: ChannelRef) -> Any:
    return discord.Object(int(channel.thread)) if channel.thread else discord.utils.MISSING


async def _find(channel: _Channel) -> discord.Webhook | None:
    """Ours in a channel; a webhook's token is told to nobody but its owner."""
    async with faults_told(repeatable=True):
        present = await channel.webhooks()
    ours = (hook for hook in present if hook.token and hook.user and hook.user.id == channel.guild.me.id)
    return next(ours, None)


async def _make(channel: _Channel, *, makes: bool) -> discord.Webhook:
    if not makes:
        raise Refused("no webhook of ours here")
    async with faults_told(repeatable=True):  # one that is made without our knowing is found before the next try
        return await channel.create_webhook(name=WEBHOOK_NAME)
