"""What a persona keeps of how it feels, by a schema in its card (`extensions.familiar.state`). Knows no store.

A card is untrusted: names, values and their number are bounded, and what is no field is left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from bot.personas.card import PersonaCard
from bot.personas.proposals import own_extension

MAX_FIELDS = 12
MAX_CHOICES = 30
MAX_CHARS = 100
"""Of a text, a choice and a description. All three ours to choose: the values go with every request."""
MAX_NUMBER = 10**6
"""No number goes beyond this where the card states no limit."""

Value = str | int | bool
Kind = Literal["string", "integer", "boolean"]

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,31}")
"""What every model's server takes as the name of a property."""
_DEFAULTS: Mapping[Kind, Value] = {"string": "", "integer": 0, "boolean": False}


class BadValue(ValueError):
    """A field cannot have this value; the text says what it takes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MoodField:
    """One thing that a persona keeps, and what it may be."""

    name: str
    kind: Kind
    default: Value
    choices: tuple[str, ...] = ()
    minimum: int = -MAX_NUMBER
    maximum: int = MAX_NUMBER
    description: str = ""

    def read(self, value: object) -> Value:
        """A value as this field keeps it; models write numbers as texts, and choices in any case.

        Raises:
            BadValue: it is none.
        """
        match self.kind:
            case "integer":
                return self._number(value)
            case "boolean":
                return self._switch(value)
            case "string":
                return self._text(value)

    def _number(self, value: object) -> int:
        number = _as_number(value)
        if number is None or not self.minimum <= number <= self.maximum:
            raise BadValue(f"{self.name} is a whole number from {self.minimum} to {self.maximum}")
        return number

    def _switch(self, value: object) -> bool:
        if isinstance(value, str) and value.strip().lower() in ("true", "false"):
            return value.strip().lower() == "true"
        if isinstance(value, bool):
            return value
        raise BadValue(f"{self.name} is true or false")

    def _text(self, value: object) -> str:
        text = _line(value)
        if text is None:
            raise BadValue(f"{self.name} is a text of at most {MAX_CHARS} characters")
        if not self.choices:
            return text
        chosen = next((choice for choice in self.choices if choice.casefold() == text.casefold()), None)
        if chosen is None:
            raise BadValue(f"{self.name} is one of: {', '.join(self.choices)}")
        return chosen

    @property
    def takes(self) -> str:
        """What it may be, where the card says so: "calm, cross" or "0–10"; "" for anything."""
        if self.choices:
            return ", ".join(self.choices)
        is_bounded = self.kind == "integer" and (self.minimum > -MAX_NUMBER or self.maximum < MAX_NUMBER)
        return f"{self.minimum}–{self.maximum}" if is_bounded else ""

    @property
    def schema(self) -> dict[str, Any]:
        """The same as JSON Schema, without limits of lengths, which some servers refuse."""
        schema: dict[str, Any] = {"type": self.kind}
        if self.choices:
            schema["enum"] = [*self.choices]
        if told := "; ".join(filter(None, (self.description, "" if self.choices else self.takes))):
            schema["description"] = told
        return schema


def mood_fields(card: PersonaCard) -> tuple[MoodField, ...]:
    """What a card's persona keeps; nothing for most."""
    schema = own_extension(card, "state")
    if not isinstance(schema, Mapping):
        return ()
    fields = (_field(name, said) for name, said in schema.items())
    return tuple(field for field in fields if field is not None)[:MAX_FIELDS]


def mood_of(fields: tuple[MoodField, ...], kept: Mapping[str, object]) -> dict[str, Value]:
    """How it is now: what was kept, as far as the card still allows it, else what the card begins with."""
    return {field.name: _kept(field, kept) for field in fields}


def written_mood(mood: Mapping[str, Value], takes: Mapping[str, str] | None = None) -> str:
    """Values on one line, each with what it may be: "mood: calm (calm, cross); trust: 3 (0–10)"."""
    lines = ((f"{name}: {_written(value)}", (takes or {}).get(name)) for name, value in mood.items())
    return "; ".join(f"{line} ({choices})" if choices else line for line, choices in lines)


def _written(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value) or "–"


def _kept(field: MoodField, kept: Mapping[str, object]) -> Value:
    try:
        return field.read(kept[field.name])
    except (BadValue, KeyError):
        return field.default


def _field(name: object, said: object) -> MoodField | None:
    if not isinstance(name, str) or not _NAME.fullmatch(name) or not isinstance(said, Mapping):
        return None
    kind = said.get("type", "string")
    if kind not in ("string", "integer", "boolean"):
        return None
    low, high = _as_number(said.get("minimum")), _as_number(said.get("maximum"))
    bounds = (-MAX_NUMBER if low is None else low, MAX_NUMBER if high is None else high)
    choices = said.get("enum")
    named = [_line(choice) for choice in choices[:MAX_CHOICES]] if isinstance(choices, list) else []
    field = MoodField(
        name=name,
        kind=kind,
        default=_DEFAULTS[kind],
        choices=tuple(dict.fromkeys(filter(None, named))) if kind == "string" else (),
        minimum=min(bounds),
        maximum=max(bounds),
        description=_line(said.get("description")) or "",
    )
    return _with_default(field, said.get("default"))


def _with_default(field: MoodField, said: object) -> MoodField:
    """The field with what it begins with: what the card says, else the first choice or the number nearest to 0."""
    plain: Value = field.default
    if field.kind == "integer":
        plain = min(max(0, field.minimum), field.maximum)
    elif field.choices:
        plain = field.choices[0]
    try:
        default = plain if said is None else field.read(said)
    except BadValue:
        default = plain
    return replace(field, default=default)


def _as_number(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return int(number) if abs(number) <= MAX_NUMBER and number == int(number) else None


def _line(value: object) -> str | None:
    """A text on one line; `None` for what is none, or is too long."""
    line = " ".join(value.split()) if isinstance(value, str) else None
    return line if line is not None and len(line) <= MAX_CHARS and line.isprintable() else None
