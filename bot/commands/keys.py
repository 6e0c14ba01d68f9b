"""What `/session set KEY VALUE` understands: the spellings of keys, their values, and which values go together.

Knows no store; every refusal names the remedy.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from typing import Any, get_args

from pydantic import ValidationError

from bot.cast import MOST_MEMBERS, read_cast
from bot.commands.command import Call, Desk
from bot.commands.tool_rights import find_group
from bot.commands.zones import find_zone
from bot.env.names import known_names
from bot.errors import UserError
from bot.locale import has_texts
from bot.model_in_force import model_in_force
from bot.overrides import SessionSettings
from bot.personas.library import NO_PERSONA, Ambiguous, Persona, Shelf, fold
from bot.settings import (
    MIN_BUDGET_TOKENS,
    PlaceKey,
    PlaceSettings,
    Trigger,
    least_window,
    output_reserve,
    place_keys,
    prompt_budget,
)
from bot.spelling import near_names

NAME = "name"
"""The session's label, which is no key: it belongs to one session and is not inherited."""

NOBODY = "none"
"""What FALLBACKS takes where a place wants none of those that are configured."""

ALL = "all"
"""What /session reset takes for every key at once."""

RULES_SHARE = 0.25
"""Part of the window that a place's own rules may take; ours to choose: three quarters are left for card and talk."""

SHOWN_CHARS = 80
"""Characters shown of one value; a place's own rules may be pages long."""


def find_key(typed: str) -> PlaceKey:
    """The key that somebody means: `summary.idle_seconds`, `summary_idle_seconds` and `SUMMARY__IDLE_SECONDS` are one.

    Raises:
        UserError: it is none of a place, but one of whoever runs the bot, or none at all; names near ones.
    """
    if key := known_key(typed):
        return key
    if spelled(typed) in map(spelled, known_names()):
        raise UserError("session-key-operators", key=typed)
    if near := near_names(typed, (*place_keys(), NAME)):
        raise UserError("session-key-unknown", key=typed, near=", ".join(near))
    raise UserError("session-key-none", key=typed, keys=", ".join((*place_keys(), NAME)))


def known_key(typed: str) -> PlaceKey | None:
    """The key with this name, in any spelling."""
    return next((key for name, key in place_keys().items() if spelled(name) == spelled(typed)), None)


def spelled(name: str) -> str:
    """A key's name as it is compared."""
    return re.sub(r"[._\s-]+", "_", name.strip().lower())


async def read_value(key: PlaceKey, typed: str, call: Call, desk: Desk) -> Any:
    """The value that somebody means for a key.

    Raises:
        UserError: it is no such value; says what the key takes.
    """
    match key.name:
        case "model":
            return await desk.models.resolve(typed, model_in_force(desk.models, call.settings).name)
        case "fallbacks":
            current = model_in_force(desk.models, call.settings).name
            names = () if fold(typed) == NOBODY else key.parse(typed)
            return tuple([await desk.models.resolve(name, current) for name in names])
        case "persona":
            persona = find_persona(desk.shelf(call), typed)
            return persona.id if persona else NO_PERSONA
        case "timezone":
            return find_zone(typed)
        case "language":
            return _language(typed, desk)
        case "tool_groups":
            return tuple(find_group(group, desk.toolbox.groups()) for group in key.parse(typed))
        case "cast":
            return _cast(key.parse(typed), call, desk)
    try:
        value = key.parse(desk.names.find_choice(typed, key.choices) or typed)
    except ValidationError:
        raise _refusal(key, typed) from None
    if isinstance(value, float) and not math.isfinite(value):
        raise _refusal(key, typed)
    return value


def _cast(typed: Sequence[str], call: Call, desk: Desk) -> tuple[str, ...]:
    shelf = desk.shelf(call)
    entries = tuple(_cast_entry(entry, shelf) for entry in typed)
    cast = read_cast(shelf, PlaceSettings(cast=entries), call.persona_id)
    if len(cast.members) > MOST_MEMBERS:
        raise UserError("cast-full", most=MOST_MEMBERS)
    for persona in cast.namesakes:
        raise UserError("cast-word-taken", word=persona.name, persona=persona.name)
    return entries


def _cast_entry(typed: str, shelf: Shelf) -> str:
    name, colon, words = typed.partition(":")
    persona = find_persona(shelf, name)
    if persona is None:
        raise UserError("persona-which")
    return f"{persona.id}{colon}{words}"


def find_persona(shelf: Shelf, typed: str) -> Persona | None:
    """The persona that somebody means; nobody for `none`.

    Raises:
        UserError: several have that name, or none has; names ids.
    """
    if fold(typed) == NO_PERSONA:
        return None
    match shelf.find(typed):
        case Persona() as persona:
            return persona
        case Ambiguous(matches=matches):
            ids = ", ".join(persona.id for persona in matches)
            raise UserError("persona-ambiguous", persona=typed, ids=ids)
    if near := near_personas(shelf, typed):
        raise UserError("persona-unknown", persona=typed, near=", ".join(near))
    raise UserError("persona-unlike", persona=typed)


