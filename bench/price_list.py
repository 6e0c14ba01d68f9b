"""Holds our tables of models against the public price list genai-prices: `make prices`.

The list itself weighs 32 MB in memory, so that the bot has literal tables made from it; this tells where they are
behind, which is where they promise more than there is: a larger window, a lower price. They may well promise less, for
where members of a family or hours of the day differ, they state the least and the dearest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from importlib import import_module
from typing import Any

from bot.llm.catalogue import family_limits
from bot.llm.prices import family_price
from bot.llm.tariffs import PER_MILLION, vendor_tariff

VENDORS = ("openai", "anthropic", "google", "deepseek", "x-ai", "mistral", "moonshotai", "zai", "minimax", "meta")
"""Whose own prices the tables state; what others ask for the same models the operator states."""

NOT_CHAT = ("embed", "moderation", "audio", "tts", "transcribe", "realtime", "image", "whisper", "ocr", "live", "sora")
"""In names of models that nobody talks to."""

DIGITS = 0.011
"""The table of cached prices has two digits."""
ROUNDING = 1.03
"""The list has 128,000 tokens where vendors have 131,072."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Listed:
    """A model as the list has it; prices in dollars for a million tokens."""

    name: str
    window: int | None
    read: float
    cached: float | None
    written: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Behind:
    """Something that a table states and the list has otherwise."""

    name: str
    what: str
    ours: float
    listed: float


def listed_models(providers: Any) -> Iterator[Listed]:
    """The models that people talk to, of the vendors; `providers` is the data of the list."""
    for provider in providers:
        if provider.id not in VENDORS:
            continue
        for model in provider.models:
            prices = _prices_of_today(model.prices)
            read, written = _dearest(prices, "input_mtok"), _dearest(prices, "output_mtok")
            if model.deprecated or not read or not written or any(word in model.id for word in NOT_CHAT):
                continue
            yield Listed(
                name=f"{provider.id}/{model.id}",
                window=model.context_window,
                read=read,
                cached=_dearest(prices, "cache_read_mtok"),
                written=written,
            )


def behind(model: Listed) -> Iterator[Behind]:
    """Where our tables promise more of a model than there is, or a lower price."""
    limits, ratio, tariff = family_limits(model.name), family_price(model.name), vendor_tariff(model.name)
    if model.window and limits.source == "catalogue" and limits.context_window > model.window * ROUNDING:
        yield Behind(name=model.name, what="window", ours=limits.context_window, listed=model.window)
    if ratio is not None and model.cached is not None and ratio < model.cached / model.read - DIGITS:
        yield Behind(name=model.name, what="cached part", ours=ratio, listed=model.cached / model.read)
    if tariff is None:
        return
    pairs = (("input", tariff.input, model.read), ("output", tariff.output, model.written))
    for what, ours, listed in (*pairs, ("cached input", tariff.cached, model.cached or 0)):
        if ours / PER_MILLION < listed * (1 - DIGITS):
            yield Behind(name=model.name, what=what, ours=ours / PER_MILLION, listed=listed)


def _prices_of_today(prices: Any) -> list[Any]:
    """Prices that depend on something are a list: the newest that have begun, and those of some hours of the day."""
    if not isinstance(prices, list):
        return [prices]
    begun = [one.prices for one in prices if one.constraint is None or _has_begun(one.constraint)]
    hourly = [one.prices for one in prices if hasattr(one.constraint, "start_time")]
    return [*begun[-1:], *hourly]


def _has_begun(constraint: Any) -> bool:
    return getattr(constraint, "start_date", date.max) <= date.today()  # vendors name no zone


def _dearest(prices: list[Any], name: str) -> float | None:
    """What a million tokens cost at most, of prices in tiers those of a short prompt."""
    found = [getattr(one, name) for one in prices]
    return max((float(getattr(price, "base", price)) for price in found if price is not None), default=None)


def main() -> int:
    """Print what is behind; 1 where something is."""
    listed = import_module("genai_prices.data")  # installed by the target alone
    models = [*listed_models(listed.providers)]
    found = [one for model in models for one in behind(model)]
    for one in found:
        print(f"{one.name}: {one.what}: ours {one.ours:g}, listed {one.listed:g}")
    unknown = sum(vendor_tariff(model.name) is None for model in models)
    print(f"{len(models)} models, {len(found)} behind, {unknown} without a price of ours")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
