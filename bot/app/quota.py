"""Makes what meters the calls of models: prices, limits, and whose turn it is."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from bot.llm.configured import LOCAL, configured_providers, default_model, model_tariffs
from bot.llm.endpoints import Provider
from bot.llm.model import Model
from bot.llm.tariffs import Tariffs
from bot.metering import MeteredModel
from bot.quota import Queue, Quota, limits_of
from bot.settings import Settings

if TYPE_CHECKING:
    from bot.app.running import Core, Models
    from bot.quota.purse import Purse

EMBEDDED_AT_ONCE = 1
"""The embedded engine has one slot; its own line is served in the order of coming, so ours stands before it."""


def build_purse(core: Core, tariffs: Tariffs) -> Purse | None:
    """What holds spending to the limits; nothing where none is set, so that nobody pays for it."""
    limits = limits_of(core.settings.quota)
    if not limits:
        return None
    from bot.quota.purse import Purse

    return Purse(
        db=core.db,
        limits=limits,
        warn_at=core.settings.quota.warn_at,
        zone=ZoneInfo(core.settings.timezone),
        tariff_of=tariffs.of,
        count=core.counter.count,
        now=core.now,
    )


def metered(
    core: Core, model: Model, providers: Mapping[str, Provider], tariffs: Tariffs, purse: Purse | None
) -> MeteredModel:
    """A model with all that its calls go through."""
    at_once = {name: given.at_once for name, given in core.settings.providers.items() if given.at_once}
    if LOCAL in providers:
        at_once.setdefault(LOCAL, EMBEDDED_AT_ONCE)
    return MeteredModel(model, tariff_of=tariffs.of, queue=Queue(at_once) if at_once else None, purse=purse)


def build_quota(core: Core, models: Models) -> Quota:
    """All limits."""
    return Quota(core.settings.quota, clock=time.monotonic, is_paid=_is_paid(core, models), purse=models.purse)


def _is_paid(core: Core, models: Models) -> Callable[[str], bool]:
    """Whether an answer costs money: by its model, or by another one that hears, sees or speaks for it."""
    given = core.settings
    beside = (*given.vision_model, *given.voice.transcription_model, *given.voice.speech_model)

    def is_paid(model: str) -> bool:
        return model.partition("/")[0] in models.cost_money

    is_any_paid = any(is_paid(models.directory.effective(name)) for name in beside)
    return lambda model: is_any_paid or is_paid(model)


def price_problems(settings: Settings, named: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Which models, each with the name of its setting, have no price although money is limited: they would never be
    asked. "" is the embedded model, which costs nothing.
    """
    if not any(limit.is_money for limit in limits_of(settings.quota)):
        return
    tariffs = model_tariffs(settings, configured_providers(settings, None))
    for name, model in named:
        whole = default_model(settings, None) if name == "MODEL" else model
        provider, slash, _ = whole.partition("/")
        if slash and provider in settings.providers and tariffs.of(whole) is None:
            prices = " and ".join(f"PROVIDERS__{provider}__{kind}_PRICE".upper() for kind in ("input", "output"))
            yield f"{name} is {whole}, of which nobody knows the price, and QUOTA limits money; set {prices}"
