"""Reads the settings from the environment and `.env`, tells every problem at once, and writes `.env.example`.

Knows the words of an operator; what the settings mean is in `bot.settings`.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, PydanticUndefined
from pydantic_settings import SettingsError as SourceError

from bot.errors import OperatorError
from bot.settings import MIN_BUDGET_TOKENS, Settings, output_reserve, place_keys, prompt_budget

KNOWN_SERVERS = {
    "openai": "https://api.openai.com/v1",
    "openrouter": "https://openrouter.ai/api/v1",
    "deepseek": "https://api.deepseek.com/v1",
    "gemini": "https://generativelanguage.googleapis.com/v1beta/openai",
    "groq": "https://api.groq.com/openai/v1",
    "mistral": "https://api.mistral.ai/v1",
    "ollama": "http://127.0.0.1:11434/v1",
    "lmstudio": "http://127.0.0.1:1234/v1",
}
"""Where a provider of that name is found when its BASE_URL is not set (each vendor's documentation)."""


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
    try:
        settings = Settings(_env_file=env_file)
    except ValidationError as error:
        raise SettingsError([_sentence(detail) for detail in error.errors(include_url=False)]) from None
    except SourceError as error:
        # The library's sentence names the field and quotes no value; its cause quotes the value.
        raise SettingsError([f"{error}; lists are written a,b and tables as JSON"]) from None
    problems = [*_profile_problems(settings), *_budget_problems(settings), *_provider_problems(settings)]
    if problems:
        raise SettingsError(problems)
    return settings


def _sentence(detail: ErrorDetails) -> str:
    name = "__".join(str(part) for part in detail["loc"]).upper()
    if detail["type"] == "extra_forbidden":
        near = difflib.get_close_matches(name, known_names(), n=1)
        return f"{name} is no setting" + (f"; did you mean {near[0]}?" if near else "")
    message = detail["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    return f"{name}: {message[0].lower()}{message[1:]}" if name else message


def _profile_problems(settings: Settings) -> Iterator[str]:
    for platform, values in settings.profiles.items():
        for name, value in flatten(values):
            label = f"PROFILES__{platform}__{name}".upper()
            key = place_keys().get(name)
            if key is None:
                near = difflib.get_close_matches(name, place_keys(), n=1)
                yield f"{label} is no per-place key" + (f"; did you mean {near[0].upper()}?" if near else "")
                continue
            try:
                key.parse(value)
            except ValidationError as error:
                yield f"{label}: {error.errors(include_url=False)[0]['msg']}"


def _budget_problems(settings: Settings) -> Iterator[str]:
    window = settings.context_tokens
    if not window:
        return
    reserve = output_reserve(window, settings.max_output_tokens)
    budget = prompt_budget(settings, window, reserve)
    if budget < MIN_BUDGET_TOKENS:
        margin = max(512, int(window * settings.reserve_ratio))
        yield (
            f"CONTEXT_TOKENS leaves too little room for a prompt: {window} x {settings.trim_threshold_ratio} "
            f"- {reserve} for the answer - {margin} margin = {budget} tokens, and {MIN_BUDGET_TOKENS} are needed"
            ". Raise CONTEXT_TOKENS, or lower MAX_OUTPUT_TOKENS"
        )


def _provider_problems(settings: Settings) -> Iterator[str]:
    for name, provider in settings.providers.items():
        if provider.base_url is None and name not in KNOWN_SERVERS:
            yield f"PROVIDERS__{name.upper()}__BASE_URL is needed: no server of the name {name!r} is known"
    provider_name = settings.model.partition("/")[0]
    is_path = settings.model.startswith(("/", ".", "~"))
    if "/" in settings.model and not is_path and provider_name not in {*settings.providers, "local"}:
        yield (
            f"MODEL names the provider {provider_name!r}, which is not configured; "
            f"set PROVIDERS__{provider_name.upper()}__API_KEY or __BASE_URL"
        )


def flatten(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves of a nested table as (`a__b`, value) pairs."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from flatten(value, f"{prefix}{name}__")
        else:
            yield f"{prefix}{name}", value


def known_names() -> list[str]:
    """Every setting's name as written in the environment."""
    return [name for name, _ in _leaves(Settings, "")]


def _leaves(model: type[BaseModel], prefix: str) -> Iterator[tuple[str, FieldInfo]]:
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from _leaves(kind, f"{prefix}{name.upper()}__")
        else:
            yield f"{prefix}{name.upper()}", field


def secrets_of(settings: Settings) -> list[str]:
    """Every secret in the settings, for `bot.telemetry` to keep out of the logs."""
    hidden = [settings.discord.token, settings.telegram.token, settings.telegram.webhook.secret_token]
    hidden += [provider.api_key for provider in settings.providers.values()]
    return [secret.get_secret_value() for secret in hidden if secret is not None]


_OPENING = """\
# Familiar reads its settings from the environment and from a file named .env beside this one.
# Every line below shows a default; take the # away to change it. Keys marked (place) can also be changed in chat
# with /session set. Made from bot/settings.py: a test keeps the two equal.
#
# The three lines that most people need:
#   DISCORD__TOKEN=...            TELEGRAM__TOKEN=...
#   PROVIDERS__OPENAI__API_KEY=...    with    MODEL=openai/gpt-5-mini
"""

_FREE_FORM = {
    "PROVIDERS": ("PROVIDERS__OPENAI__API_KEY=", "PROVIDERS__OLLAMA__BASE_URL=http://127.0.0.1:11434/v1"),
    "PROFILES": ("PROFILES__TELEGRAM__LANGUAGE=zh",),
    "MODELS": ('MODELS={"openai/gpt-5-mini": {"context_window": 64000}}',),
}


def env_example() -> str:
    """The text of `.env.example`, made from `Settings`."""
    lines = [_OPENING]
    group = ""
    for name, field in _leaves(Settings, ""):
        head = name.partition("__")[0] if "__" in name else ""
        if head != group:
            lines.append("")
            group = head
        note = " ".join(filter(None, (field.description, "(place)" if field.json_schema_extra else "")))
        if note:
            lines.append(f"# {note}")
        lines.extend(f"#{line}" for line in _FREE_FORM.get(name, (f"{name}={_shown(field.default)}",)))
    return "\n".join(lines) + "\n"


def _shown(value: object) -> str:
    if value is None or value is PydanticUndefined or isinstance(value, SecretStr) or value in ((), {}):
        return ""
    if isinstance(value, bool):
        return "on" if value else "off"
    if hasattr(value, "total_seconds"):
        return str(int(value.total_seconds()))
    return str(value)
