"""Reads what an endpoint for transcripts answers (OpenAI's `POST /audio/transcriptions`). Knows no recording."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bot.llm.answer import MOST_TOKENS, BrokenAnswer, sound
from bot.llm.model import Usage

TOKENS_A_SECOND = 10
"""Of speech: OpenAI's models read one for each 100 ms. Those that count in seconds are counted so, too."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Transcript:
    """What was said, and what the server says that it has counted."""

    text: str
    usage: Usage | None


def read_transcript(answer: object) -> Transcript:
    """The transcript in an answer; some servers send the bare text.

    Raises:
        BrokenAnswer: there is none.
    """
    text = answer.get("text") if isinstance(answer, Mapping) else answer
    if not isinstance(text, str):
        raise BrokenAnswer(f"no transcript: {str(answer)[:80]}")
    counted = answer.get("usage") if isinstance(answer, Mapping) else None
    return Transcript(text=sound(text).strip(), usage=_usage(counted) if isinstance(counted, Mapping) else None)


def _usage(counted: Mapping[str, object]) -> Usage | None:
    seconds = _number(counted, "seconds")
    read, written = _number(counted, "input_tokens"), _number(counted, "output_tokens")
    usage = Usage(input_tokens=round(read or seconds * TOKENS_A_SECOND), output_tokens=round(written))
    return usage if usage.input_tokens else None


def _number(counted: Mapping[str, object], name: str) -> float:
    value = counted.get(name)
    return value if isinstance(value, int | float) and 0 <= value <= MOST_TOKENS else 0
