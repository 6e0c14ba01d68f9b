"""/privacy: whether what its caller says is kept. Everybody decides that for themselves, everywhere on a platform."""

from __future__ import annotations

from bot.chat import CommandSpec, Outbound
from bot.commands.command import Call, Command, Desk
from bot.store.people import set_privacy, wants_privacy


async def show_privacy(call: Call, desk: Desk) -> Outbound:
    """`/privacy`: how it stands, and what the words mean."""
    is_on = await desk.db.read(wants_privacy, call.inbound.author.key)
    return _told("privacy-on" if is_on else "privacy-off", call=call, desk=desk)


async def switch_on(call: Call, desk: Desk) -> Outbound:
    """`/privacy on`: keep nothing that the caller says from now on."""
    await desk.db.run(set_privacy, call.inbound.author.key, call.now)
    return _told("privacy-on", "privacy-before", call=call, desk=desk)


async def switch_off(call: Call, desk: Desk) -> Outbound:
    """`/privacy off`: as usual."""
    await desk.db.run(set_privacy, call.inbound.author.key, None)
    return _told("privacy-off", call=call, desk=desk)


def _told(*message_ids: str, call: Call, desk: Desk) -> Outbound:
    pieces = (desk.text(message_id, call.locale) for message_id in message_ids)
    return Outbound(text="\n\n".join(pieces), private=True)


PRIVACY_COMMANDS = (
    Command(spec=CommandSpec(path=("privacy", "show"), ephemeral=True), run=show_privacy),
    Command(spec=CommandSpec(path=("privacy", "on"), ephemeral=True), run=switch_on),
    Command(spec=CommandSpec(path=("privacy", "off"), ephemeral=True), run=switch_off),
)
