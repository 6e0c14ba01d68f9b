"""Reads the settings and tells every problem at once."""

from __future__ import annotations

from pathlib import Path

from bot.env.problems import CHECKS, sentences
from bot.env.sources import Faulty, FromEnvironment
from bot.errors import OperatorError
from bot.settings import Settings


class SettingsError(OperatorError):
    """The settings cannot be used; `problems` holds one sentence per fault."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        super().__init__("These settings need your attention:\n" + "\n".join(f"  - {problem}" for problem in problems))


def load_settings(env_file: Path | None = Path(".env")) -> Settings:
    """Read and check everything.

    Raises:
        SettingsError: with every problem found, in words, never with a value that may be secret.
    """
    problems: list[str] = []
    unsound: set[str] = set()
    try:
        settings: Settings = FromEnvironment(_env_file=env_file)
    except Faulty as faulty:
        problems, unsound, settings = sentences(faulty.details), faulty.unsound, faulty.rest
    except UnicodeDecodeError:
        raise SettingsError([f"{env_file} is no UTF-8 text; save it again as UTF-8"]) from None
    for find, needs in CHECKS:
        if not unsound & needs:
            problems += find(settings)
    if problems:
        raise SettingsError(problems)
    return settings


def without_effect(settings: Settings) -> list[str]:
    """One sentence for each setting that was changed although nothing heeds it yet."""
    defaults = Settings.model_fields
    changed = [name for name in _UNHEEDED if getattr(settings, name) != defaults[name].default]
    return [f"{name.upper()} is set and has no effect in this version" for name in changed]


_UNHEEDED = (
    "tool_groups",
    "persona_switch",
    "memory_token_budget",
    "tool_result_max_ratio",
    "extensions",
    "summary",
    "context_pruning",
    "notices",
    "proactive",
)


def secrets_of(settings: Settings) -> list[str]:
    """Every secret in the settings, for `bot.telemetry` to keep out of the logs."""
    hidden = [settings.discord.token, settings.telegram.token, settings.telegram.webhook.secret_token]
    hidden += [provider.api_key for provider in settings.providers.values()]
    return [secret.get_secret_value() for secret in hidden if secret is not None]
