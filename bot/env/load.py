"""Reads the settings and tells every problem at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import BaseModel

from bot.env.faults import sentences
from bot.env.file import Unreadable, line_problems
from bot.env.names import flatten
from bot.env.problems import CHECKS, Check
from bot.env.sources import Faulty, FromEnvironment, Reading
from bot.errors import OperatorError
from bot.settings import PlaceSettings, Settings, Summary, needed_by, place_keys


class SettingsError(OperatorError):
    """The settings cannot be used; `problems` holds one sentence per fault, `read` says where they came from."""

    def __init__(self, problems: list[str], read: str = "") -> None:
        self.problems, self.read = problems, read
        lines = "\n".join(f"  - {problem}" for problem in problems)
        super().__init__(f"These settings need your attention{read and f' ({read})'}:\n{lines}")


def load_settings(env_file: Path | None = Path(".env"), *, checks: Sequence[Check] = ()) -> Settings:
    """Read and check everything; `checks` know what this package does not, such as which personas there are.

    Raises:
        SettingsError: with every problem found, in words, never with a value that may be secret.
    """
    try:
        problems = line_problems(env_file) if env_file else []
        reading = Reading(settings=FromEnvironment(_env_file=env_file))
    except Unreadable as error:
        raise SettingsError([str(error)], "nothing else could be read") from None
    except Faulty as faulty:
        problems += sentences(faulty.details)
        reading = faulty.reading
    for check in (*CHECKS, *checks):
        problems += check(reading)
    if problems:
        raise SettingsError(problems, _told_sources(env_file))
    return reading.settings


def _told_sources(env_file: Path | None) -> str:
    if env_file is None:
        return ""
    place = env_file.absolute()
    return f"read from the environment and {place}" if place.exists() else f"read from the environment; no {place}"


def without_effect(settings: Settings) -> list[str]:
    """One sentence for each setting that was changed although nothing heeds it without another one."""
    hook, voice = settings.telegram.webhook, settings.voice
    heeded = (
        ("TELEGRAM__WEBHOOK__URL", hook.url, _changed("TELEGRAM__WEBHOOK", hook, *type(hook).model_fields)),
        ("VOICE__SPEECH_MODEL", voice.speech_model, _changed("VOICE", voice, "speaker", "form")),
        ("VOICE__TRANSCRIPTION_MODEL", voice.transcription_model, _changed("VOICE", voice, "max_seconds", "max_bytes")),
    )
    waiting = [(name, by) for by, value, names in heeded if not value for name in names]
    waiting += _waiting_for_each_other(settings.summary)
    vain = [f"{name} has no effect without {by}" for name, by in sorted((*waiting, *_waiting_keys(settings)))]
    return [*_unasked_servers(settings), *vain]


def _unasked_servers(settings: Settings) -> Iterator[str]:
    """That servers are described, and no setting lets a model of theirs answer."""
    chosen = (settings.model, settings.fallbacks, *(values.get("model") for values in settings.profiles.values()))
    if settings.providers and not any(chosen):
        names = ", ".join(f"PROVIDERS__{name.upper()}" for name in settings.providers)
        yield f"MODEL is empty, so no model of {names} answers; write MODEL={next(iter(settings.providers))}/NAME"


def _waiting_for_each_other(summary: Summary) -> Iterator[tuple[str, str]]:
    """A model for notes needs its mode, and the mode a model."""
    if summary.model and summary.model_mode != "custom":
        yield "SUMMARY__MODEL", "SUMMARY__MODEL_MODE=custom"
    if summary.model_mode == "custom" and not summary.model:
        yield "SUMMARY__MODEL_MODE", "SUMMARY__MODEL"


def _waiting_keys(settings: Settings) -> Iterator[tuple[str, str]]:
    """The per-place keys that wait for a setting, by the names of the settings that give them a value."""
    given = [("", flatten(settings.model_dump(include=set(PlaceSettings.model_fields))))]
    given += [(f"PROFILES__{platform}__", flatten(values)) for platform, values in settings.profiles.items()]
    for prefix, values in given:
        for name, value in values:
            if (by := needed_by(name, True, settings)) and place_keys()[name].parse(value):
                yield f"{prefix}{name}".upper(), by


def _changed(group: str, values: BaseModel, *names: str) -> list[str]:
    return [f"{group}__{name}".upper() for name in names if name in values.model_fields_set and name != "url"]


def secrets_of(settings: Settings) -> list[str]:
    """Every secret in the settings, for `bot.telemetry` to keep out of the logs."""
    hidden = [settings.discord.token, settings.telegram.token, settings.telegram.webhook.secret_token]
    hidden += [provider.api_key for provider in settings.providers.values()]
    for server in settings.mcp.values():
        hidden += [*server.env.values(), *server.headers.values()]
    return [secret.get_secret_value() for secret in hidden if secret is not None]
