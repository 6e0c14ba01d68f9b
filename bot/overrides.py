"""What was changed for a session, its channel, its place or a platform, laid over the settings with provenance.

Pure: rows come in, values with their sources go out. Where rows are kept is the store's business.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pydantic import ValidationError

from bot.env import flatten
from bot.settings import PlaceSettings, place_keys


class Source(StrEnum):
    """Where an effective value comes from, strongest first."""

    SESSION = "session"
    PARENT = "parent"
    PLACE = "place"
    PROFILE = "profile"
    CARD = "card"
    DEFAULT = "default"


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredOverride:
    """One changed key; `value` is JSON text."""

    scope: Source
    name: str
    value: str


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """The effective settings of one session. `chain` holds every value given for a key, strongest first."""

    values: PlaceSettings
    chain: Mapping[str, tuple[tuple[Source, Any], ...]]

    def source(self, name: str) -> Source:
        """Where the effective value of a key comes from."""
        return self.chain[name][0][0] if name in self.chain else Source.DEFAULT

    def value(self, name: str) -> Any:
        """The effective value of a key."""
        return _value_at(self.values, name)

    def changed_at(self, source: Source) -> list[str]:
        """The keys that have a value there, whether it counts or not."""
        return [name for name in place_keys() if any(link is source for link, _ in self.chain.get(name, ()))]


Granted = Callable[[str], Mapping[str, Any]]
"""`granted(persona)`: the values that the card which a setting names may bring along, by key."""


def _grant_nothing(_: str) -> Mapping[str, Any]:
    return {}


class Resolver:
    """Resolves overrides against one configuration; a session without overrides costs a dictionary look-up."""

    def __init__(
        self, defaults: PlaceSettings, profiles: Mapping[str, Mapping[str, Any]], granted: Granted = _grant_nothing
    ) -> None:
        self._defaults, self._granted = defaults, granted
        self._profiles = {platform: dict(flatten(values)) for platform, values in profiles.items()}
        self._plain: dict[str, SessionSettings] = {}

    def resolve(
        self, platform: str, stored: Iterable[StoredOverride], *, speaker: str | None = None
    ) -> SessionSettings:
        """Lay session over parent, place, profile, the persona's card and default; stored values that no longer parse
        are skipped. The card is that of the persona in force unless `speaker` is another one's id: of a cast nobody
        speaks with what another's card may use (P24).
        """
        settings = self._without_card(platform, [*stored])
        granted = self._granted(settings.values.persona if speaker is None else speaker)
        return self._with_card(settings, granted) if granted else settings

    def _without_card(self, platform: str, rows: Sequence[StoredOverride]) -> SessionSettings:
        if not rows and platform in self._plain:
            return self._plain[platform]
        given: dict[str, dict[Source, Any]] = {}
        for name, value in self._profiles.get(platform, {}).items():
            given.setdefault(name, {})[Source.PROFILE] = place_keys()[name].parse(value)
        for row in rows:
            value = _readable(row)
            if value is not None:
                given.setdefault(row.name, {})[row.scope] = value
        chain = {name: tuple((src, values[src]) for src in Source if src in values) for name, values in given.items()}
        settings = SessionSettings(self._with({name: links[0][1] for name, links in chain.items()}), chain)
        if not rows:
            self._plain[platform] = settings
        return settings

    def _with_card(self, settings: SessionSettings, granted: Mapping[str, Any]) -> SessionSettings:
        """What a card brings stands behind what people chose. Where it is a list, it is added to the configured one."""
        chain, values = dict(settings.chain), settings.values
        for name, value in granted.items():
            brought = tuple(dict.fromkeys((*self.default(name), *value))) if isinstance(value, tuple) else value
            chain[name] = (*chain.get(name, ()), (Source.CARD, brought))
            if len(chain[name]) == 1:
                values = _replaced(values, place_keys()[name].path, brought)
        return SessionSettings(values, chain)

    def default(self, name: str) -> Any:
        """The configured value of a per-place key."""
        return _value_at(self._defaults, name)

    def _with(self, changed: Mapping[str, Any]) -> PlaceSettings:
        values = self._defaults
        for name, value in changed.items():
            values = _replaced(values, place_keys()[name].path, value)
        return values


def _value_at(settings: PlaceSettings, name: str) -> Any:
    value: Any = settings
    for part in place_keys()[name].path:
        value = getattr(value, part)
    return value


def _readable(row: StoredOverride) -> Any:
    key = place_keys().get(row.name)
    if key is None:
        return None
    try:
        return key.parse(json.loads(row.value))
    except (ValidationError, json.JSONDecodeError):
        return None


def _replaced(model: Any, path: tuple[str, ...], value: Any) -> Any:
    head, *rest = path
    return model.model_copy(update={head: _replaced(getattr(model, head), tuple(rest), value) if rest else value})
