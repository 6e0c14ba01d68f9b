"""Builds a turn's request: sections from stable to volatile, the history between them, within the budget.

The history is only ever appended to, so that one request is a prefix of the next (DESIGN 7).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

import structlog

from bot.llm.model import Image, ModelMessage, Role, ToolCall, ToolSpec
from bot.prompt.lines import group_history, is_own_word, line_of, prefix_of
from bot.prompt.pruning import keep_newest
from bot.prompt.sections import Section, Slot
from bot.store.tables import MessageKind
from bot.store.window import WindowRow
from bot.turn import Turn

log = structlog.get_logger(__name__)

MESSAGE_OVERHEAD_TOKENS = 6
"""What role markers and separators cost per message (OpenAI's documentation counts 3 to 4; templates vary)."""

COUNTS_KEPT = 1_024
"""Texts whose count is remembered: sections, names and quotes come again with every turn of a conversation."""

IMAGE_TOKENS = 800
"""Estimate for one image of ordinary size at the usual detail."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Prompt:
    """The messages of a request, and what they are estimated to cost."""

    messages: tuple[ModelMessage, ...]
    tokens: int
    dropped: int
    """History messages that did not fit; they stay in the store."""
    start: int
    """Position of the oldest message taken; the next prompt starts no earlier."""


class PromptBuilder:
    """What building needs besides the turn: the registered sections, a token counter, a time limit per section."""

    def __init__(self, *, sections: Sequence[Section], count: Callable[[str], int], section_timeout_ms: int) -> None:
        self._sections, self._section_timeout_ms = sections, section_timeout_ms
        self._count = lru_cache(COUNTS_KEPT)(count)

    async def build(
        self, turn: Turn, *, factor: float, tools: Sequence[ToolSpec] = (), budget: int | None = None
    ) -> Prompt:
        """The prompt of a turn. `factor` is the model's safety factor; `budget` replaces the turn's when that was too
        much for the server (M17).
        """
        texts = await asyncio.gather(*(self._section(section, turn) for section in self._sections))
        stable, tail = (
            "\n\n".join(
                text for section, text in zip(self._sections, texts, strict=True) if text and section.slot is slot
            )
            for slot in Slot
        )
        units = group_history(turn.history)
        fixed = [text for text in (stable, tail, *(str(tool.parameters) + tool.description for tool in tools)) if text]
        fixed_tokens = sum(self._count(text) + MESSAGE_OVERHEAD_TOKENS for text in fixed) + IMAGE_TOKENS * len(
            turn.images
        )
        room = int((turn.budget if budget is None else budget) / factor) - fixed_tokens
        cost = partial(self._unit_tokens, turn)
        kept = keep_newest(units, room, cost=cost, asked=_asked(units, turn))
        history = [_message(row, turn) for unit in kept for row in unit]
        system = [ModelMessage(role=Role.SYSTEM, text=stable)] if stable else []
        # Many servers refuse a system message after the first; volatile text goes as a note in the last user message.
        messages = (*system, *_with_tail(history, tail))
        used = fixed_tokens + sum(map(cost, kept))
        start = kept[0][0].position if kept else turn.position
        dropped = sum(map(len, units[: len(units) - len(kept)]))
        return Prompt(messages=messages, tokens=int(used * factor), dropped=dropped, start=start)

    def _unit_tokens(self, turn: Turn, unit: Sequence[WindowRow]) -> int:
        return sum(self._row_tokens(turn, row) for row in unit)

    def _row_tokens(self, turn: Turn, row: WindowRow) -> int:
        prefix = "" if is_own_word(row, turn.conversation_id) else prefix_of(row, turn.is_group)
        return row.tokens + (self._count(prefix) if prefix else 0) + MESSAGE_OVERHEAD_TOKENS

    async def _section(self, section: Section, turn: Turn) -> str | None:
        limit = self._section_timeout_ms / 1000 if self._section_timeout_ms else None
        try:
            return await asyncio.wait_for(section.build(turn), limit)
        except TimeoutError:
            log.warning("prompt.section_late", section=section.name)
        except Exception as error:
            log.warning("prompt.section_failed", section=section.name, error=repr(error))
        return None


def _asked(units: Sequence[Sequence[WindowRow]], turn: Turn) -> int:
    """How many of the last units hold what is answered: the burst, and what was said in between."""
    first = turn.burst[0] if turn.burst else turn.position
    return max(1, sum(unit[0].position >= first for unit in units))


def _message(row: WindowRow, turn: Turn) -> ModelMessage:
    if row.tool_calls:
        calls = tuple(ToolCall(**call) for call in row.tool_calls)
        return ModelMessage(role=Role.ASSISTANT, text=row.text, tool_calls=calls)
    if row.kind is MessageKind.TOOL:
        return ModelMessage(role=Role.TOOL, text=row.text, tool_call_id=row.tool_call_id, name=row.tool_name)
    if is_own_word(row, turn.conversation_id):
        return ModelMessage(role=Role.ASSISTANT, text=row.text)
    images = (image for image in turn.images if image.message_id == row.id)
    return ModelMessage(
        role=Role.USER,
        text=line_of(row, turn.is_group),
        images=tuple(Image(media_type=image.media_type, data=image.data) for image in images),
    )


def _with_tail(history: list[ModelMessage], tail: str) -> list[ModelMessage]:
    if not tail:
        return history
    last = next((index for index in reversed(range(len(history))) if history[index].role is Role.USER), None)
    if last is None or last != len(history) - 1:
        return [*history, ModelMessage(role=Role.USER, text=tail)]
    message = history[last]
    merged = ModelMessage(role=Role.USER, text=f"{message.text}\n\n{tail}", images=message.images)
    return [*history[:last], merged]
