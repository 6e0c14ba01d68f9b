"""/persona edit by a form, where the platform has forms: a card's fields, a few at a time, with what they say now."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace

from bot.chat import Button, Form, FormField, Outbound
from bot.chat.forms import MAX_FIELDS, MAX_VALUE
from bot.commands.command import Call, Desk
from bot.commands.persona_changes import EDITABLE, ONE_LINE, change_fields, field_names, field_text, tell_change
from bot.commands.persona_rights import own_persona
from bot.errors import UserError
from bot.personas.library import Persona

MORE = "more"
"""The value of the option `field` that stands for what did not fit into the first form."""


async def make_form(call: Call, desk: Desk) -> Form | None:
    """The form of `/persona edit`; `None` where one field is named. Each field's key says what it showed, so that only
    what somebody touched is changed.
    """
    wanted = call.options.get("field")
    if wanted not in (None, MORE):
        return None
    persona = await own_persona(call, desk)
    fields = _fields_of(persona, is_more=wanted == MORE)
    if not fields:
        return None
    more = f" {MORE}" if wanted == MORE else ""
    return Form(
        title=desk.catalogue.text("persona-form", call.locale, persona=persona.name),
        fields=tuple(_form_field(persona, field, call, desk) for field in fields),
        command=f"persona edit{more} -p {persona.id}",
    )


def _form_field(persona: Persona, field: str, call: Call, desk: Desk) -> FormField:
    text = field_text(persona, field)
    return FormField(
        key=f"{field}:{_digest(text)}",
        label=desk.names.of_choice(field, call.locale)[0],
        value=text,
        is_long=field not in ONE_LINE,
        is_required=field == "name",
    )


def _fields_of(persona: Persona, *, is_more: bool) -> list[str]:
    """The first fields, or the rest; those too long for a form are in none, as it would cut them."""
    fitting = [field for field in EDITABLE if _fits(field_text(persona, field))]
    return fitting[MAX_FIELDS:] if is_more else fitting[:MAX_FIELDS]


def _fits(text: str) -> bool:
    return len(text.encode("utf-16-le")) <= 2 * MAX_VALUE


async def take_form(persona: Persona, filled: Mapping[str, str], call: Call, desk: Desk) -> Outbound:
    """Change what was touched, and offer the rest.

    Raises:
        UserError: nothing was touched, or the name would not show.
    """
    values = dict(filter(None, (_touched(key, text) for key, text in filled.items())))
    if not values:
        raise UserError("persona-form-untouched", persona=persona.name)
    changed = await change_fields(persona, values, call, desk)
    told = tell_change("persona-edited", changed, call, desk, field=field_names(values, call, desk))
    if "field" in call.options:
        return told
    more = Button(
        label=desk.text("persona-form-more", call.locale),
        command=f"persona edit {MORE} -p {persona.id}",
        opens_form=True,
    )
    return replace(told, buttons=((*told.buttons[0], more),))


def _touched(key: str, text: str) -> tuple[str, str] | None:
    field, _, shown = key.partition(":")
    is_touched = field in EDITABLE and _digest(text) != shown
    return (field, text.strip()) if is_touched else None


def _digest(text: str) -> str:
    """Tells a text from another one; platforms may change line ends, and cut blanks off."""
    return hashlib.sha256(text.replace("\r\n", "\n").strip().encode()).hexdigest()[:16]
