"""Builds a turn's request: sections from stable to volatile, the history between them, within the budget.

The history is only ever appended to, so that one request is a prefix of the next (DESIGN 7).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import structlog

from bot.llm.model import Image, ModelError, ModelMessage, Role, ToolCall, ToolSpec
from bot.prompt.lines import is_own_word, line_of
from bot.prompt.pruning import MESSAGE_OVERHEAD_TOKENS, Fitted, fit
from bot.prompt.sections import Section, Slot
from bot.store.images import ImageRow
from bot.store.tables import MessageKind
from bot.store.window import WindowRow
from bot.turn import Cuts, Turn

log = structlog.get_logger(__name__)

COUNTS_KEPT = 1_024
"""Texts whose count is remembered: sections, names and quotes come again with every turn of a conversation."""

SMALLEST_ROOM = 128
"""Tokens that must be left for what people say; with less there is no talking."""


class NoRoom(ModelError):
    """The persona, the rules and the tools leave no room in the window: the operator must change one of them."""

    kind = "no-room"

    def __init__(self, turn: Turn, *, sections: int, tools: int) -> None:
        problem = (
            f"persona {turn.persona_name!r} and rules ({sections:,} tokens) with tools ({tools:,}) leave no room in "
            f"the {turn.budget:,} tokens that a prompt may fill (window {turn.window:,}, of which {turn.reserve:,} are "
            "for the answer, the rest for safety)."
        )
        super().__init__(turn.model, problem, "Take a shorter card, a larger CONTEXT_TOKENS or CONTEXT_WINDOW.")


@dataclass(frozen=True, kw_only=True, slots=True)
class Prompt:
    """The messages of a request, and what they cost: `counted` as we count, `tokens` as the model presumably does."""

    messages: tuple[ModelMessage, ...]
    counted: int
    tokens: int
    fixed: int
    """Of `tokens`, those of sections and tools."""
    whole: int
    """What it would be with nothing left out of the history."""
    dropped: int
    """History messages that did not fit; they stay in the store."""
    cuts: Cuts
    """What the next prompts of the conversation leave out as well."""


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

        Raises:
            NoRoom: what does not depend on the talk fills the budget.
        """
        texts = await asyncio.gather(*(self._section(section, turn) for section in self._sections))
        stable, tail = (
            "\n\n".join(
                text for section, text in zip(self._sections, texts, strict=True) if text and section.slot is slot
            )
            for slot in Slot
        )
        section_tokens = self._fixed_tokens(stable, tail)
        tool_tokens = self._fixed_tokens(*(str(tool.parameters) + tool.description for tool in tools))
        room = int((turn.budget if budget is None else budget) / factor) - section_tokens - tool_tokens
        if budget is not None:
            room = max(room, SMALLEST_ROOM)  # the server's own words about its window may be wrong, so try
        elif room < SMALLEST_ROOM and turn.history and room < turn.history[-1].tokens + MESSAGE_OVERHEAD_TOKENS:
            raise NoRoom(turn, sections=int(section_tokens * factor), tools=int(tool_tokens * factor))
        fitted = fit(turn, room, self._count)
        counted = section_tokens + tool_tokens + fitted.tokens
        _log_counts(turn, fitted, sections=section_tokens, tools=tool_tokens, room=room, factor=factor)
        system = [ModelMessage(role=Role.SYSTEM, text=stable)] if stable else []
        history = [_message(row, turn, fitted.images) for unit in fitted.units for row in unit]
        return Prompt(
            # Many servers refuse a system message after the first; volatile text goes as a note in the last user
            # message.
            messages=(*system, *_with_tail(history, tail)),
            counted=counted,
            tokens=int(counted * factor),
            fixed=int((section_tokens + tool_tokens) * factor),
            whole=int((section_tokens + tool_tokens + fitted.whole) * factor),
            dropped=fitted.dropped,
            cuts=fitted.cuts,
        )

    def _fixed_tokens(self, *texts: str) -> int:
        return sum(self._count(text) + MESSAGE_OVERHEAD_TOKENS for text in texts if text)

    async def _section(self, section: Section, turn: Turn) -> str | None:
        limit = self._section_timeout_ms / 1000 if self._section_timeout_ms else None
        try:
            return await asyncio.wait_for(section.build(turn), limit)
        except TimeoutError:
            log.warning("prompt.section_late", section=section.name)
        except Exception as error:
            log.warning("prompt.section_failed", section=section.name, error=repr(error))
        return None


def _log_counts(turn: Turn, fitted: Fitted, *, sections: int, tools: int, room: int, factor: float) -> None:
    """What `DEBUG_LOGGING` shows of a prompt: tokens as we count them, and what went; never what anybody said."""
    session = turn.session.channel.session_key
    images = len(fitted.cuts.images)
    log.debug(
        "prompt.built",
        session=session,
        model=turn.model,
        factor=round(factor, 3),
        sections=sections,
        tools=tools,
        history=fitted.tokens,
        room=room,
        messages=sum(map(len, fitted.units)),
        images=images,
    )
    shortened = sorted(fitted.cuts.shortened.keys() - turn.cuts.shortened.keys())
    if fitted.dropped or shortened or images < len(turn.images):
        log.debug(
            "prompt.pruned",
            session=session,
            dropped=fitted.dropped,
            start=fitted.cuts.start,
            shortened=shortened,
            images_left_out=len(turn.images) - images,
        )


def _message(row: WindowRow, turn: Turn, images: Sequence[ImageRow]) -> ModelMessage:
    if row.tool_calls:
        calls = tuple(ToolCall(**call) for call in row.tool_calls)
        return ModelMessage(role=Role.ASSISTANT, text=row.text, tool_calls=calls)
    if row.kind is MessageKind.TOOL:
        return ModelMessage(role=Role.TOOL, text=row.text, tool_call_id=row.tool_call_id, name=row.tool_name)
    if is_own_word(row, turn.conversation_id):
        return ModelMessage(role=Role.ASSISTANT, text=row.text)
    return ModelMessage(
        role=Role.USER,
        text=line_of(row, turn.is_group),
        images=tuple(
            Image(media_type=image.media_type, data=image.data) for image in images if image.message_id == row.id
        ),
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
