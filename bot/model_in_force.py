"""Which model answers where some settings hold, what stands in for it, and how much of its window may be filled."""

from __future__ import annotations

from dataclasses import dataclass

from bot.llm.catalogue import ModelLimits
from bot.llm.directory import ModelDirectory
from bot.overrides import SessionSettings, Source
from bot.settings import PlaceSettings


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelInForce:
    """The model that answers where some settings hold, by its full name, and where that was decided."""

    name: str
    source: Source
    lost: str | None
    """The model that was chosen there, if its server is no longer configured and `name` answers in its place."""


def model_in_force(models: ModelDirectory, settings: SessionSettings) -> ModelInForce:
    """Of the models that were chosen, the nearest one whose server is there; the default one otherwise."""
    lost = None
    for source, chosen in settings.chain.get("model", ()):
        # What was chosen in a chat is kept as a full name; what .env says may be a bare one with a slash in it.
        is_full = source in (Source.SESSION, Source.PARENT, Source.PLACE, Source.CARD)
        if not (is_full and models.is_gone(chosen)):
            return ModelInForce(name=models.effective(chosen), source=source, lost=lost)
        if source is not Source.CARD:  # nobody here has chosen what a card merely prefers
            lost = lost or chosen
    default = "" if settings.chain.get("model") else settings.values.model
    return ModelInForce(name=models.effective(default), source=Source.DEFAULT, lost=lost)


def fallbacks_in_force(models: ModelDirectory, settings: PlaceSettings, model: str) -> tuple[str, ...]:
    """The full names of the models that answer in place of `model`, as far as their servers are configured."""
    there = (chosen for chosen in settings.fallbacks if not ("/" in chosen and models.is_gone(chosen)))
    names = dict.fromkeys(models.effective(chosen) for chosen in there)
    return tuple(name for name in names if name != model)


def window_of(limits: ModelLimits, settings: PlaceSettings) -> int:
    """Tokens of a model's window that a session may fill (`CONTEXT_TOKENS`)."""
    return min(filter(None, (limits.context_window, settings.context_tokens)))
