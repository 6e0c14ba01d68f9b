"""Makes what meters the calls of models: prices, limits, and whose turn it is."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from zoneinfo import ZoneInfo

from bot.app.running import Core, Models
from bot.llm.configured import LOCAL
from bot.llm.endpoints import Provider
from bot.llm.model import Model
from bot.llm.tariffs import Tariffs
from bot.metering import MeteredModel
from bot.quota import Purse, Queue, Quota, limits_of

EMBEDDED_AT_ONCE = 1
"""The embedded engine has one slot; its own line is served in the order of coming, so ours stands before it."""


def build_purse(core: Core, tariffs: Tariffs) -> Purse | None:
    """What holds spending to the limits; nothing where none is set, so that nobody pays for it."""
    limits = limits_of(core.settings.quota)
    if not limits:
        return None
    return Purse(
        db=core.db,
        limits=limits,
        warn_at=core.settings.quota.warn_at,
        zone=ZoneInfo(core.settings.timezone),
        tariff_of=tariffs.of,
        count=core.counter.count,
        tasks=core.tasks,
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
    return Quota(core.settings.quota, clock=time.monotonic, is_paid=_is_paid(models), purse=models.purse)


def _is_paid(models: Models) -> Callable[[str], bool]:
    return lambda model: model.partition("/")[0] in models.cost_money
