"""Moderation, where there is something to judge by: what it takes is imported only then."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from pydantic import ValidationError

from bot.env import SettingsError, flatten
from bot.hooks import Hooks, Host
from bot.locale import Catalogue
from bot.settings import Moderation, Settings, place_keys
from bot.turn import Turn

MODERATION = "moderation"
"""What its hooks are called in the log."""

SWITCHES = ("moderation__input", "moderation__output")
"""The per-place keys that switch it on."""


def moderation(settings: Settings, host: Host, catalogue: Catalogue) -> list[tuple[str, Hooks]]:
    """Its hooks under their name.

    Raises:
        SettingsError: there is something that cannot be used.
    """
    if not settings.moderation.is_possible:
        return []
    from bot.moderation import moderation_hooks, read_words

    if problems := [*moderation_problems(settings)]:
        raise SettingsError(problems)

    def wording(turn: Turn, message_id: str) -> str:
        language = turn.settings.values.language
        return catalogue.text(message_id, turn.asker.locale if language == "auto" else language)

    hooks = moderation_hooks(settings.moderation, read_words(settings.moderation), host, wording)
    return [(MODERATION, hooks)]


def moderation_problems(settings: Settings) -> Iterator[str]:
    """One sentence for each setting of it that cannot be used."""
    given = settings.moderation
    if not given.is_possible:
        for name in _switched_on(settings):
            yield f"{name} is on, and nothing says what to refuse; set MODERATION__MODEL or MODERATION__WORDS"
    provider, _, model = given.model.partition("/")
    if given.model and not (model and provider in settings.providers):
        known = " or ".join(f"{one}/omni-moderation-latest" for one in settings.providers) or "there is no server yet"
        yield f"MODERATION__MODEL must name a model of a configured server, as provider/model: {known}"
    if given.words_file is not None and (problem := _file_problem(given)):
        yield f"MODERATION__WORDS_FILE cannot be read: {problem}"


def _switched_on(settings: Settings) -> Iterator[str]:
    """The names of the settings that want it."""
    yield from (f"MODERATION__{key.upper()}" for key in ("input", "output") if getattr(settings.moderation, key))
    for platform, values in settings.profiles.items():
        for name, value in flatten(values):
            with suppress(ValidationError):  # told of every key of a profile
                if name in SWITCHES and place_keys()[name].parse(value):
                    yield f"PROFILES__{platform}__{name}".upper()


def _file_problem(given: Moderation) -> str:
    from bot.moderation import read_words

    try:
        read_words(given)
    except (OSError, UnicodeDecodeError) as error:
        return str(error)
    return ""
