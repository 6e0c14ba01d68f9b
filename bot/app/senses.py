"""Makes what puts pictures and speech into words, and what speaks answers. Each is imported only where a model for it
is set: most bots do without.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bot.app.running import Core, Models
from bot.chat import SentPart
from bot.dispatch import TurnRequest
from bot.llm.quirks import Quirk
from bot.opening import TurnOpener
from bot.progress import PutInWords, SpeakAfter
from bot.tools import Tool
from bot.turn import Turn

if TYPE_CHECKING:
    from bot.side_calls import SideCalls
    from bot.vision import Vision


def build_senses(core: Core, models: Models, opener: TurnOpener) -> PutInWords:
    """What stands before the first request of a turn."""
    looks, given = core.settings.vision_model, core.settings.voice
    if not (looks or given.transcription_model):
        return _as_it_is
    from bot.senses import Senses
    from bot.voice import Transcriber

    ears = _effective(models, given.transcription_model)
    transcriber = Transcriber(
        servers=models.servers, router=models.model, names=ears, given=given, calls=_side_calls(core, models)
    )
    return Senses(
        db=core.db,
        opener=opener,
        vision=_build_vision(core, models) if looks else None,
        transcriber=transcriber if given.transcription_model else None,
        sees=lambda model: sees(models, model),
        count=core.counter.count,
    ).told


def build_spoken(core: Core, models: Models) -> SpeakAfter:
    """What speaks answers."""
    given = core.settings.voice
    if not given.speech_model:
        return _in_silence
    from bot.spoken import SpokenAnswers
    from bot.voice import Speaking

    names = _effective(models, given.speech_model)
    speaking = Speaking(
        servers=models.servers, router=models.model, names=names, given=given, calls=_side_calls(core, models)
    )
    return SpokenAnswers(
        speaking=speaking, hooks=core.hooks, adapters=core.platforms, db=core.db, tasks=core.tasks
    ).follow


def picture_tools(core: Core, models: Models) -> tuple[Tool, ...]:
    """The tool that asks about a picture, where there is a model to ask."""
    if not core.settings.vision_model:
        return ()
    from bot.tools.picture import picture_tool

    return (picture_tool(core.db, _build_vision(core, models).describe, lambda model: sees(models, model)),)


def sees(models: Models, model: str) -> bool:
    """Whether a model takes pictures, as far as is known."""
    return models.catalogue.limits(model).vision and Quirk.NO_IMAGES not in models.servers.learned(model)


def _side_calls(core: Core, models: Models) -> SideCalls:
    from bot.side_calls import SideCalls

    return SideCalls(db=core.db, estimate=models.estimate, purse=models.purse, now=core.now)


def _build_vision(core: Core, models: Models) -> Vision:
    from bot.vision import Vision

    names = _effective(models, core.settings.vision_model)
    return Vision(model=models.model, names=names, db=core.db, estimate=models.estimate, now=core.now)


def _effective(models: Models, names: Sequence[str]) -> Sequence[str]:
    return [*dict.fromkeys(map(models.directory.effective, names))]


async def _as_it_is(turn: Turn, _request: TurnRequest) -> Turn:
    return turn


def _in_silence(_turn: Turn, _reply_id: int, _text: str, _parts: Sequence[SentPart]) -> None:
    """Nobody speaks."""
