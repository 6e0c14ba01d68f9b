"""What only the whole can tell of settings: a sentence per fault with its remedy; never a value that may be secret."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from pydantic import ValidationError

from bot.env.access import access_problems
from bot.env.faults import either, in_words
from bot.env.mcp import is_web_address, mcp_problems
from bot.env.names import flatten
from bot.env.sources import Reading
from bot.settings import (
    KNOWN_SERVERS,
    MIN_BUDGET_TOKENS,
    PLATFORMS,
    Settings,
    Trigger,
    least_window,
    output_reserve,
    place_keys,
    prompt_budget,
)

Check = Callable[[Reading], Iterable[str]]
"""Looks at the settings that could be read and tells one sentence for each fault."""


def _profile_problems(reading: Reading) -> Iterator[str]:
    for platform, values in reading.settings.profiles.items():
        if platform not in PLATFORMS:
            near = difflib.get_close_matches(platform, PLATFORMS, n=1)
            names = f"did you mean PROFILES__{near[0].upper()}" if near else f"there are {', '.join(PLATFORMS)}"
            yield f"PROFILES__{platform.upper()} names no platform; {names}" + ("?" if near else "")
            continue
        problems = [*_value_problems(f"PROFILES__{platform}__".upper(), values)]
        yield from problems or _trigger_problems(platform, values, reading.settings.summary.trigger)


def _value_problems(prefix: str, values: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with single values of a profile."""
    for name, value in flatten(values):
        label = f"{prefix}{name}".upper()
        key = place_keys().get(name)
        if key is None:
            near = difflib.get_close_matches(name, place_keys(), n=1)
            meant = f"did you mean {near[0].upper()}?" if near else ".env.example marks them with (place)"
            yield f"{label} is no per-place key; {meant}"
            continue
        try:
            key.parse(value)
        except ValidationError as error:
            details = error.errors(include_url=False, include_input=False)
            yield f"{label} {either([in_words(detail) for detail in details])}"


def _trigger_problems(platform: str, values: Mapping[str, Any], default: Trigger) -> Iterator[str]:
    """Whether type and value of the trigger go together, one of which a profile may inherit."""
    summary = values.get("summary")
    own = summary.get("trigger") if isinstance(summary, Mapping) else None
    if not isinstance(own, Mapping):
        return
    try:
        Trigger.model_validate({**default.model_dump(), **own})
    except ValidationError as error:
        (detail, *_) = error.errors(include_url=False, include_input=False)
        yield f"PROFILES__{platform.upper()}__SUMMARY__TRIGGER {in_words(detail)}"


def _budget_problems(reading: Reading) -> Iterator[str]:
    if not all(map(reading.is_sound, ("context_tokens", "max_output_tokens", "reserve_ratio", "trim_threshold_ratio"))):
        return
    settings = reading.settings
    for name, window, most in _windows(settings):
        reserve = output_reserve(window, most)
        budget = prompt_budget(settings, window, reserve)
        if budget < MIN_BUDGET_TOKENS:
            margin = max(512, int(window * settings.reserve_ratio))
            yield (
                f"{name} leaves too little room for a prompt: {window} x {settings.trim_threshold_ratio} "
                f"- {reserve} for the answer - {margin} margin = {budget} tokens, and {MIN_BUDGET_TOKENS} are needed"
                f". Raise {name}{_to_least(settings, most)}, or lower MAX_OUTPUT_TOKENS"
            )


def _to_least(settings: Settings, most: int | None) -> str:
    least = least_window(settings, most)
    return f" to {least} or more" if least else ""


def _windows(settings: Settings) -> Iterator[tuple[str, int, int | None]]:
    """Every window that the operator states, by the setting that states it, and what is kept free for answers there."""
    cap, most = settings.context_tokens, settings.max_output_tokens
    if cap:
        yield "CONTEXT_TOKENS", cap, most
    for platform, values in settings.profiles.items():
        if "context_tokens" in values or "max_output_tokens" in values:
            window = _number(values.get("context_tokens"), cap)
            if window:
                own = _number(values.get("max_output_tokens"), most)
                yield f"PROFILES__{platform.upper()}__CONTEXT_TOKENS", window, own
    for group in ("providers", "models"):
        for name, given in getattr(settings, group).items():
            if given.context_window and given.context_window < (cap or sys.maxsize):
                yield f"{group.upper()}__{name.upper()}__CONTEXT_WINDOW", given.context_window, most


