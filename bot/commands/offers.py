"""What completion offers for /session set and /session reset: keys, and values of the key that stands already."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bot.chat import ValueQuery
from bot.commands.changes import FOR, Reach, source_of
from bot.commands.command import Desk
from bot.commands.keys import ALL, NAME, known_key, spelled, written
from bot.commands.model import suggest_models
from bot.commands.moderation_rights import SWITCHES
from bot.commands.persona import suggest_personas
from bot.commands.zones import zones
from bot.overrides import SessionSettings
from bot.settings import PlaceKey, place_keys
from bot.store import sessions


async def suggest_for_set(desk: Desk, query: ValueQuery) -> Sequence[str]:
    """Values for the options of `/session set`."""
    match query.option:
        case "model":
            return await suggest_models(desk, query)
        case "persona":
            return await suggest_personas(desk, query)
        case "key":
            return _with_in_name(query.typed, (*place_keys(), NAME))
        case _:
            return await _suggest_values(desk, query)


async def suggest_for_reset(desk: Desk, query: ValueQuery) -> Sequence[str]:
    """Keys for `/session reset`: first those that have a value there, and all of them at once."""
    settings = await _settings_of(desk, query)
    source = source_of(_reach(query, desk), query.channel)
    changed = settings.changed_at(source)
    return _with_in_name(query.typed, (*changed, *((ALL,) if changed else ()), *place_keys(), NAME))


def _reach(query: ValueQuery, desk: Desk) -> Reach:
    return Reach(desk.names.find_choice(query.given.get(FOR.name, ""), FOR.choices) or Reach.HERE)


async def _settings_of(desk: Desk, query: ValueQuery) -> SessionSettings:
    rows = await desk.db.read(sessions.load_overrides, query.channel)
    return desk.resolver.resolve(query.channel.platform, rows)


async def _suggest_values(desk: Desk, query: ValueQuery) -> Sequence[str]:
    typed_key = query.given.get("key", "")
    if not typed_key.strip():
        return _having(query, _values_of_any_key(query.typed, desk), desk)
    match known_key(typed_key):
        case None:
            return ()
        case PlaceKey(name="model" | "fallbacks"):
            return await suggest_models(desk, query)
        case PlaceKey(name="persona"):
            return await suggest_personas(desk, query)
        case key:
            return _having(query, _values_of(key, await _settings_of(desk, query), desk), desk)


def _values_of_any_key(typed: str, desk: Desk) -> list[str]:
    """The words of closed sets, languages, and from two letters on time zones."""
    words = [choice for key in place_keys().values() for choice in key.choices]
    return [*words, *desk.catalogue.locales, *(zones() if len(typed) > 1 else ())]


def _values_of(key: PlaceKey, settings: SessionSettings, desk: Desk) -> list[str]:
    """The closed set of a key; where it has none, what is in force and what would be by default."""
    if key.name in SWITCHES and not desk.settings.moderation.is_possible:
        return [written(False)]  # there is nothing to judge by
    if key.choices:
        return [*key.choices]
    standing = [written(settings.value(key.name)), written(desk.resolver.default(key.name))]
    match key.name:
        case "language":
            return ["auto", *desk.catalogue.locales]
        case "timezone":
            return [*standing, *zones()]
        case _:
            return standing


def _having(query: ValueQuery, values: Iterable[str], desk: Desk) -> list[str]:
    """The values that begin with what is typed, then those that have it in them; words of ours in the caller's
    language, unless the English one is being typed.
    """
    wanted = query.typed.casefold()
    spelled_out = {value: (desk.names.of_choice(value, query.author.locale)[0], value) for value in values if value}
    having = [next((word for word in words if wanted in word.casefold()), "") for words in spelled_out.values()]
    return sorted(filter(None, dict.fromkeys(having)), key=lambda value: not value.casefold().startswith(wanted))


def _with_in_name(typed: str, names: Iterable[str]) -> list[str]:
    """The same for names of keys, in any of their spellings."""
    wanted = spelled(typed)
    having = [name for name in dict.fromkeys(names) if wanted in spelled(name)]
    return sorted(having, key=lambda name: not spelled(name).startswith(wanted))
