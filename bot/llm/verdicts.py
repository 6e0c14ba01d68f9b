"""Reads what a moderation endpoint answers (OpenAI's `POST /moderations`). Knows nothing of what follows from it."""

from __future__ import annotations

from bot.llm.answer import BrokenAnswer


def read_verdicts(answer: object, count: int) -> tuple[bool, ...]:
    """Which of the texts that were sent are flagged, in their order.

    Raises:
        BrokenAnswer: it holds no verdict on each of them.
    """
    results = answer.get("results") if isinstance(answer, dict) else None
    told = [one.get("flagged") for one in results if isinstance(one, dict)] if isinstance(results, list) else []
    flags = [flag for flag in told if isinstance(flag, bool)]
    if len(flags) != count:
        raise BrokenAnswer("the server gave no verdict on each text")
    return tuple(flags)
