"""What goes first when a request does not fit, what never goes, and that the next request leaves out the same."""

from __future__ import annotations

from typing import Any

from bot.prompt.build import Prompt, PromptBuilder
from bot.prompt.sections import Section
from bot.testing import make_row, make_turn
from bot.turn import Turn


def words(text: str) -> int:
    return len(text.split())


async def build(turn: Turn, *sections: Section, factor: float = 1.0, **how: Any) -> Prompt:
    return await PromptBuilder(sections=sections, count=words, section_timeout_ms=0).build(turn, factor=factor, **how)


async def test_the_whole_burst_is_kept_with_what_was_said_in_between() -> None:
    rows = [make_row(f"{number} " + "word " * 20, position=number, id=number) for number in range(1, 7)]
    turn = make_turn(*rows, burst=(3, 4, 6))
    prompt = await build(turn, budget=4 * 30)
    assert [message.text[0] for message in prompt.messages] == ["3", "4", "5", "6"]
