"""Voice messages and spoken answers: by which models, and how much of it."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal

from pydantic import Field

from bot.settings.kinds import Group, NameList, Seconds


class VoiceSettings(Group):
    """What people say aloud, and what is said aloud to them."""

    transcription_model: NameList = Field(
        (),
        description="provider/model that writes down voice messages, as openai/gpt-4o-mini-transcribe, and others, in "
        "this order, while its server does not answer; empty = none",
    )
    max_seconds: int = Field(300, ge=1, description="length of a voice message; a longer one is only named")
    max_bytes: int = Field(10_000_000, ge=1000, description="size of a voice message or sound file, likewise")
    speech_model: NameList = Field(
        (),
        description="provider/model that speaks answers where SPOKEN_ANSWERS is on, as openai/gpt-4o-mini-tts, and "
        "others likewise, which must know the same SPEAKER",
    )
    speaker: str = Field("alloy", description="which of its voices speaks")
    form: Literal["mp3", "opus"] = Field("mp3", description="of spoken answers: mp3 or opus")
    timeout: Seconds = Field(timedelta(seconds=60), description="seconds that a transcript or spoken answer may take")
