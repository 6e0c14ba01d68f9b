"""/persona edit, versions, revert and remove: changing an imported card. Every change is a version to go back to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bot.chat import Button, CommandSpec, OptionKind, OptionSpec, Outbound, OutFile
from bot.commands.clearing import YES
from bot.commands.command import Call, Command, Desk, inert
from bot.commands.pages import PAGE, page_of, paged
from bot.commands.persona import CHOSEN_PERSONA, PERSONA, suggest_personas
from bot.commands.persona_changes import EDITABLE, as_it_is_now, change_fields, field_names, field_text, tell_change
from bot.commands.persona_form import MORE, make_form, take_form
from bot.commands.persona_interview import INTERVIEW_COMMANDS, begin_questions
from bot.commands.persona_rights import PERSONA_FLAG, demand_rights, own_persona
from bot.commands.persona_room import demand_room
from bot.errors import UserError
from bot.personas.library import Persona
from bot.store import personas
from bot.store.database import Tx
from bot.store.personas import Version
from bot.store.usage import name_of_person

BY_COMMAND = ("import", "revert")
"""What makes a version besides an edit of fields."""
SHOWN_CHARS = 1_500
"""Of a field's text in a message; a longer one comes as a file."""


async def edit(call: Call, desk: Desk) -> Outbound:
    """`/persona edit [FIELD] [VALUE] [-p persona]`: show a field, or make it say something else; without one all are
    gone through, by a form or by questions.
    """
    persona, field = await own_persona(call, desk), call.options.get("field", MORE)
    if call.inbound.filled is not None:
        return await take_form(persona, call.inbound.filled, call, desk)
    if field == MORE:
        return await begin_questions(persona, call, desk)
    value = "" if "clear" in call.options else call.options.get("value")
    if value is None:
        return _shown(persona, field, call, desk)
    if not value and field == "name":
        raise UserError("persona-needs-name")
    changed = await change_fields(persona, {field: value}, call, desk)
    return tell_change("persona-edited", changed, call, desk, field=field_names({field: value}, call, desk))


def _shown(persona: Persona, field: str, call: Call, desk: Desk) -> Outbound:
    text = field_text(persona, field)
    facts = {"persona": persona.name, "field": field_names({field: text}, call, desk)}
    if not text:
        return desk.say("persona-field-empty", call, **facts)
    heading = desk.text("persona-field", call.locale, **facts)
    if len(text) > SHOWN_CHARS:
        return Outbound(text=heading, file=OutFile(name=f"{field}.txt", text=text))
    return Outbound(text=f"{heading}\n\n" + "\n".join(f"> {inert(line)}" for line in text.splitlines()))


async def list_versions(call: Call, desk: Desk) -> Outbound:
    """`/persona versions [persona] [-p page]`: what an imported card said at what time."""
    persona = await own_persona(call, desk)
    page = page_of(await desk.db.read(personas.list_versions, persona.id), call)
    names = await desk.db.read(_names, page.entries)
    lines = [_line(version, version.number == persona.version, names, call, desk) for version in page.entries]
    heading = desk.text("persona-versions", call.locale, persona=persona.name)
    return paged(heading, lines, page, f"persona versions {persona.id}", call, desk)


def _names(tx: Tx, versions: Sequence[Version]) -> Mapping[str, str]:
    """What those who made versions are called, by their keys."""
    return {key: name_of_person(tx, key) for key in {version.changed_by for version in versions}}


def _line(version: Version, is_current: bool, names: Mapping[str, str], call: Call, desk: Desk) -> str:
    mark = " ✅" if is_current else ""
    at = f"{call.local(version.changed_at):%Y-%m-%d %H:%M}"
    change = inert(_named(version.change, call, desk))
    return f"**{version.number}**{mark} · {at} · {change} · {inert(names[version.changed_by])}"


def _named(change: str, call: Call, desk: Desk) -> str:
    """What made a version, in the caller's language: the fields that were edited, or a command with its number."""
    word, _, number = change.partition(" ")
    if word in BY_COMMAND:
        return f"{desk.names.of_command(('persona', word), call.locale)[0]} {number}".rstrip()
    return field_names(dict.fromkeys(change.split(", "), ""), call, desk)


