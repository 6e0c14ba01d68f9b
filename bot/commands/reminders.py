"""/reminders: what its caller waits for, and cancelling that. Reminders are made by asking the persona."""

from __future__ import annotations

from collections.abc import Sequence
from zoneinfo import ZoneInfo

from bot.chat import CommandSpec, OptionKind, OptionSpec, Outbound, ValueQuery
from bot.commands.command import Call, Command, Desk, inert
from bot.commands.pages import PAGE, page_of, paged
from bot.errors import UserError
from bot.model_in_force import model_in_force
from bot.store.database import Tx
from bot.store.reminders import Reminder, cancel_reminder, reminders_of
from bot.store.sessions import find_session
from bot.tools.reminders import seen_in


async def list_reminders(call: Call, desk: Desk) -> Outbound:
    """`/reminders [-p page]`: in a private chat all that the caller waits for, elsewhere what they asked for there."""
    seen = seen_in(call.session.id, is_dm=call.inbound.channel.is_dm)
    waiting = await desk.db.read(reminders_of, call.inbound.author.key, seen)
    if not waiting:
        model = model_in_force(desk.models, call.settings).name
        can_set = desk.calls_tools(model)
        return desk.say("reminders-none", call) if can_set else desk.say("reminders-not-by-model", call, model=model)
    page = page_of(waiting, call)
    lines = [_line(reminder, call, desk) for reminder in page.entries]
    heading = desk.text("reminders-list", call.locale, count=len(waiting))
    return paged(heading, lines, page, "reminders list", call, desk)


async def cancel(call: Call, desk: Desk) -> Outbound:
    """`/reminders cancel N`."""
    number = call.options["reminder"]
    if not await desk.db.run(cancel_reminder, call.inbound.author.key, int(number)):
        raise UserError("reminders-unknown", number=number)
    return desk.say("reminders-cancelled", call, number=number)


def _line(reminder: Reminder, call: Call, desk: Desk) -> str:
    at = f"{reminder.due_at.astimezone(ZoneInfo(reminder.zone)):%Y-%m-%d %H:%M}"
    again = f" ({desk.text(f'reminders-{reminder.repeat}', call.locale)})" if reminder.repeat else ""
    return f"#{reminder.id}, {at} {reminder.zone}{again}: {inert(reminder.text)}"


async def _suggest(desk: Desk, query: ValueQuery) -> Sequence[str]:
    waiting = await desk.db.read(_seen, query)
    return [str(reminder.id) for reminder in waiting if str(reminder.id).startswith(query.typed.strip())]


def _seen(tx: Tx, query: ValueQuery) -> list[Reminder]:
    session = find_session(tx, query.channel)
    if session is None:
        return []
    return reminders_of(tx, query.author.key, seen_in(session.id, is_dm=query.channel.is_dm))


NUMBER = OptionSpec(name="reminder", kind=OptionKind.INTEGER, required=True, completes=True)

REMINDER_COMMANDS = (
    Command(spec=CommandSpec(path=("reminders", "list"), options=(PAGE,), ephemeral=True), run=list_reminders),
    Command(
        spec=CommandSpec(path=("reminders", "cancel"), options=(NUMBER,), ephemeral=True, example="reminders cancel 3"),
        run=cancel,
        suggest=_suggest,
    ),
)
