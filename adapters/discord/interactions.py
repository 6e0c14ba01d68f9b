"""Slash commands, completion, buttons and forms: acknowledged at once, then handed on as inbounds.

Discord gives an interaction three seconds, so nothing is awaited before its acknowledgement (D10), but what a form is
to hold: it can only be the first answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, cast

import aiohttp
import discord
import structlog
from discord.app_commands import Choice

from adapters.discord.commands import CHOICE_LENGTH, CHOICES, read_call
from adapters.discord.files import Files
from adapters.discord.forms import filled_in, to_modal
from adapters.discord.inbound import author_of, channel_ref
from adapters.discord.outbound import InteractionHandle
from adapters.discord.parts import BUTTON_PREFIX, FORM_PREFIX
from bot.chat import Author, ChannelRef, CommandCall, CommandMenu, Inbound, InboundKind, ValueQuery

log = structlog.get_logger(__name__)

COMPLETE_SECONDS = 2.5
"""How long finding completions may take; the rest of Discord's three seconds is for the way."""

FORM_SECONDS = 1.5
"""How long making a form may take; what takes longer is run without."""

Submit = Callable[[int, Inbound], None]
"""`submit(channel_id, inbound)`: hand on in the order of the channel, without waiting."""


class Interactions:
    """Takes interactions one by one. Buttons need no registry: each carries its command."""

    def __init__(self, menu: CommandMenu, files: Files, submit: Submit) -> None:
        self._menu = menu
        self._files = files
        self._submit = submit
        self._ephemeral = {spec.path: spec.ephemeral for spec in menu.specs}
        self._opens_form = {spec.path for spec in menu.specs if spec.opens_form}

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
            case discord.InteractionType.modal_submit:
                await self._submit_form(interaction, channel)

    async def _run(self, interaction: discord.Interaction, channel: ChannelRef) -> None:
        call = read_call(_data(interaction))
        ephemeral = self._ephemeral.get(call.path, True)
        inbound = _inbound(interaction, channel, InboundKind.COMMAND, call.text, ephemeral=ephemeral)
        inbound = replace(inbound, command=CommandCall(path=call.path, options=call.options))
        if call.path in self._opens_form and await self._opened_form(interaction, inbound):
            return
        if await _deferred(interaction, ephemeral=ephemeral, thinking=True):
            files = tuple(map(self._files.offer_uploaded, call.files))
            self._hand_on(interaction, replace(inbound, attachments=files))

    async def _press(self, interaction: discord.Interaction, channel: ChannelRef) -> None:
        custom_id = str(_data(interaction).get("custom_id", ""))
        prefix = next((prefix for prefix in (BUTTON_PREFIX, FORM_PREFIX) if custom_id.startswith(prefix)), None)
        if prefix is None:
            return
        ephemeral = interaction.message is not None and interaction.message.flags.ephemeral
        command = custom_id.removeprefix(prefix)
        inbound = _inbound(interaction, channel, InboundKind.BUTTON, command, ephemeral=ephemeral)
        if prefix == FORM_PREFIX and await self._opened_form(interaction, inbound):
            return
        if await _deferred(interaction):
            self._hand_on(interaction, inbound)

    async def _opened_form(self, interaction: discord.Interaction, inbound: Inbound) -> bool:
        """Answer with the form that a command opens; `False` where it opens none, or not in time."""
        try:
            async with asyncio.timeout(FORM_SECONDS):
                form = await self._menu.ask_form(inbound)
        except TimeoutError:
            log.warning("discord.form_late", seconds=FORM_SECONDS)
            return False
        if form is None:
            return False
        return await _acknowledged(interaction.response.send_modal(to_modal(form)))

    async def _submit_form(self, interaction: discord.Interaction, channel: ChannelRef) -> None:
        """What comes of a form concerns whoever filled it in."""
        custom_id = str(_data(interaction).get("custom_id", ""))
        if custom_id.startswith(BUTTON_PREFIX) and await _deferred(interaction, ephemeral=True, thinking=True):
            command = custom_id.removeprefix(BUTTON_PREFIX)
            inbound = _inbound(interaction, channel, InboundKind.BUTTON, command, ephemeral=True)
            self._hand_on(interaction, replace(inbound, filled=filled_in(_data(interaction))))

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
    """Acknowledge without an answer yet."""
    return await _acknowledged(interaction.response.defer(ephemeral=ephemeral, thinking=thinking))


async def _acknowledged(request: Awaitable[object]) -> bool:
    """Make the first request; `False` if Discord did not take it (too late: 10062), which leaves nothing to answer."""
    try:
        await request
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
