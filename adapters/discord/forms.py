"""Forms as Discord shows them, and what somebody filled in. Knows no command."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from discord import TextStyle
from discord.ui import Modal, TextInput

from adapters.discord.parts import BUTTON_PREFIX
from bot.chat import Form

TITLE_LENGTH = LABEL_LENGTH = 45
"""Characters of a form's title and of a field's label."""
VALUE_LENGTH = 4_000
TEXT_INPUT = 4
"""Discord's type of a field for text."""


def to_modal(form: Form) -> Modal:
    """The form. It is stopped so that the library does not keep it for ever: what is filled in tells by itself what it
    is for.
    """
    modal = Modal(title=form.title[:TITLE_LENGTH], custom_id=f"{BUTTON_PREFIX}{form.command}", timeout=None)
    for field in form.fields:
        text: TextInput[Modal] = TextInput(
            label=field.label[:LABEL_LENGTH],
            custom_id=field.key,
            default=field.value or None,
            style=TextStyle.long if field.is_long else TextStyle.short,
            required=field.is_required,
            max_length=VALUE_LENGTH,
        )
        modal.add_item(text)
    modal.stop()
    return modal


def filled_in(data: Mapping[str, Any]) -> dict[str, str]:
    """The values of a form that was sent, by the keys of its fields; each stands in a row or a label of its own."""
    return dict(_values(data.get("components") or ()))


def _values(components: Any) -> Iterator[tuple[str, str]]:
    for component in components:
        if component.get("type") == TEXT_INPUT:
            yield str(component.get("custom_id", "")), str(component.get("value") or "")
        yield from _values(component.get("components") or ())
        if inner := component.get("component"):
            yield from _values((inner,))
