"""Which persona a command means, and who may change it: for all places the operator, for one place who manages it."""

from __future__ import annotations

from bot.chat import OptionSpec
from bot.commands.command import Call, Desk
from bot.commands.keys import find_persona
from bot.errors import UserError
from bot.personas.library import Persona

PERSONA_FLAG = OptionSpec(name="persona", flag="-p", rest=True, completes=True)
"""Names another persona than the one that speaks here."""


def meant_persona(call: Call, desk: Desk) -> Persona:
    """The persona that PERSONA_FLAG names, else the one that speaks here.

    Raises:
        UserError: there is none of that name, or nobody speaks here.
    """
    typed = call.options.get(PERSONA_FLAG.name)
    persona = find_persona(desk.shelf(call), typed) if typed else desk.library.get(call.persona_id)
    if persona is None:
        raise UserError("persona-which")
    return persona


async def own_persona(call: Call, desk: Desk) -> Persona:
    """The same, if it was imported and the caller may change it.

    Raises:
        UserError: also when it is shipped, or not the caller's to change.
    """
    persona = meant_persona(call, desk)
    if not persona.is_imported:
        raise UserError("persona-is-shipped", persona=persona.name)
    await demand_rights(persona.place_key, call, desk)
    return persona


async def demand_rights(place_key: str | None, call: Call, desk: Desk) -> None:
    """Make sure that the caller may change the cards of this place, or for `None` those of all places.

    Raises:
        UserError: they may not.
    """
    if desk.policy.is_operator(call.inbound.author):
        return
    if place_key is None:
        raise UserError("command-needs-operator")
    if not desk.policy.access.open_commands and not await desk.may_manage(call, whole_place=True):
        raise UserError("command-needs-rights")
