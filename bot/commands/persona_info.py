"""/persona info: a persona as people may know it, with its picture, and buttons that lead from one to the next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bot.chat import Button, CommandSpec, Outbound
from bot.commands.command import Call, Command, Desk, inert
from bot.commands.keys import find_persona
from bot.commands.persona import PERSONA, cut, suggest_personas
from bot.greeting import greetings_of
from bot.personas.library import Persona
from bot.personas.mood import mood_fields, mood_of, written_mood
from bot.store.conversations import open_conversation
from bot.store.database import Tx
from bot.store.moods import read_mood

NOTES_CHARS, MOOD_CHARS, FACT_CHARS = 260, 150, 60
"""Characters shown of a card's notes, of how it feels, and of one fact: all of it is to stand under a picture, where
Telegram takes 1,024 characters.
"""
LABEL_CHARS = 24
"""Characters of a name on a button, as a phone shows two side by side."""


async def show_persona(call: Call, desk: Desk) -> Outbound:
    """`/persona info [NAME]`: what people may know of a card, the one in use by default."""
    typed = call.options.get("persona")
    persona = find_persona(desk.shelf(call), typed) if typed else desk.library.get(call.persona_id)
    if persona is None:
        return desk.say("persona-nobody", call)
    lines = [f"- {line}" for line in (*_facts(persona, call, desk), *await _mood(persona, call, desk))]
    pieces = (
        f"**{inert(cut(persona.name, FACT_CHARS))}** ({persona.id})" + (" ✅" if persona.id == call.persona_id else ""),
        inert(cut(persona.card.notes_in(call.locale), NOTES_CHARS)),
        "\n".join(lines),
    )
    return Outbound(
        text="\n\n".join(filter(None, pieces)),
        buttons=_buttons(persona, call, desk),
        picture=await desk.portraits.small(persona),
    )


def _facts(persona: Persona, call: Call, desk: Desk) -> Iterator[str]:
    card = persona.card
    greetings = len(greetings_of(card, in_group=not call.inbound.channel.is_dm))
    facts = {
        "persona-info-language": persona.language,
        "persona-info-tags": ", ".join(card.tags),
        "persona-info-creator": card.creator,
        "persona-info-version": card.character_version,
        "persona-info-greetings": str(greetings) if greetings > 1 else "",
        "persona-info-granted": ", ".join(filter(None, (persona.granted.model, *persona.granted.tool_groups))),
    }
    for label, fact in facts.items():
        if fact:
            yield desk.text(label, call.locale, value=cut(fact, FACT_CHARS))
    if not persona.is_imported:
        yield desk.text("persona-info-shipped", call.locale)
    else:
        origin = "persona-info-of-all" if persona.place_key is None else "persona-info-of-place"
        yield desk.text(origin, call.locale, version=persona.version)


async def _mood(persona: Persona, call: Call, desk: Desk) -> tuple[str, ...]:
    """How it feels here, or felt when it last spoke here; one that never did, as it would begin."""
    fields = mood_fields(persona.card)
    if not fields:
        return ()
    told = written_mood(mood_of(fields, await desk.db.read(_kept_mood, persona.id, call)))
    return (desk.text("persona-info-mood", call.locale, value=cut(told, MOOD_CHARS)),)


def _kept_mood(tx: Tx, persona_id: str, call: Call) -> Mapping[str, object]:
    is_here = persona_id == call.persona_id or call.settings.values.persona_switch == "shared"
    conversation_id = call.conversation_id if is_here else open_conversation(tx, call.session.id, persona_id)
    return read_mood(tx, conversation_id, persona_id) if conversation_id is not None else {}


def _buttons(persona: Persona, call: Call, desk: Desk) -> tuple[tuple[Button, ...], ...]:
    """To the neighbours in the list, to the list itself, and to a talk."""
    listed = desk.shelf(call).search()
    place = next((place for place, other in enumerate(listed) if other.id == persona.id), None)
    leafing = []
    if place is not None:
        turns = ((place - 1, "◀ {}"), (place + 1, "{} ▶"))
        leafing = [
            Button(label=label.format(cut(listed[other].name, LABEL_CHARS)), command=f"persona info {listed[other].id}")
            for other, label in turns
            if 0 <= other < len(listed)
        ]
    doing = [Button(label=desk.text("persona-info-all", call.locale), command="persona list")]
    if persona.id != call.persona_id:
        use = desk.catalogue.text("persona-import-use", call.locale, persona=cut(persona.name, LABEL_CHARS))
        doing.insert(0, Button(label=use, command=f"persona use {persona.id}"))
    if persona.is_imported:  # whether somebody may is said when they try
        edit = desk.text("persona-form-edit", call.locale)
        doing.append(Button(label=edit, command=f"persona edit -p {persona.id}", opens_form=True))
    return tuple(tuple(row) for row in (leafing, doing) if row)


INFO_COMMANDS = (
    Command(
        spec=CommandSpec(path=("persona", "info"), options=(PERSONA,), ephemeral=True),
        run=show_persona,
        suggest=suggest_personas,
    ),
)
