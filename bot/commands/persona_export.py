"""/persona export: a card as a file that other programs read, and that reads back as the same card."""

from __future__ import annotations

import asyncio

from bot.chat import CommandSpec, OptionKind, OptionSpec, Outbound, OutFile
from bot.commands.command import Call, Command, Desk
from bot.commands.persona import suggest_personas
from bot.commands.persona_rights import PERSONA_FLAG, demand_rights, meant_persona
from bot.errors import UserError
from bot.personas.card import CardError
from bot.personas.files import FORMS, usual_form, write_persona
from bot.store import personas


async def export_card(call: Call, desk: Desk) -> Outbound:
    """`/persona export [json|png|charx] [-p persona]`. A card is its author's work and tells what its people may not
    know: an imported one goes out only to those who may change it, a shipped one to everybody.
    """
    persona = meant_persona(call, desk)
    if persona.is_imported:
        await demand_rights(persona.place_key, call, desk)
    original = await desk.db.read(personas.read_original, persona.id)
    came_in, came_as = (original.container, original.data) if original else (None, None)
    form = call.options.get("format") or usual_form(came_in, has_picture=bool(original and original.picture))
    try:
        written = await asyncio.to_thread(write_persona, persona.card, form, call.now, came_as=came_as)
    except CardError as error:
        raise UserError("persona-export-failed", problem=error.problem.told(desk.words(call))) from error
    told = [desk.text("persona-exported", call.locale, persona=persona.name)]
    if written.left_out:
        told.append(desk.text("persona-export-left", call.locale, count=written.left_out))
    instead = desk.text("persona-export-no-file", call.locale)
    return Outbound(text="\n".join(told), file=OutFile(name=written.name, text=instead, data=written.data))


FORM = OptionSpec(name="format", kind=OptionKind.CHOICE, choices=FORMS)

CARD_EXPORT_COMMANDS = (
    Command(
        spec=CommandSpec(
            path=("persona", "export"), options=(FORM, PERSONA_FLAG), ephemeral=True, example="persona export png"
        ),
        run=export_card,
        suggest=suggest_personas,
    ),
)
