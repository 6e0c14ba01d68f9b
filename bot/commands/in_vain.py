"""What was set and does nothing as things stand: told with the answer, by what it waits for. Changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from bot.commands.command import Call, Desk
from bot.llm.catalogue import ModelLimits
from bot.llm.quirks import Quirk
from bot.model_in_force import model_in_force
from bot.overrides import SessionSettings
from bot.settings import Activation, PlaceSettings, needed_by


async def in_vain_lines(keys: Iterable[str], settings: SessionSettings, call: Call, desk: Desk) -> list[str]:
    """A line for each of the keys whose value in force does nothing here."""
    told = [await _told(key, settings, call, desk) for key in keys]
    return [line for line in told if line]


async def _told(key: str, settings: SessionSettings, call: Call, desk: Desk) -> str:
    channel, values = call.inbound.channel, settings.values
    if setting := needed_by(key, settings.value(key), desk.settings):
        return desk.text("session-needs-setting", call.locale, key=key, setting=setting)
    if key.startswith("activation") and channel.is_dm:
        return desk.text("session-needs-group", call.locale, key=key)
    if key in _NEEDS and (needed := _NEEDS[key](values)):
        return desk.text("session-needs-key", call.locale, key=key, needed=needed)
    if key == "activation" and values.activation is not Activation.MENTION:
        is_heard = await desk.platforms.hears_everything(channel)
        return "" if is_heard else desk.text("session-needs-hearing", call.locale, key=key)
    return _told_of_model(key, settings, call, desk)


def _told_of_model(key: str, settings: SessionSettings, call: Call, desk: Desk) -> str:
    """What the model that answers here cannot follow."""
    model, values = model_in_force(desk.models, settings).name, settings.values
    limits = desk.limits(model)
    if key == "thinking" and values.thinking and not _may_think(model, limits, desk):
        return desk.text("session-needs-thinker", call.locale, key=key, model=model)
    if key == "context_tokens" and values.context_tokens > limits.context_window:
        known = desk.text(f"model-window-{limits.source}", call.locale)
        window = limits.context_window
        return desk.text("session-needs-window", call.locale, key=key, model=model, window=window, known=known)
    return ""


def _may_think(model: str, limits: ModelLimits, desk: Desk) -> bool:
    """A model of which nothing is known may."""
    return (limits.thinking or limits.source == "default") and Quirk.NO_THINKING not in desk.learned(model)


_NEEDS: Mapping[str, Callable[[PlaceSettings], str]] = {
    "activation": lambda values: (
        "activation_keywords WORDS"
        if values.activation is Activation.KEYWORD and not values.activation_keywords
        else ""
    ),
    "activation_keywords": lambda values: "" if values.activation is Activation.KEYWORD else "activation keyword",
    "activation_probability": lambda values: "" if values.activation is Activation.RANDOM else "activation random",
    "cast_cascade": lambda values: "" if values.cast else "cast NAMES",
    "summary__trigger__value": lambda values: (
        "summary__trigger__type TYPE" if values.summary.trigger.type in ("auto", "off") else ""
    ),
}
"""By key: what else must be set here before it does anything, as it is typed; "" where it does."""