def _number(value: object, otherwise: int | None) -> int | None:
    text = str(value)
    return int(text) if text.isdecimal() else otherwise


def _address_problems(reading: Reading) -> Iterator[str]:
    """Whether the platforms can be asked at all by their addresses."""
    discord, telegram = reading.settings.discord, reading.settings.telegram
    addresses = (
        ("DISCORD__API_BASE", discord.api_base, ("https", "http")),
        ("DISCORD__GATEWAY_URL", discord.gateway_url, ("wss", "ws")),
        ("TELEGRAM__BASE_URL", telegram.base_url, ("https", "http")),
        ("TELEGRAM__BASE_FILE_URL", telegram.base_file_url, ("https", "http")),
    )
    for name, address, schemes in addresses:
        if address and not is_web_address(address, schemes):
            yield f"{name} must be a whole address that begins with {schemes[0]}:// or {schemes[1]}://"
        elif address and name in _ENDINGS and not address.endswith(_ENDINGS[name]):
            yield f"{name} must end in {_ENDINGS[name]}, without a slash behind it: the token is put right there"


_ENDINGS = {"TELEGRAM__BASE_URL": "/bot", "TELEGRAM__BASE_FILE_URL": "/file/bot"}
"""What a token follows in the paths of Telegram and of servers like its own (Bot API, making requests)."""


def _key_problems(reading: Reading) -> Iterator[str]:
    """Whether tokens and keys can be sent in the head of a request; whether they are right, the servers say."""
    settings = reading.settings
    keys = {"DISCORD__TOKEN": settings.discord.token, "TELEGRAM__TOKEN": settings.telegram.token}
    keys |= {f"PROVIDERS__{name.upper()}__API_KEY": given.api_key for name, given in settings.providers.items()}
    for name, key in keys.items():
        if key and (problem := _key_problem(name, key.get_secret_value())):
            yield f"{name} {problem}"


def _key_problem(name: str, key: str) -> str | None:
    word, blank, _ = key.partition(" ")
    if blank and word.casefold() in ("bot", "bearer"):
        return f"must be the bare key: take out the word {word.capitalize()} before it"
    if not _ONE_WORD.fullmatch(key):
        return "must be one word of plain letters and signs; copy it again, without quotes or line breaks"
    if name == "TELEGRAM__TOKEN" and not _OF_TELEGRAM.fullmatch(key):
        return "must be a number, a colon and letters, such as 4242:AAH...; copy it from @BotFather again"
    return None


_ONE_WORD = re.compile(r"[!-~]*")
_OF_TELEGRAM = re.compile(r"[0-9]+:[A-Za-z0-9_-]+")


def _provider_problems(reading: Reading) -> Iterator[str]:
    for name, provider in reading.settings.providers.items():
        if provider.base_url is None and name not in KNOWN_SERVERS and reading.is_sound(f"providers__{name}"):
            known = ", ".join(KNOWN_SERVERS)
            yield f"PROVIDERS__{name.upper()}__BASE_URL is needed: only the addresses of {known} are known"
        if provider.base_url and not is_web_address(provider.base_url):
            yield f"PROVIDERS__{name.upper()}__BASE_URL must be a whole address that begins with https:// or http://"


def _database_problems(reading: Reading) -> Iterator[str]:
    settings = reading.settings
    if settings.database_url and not settings.database_url.startswith(("sqlite:", "sqlite+pysqlite:")):
        yield "DATABASE_URL must begin with sqlite: because only SQLite is supported; write sqlite:///data/familiar.db"


def _webhook_problems(reading: Reading) -> Iterator[str]:
    """What Telegram would refuse (Bot API, setWebhook), and what could not be listened on."""
    settings = reading.settings
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

CHECKS: tuple[Check, ...] = (
    _profile_problems,
    _budget_problems,
    _address_problems,
    _key_problems,
    _provider_problems,
    _database_problems,
    _webhook_problems,
    mcp_problems,
    lambda reading: access_problems(reading.settings),
)
