"""/privacy: whether what its caller says is kept, all that is, and forgetting it. Everybody decides that for
themselves, everywhere on a platform.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

from bot.chat import Button, CommandSpec, OptionKind, OptionSpec, Outbound, OutFile
from bot.commands.command import Call, Command, Desk, inert
from bot.errors import UserError
from bot.exported import exported_files
from bot.settings import TERMINAL
from bot.store.database import Tx
from bot.store.erasing import Kind
from bot.store.people import set_privacy, wants_privacy
from bot.store.reminders import forget_reminders

FORGET_ME = ("privacy", "forget-me")
MOST_CHARS = 3_000_000
"""Of an export: in UTF-8 below the 10 MB that Discord takes in a file."""


async def show_privacy(call: Call, desk: Desk) -> Outbound:
    """`/privacy`: how it stands, and what the words mean."""
    is_on = await desk.db.read(wants_privacy, call.inbound.author.key)
    return _told("privacy-on" if is_on else "privacy-off", "privacy-more", call=call, desk=desk)


async def switch_on(call: Call, desk: Desk) -> Outbound:
    """`/privacy on`: keep nothing that the caller says from now on."""
    forgotten = await desk.db.run(_switch_on, call)
    told = _told("privacy-on", "privacy-before", call=call, desk=desk)
    if not forgotten:
        return told
    return replace(told, text=f"{told.text} {desk.text('privacy-reminders', call.locale, count=forgotten)}")


def _switch_on(tx: Tx, call: Call) -> int:
    set_privacy(tx, call.inbound.author.key, call.now)
    return forget_reminders(tx, call.inbound.author.key)


async def switch_off(call: Call, desk: Desk) -> Outbound:
    """`/privacy off`: as usual."""
    await desk.db.run(set_privacy, call.inbound.author.key, None)
    return _told("privacy-off", call=call, desk=desk)


async def export(call: Call, desk: Desk) -> Outbound:
    """`/privacy export`: all that is kept of the caller, in a private chat, since others may read a file elsewhere."""
    if not call.inbound.channel.is_dm:
        raise UserError("privacy-export-where")
    kept = await desk.eraser.read(call.inbound.author.key)
    written = {"exported_at": call.now.isoformat(), "who": call.inbound.author.key, **kept}
    text = json.dumps(written, ensure_ascii=False, indent=1) + "\n"
    if len(text) > MOST_CHARS:
        raise UserError("privacy-export-large", platform=call.inbound.author.platform, id=call.inbound.author.id)
    file = OutFile(name=f"about-me-{call.local(call.now):%Y-%m-%d}.json", text=text)
    return Outbound(text=desk.text("privacy-exported", call.locale), file=file, private=True)


async def forget_me(call: Call, desk: Desk) -> Outbound:
    """`/privacy forget-me [code]`: tells what goes and what stays, and forgets at a yes. A button in a group can be
    pressed by anybody, so the yes is worth nothing but from whom it was asked of.
    """
    key = call.inbound.author.key
    if call.options.get("code") != desk.eraser.code_for(key):
        return await _question(call, desk)
    was_private = await desk.db.read(wants_privacy, key)
    counts = await desk.eraser.erase(key)
    lines = [desk.text("privacy-forgotten", call.locale, count=counts.get(Kind.MESSAGES, 0))]
    if was_private:
        lines.append(desk.text("privacy-forgotten-private", call.locale))
    return Outbound(text="\n\n".join([*lines, *await _exported(call, desk)]), private=True)


async def _exported(call: Call, desk: Desk) -> list[str]:
    """That files stay which only the person at the terminal can have asked for."""
    files = await asyncio.to_thread(exported_files, desk.settings) if call.inbound.author.platform == TERMINAL else []
    names, folder = inert(", ".join(files)), inert(str(desk.settings.exports.absolute()))
    return [desk.text("privacy-forget-exports", call.locale, folder=folder, files=names)] if files else []


async def _question(call: Call, desk: Desk) -> Outbound:
    counts = await desk.eraser.count(call.inbound.author.key)
    told = ((kind.value, counts[kind]) for kind in Kind if kind in counts)
    lines = [f"- {desk.text(f'privacy-kind-{kind}', call.locale, count=count)}" for kind, count in told]
    code = desk.eraser.code_for(call.inbound.author.key)
    text = [
        "\n".join((desk.text("privacy-forget-what", call.locale), *lines)),
        desk.text("privacy-forget-stays", call.locale),
        *await _exported(call, desk),
        desk.text("privacy-forget-how", call.locale, code=code),
    ]
    yes = Button(label=desk.text("privacy-forget-yes", call.locale), command=f"{' '.join(FORGET_ME)} {code}")
    return Outbound(text="\n\n".join(text), buttons=((yes,),), private=True)


def _told(*message_ids: str, call: Call, desk: Desk) -> Outbound:
    pieces = (desk.text(message_id, call.locale) for message_id in message_ids)
    return Outbound(text="\n\n".join(pieces), private=True)


CODE = OptionSpec(name="code", kind=OptionKind.TEXT)

PRIVACY_COMMANDS = (
    Command(spec=CommandSpec(path=("privacy", "show"), ephemeral=True), run=show_privacy),
    Command(spec=CommandSpec(path=("privacy", "on"), ephemeral=True), run=switch_on),
    Command(spec=CommandSpec(path=("privacy", "off"), ephemeral=True), run=switch_off),
    Command(spec=CommandSpec(path=("privacy", "export"), ephemeral=True), run=export),
    Command(spec=CommandSpec(path=FORGET_ME, options=(CODE,), ephemeral=True), run=forget_me),
)