def near_personas(shelf: Shelf, typed: str) -> list[str]:
    """Names of personas that a mistyped one may have meant."""
    near = [shelf.get(persona_id) for persona_id in shelf.near(typed)]
    return [name_to_type(shelf, persona) for persona in near if persona]


def name_to_type(shelf: Shelf, persona: Persona) -> str:
    """What people type to mean this persona: its name, or the id where the name would not do."""
    return persona.name if shelf.find(persona.name) is persona and len(persona.name) <= 64 else persona.id


def _language(typed: str, desk: Desk) -> str:
    locales = desk.catalogue.locales
    wanted = desk.names.find_choice(typed, ("auto", *locales)) or typed.replace("_", "-").lower()
    if wanted == "auto" or has_texts(wanted, locales):
        return wanted
    raise UserError("session-value-choice", key="language", value=typed, choices=", ".join(("auto", *locales)))


def _refusal(key: PlaceKey, typed: str) -> UserError:
    if key.choices:
        return UserError("session-value-choice", key=key.name, value=typed, choices=", ".join(key.choices))
    low, high = _bounds(key)
    if high is None:
        return UserError("session-value-number", key=key.name, value=typed, low=low)
    is_whole = float not in (key.field.annotation, *get_args(key.field.annotation))
    wanted = "session-value-whole-between" if is_whole else "session-value-between"
    return UserError(wanted, key=key.name, value=typed, low=low, high=high)


def _bounds(key: PlaceKey) -> tuple[int, int | None]:
    limits = {
        name: int(getattr(limit, name))
        for limit in key.field.metadata
        for name in ("ge", "gt", "le")
        if hasattr(limit, name)
    }
    return limits.get("ge", limits.get("gt", 0)), limits.get("le")


def demand_sound(settings: SessionSettings, changed: Collection[str], desk: Desk) -> None:
    """Check what only the whole can tell, as far as the changed keys have a part in it.

    Raises:
        UserError: two values do not go together, or too little room is left for a prompt.
    """
    if {"summary__trigger__type", "summary__trigger__value"} & set(changed):
        _demand_trigger(settings.values.summary.trigger)
    if {"context_tokens", "max_output_tokens", "model"} & set(changed):
        _demand_budget(settings, desk)
    if "system_prompt" in changed:
        _demand_short_rules(settings, desk)


def _demand_trigger(trigger: Trigger) -> None:
    try:
        Trigger.model_validate(trigger.model_dump())
    except ValidationError:
        value = "" if trigger.value is None else f"{trigger.value:g}"
        raise UserError("session-trigger-unsound", type=trigger.type, value=value or "–") from None


def _demand_budget(settings: SessionSettings, desk: Desk) -> None:
    model = model_in_force(desk.models, settings).name
    window, most = _window(model, settings, desk), desk.limits(model).max_output_tokens
    reserve = min(output_reserve(window, settings.values.max_output_tokens), most or window)
    budget = prompt_budget(desk.settings, window, reserve)
    if budget < MIN_BUDGET_TOKENS:
        usable = int(window * desk.settings.trim_threshold_ratio)
        margin = usable - reserve - budget
        facts = {"window": usable, "reserve": reserve, "margin": margin, "budget": budget, "least": MIN_BUDGET_TOKENS}
        if enough := least_window(desk.settings, settings.values.max_output_tokens):
            raise UserError("session-budget-to", enough=enough, **facts)
        raise UserError("session-budget", **facts)


def _demand_short_rules(settings: SessionSettings, desk: Desk) -> None:
    """Rules go with every request, and what they take is missing for what people say."""
    model = model_in_force(desk.models, settings).name
    window = _window(model, settings, desk)
    tokens = math.ceil(desk.count(settings.values.system_prompt) * desk.gauge.tokens.factor(model))
    most = int(window * RULES_SHARE)
    if tokens > most:
        raise UserError("session-rules-long", tokens=tokens, most=most, window=window, model=model)


def _window(model: str, settings: SessionSettings, desk: Desk) -> int:
    return min(filter(None, (desk.limits(model).context_window, settings.values.context_tokens)))


def shown(value: object) -> str:
    """A value as people read it, cut short; "" for none."""
    text = " ".join(written(value).split())
    return text if len(text) <= SHOWN_CHARS else text[:SHOWN_CHARS] + "…"


def written(value: object) -> str:
    """A value as people type it; "" for none."""
    match value:
        case None:
            return ""
        case bool():
            return "on" if value else "off"
        case float():
            return f"{value:g}"
        case tuple() | list():
            return ", ".join(map(str, value))
        case _:
            return str(value)