async def revert(call: Call, desk: Desk) -> Outbound:
    """`/persona revert [VERSION] [-p persona]`: let an earlier version count again, the one before without a number. A
    removed persona comes back by its id.
    """
    if (restored := await _restored(call, desk)) is not None:
        return desk.say("persona-restored", call, persona=restored.name)
    persona = await own_persona(call, desk)
    wanted = int(call.options["version"]) if "version" in call.options else None
    number = await desk.db.run(_revert, persona.id, wanted, call)
    return tell_change("persona-reverted", await as_it_is_now(persona, desk), call, desk, number=number)


def _revert(tx: Tx, persona_id: str, wanted: int | None, call: Call) -> int:
    """Make a version of an earlier one's words; returns the number of that."""
    kept = [version.number for version in personas.list_versions(tx, persona_id)]
    number = wanted if wanted is not None else next(iter(kept[1:]), None)
    if number is None:
        raise UserError("persona-only-version")
    card = personas.card_of_version(tx, persona_id, number)
    if card is None:
        raise UserError("persona-no-version", version=number, versions=", ".join(map(str, sorted(kept))))
    by = call.inbound.author.key
    personas.change_card(tx, persona_id, card, change=f"revert {number}", by=by, now=call.now)
    return number


async def _restored(call: Call, desk: Desk) -> Persona | None:
    persona_id = call.options.get(PERSONA_FLAG.name, "").lower()
    gone = await desk.db.read(personas.find_retired, persona_id) if persona_id else None
    if gone is None or gone.place_key not in (None, call.inbound.channel.place_key):
        return None
    await demand_rights(gone.place_key, call, desk)
    await desk.db.run(_restore, persona_id, gone.place_key, call)
    await desk.imported.refresh()
    return desk.library.get(persona_id)


def _restore(tx: Tx, persona_id: str, place_key: str | None, call: Call) -> None:
    personas.restore(tx, persona_id)
    demand_room(tx, place_key, call.inbound.author.key)


async def remove(call: Call, desk: Desk) -> Outbound:
    """`/persona remove PERSONA [-y]`: take an imported card away, after asking. Its conversations stay."""
    persona = await own_persona(call, desk)
    if "yes" not in call.options:
        asked = desk.say("persona-remove-ask", call, persona=persona.name)
        button = Button(label=desk.text("persona-remove-yes", call.locale), command=f"persona remove -y {persona.id}")
        return Outbound(text=asked.text, buttons=((button,),))
    await desk.db.run(personas.retire, persona.id, by=call.inbound.author.key, now=call.now)
    await desk.imported.refresh()
    told = desk.say("persona-removed", call, persona=persona.name, id=persona.id)
    back = Button(label=desk.text("persona-undo", call.locale), command=f"persona revert -p {persona.id}")
    return Outbound(text=told.text, buttons=((back,),))


FIELD = OptionSpec(name="field", kind=OptionKind.CHOICE, choices=(*EDITABLE, MORE))
VALUE = OptionSpec(name="value", rest=True)
CLEAR = OptionSpec(name="clear", kind=OptionKind.SWITCH, flag="-c")
VERSION = OptionSpec(name="version", kind=OptionKind.INTEGER)

EDIT_COMMANDS = (
    *INTERVIEW_COMMANDS,
    Command(
        spec=CommandSpec(
            path=("persona", "edit"),
            options=(FIELD, VALUE, PERSONA_FLAG, CLEAR),
            ephemeral=True,
            manages=True,
            opens_form=True,
            example="persona edit scenario A rainy harbour town",
        ),
        run=edit,
        form=make_form,
        suggest=suggest_personas,
    ),
    Command(
        spec=CommandSpec(path=("persona", "versions"), options=(PERSONA, PAGE), ephemeral=True, manages=True),
        run=list_versions,
        suggest=suggest_personas,
    ),
    Command(
        spec=CommandSpec(path=("persona", "revert"), options=(VERSION, PERSONA_FLAG), manages=True),
        run=revert,
        suggest=suggest_personas,
    ),
    Command(
        spec=CommandSpec(path=("persona", "remove"), options=(CHOSEN_PERSONA, YES), manages=True),
        run=remove,
        suggest=suggest_personas,
    ),
)
