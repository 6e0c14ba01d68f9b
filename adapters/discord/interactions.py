"""Slash commands, completion and buttons: acknowledged at once, then handed on as inbounds.

Discord gives an interaction three seconds, so nothing is awaited before its acknowledgement (D10).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import aiohttp
import discord
import structlog
from discord.app_commands import Choice

from adapters.discord.commands import CHOICE_LENGTH, CHOICES, read_call
from adapters.discord.files import Files
from adapters.discord.inbound import author_of, channel_ref
from adapters.discord.outbound import InteractionHandle
from adapters.discord.parts import BUTTON_PREFIX
from bot.chat import Author, ChannelRef, CommandCall, CommandMenu, Inbound, InboundKind, ValueQuery

log = structlog.get_logger(__name__)

COMPLETE_SECONDS = 2.5
"""How long finding completions may take; the rest of Discord's three seconds is for the way."""

Submit = Callable[[int, Inbound], None]
"""`submit(channel_id, inbound)`: hand on in the order of the channel, without waiting."""


class Interactions:
    """Takes interactions one by one. Buttons need no registry: each carries its command."""

    def __init__(self, menu: CommandMenu, files: Files, submit: Submit) -> None:
        self._menu = menu
        self._files = files
        self._submit = submit
        self._ephemeral = {spec.path: spec.ephemeral for spec in menu.specs}

    async def take(self, interaction: discord.Interaction) -> None:
        """Acknowledge an interaction and hand it on."""
        channel = channel_ref(interaction.channel)
        if channel is None:
            return
        match interaction.type:
            case discord.InteractionType.application_command:
                await self._run(interaction, channel)
            case discord.InteractionType.autocomplete:
                await self._complete(interaction, channel)
            case discord.InteractionType.component:
                await self._press(interaction, channel)

    async def _run(self, interaction: discord.Interaction, channel: ChannelRef) -> None:
        call = read_call(_data(interaction))
        ephemeral = self._ephemeral.get(call.path, True)
        if await _deferred(interaction, ephemeral=ephemeral, thinking=True):
            command = CommandCall(path=call.path, options=call.options)
            inbound = _inbound(interaction, channel, InboundKind.COMMAND, call.text, ephemeral=ephemeral)
            files = tuple(map(self._files.offer_uploaded, call.files))
            self._hand_on(interaction, replace(inbound, command=command, attachments=files))

    async def _press(self, interaction: discord.Interaction, channel: ChannelRef) -> None:
        custom_id = str(_data(interaction).get("custom_id", ""))
        if custom_id.startswith(BUTTON_PREFIX) and await _deferred(interaction):
            ephemeral = interaction.message is not None and interaction.message.flags.ephemeral
            command = custom_id.removeprefix(BUTTON_PREFIX)
            self._hand_on(interaction, _inbound(interaction, channel, InboundKind.BUTTON, command, ephemeral=ephemeral))

    async def _complete(self, interaction: discord.Interaction, channel: ChannelRef) -> None:
        call = read_call(_data(interaction))
        query = ValueQuery(
            channel=channel,
            author=_author(interaction),
            path=call.path,
            option=call.typing,
            typed=call.options.get(call.typing, ""),
            given={name: value for name, value in call.options.items() if name != call.typing},
        )
        try:
            async with asyncio.timeout(COMPLETE_SECONDS):
                found = await self._menu.complete(query)
        except TimeoutError:
            found = ()
        # A longer value cannot be offered at all: cut short, it would name nothing.
        fitting = [value for value in found if 0 < len(value) <= CHOICE_LENGTH][:CHOICES]
        try:
            await interaction.response.autocomplete([Choice(name=value, value=value) for value in fitting])
        except (discord.HTTPException, aiohttp.ClientError, OSError) as error:
            log.debug("discord.completion_failed", error=repr(error))

    def _hand_on(self, interaction: discord.Interaction, inbound: Inbound) -> None:
        self._submit(interaction.channel_id or 0, inbound)


def _inbound(
    interaction: discord.Interaction, channel: ChannelRef, kind: InboundKind, text: str, *, ephemeral: bool
) -> Inbound:
    return Inbound(
        kind=kind,
        channel=channel,
        message_id=str(interaction.id),
        author=_author(interaction),
        sent_at=interaction.created_at,
        text=text,
        reply_handle=InteractionHandle(interaction, ephemeral=ephemeral),
    )


async def _deferred(interaction: discord.Interaction, *, ephemeral: bool = False, thinking: bool = False) -> bool:
    """Acknowledge; `False` if Discord did not take it (too late: 10062), which leaves nothing to answer."""
    try:
        await interaction.response.defer(ephemeral=ephemeral, thinking=thinking)
    except discord.HTTPException as error:
        log.warning("discord.defer_refused", status=error.status, code=error.code)
        return False
    except (aiohttp.ClientError, OSError) as error:
        log.warning("discord.defer_failed", error=type(error).__name__)
        return False
    return True


def _data(interaction: discord.Interaction) -> dict[str, Any]:
    return cast(dict[str, Any], interaction.data or {})


def _author(interaction: discord.Interaction) -> Author:
    return author_of(interaction.user, locale=str(interaction.locale))
