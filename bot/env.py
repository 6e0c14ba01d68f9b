"""Reads the settings from the environment and `.env`, tells every problem at once, and writes `.env.example`.

Knows the words of an operator; what the settings mean is in `bot.settings`.
"""

from __future__ import annotations

import difflib
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ModelWrapValidatorHandler, SecretStr, ValidationError, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, PydanticUndefined
from pydantic_settings import (
    BaseSettings,
    DotEnvSettingsSource,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
)

from bot.errors import OperatorError
from bot.settings import (
    MIN_BUDGET_TOKENS,
    ModelSettings,
    ProviderSettings,
    Settings,
    output_reserve,
    place_keys,
    prompt_budget,
)

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


class _LeavesJsonToValidation:
    """A table that is no JSON is passed on as it is, so that its fault is told by name and beside all others."""

    def decode_complex_value(self, field_name: str, field: FieldInfo, value: Any) -> Any:
        try:
            return json.loads(value)
        except ValueError:
            return value


class _Environment(_LeavesJsonToValidation, EnvSettingsSource):
    pass


class _EnvFile(_LeavesJsonToValidation, DotEnvSettingsSource):
    pass


class _Faulty(Exception):
    """Some settings are unsound; `rest` has their defaults in their place."""

    def __init__(self, details: Sequence[ErrorDetails], unsound: set[str], rest: Settings) -> None:
        self.details, self.unsound, self.rest = details, unsound, rest
        super().__init__()


