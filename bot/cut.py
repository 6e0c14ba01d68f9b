"""What stands at the end of an answer that stops before its own end. Pure, and never stored: no prompt reads it."""

from __future__ import annotations

import re

from bot.llm.model import Finish

HINTS = {
    Finish.LENGTH: "answer-unfinished",
    Finish.INCOMPLETE: "answer-unfinished",
    Finish.REPEATING: "answer-repeats",
}
"""The texts below an answer that stops before its own end, by how it ended."""

CUT_MARK = " …"
"""At the end of an answer that somebody, or the end of the process, stopped."""

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$", re.MULTILINE)


def stopped(text: str) -> str:
    """An answer that was stopped."""
    return text.rstrip() + CUT_MARK


def unfinished(text: str, hint: str) -> str:
    """An answer that broke off by itself, with a hint how to have the rest, below the code if it broke off in some."""
    fence = _open_fence(text)
    return (f"{text.rstrip()}\n{fence}" if fence else stopped(text)) + f"\n\n*{hint}*"


def _open_fence(text: str) -> str:
    """The fence that would end the code block in which a text ends; "" where it ends in none."""
    fence = ""
    for marks, rest in _FENCE.findall(text):
        if not fence:
            fence = marks
        elif marks.startswith(fence) and not rest.strip():
            fence = ""
    return fence
