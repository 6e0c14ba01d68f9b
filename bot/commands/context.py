"""/context: what the next request would hold, part by part, and what has no room in it."""

from __future__ import annotations

from bot.chat import CommandSpec, Outbound
from bot.commands.command import Call, Command, Desk, inert
from bot.commands.lore_books import may_change, name_of_ref
from bot.commands.members import OF, told_of
from bot.commands.memory_state import count_line, count_messages
from bot.errors import UserError
from bot.prompt.build import NoRoom
from bot.prompt.usage import PARTS
from bot.turn import Asker, Turn

WITH_WORDS = frozenset((*PARTS, "cast"))
"""Parts that people know by other words than their names."""
LEFT_OUT_SHOWN, LORE_SHOWN = 5, 10
"""Items and entries that are named; the rest are counted."""


async def show_context(call: Call, desk: Desk) -> Outbound:
    """`/context [-o persona]`: built as a request is, and sent to nobody."""
    author = call.inbound.author
    asker = Asker(key=author.key, name=author.name)
    turn = await desk.gauge.opener.preview(call.session.id, asker, call.persona_id)
    try:
        usage = await desk.gauge.snapshot(call.session.id, asker, call.persona_id)
    except NoRoom:
        raise UserError(f"model-{NoRoom.kind}") from None
    if usage is None or turn is None:
        raise UserError("history-none")
    window = await count_messages(call, desk, usage)
    parts = {name: tokens for name, tokens in usage.parts.items() if tokens}
    lines = [_line(name, tokens, call, desk) for name, tokens in parts.items()]
    pieces = [
        desk.text(
            "context-used",
            call.locale,
            model=turn.model,
            used=usage.used,
            window=usage.window,
            percent=round(usage.ratio * 100),
        ),
        "\n".join(f"- {line}" for line in lines),
        await _lore(turn, call, desk),
        count_line(window, call, desk),
        desk.text("context-dropped", call.locale, count=window.left_out) if window.left_out else "",
        _left_out(turn, call, desk),
        told_of(call, desk),
    ]
    return Outbound(text="\n\n".join(filter(None, pieces)))


def _line(name: str, tokens: int, call: Call, desk: Desk) -> str:
    """What a part fills; sections of extensions go by their own names."""
    part = desk.catalogue.text(f"context-part-{name.replace('_', '-')}", call.locale) if name in WITH_WORDS else name
    return desk.text("context-line", call.locale, part=part, tokens=tokens)


async def _lore(turn: Turn, call: Call, desk: Desk) -> str:
    """Which entries of lorebooks join in, of the books that the caller may see."""
    books = {name_of_ref(entry.ref) for entry in turn.lore.entries}
    seen = {name for name in books if await may_change(name, call, desk)}
    titles = [entry.title for entry in turn.lore.entries if name_of_ref(entry.ref) in seen]
    if not titles:
        return ""
    more = f" +{len(titles) - LORE_SHOWN}" if len(titles) > LORE_SHOWN else ""
    return desk.text("context-lore", call.locale, entries=", ".join(titles[:LORE_SHOWN]) + more)


def _left_out(turn: Turn, call: Call, desk: Desk) -> str:
    items = turn.memory.left_out
    if not items:
        return ""
    lines = [f"- `{item.id}` {inert(item.new.text)}" for item in items[:LEFT_OUT_SHOWN]]
    if len(items) > LEFT_OUT_SHOWN:
        lines.append(f"- … +{len(items) - LEFT_OUT_SHOWN}")
    return "\n".join((desk.text("context-left-out", call.locale, count=len(items)), *lines))


CONTEXT_COMMANDS = (Command(spec=CommandSpec(path=("context",), options=(OF,), ephemeral=True), run=show_context),)
