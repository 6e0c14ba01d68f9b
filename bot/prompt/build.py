"""Builds a turn's request: sections from stable to volatile, the history between them, within the budget.

The history is only ever appended to, so that one request is a prefix of the next (DESIGN 7).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import structlog

from bot.llm.model import Image, ModelMessage, Role, ToolCall, ToolSpec
from bot.prompt.pruning import keep_newest
from bot.prompt.sections import Section, Slot
from bot.store.tables import MessageKind
from bot.store.window import WindowRow
from bot.turn import Turn

log = structlog.get_logger(__name__)

MESSAGE_OVERHEAD_TOKENS = 6
"""What role markers and separators cost per message (OpenAI's documentation counts 3 to 4; templates vary)."""

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


@dataclass(frozen=True, kw_only=True, slots=True)
class PromptBuilder:
    """What building needs besides the turn: the registered sections, a token counter, a time limit per section."""

    sections: Sequence[Section]
    count: Callable[[str], int]
    section_timeout_ms: int

    async def build(
        self, turn: Turn, *, factor: float, tools: Sequence[ToolSpec] = (), budget: int | None = None
    ) -> Prompt:
        """The prompt of a turn. `factor` is the model's safety factor; `budget` replaces the turn's when that was too
        much for the server (M17).
        """
        texts = await asyncio.gather(*(self._section(section, turn) for section in self.sections))
        stable, tail = (
            "\n\n".join(
                text for section, text in zip(self.sections, texts, strict=True) if text and section.slot is slot
            )
            for slot in Slot
        )
        groups = group_history(turn.history)
        fixed = [text for text in (stable, tail, *(str(tool.parameters) + tool.description for tool in tools)) if text]
        fixed_tokens = sum(self.count(text) + MESSAGE_OVERHEAD_TOKENS for text in fixed) + IMAGE_TOKENS * len(
            turn.images
        )
        room = int((budget or turn.budget) / factor) - fixed_tokens
        kept = keep_newest(groups, room, tokens=_group_tokens)
        history = [message for group in kept for message in self._messages(group, turn)]
        system = [ModelMessage(role=Role.SYSTEM, text=stable)] if stable else []
        # Many servers refuse a system message after the first; volatile text goes as a note in the last user message.
        messages = (*system, *_with_tail(history, tail))
        used = fixed_tokens + sum(map(_group_tokens, kept))
        start = kept[0][0].position if kept else turn.position
        return Prompt(messages=messages, tokens=int(used * factor), dropped=len(groups) - len(kept), start=start)

    async def _section(self, section: Section, turn: Turn) -> str | None:
        limit = self.section_timeout_ms / 1000 if self.section_timeout_ms else None
        try:
            return await asyncio.wait_for(section.build(turn), limit)
        except TimeoutError:
            log.warning("prompt.section_late", section=section.name)
        except Exception as error:
            log.warning("prompt.section_failed", section=section.name, error=repr(error))
        return None

    def _messages(self, group: Sequence[WindowRow], turn: Turn) -> Iterable[ModelMessage]:
        first, *results = group
        if first.tool_calls:
            yield ModelMessage(
                role=Role.ASSISTANT, text=first.text, tool_calls=tuple(ToolCall(**c) for c in first.tool_calls)
            )
            for row in results:
                yield ModelMessage(role=Role.TOOL, text=row.text, tool_call_id=row.tool_call_id, name=row.tool_name)
        elif first.kind is MessageKind.REPLY and first.conversation_id == turn.conversation_id:
            yield ModelMessage(role=Role.ASSISTANT, text=first.text)
        else:
            images = tuple(
                Image(media_type=image.media_type, data=image.data)
                for image in turn.images
                if image.message_id == first.id
            )
            yield ModelMessage(role=Role.USER, text=line_of(first, turn.is_group), images=images)


def line_of(row: WindowRow, in_group: bool) -> str:
    """A person's (or another persona's) message as the input convention writes it."""
    note = f"[replying to {row.quote}]\n" if row.quote else ""
    is_other_persona = row.kind is MessageKind.REPLY
    speaker = f"{row.author_name}: " if in_group or is_other_persona else ""
    return f"{note}{speaker}{row.text}"


def group_history(rows: Iterable[WindowRow]) -> list[tuple[WindowRow, ...]]:
    """Rows in units that must not be split: a tool call with all its results; one that lacks some is left out (L05)."""
    groups: list[tuple[WindowRow, ...]] = []
    open_group: list[WindowRow] = []
    missing: set[str] = set()
    for row in rows:
        if row.kind is not MessageKind.TOOL:
            groups.append((row,))
        elif row.tool_calls:
            open_group, missing = [row], {call["id"] for call in row.tool_calls}
        elif row.tool_call_id in missing:
            open_group.append(row)
            missing.discard(row.tool_call_id)
            if not missing:
                groups.append(tuple(open_group))
    return groups


def _group_tokens(group: Sequence[WindowRow]) -> int:
    return sum(row.tokens + MESSAGE_OVERHEAD_TOKENS for row in group)


def _with_tail(history: list[ModelMessage], tail: str) -> list[ModelMessage]:
    if not tail:
        return history
    last = next((index for index in reversed(range(len(history))) if history[index].role is Role.USER), None)
    if last is None or last != len(history) - 1:
        return [*history, ModelMessage(role=Role.USER, text=tail)]
    message = history[last]
    merged = ModelMessage(role=Role.USER, text=f"{message.text}\n\n{tail}", images=message.images)
    return [*history[:last], merged]
