"""Writes the rows of a history as messages for a model, with what is volatile around the last thing said. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import count as numbers

from bot.llm.model import Image, ModelMessage, Role, ToolCall
from bot.prompt.lines import is_own_word, line_of
from bot.store.images import ImageRow
from bot.store.tables import MessageKind
from bot.store.window import WindowRow
from bot.turn import Turn


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolExchange:
    """One round of tools in a turn that is being answered: what the model called, and the result of each call in order.
    What it said and thought before goes back to it within the turn.
    """

    calls: tuple[ToolCall, ...]
    results: tuple[str, ...]
    text: str = ""
    reasoning: str = ""


def rows_of(turn: Turn, exchanges: Sequence[ToolExchange], count: Callable[[str], int]) -> Iterator[WindowRow]:
    """The rounds as rows behind the turn's history. The store does not know them yet, so their ids are below zero."""
    ids = numbers(-1, -1)
    for exchange in exchanges:
        calls = tuple(asdict(call) for call in exchange.calls)
        thought = sum(map(count, filter(None, (exchange.text, exchange.reasoning))))
        tokens = thought + sum(count(call.name + call.arguments) for call in exchange.calls)
        yield _row(turn, next(ids), text=exchange.text, tokens=tokens, tool_calls=calls)
        for call, result in zip(exchange.calls, exchange.results, strict=True):
            more = {"tool_call_id": call.id, "tool_name": call.name}
            yield _row(turn, next(ids), text=result, tokens=count(result), **more)


def _row(turn: Turn, row_id: int, *, text: str, tokens: int, **more: object) -> WindowRow:
    facts = {
        "id": row_id,
        "position": turn.position,
        "kind": MessageKind.TOOL,
        "conversation_id": turn.conversation_id,
        "persona_id": turn.persona_id,
        "author_key": None,
        "author_name": turn.persona_name,
        "text": text,
        "quote": "",
        "addressed": False,
        "tokens": tokens,
        "sent_at": turn.now,
        **more,
    }
    return WindowRow(**facts)  # type: ignore[arg-type]  # the types of facts that are put together in a table


def is_running(row: WindowRow) -> bool:
    """Whether a row is one of `rows_of`."""
    return row.id < 0


def thoughts_of(exchanges: Sequence[ToolExchange]) -> Mapping[int, str]:
    """What the model thought before it called, by the ids that `rows_of` gives to the calls."""
    row_id, thoughts = -1, {}
    for exchange in exchanges:
        thoughts[row_id] = exchange.reasoning
        row_id -= 1 + len(exchange.results)
    return thoughts


def message_of(row: WindowRow, turn: Turn, images: Sequence[ImageRow], thoughts: Mapping[int, str]) -> ModelMessage:
    """A row as the model reads it."""
    if row.tool_calls:
        calls = tuple(ToolCall(**call) for call in row.tool_calls)
        reasoning = thoughts.get(row.id) or None
        return ModelMessage(role=Role.ASSISTANT, text=row.text, tool_calls=calls, reasoning=reasoning)
    if row.kind is MessageKind.TOOL:
        return ModelMessage(role=Role.TOOL, text=row.text, tool_call_id=row.tool_call_id, name=row.tool_name)
    if is_own_word(row, turn):
        return ModelMessage(role=Role.ASSISTANT, text=row.text)
    return ModelMessage(
        role=Role.USER,
        text=line_of(row, turn),
        images=tuple(
            Image(media_type=image.media_type, data=image.data) for image in images if image.message_id == row.id
        ),
    )


LEAD = """\
[Notes for your next answer, said by nobody here:

{text}

That is all of the notes.]"""
"""How it is told what stands before the last thing said. Without an end to it, it would be somebody's own words."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Late:
    """What changes from turn to turn and is never stored."""

    lead: str = ""
    """What stands before the last thing said."""
    tail: str = ""
    """What stands behind it."""

    def around(self, text: str) -> str:
        """The text with both around it."""
        lead = LEAD.format(text=self.lead) if self.lead else ""
        return "\n\n".join(filter(None, (lead, text, self.tail)))

    def __bool__(self) -> bool:
        """Whether there is any."""
        return bool(self.lead or self.tail)


def with_late(history: Sequence[ModelMessage], late: Late) -> Sequence[ModelMessage]:
    """The history with the volatile texts at its end. Many servers refuse a system message after the first, so they go
    into the last message of a person, or behind the persona's own as one of its own.
    """
    if not late:
        return history
    if not history or history[-1].role is not Role.USER:
        return [*history, ModelMessage(role=Role.USER, text=late.around(""))]
    message = history[-1]
    merged = ModelMessage(role=Role.USER, text=late.around(message.text), images=message.images)
    return [*history[:-1], merged]
