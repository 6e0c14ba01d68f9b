"""/follow-ups: what is still to be done or answered here, and closing it."""

from __future__ import annotations

from dataclasses import replace

from bot.chat import CommandSpec, Outbound
from bot.commands.command import Call, Command, Desk
from bot.commands.members import OF, told_of
from bot.commands.memory import ITEM, demand_item, put, suggest_follow_ups
from bot.commands.notes import in_order, listing
from bot.commands.pages import PAGE, page_of, paged_text
from bot.errors import UserError
from bot.memory.items import Add, FollowUpState, ItemKind
from bot.store.memories import read_memory


async def list_follow_ups(call: Call, desk: Desk) -> Outbound:
    """`/follow-ups [-p page] [-o persona]`: the open ones, then those that were closed."""
    memory = await desk.db.read(read_memory, call.conversation_id)
    items = in_order(item for item in memory.items if item.new.kind is ItemKind.FOLLOW_UP)
    whose = told_of(call, desk)
    if not items:
        return Outbound(text="\n\n".join(filter(None, (desk.text("follow-ups-none", call.locale), whose))))
    page = page_of(items, call)
    heading = desk.text("follow-ups-list", call.locale, count=sum(item.is_open for item in items))
    body = "\n\n".join(filter(None, (await listing(page.entries, call, desk), whose)))
    return paged_text(heading, body, page, "follow-ups list", call, desk)


async def finish(call: Call, desk: Desk) -> Outbound:
    """`/follow-ups done N [-o persona]`."""
    return await _set_state(FollowUpState.DONE, call, desk)


async def drop(call: Call, desk: Desk) -> Outbound:
    """`/follow-ups drop N`: it is to be done no longer."""
    return await _set_state(FollowUpState.DROPPED, call, desk)


async def reopen(call: Call, desk: Desk) -> Outbound:
    """`/follow-ups reopen N`."""
    return await _set_state(FollowUpState.OPEN, call, desk)


async def _set_state(state: FollowUpState, call: Call, desk: Desk) -> Outbound:
    item = (await demand_item(call, desk, "follow-ups-no-item")).item
    if item.new.kind is not ItemKind.FOLLOW_UP:
        raise UserError("follow-ups-other", item=str(item.id))
    if item.new.state is state:
        raise UserError(f"follow-ups-already-{state.value}", item=str(item.id))
    number = await desk.db.run(put, Add(item=replace(item.new, state=state), replaces=item.id), call, desk)
    return desk.say(f"follow-ups-{state.value}", call, item=str(number), text=item.new.text)


_OPEN = suggest_follow_ups(FollowUpState.OPEN)
_CLOSED = suggest_follow_ups(FollowUpState.DONE, FollowUpState.DROPPED)

FOLLOW_UP_COMMANDS = (
    Command(spec=CommandSpec(path=("follow-ups", "list"), options=(PAGE, OF), ephemeral=True), run=list_follow_ups),
    Command(
        spec=CommandSpec(path=("follow-ups", "done"), options=(ITEM, OF), example="follow-ups done 12"),
        run=finish,
        suggest=_OPEN,
    ),
    Command(spec=CommandSpec(path=("follow-ups", "drop"), options=(ITEM, OF)), run=drop, suggest=_OPEN),
    Command(spec=CommandSpec(path=("follow-ups", "reopen"), options=(ITEM, OF)), run=reopen, suggest=_CLOSED),
)