class _FromEnvironment(Settings):
    @model_validator(mode="wrap")
    @classmethod
    def _tell_faults_beside_the_rest(cls, values: dict[str, Any], validate: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return validate(values)
        except ValidationError as error:
            details = error.errors(include_url=False, include_context=False, include_input=False)
            unsound = {str(detail["loc"][0]) for detail in details} | (values.keys() - cls.model_fields)
            rest = {name: value for name, value in values.items() if name not in unsound}
            raise _Faulty(details, unsound, validate(rest)) from None

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        assert isinstance(dotenv_settings, DotEnvSettingsSource)
        return (
            init_settings,
            _Environment(settings_cls),
            _EnvFile(settings_cls, env_file=dotenv_settings.env_file, env_file_encoding="utf-8-sig"),
        )


def load_settings(env_file: Path | None = Path(".env")) -> Settings:
    """Read and check everything.

    Raises:
        SettingsError: with every problem found, in words, never with a value that may be secret.
    """
    problems: list[str] = []
    unsound: set[str] = set()
    try:
        settings: Settings = _FromEnvironment(_env_file=env_file)
    except _Faulty as faulty:
        problems, unsound, settings = _sentences(faulty.details), faulty.unsound, faulty.rest
    except UnicodeDecodeError:
        raise SettingsError([f"{env_file} is no UTF-8 text; save it again as UTF-8"]) from None
    for find, needs in _CHECKS:
        if not unsound & needs:
            problems += find(settings)
    if problems:
        raise SettingsError(problems)
    return settings


def _sentences(details: Sequence[ErrorDetails]) -> list[str]:
    """One sentence per setting; what each alternative of a setting has to say is told together."""
    said: dict[str, list[str]] = {}
    for detail in details:
        name = "__".join(part for part in map(str, detail["loc"]) if not _ALTERNATIVE.match(part)).upper()
        said.setdefault(name, []).append(_fault(name, detail))
    return [f"{name} {' or '.join(faults)}" for name, faults in said.items()]


_ALTERNATIVE = re.compile(r"(constrained-)?int$|literal\[")
"""How pydantic names the alternatives of a setting that takes a number or a word."""


def _fault(name: str, detail: ErrorDetails) -> str:
    if detail["type"] == "extra_forbidden":
        near = difflib.get_close_matches(name, [*known_names(), *_names_beside(detail["loc"])], n=1)
        return "is no setting" + (f"; did you mean {near[0]}?" if near else "")
    if detail["type"] in ("model_type", "dict_type"):
        return f"is a table: write it as JSON, or its parts as {name}__NAME=value"
    return _plain(detail["msg"])


def _plain(message: str) -> str:
    """What pydantic has to say about a value, to stand after the setting's name."""
    if message.startswith("Value error, "):
        return "is refused: " + message.removeprefix("Value error, ")
    return message.removeprefix("Input ")


def _names_beside(loc: tuple[int | str, ...]) -> Iterator[str]:
    """What could have been meant inside a table with names of the operator's choice."""
    entries: dict[int | str, type[BaseModel]] = {"providers": ProviderSettings, "models": ModelSettings}
    if entry := entries.get(loc[0]):
        yield from ("__".join((*map(str, loc[:-1]), field)).upper() for field in entry.model_fields)


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
                yield f"{label} {_plain(error.errors(include_url=False)[0]['msg'])}"


def _budget_problems(settings: Settings) -> Iterator[str]:
    for name, window in _windows(settings):
        reserve = output_reserve(window, settings.max_output_tokens)
        budget = prompt_budget(settings, window, reserve)
        if budget < MIN_BUDGET_TOKENS:
            margin = max(512, int(window * settings.reserve_ratio))
            yield (
                f"{name} leaves too little room for a prompt: {window} x {settings.trim_threshold_ratio} "
                f"- {reserve} for the answer - {margin} margin = {budget} tokens, and {MIN_BUDGET_TOKENS} are needed"
                f". Raise {name}, or lower MAX_OUTPUT_TOKENS"
            )


def _windows(settings: Settings) -> Iterator[tuple[str, int]]:
    """Every window that the operator states, by the setting that states it."""
    cap = settings.context_tokens
    if cap:
        yield "CONTEXT_TOKENS", cap
    for platform, values in settings.profiles.items():
        tokens = str(values.get("context_tokens"))
        if tokens.isdecimal() and int(tokens):
            yield f"PROFILES__{platform.upper()}__CONTEXT_TOKENS", int(tokens)
    for group in ("providers", "models"):
        for name, given in getattr(settings, group).items():
            if given.context_window and given.context_window < (cap or sys.maxsize):
                yield f"{group.upper()}__{name.upper()}__CONTEXT_WINDOW", given.context_window


def _provider_problems(settings: Settings) -> Iterator[str]:
    for name, provider in settings.providers.items():
        if provider.base_url is None and name not in KNOWN_SERVERS:
            yield f"PROVIDERS__{name.upper()}__BASE_URL is needed: no server of the name {name!r} is known"
    provider_name = settings.model.partition("/")[0]
    is_path = settings.model.startswith(("/", ".", "~"))
    if "/" in settings.model and not is_path and provider_name not in {*settings.providers, "local"}:
        known = ", ".join(settings.providers) or "none"
        yield (
            f"MODEL names a provider that is not configured (configured: {known}); what stands before its first "
            "slash must be the NAME of a PROVIDERS__NAME__API_KEY or PROVIDERS__NAME__BASE_URL"
        )


def _database_problems(settings: Settings) -> Iterator[str]:
    if settings.database_url and not settings.database_url.startswith(("sqlite:", "sqlite+pysqlite:")):
        yield "DATABASE_URL must begin with sqlite: because only SQLite is supported; write sqlite:///data/familiar.db"


_CHECKS: tuple[tuple[Callable[[Settings], Iterator[str]], frozenset[str]], ...] = (
    (_profile_problems, frozenset({"profiles"})),
    (_budget_problems, frozenset({"context_tokens", "max_output_tokens", "reserve_ratio", "trim_threshold_ratio"})),
    (_provider_problems, frozenset({"providers", "model"})),
    (_database_problems, frozenset({"database_url"})),
)
"""What only the whole can tell, and the settings that must be sound for it to be told."""


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


def near_misses(environment: Iterable[str]) -> list[str]:
    """One sentence for each variable whose name is none of a setting and so much like one that it must be meant. The
    environment holds names of other programs, too, so that this is no reason to refuse the start.
    """
    heads = sorted({name.partition("__")[0] for name in known_names()})
    found = []
    for name in sorted(environment):
        head, mark, rest = name.upper().partition("__")
        near = difflib.get_close_matches(head, heads, n=1, cutoff=_MEANT)
        if near and head not in heads:
            found.append(f"{name} is no setting; did you mean {near[0]}{mark}{rest}?")
    return found


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

_MEANT = 0.85
"""Likeness from which a name is taken for a mistyped setting: one letter in seven, as in DATA_DIRS."""


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
