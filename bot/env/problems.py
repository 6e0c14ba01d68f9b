"""What is wrong with settings, one sentence per fault, with the remedy; never a value that may be secret."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from urllib.parse import urlsplit

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from bot.env.access import access_problems
from bot.env.names import flatten, known_names
from bot.settings import (
    KNOWN_SERVERS,
    MIN_BUDGET_TOKENS,
    PLATFORMS,
    ModelSettings,
    ProviderSettings,
    Settings,
    output_reserve,
    place_keys,
    prompt_budget,
)


def sentences(details: Sequence[ErrorDetails]) -> list[str]:
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
        if platform not in PLATFORMS:
            near = difflib.get_close_matches(platform, PLATFORMS, n=1)
            names = f"did you mean PROFILES__{near[0].upper()}" if near else f"there are {', '.join(PLATFORMS)}"
            yield f"PROFILES__{platform.upper()} names no platform; {names}" + ("?" if near else "")
            continue
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


def _webhook_problems(settings: Settings) -> Iterator[str]:
    """What Telegram would refuse (Bot API, setWebhook), and what could not be listened on."""
    webhook = settings.telegram.webhook
    address = urlsplit(webhook.url or "")
    allowed = ("https", "http") if settings.telegram.base_url else ("https",)  # a server of one's own takes both
    if webhook.url and (address.scheme not in allowed or not address.netloc):
        yield "TELEGRAM__WEBHOOK__URL must be a whole address that begins with https://"
    if webhook.path is not None and not webhook.path.startswith("/"):
        yield "TELEGRAM__WEBHOOK__PATH must begin with a slash"
    if webhook.secret_token and not _SECRET.fullmatch(webhook.secret_token.get_secret_value()):
        yield "TELEGRAM__WEBHOOK__SECRET_TOKEN may hold A-Z, a-z, 0-9, _ and -, at most 256 of them"


_SECRET = re.compile(r"[A-Za-z0-9_-]{1,256}")

CHECKS: tuple[tuple[Callable[[Settings], Iterator[str]], frozenset[str]], ...] = (
    (_profile_problems, frozenset({"profiles"})),
    (_budget_problems, frozenset({"context_tokens", "max_output_tokens", "reserve_ratio", "trim_threshold_ratio"})),
    (_provider_problems, frozenset({"providers", "model"})),
    (_database_problems, frozenset({"database_url"})),
    (_webhook_problems, frozenset({"telegram"})),
    (access_problems, frozenset({"access"})),
)
"""What only the whole can tell, and the settings that must be sound for it to be told."""
