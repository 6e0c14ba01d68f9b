"""Prompts of a few sections, counted by words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bot.prompt.build import Prompt, PromptBuilder
from bot.prompt.sections import Hold, Section, Slot
from bot.turn import Turn


def words(text: str) -> int:
    """Tokens as these tests count them."""
    return len(text.split())


def section(name: str, text: str | None, slot: Slot = Slot.STABLE, hold: Hold = Hold.FIRM) -> Section:
    """One that always says the same."""

    async def build(_turn: Turn) -> str | None:
        return text

    return Section(name=name, slot=slot, build=build, hold=hold)


def injected(name: str, text: str) -> Section:
    """One that was brought in for this turn."""
    return section(name, text, Slot.TAIL, Hold.INJECTED)


async def build(
    turn: Turn, *sections: Section, timeout_ms: int = 10_000, factor: float = 1.0, budget: int = 6656, **how: Any
) -> Prompt:
    """What a turn becomes with these sections alone."""
    builder = PromptBuilder(sections=sections, count=words, section_timeout_ms=timeout_ms)
    return await builder.build(replace(turn, budget=budget), factor=factor, **how)
