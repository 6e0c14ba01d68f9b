"""Whether the personas that the settings name are there, asked at the start and by the doctor, and what they bring."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bot.cast import read_cast
from bot.overrides import Granted
from bot.personas.library import NO_PERSONA, Ambiguous, Persona, PersonaLibrary, fold
from bot.personas.proposals import NO_PROPOSALS
from bot.personas.shelf import persona_for, persona_id_for
from bot.settings import PlaceSettings, Settings


def persona_problems(settings: Settings, library: PersonaLibrary) -> list[str]:
    """One sentence for each setting whose persona cannot speak, with what may have been meant."""
    lost = [
        f"{setting} {problem}"
        for setting, persona in _named(settings)
        if persona and fold(persona) != NO_PERSONA and (problem := _problem(persona, library))
    ]
    return [*lost, *_namesakes(settings, library)]


def granted_by(library: PersonaLibrary) -> Granted:
    """What the cards may bring along (P24). Sessions keep ids, and settings may hold names."""

    def granted(persona: str) -> Mapping[str, Any]:
        found = library.get(persona) or persona_for(library, persona)
        proposals = found.granted if found else NO_PROPOSALS
        brought = {"model": proposals.model, "tool_groups": proposals.tool_groups}
        return {name: value for name, value in brought.items() if value}

    return granted


def _named(settings: Settings) -> Iterator[tuple[str, str]]:
    yield "PERSONA", settings.persona
    yield from (("CAST", _card_of(entry)) for entry in settings.cast)
    for platform, values in settings.profiles.items():
        setting = f"PROFILES__{platform.upper()}__"
        yield f"{setting}PERSONA", str(values.get("persona") or "")
        yield from ((f"{setting}CAST", _card_of(entry)) for entry in values.get("cast") or ())


def _namesakes(settings: Settings, library: PersonaLibrary) -> Iterator[str]:
    casts = {"CAST": PlaceSettings(persona=settings.persona, cast=settings.cast)}
    for platform, values in settings.profiles.items():
        own: dict[str, Any] = {name: values[name] for name in ("persona", "cast") if name in values}
        if own:
            casts[f"PROFILES__{platform.upper()}__CAST"] = casts["CAST"].model_copy(update=own)
    for setting, place in casts.items():
        for persona in read_cast(library, place, persona_id_for(library, place.persona)).namesakes:
            yield f"{setting} names {persona.id}, but another one there is called {persona.name!r} as well; {RENAME}"


RENAME = "leave one of the two out, or give one another name or nickname"


def _card_of(entry: str) -> str:
    return entry.partition(":")[0].strip()


def _problem(typed: str, library: PersonaLibrary) -> str | None:
    match library.find(typed):
        case Persona():
            return None
        case Ambiguous(matches=matches):
            return f"is the name of several cards; take one by its id: {_listed(persona.id for persona in matches)}"
    near = library.near(typed)
    if near:
        return f"names no card that can be used; did you mean {_listed(near)}?"
    known = [persona.id for persona in library.personas]
    return f"names no card that can be used; there are {_listed([*known, NO_PERSONA])}"


def _listed(ids: Iterable[str]) -> str:
    return ", ".join(ids)
