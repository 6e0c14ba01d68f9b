"""/memory export: everything that is remembered here, as a file to keep or to read elsewhere."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from bot.chat import CommandSpec, OptionKind, OptionSpec, Outbound, OutFile
from bot.commands.command import Call, Command, Desk, inert
from bot.commands.members import OF
from bot.commands.notes import in_order, listing, source_link
from bot.memory.items import Item, Memory
from bot.store.archive import Source, read_sources
from bot.store.memories import read_memory
from bot.store.metadata import Kept, read_kept


async def export_memory(call: Call, desk: Desk) -> Outbound:
    """`/memory export [json|markdown] [-o persona]`."""
    memory = await desk.db.read(read_memory, call.conversation_id)
    kept = await desk.db.read(read_kept, call.session.id)
    if memory.is_empty and not kept:
        return desk.say("memory-empty", call)
    wants_json = call.options.get("format") == "json"
    text = await (_as_json if wants_json else _as_markdown)(memory, kept, call, desk)
    name = f"memory-{call.local(call.now):%Y-%m-%d}.{'json' if wants_json else 'md'}"
    told = desk.text("memory-exported", call.locale, count=len(memory.items) + len(kept))
    return Outbound(text=told, file=OutFile(name=name, text=text))


async def _as_markdown(memory: Memory, kept: Sequence[Kept], call: Call, desk: Desk) -> str:
    heading = desk.text("memory-export-heading", call.locale, day=f"{call.local(call.now):%Y-%m-%d}")
    summary = f"**{desk.text('memory-summary', call.locale)}**\n{inert(memory.gist)}" if memory.gist else ""
    items = await listing(in_order(memory.items), call, desk)
    return "\n\n".join(filter(None, (f"# {heading}", summary, items, _kept_lines(kept, call, desk)))) + "\n"


def _kept_lines(kept: Sequence[Kept], call: Call, desk: Desk) -> str:
    if not kept:
        return ""
    lines = (f"- {one.namespace}, {one.name}: {json.dumps(one.value, ensure_ascii=False)}" for one in kept)
    return "\n".join((f"**{desk.text('memory-export-extensions', call.locale)}**", *map(inert, lines)))


async def _as_json(memory: Memory, kept: Sequence[Kept], call: Call, desk: Desk) -> str:
    sources = await desk.db.read(read_sources, [item.id for item in memory.items])
    persona = desk.library.get(call.persona_id)
    exported = {
        "exported_at": call.now.isoformat(),
        "persona": persona.name if persona else None,
        "summary": memory.gist,
        "items": [_item_as_json(item, sources, call, desk) for item in memory.items],
        "extensions": [asdict(one) for one in kept],
    }
    return json.dumps(exported, ensure_ascii=False, indent=2) + "\n"


def _item_as_json(item: Item, sources: Mapping[int, Sequence[Source]], call: Call, desk: Desk) -> dict[str, Any]:
    new = item.new
    return {
        "number": item.id,
        "kind": new.kind.value,
        "text": new.text,
        "who": {"key": new.subject, "name": new.subject_name} if new.subject else None,
        "category": new.category,
        "day": new.day.isoformat() if new.day else None,
        "agreed_by": list(new.people),
        "state": new.state,
        "pinned": new.pinned,
        "stale": item.stale,
        "sources": [
            {"sent_at": source.sent_at.isoformat(), "link": source_link(source, call, desk)}
            for source in sources.get(item.id, ())
        ],
    }


FORMAT = OptionSpec(name="format", kind=OptionKind.CHOICE, choices=("markdown", "json"))

EXPORT_COMMANDS = (
    Command(
        spec=CommandSpec(path=("memory", "export"), options=(FORMAT, OF), ephemeral=True, example="memory export json"),
        run=export_memory,
    ),
)
