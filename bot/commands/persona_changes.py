"""Changes of an imported card by hand: which fields there are, a new version, and the answer with a way back."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import ValidationError

from bot.chat import Button, Outbound
from bot.commands.command import Call, Desk
from bot.errors import UserError
from bot.personas.card import PersonaCard
from bot.personas.library import Persona
from bot.store import personas
from bot.store.database import Tx

EDITABLE = (
    "name",
    "nickname",
    "description",
    "personality",
    "scenario",
    "first-message",
    "example-messages",
    "system-prompt",
    "post-history-instructions",
    "tags",
)
"""The fields that people change by hand, as they are typed; all else of a card is changed in an editor and imported."""
ONE_LINE = frozenset({"name", "nickname", "tags"})
"""Those without line breaks."""


def field_text(persona: Persona, field: str) -> str:
    """What one of EDITABLE says, as people type it."""
    value = getattr(persona.card, field.replace("-", "_"))
    return ", ".join(value) if isinstance(value, tuple) else str(value)


async def change_fields(persona: Persona, values: Mapping[str, str], call: Call, desk: Desk) -> Persona:
    """Make some of EDITABLE say something else, by one new version; every way to edit ends here.

    Raises:
        UserError: they say that already, or the name would not show.
    """
    await desk.db.run(_change_fields, persona.id, values, call)
    return await as_it_is_now(persona, desk)


def _change_fields(tx: Tx, persona_id: str, values: Mapping[str, str], call: Call) -> None:
    card = personas.read_cards(tx, [persona_id])[persona_id]
    try:
        wanted = {field.replace("-", "_"): value for field, value in values.items()}
        changed = PersonaCard.model_validate({**card.model_dump(), **wanted})
    except ValidationError:  # all that a text can lack to be a field is something of the name that shows
        raise UserError("persona-needs-name") from None
    change = ", ".join(values)
    if changed == card:
        raise UserError("persona-unchanged", field=change)
    personas.change_card(tx, persona_id, changed, change=change, by=call.inbound.author.key, now=call.now)


async def as_it_is_now(persona: Persona, desk: Desk) -> Persona:
    """The persona after a change."""
    await desk.imported.refresh()
    return desk.library.get(persona.id) or persona


def tell_change(message_id: str, persona: Persona, call: Call, desk: Desk, **facts: str | int) -> Outbound:
    """That something changed, with a button that takes it back."""
    told = desk.text(message_id, call.locale, persona=persona.name, version=persona.version, **facts)
    before = f"persona revert {persona.version - 1} -p {persona.id}"
    return Outbound(text=told, buttons=((Button(label=desk.text("persona-undo", call.locale), command=before),),))


def field_names(fields: Mapping[str, str], call: Call, desk: Desk) -> str:
    """What fields are called in the caller's language, with commas between."""
    return ", ".join(desk.names.of_choice(field, call.locale)[0] for field in fields)
