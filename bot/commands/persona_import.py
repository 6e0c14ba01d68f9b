"""/persona import: a card from a file. What was read of it is shown first; it speaks only after a yes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import PurePath

from bot.chat import Attachment, Button, CommandSpec, OptionKind, OptionSpec, Outbound
from bot.commands.clearing import YES
from bot.commands.command import Call, Command, Desk, inert
from bot.commands.persona_rights import demand_rights
from bot.commands.persona_room import demand_room
from bot.commands.tool_rights import demand_groups, operators_groups
from bot.errors import UserError
from bot.personas.card import CardError, PersonaCard
from bot.personas.formats import MAX_FILE_BYTES, CardFile, read_file
from bot.personas.proposals import NO_PROPOSALS, Proposals, proposals_of
from bot.store import personas
from bot.store.database import Tx
from bot.store.personas import Draft, NewPersona

SHOWN_WARNINGS = 10
"""So many can be read; the command line shows all."""
NOTES_CHARS = 300
"""Characters shown of the creator's notes."""
LABEL_CHARS = 30
"""Characters of a name on a button, as a phone shows them."""
SIZES = ("description", "personality", "scenario", "first-message", "example-messages", "system-prompt")
"""Fields whose length is shown, as people type them: whether a card came whole is seen by it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Brought:
    """A file that was read."""

    name: str
    data: bytes
    read: CardFile


async def import_card(call: Call, desk: Desk) -> Outbound:
    """`/persona import [file] [-e] [-y] [-a] [-c id]`: read a file and ask; `-y` keeps it, or what was asked about."""
    file = next((file for file in call.inbound.attachments if file.fetch is not None), None)
    if file is None:
        return await _say_yes(call, desk)
    place_key = None if "everywhere" in call.options else call.inbound.channel.place_key
    await demand_rights(place_key, call, desk)
    brought = await _fetch(file, call, desk)
    draft, same = await desk.db.run(_keep, brought, place_key, call)
    if "yes" in call.options:
        kept = await _let_in(draft, call, desk)
        return replace(kept, text="\n\n".join(filter(None, (kept.text, _warned(brought.read, call, desk)))))
    return Outbound(text=_question(brought, draft, same, call, desk), buttons=_buttons(draft, call, desk))


async def _fetch(file: Attachment, call: Call, desk: Desk) -> _Brought:
    assert file.fetch is not None
    if file.size > MAX_FILE_BYTES:
        raise UserError("file-too-large", limit=f"{MAX_FILE_BYTES >> 20} MB")
    data = await file.fetch(MAX_FILE_BYTES)
    try:
        read = await asyncio.to_thread(_read, data, PurePath(file.name).stem)
    except CardError as error:
        message_id = "persona-import-picture" if file.media_type.startswith("image/") else "persona-import-refused"
        problem, remedy = error.problem.told(desk.words(call)), error.remedy.told(desk.words(call))
        raise UserError(message_id, file=file.name, problem=problem, remedy=remedy) from error
    return _Brought(name=file.name, data=data, read=read)


def _read(data: bytes, fallback_name: str) -> CardFile:
    from bot.personas.lorebook.checking import book_warnings  # the engine, only where a card is brought

    read = read_file(data, fallback_name=fallback_name)
    return replace(read, warnings=(*read.warnings, *book_warnings(read.card.character_book)))


def _keep(tx: Tx, brought: _Brought, place_key: str | None, call: Call) -> tuple[Draft, str | None]:
    """The draft, and the id of a persona that came in the same file."""
    read, author = brought.read, call.inbound.author.key
    new = NewPersona(
        card=read.card,
        place_key=place_key,
        container=read.container,
        sha256=read.sha256,
        data=brought.data,
        picture=read.picture,
        brought_by=author,
    )
    same = personas.find_same_file(tx, read.sha256, place_key)
    persona_id = personas.keep_draft(tx, new, call.now)
    demand_room(tx, place_key, author)  # once those are gone that nobody wanted
    return Draft(id=persona_id, card=read.card, place_key=place_key, brought_by=author), same


def _question(brought: _Brought, draft: Draft, same: str | None, call: Call, desk: Desk) -> str:
    """What was read of a card, what had to be mended, what it asks for, and whether it is to be kept."""

    def text(message_id: str, **facts: str | int) -> str:
        return desk.text(message_id, call.locale, **facts)

    read = brought.read
    heading = text("persona-import-read", persona=read.card.spoken_name, file=brought.name, form=read.container.upper())
    pieces = [
        "\n".join([heading, *(f"- {line}" for line in _facts(read, call, desk))]),
        _warned(read, call, desk),
        _asked_for(proposals_of(read.card), call, desk),
        text("persona-import-same", id=same) if same else "",
        text("persona-import-everywhere" if draft.place_key is None else "persona-import-ask"),
    ]
    return "\n\n".join(filter(None, pieces))


def _warned(read: CardFile, call: Call, desk: Desk) -> str:
    """What had to be mended or left aside; "" for nothing."""
    count = len(read.warnings)
    if not count:
        return ""
    lines = [desk.text("persona-import-warnings", call.locale, count=count)]
    lines += [f"- {inert(told.told(desk.words(call)))}" for told in read.warnings[:SHOWN_WARNINGS]]
    if count > SHOWN_WARNINGS:
        lines.append(f"- {desk.text('persona-import-more', call.locale, count=count - SHOWN_WARNINGS)}")
    return "\n".join(lines)


def _facts(read: CardFile, call: Call, desk: Desk) -> Iterator[str]:
    from bot.personas.lorebook import find_book

    card = read.card
    known = {
        "persona-info-tags": ", ".join(card.tags),
        "persona-info-creator": card.creator,
        "persona-info-version": card.character_version,
        "persona-import-notes": _cut(card.creator_notes, NOTES_CHARS),
        "persona-import-sizes": ", ".join(_sizes(card, call, desk)),
    }
    yield from (desk.text(label, call.locale, value=fact) for label, fact in known.items() if fact)
    if read.picture:
        yield desk.text("persona-import-pictured", call.locale)
    if (book := find_book(card.character_book)) and book["entries"]:
        yield desk.text("persona-import-book", call.locale, count=len(book["entries"]))


def _sizes(card: PersonaCard, call: Call, desk: Desk) -> Iterable[str]:
    for field in SIZES:
        if text := getattr(card, field.replace("-", "_")):
            yield f"{desk.names.of_choice(field, call.locale)[0]} {len(text):,}"


def _cut(text: str, length: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= length else line[:length].rstrip() + "…"


def _asked_for(proposals: Proposals, call: Call, desk: Desk) -> str:
    if not proposals:
        return ""
    wishes = ", ".join(filter(None, (proposals.model, *proposals.tool_groups)))
    asked = desk.text("persona-import-proposals", call.locale, wishes=wishes)
    refused = operators_groups(proposals.tool_groups, call, desk)
    if not refused:
        return asked
    return f"{asked} {desk.text('tools-group-is-operators', call.locale, groups=', '.join(refused))}"


def _buttons(draft: Draft, call: Call, desk: Desk) -> tuple[tuple[Button, ...], ...]:
    yes = Button(label=desk.text("persona-import-yes", call.locale), command=f"persona import -y -c {draft.id}")
    proposals = proposals_of(draft.card)
    if not proposals or operators_groups(proposals.tool_groups, call, desk):
        return ((yes,),)
    all_of_it = desk.text("persona-import-yes-to-all", call.locale)
    return ((yes, Button(label=all_of_it, command=f"persona import -y -a -c {draft.id}")),)


async def _say_yes(call: Call, desk: Desk) -> Outbound:
    """Keep the draft that the caller was asked about, the newest one unless an id names another."""
    if "yes" not in call.options:
        raise UserError("persona-import-how")
    draft = await desk.db.read(personas.find_draft, call.options.get("card"), call.inbound.author.key)
    if draft is None:
        raise UserError("persona-import-nothing")
    if draft.place_key not in (None, call.inbound.channel.place_key):
        raise UserError("persona-import-elsewhere")
    await demand_rights(draft.place_key, call, desk)
    return await _let_in(draft, call, desk)


async def _let_in(draft: Draft, call: Call, desk: Desk) -> Outbound:
    accepted = proposals_of(draft.card) if "accept" in call.options else NO_PROPOSALS
    demand_groups(accepted.tool_groups, call, desk)
    author = call.inbound.author.key
    if not await desk.db.run(personas.confirm, draft.id, accepted, by=author, now=call.now):
        raise UserError("persona-import-nothing")
    await desk.imported.refresh()
    name = draft.card.spoken_name
    use = desk.catalogue.text("persona-import-use", call.locale, persona=_cut(name, LABEL_CHARS))
    told = desk.text("persona-imported", call.locale, persona=name, id=draft.id)
    return Outbound(text=told, buttons=((Button(label=use, command=f"persona use {draft.id}"),),))


FILE = OptionSpec(name="file", kind=OptionKind.FILE)
EVERYWHERE = OptionSpec(name="everywhere", kind=OptionKind.SWITCH, flag="-e")
ACCEPT = OptionSpec(name="accept", kind=OptionKind.SWITCH, flag="-a")
CARD = OptionSpec(name="card", flag="-c")

IMPORT_COMMANDS = (
    Command(
        spec=CommandSpec(
            path=("persona", "import"),
            options=(FILE, YES, ACCEPT, EVERYWHERE, CARD),
            ephemeral=True,
            manages=True,
            example="persona import --yes",
        ),
        run=import_card,
    ),
)
