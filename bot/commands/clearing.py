"""/memory clear and /memory undo: taking much out at once, after asking, and taking that back."""

from __future__ import annotations

from bot.chat import Button, CommandSpec, OptionKind, OptionSpec, Outbound
from bot.commands.command import Call, Command, Desk
from bot.commands.members import OF, repeated
from bot.errors import UserError
from bot.hooks import Clearing
from bot.memory.items import ItemKind
from bot.store import clearing, memories, metadata
from bot.store.archive import count_history
from bot.store.database import Tx
from bot.store.reminders import count_reminders_in, forget_reminders_in

ALL_ITEMS = (memories.GIST, *(kind.value for kind in ItemKind))

CLEARED = {
    "summary": (memories.GIST,),
    "facts": (ItemKind.FACT.value,),
    "events": (ItemKind.EVENT.value,),
    "consensus": (ItemKind.CONSENSUS.value,),
    "follow-ups": (ItemKind.FOLLOW_UP.value,),
    "history": (),
    "all": ALL_ITEMS,
}
"""What can be cleared, and the kinds of items that go by it."""
FOR_GOOD = ("history", "all")
"""These remove words themselves."""


async def clear(call: Call, desk: Desk) -> Outbound:
    """`/memory clear [what] [-y] [-o persona]`: asks first, by a button or for the flag."""
    what = call.options.get("what")
    counts = await desk.db.read(_count, call)
    if what is None:
        return _choices(counts, call, desk)
    if not counts[what]:
        if desk.keeper.drop(call.conversation_id):
            return desk.say("memory-clear-folding", call)
        raise UserError("memory-nothing-to-clear", what=what)
    if what in FOR_GOOD and desk.dispatcher.is_running(call.session.id):
        raise UserError("answer-is-running")
    if "yes" not in call.options:
        return _question(what, counts[what], call, desk)
    desk.keeper.drop(call.conversation_id)  # what is noted now was read before, and must not outlive it (R4)
    count = await desk.db.run(_clear, what, call)
    desk.keeper.forget(call.session.channel.session_key)
    await desk.hooks.on_memory_cleared(Clearing(session=call.session, what=what, count=count))
    told = "memory-erased-all" if what == "all" else "memory-erased" if what in FOR_GOOD else "memory-cleared"
    return desk.say(told, call, what=what, count=count)


def _count(tx: Tx, call: Call) -> dict[str, int]:
    """How much there is to clear of everything."""
    memory = memories.read_memory(tx, call.conversation_id)
    kinds = [item.new.kind.value for item in memory.items] + [memories.GIST] * bool(memory.gist)
    counts = {what: sum(kind in named for kind in kinds) for what, named in CLEARED.items()}
    counts["history"] = count_history(tx, call.session.id, call.conversation_id)
    counts["all"] += counts["history"] + metadata.count_kept(tx, call.session.id)
    counts["all"] += count_reminders_in(tx, call.session.id)
    return counts


def _choices(counts: dict[str, int], call: Call, desk: Desk) -> Outbound:
    there = {what: count for what, count in counts.items() if count}
    if not there:
        return desk.say("memory-empty", call)
    lines = [f"- `{what}`: {desk.text(f'memory-clear-{what}', call.locale, count=there[what])}" for what in there]
    buttons = [Button(label=what, command=f"memory clear {what}{repeated(call)}") for what in there]
    rows = tuple(tuple(buttons[first : first + 4]) for first in range(0, len(buttons), 4))
    return Outbound(text="\n".join((desk.text("memory-clear-what", call.locale), "", *lines)), buttons=rows)


def _question(what: str, count: int, call: Call, desk: Desk) -> Outbound:
    gone = desk.text(f"memory-clear-{what}", call.locale, count=count)
    after = desk.text("memory-clear-for-good" if what in FOR_GOOD else "memory-clear-undoable", call.locale)
    how = desk.text("memory-clear-how", call.locale, what=what)
    button = Button(
        label=desk.text("memory-clear-yes", call.locale, what=what), command=f"memory clear {what} -y{repeated(call)}"
    )
    asked = desk.catalogue.text("memory-clear-ask", call.locale, gone=gone)
    return Outbound(text=f"{asked}\n{after} {how}", buttons=((button,),))


def _clear(tx: Tx, what: str, call: Call) -> int:
    author = call.inbound.author.key
    if what not in FOR_GOOD:
        return clearing.clear_kinds(tx, call.conversation_id, CLEARED[what], author, call.now)
    count = clearing.erase_history(tx, call.session.id, call.conversation_id, call.now)
    if what == "all":
        count += clearing.erase_memory(tx, call.conversation_id) + metadata.erase_kept(tx, call.session.id)
        count += forget_reminders_in(tx, call.session.id)
    return count


async def undo(call: Call, desk: Desk) -> Outbound:
    """`/memory undo`: take back the newest clearing, forgetting or compaction, and say which."""
    undone = await desk.db.run(clearing.undo_newest, call.conversation_id, call.now)
    if undone is None:
        raise UserError("memory-nothing-to-undo")
    at = f"{call.local(undone.done_at):%Y-%m-%d %H:%M}"
    told = [desk.text(f"memory-undone-{undone.act.value}", call.locale, count=undone.count, at=at)]
    if undone.stay:
        told.append(desk.text("memory-undone-stay", call.locale, count=undone.stay))
    return Outbound(text=" ".join(told))


WHAT = OptionSpec(name="what", kind=OptionKind.CHOICE, choices=tuple(CLEARED))
YES = OptionSpec(name="yes", kind=OptionKind.SWITCH, flag="-y")

CLEARING_COMMANDS = (
    Command(
        spec=CommandSpec(
            path=("memory", "clear"), options=(WHAT, YES, OF), manages=True, example="memory clear events --yes"
        ),
        run=clear,
    ),
    Command(spec=CommandSpec(path=("memory", "undo"), options=(OF,), manages=True), run=undo),
)
