"""Makes what puts pictures and speech into words, and what speaks answers, as far as there are models for it."""

from __future__ import annotations

from bot.app.running import Core, Models
from bot.llm.quirks import Quirk
from bot.opening import TurnOpener
from bot.senses import Senses
from bot.spoken import SpokenAnswers
from bot.tools import Tool
from bot.tools.picture import picture_tool
from bot.vision import Vision
from bot.voice import Speaking, Transcriber


def build_senses(core: Core, models: Models, opener: TurnOpener) -> Senses:
    """What stands before the first request of a turn."""
    looks, listens = core.settings.vision_model, core.settings.voice.transcription_model
    return Senses(
        db=core.db,
        opener=opener,
        vision=build_vision(core, models) if looks else None,
        transcriber=Transcriber(
            servers=models.servers,
            name=models.directory.effective(listens),
            given=core.settings.voice,
            db=core.db,
            now=core.now,
        )
        if listens
        else None,
        sees=lambda model: sees(models, model),
        count=core.counter.count,
    )


def build_vision(core: Core, models: Models) -> Vision:
    """The model that looks at pictures for those that cannot see."""
    name = models.directory.effective(core.settings.vision_model)
    return Vision(model=models.model, name=name, db=core.db, now=core.now)


def build_spoken(core: Core, models: Models) -> SpokenAnswers:
    """What speaks answers, where a model does."""
    given, name = core.settings.voice, models.directory.effective(core.settings.voice.speech_model)
    speaking = Speaking(servers=models.servers, name=name, given=given, db=core.db, now=core.now)
    return SpokenAnswers(
        speaking=speaking if given.speech_model else None, adapters=core.platforms, db=core.db, tasks=core.tasks
    )


def picture_tools(core: Core, models: Models) -> tuple[Tool, ...]:
    """The tool that asks about a picture, where there is a model to ask."""
    if not core.settings.vision_model:
        return ()
    return (picture_tool(core.db, build_vision(core, models).describe, lambda model: sees(models, model)),)


def sees(models: Models, model: str) -> bool:
    """Whether a model takes pictures, as far as is known."""
    return models.catalogue.limits(model).vision and Quirk.NO_IMAGES not in models.servers.learned(model)
