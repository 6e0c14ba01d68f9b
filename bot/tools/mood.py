"""Lets a persona change how it feels, within the schema of its card. Other personas do not have this tool."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from bot.llm.model import ToolSpec
from bot.personas.mood import BadValue, MoodField, Value, mood_fields, mood_of, written_mood
from bot.tools.tool import Tool, ToolError
from bot.turn import Turn

NAME = "set_state"

Keep = Callable[[Turn, Mapping[str, Value]], Awaitable[Mapping[str, object]]]
"""`keep(turn, values)` sets some values of the persona by the answer that is being made, and returns all that count."""


def make_mood_tool(keep: Keep) -> Tool:
    """The tool; it takes another shape for each card, and is not there where a card has no schema."""

    async def set_state(turn: Turn, arguments: Mapping[str, Any]) -> str:
        fields = {field.name: field for field in _fields_of(turn)}
        values = _read(fields, arguments)
        now = mood_of(tuple(fields.values()), await keep(turn, values))
        return f"Your state is now: {written_mood(now)}."

    return Tool(spec=_spec({}), run=set_state, shape=_shape)


def _fields_of(turn: Turn) -> tuple[MoodField, ...]:
    return mood_fields(turn.persona.card) if turn.persona else ()


def _shape(turn: Turn) -> ToolSpec | None:
    fields = _fields_of(turn)
    return _spec({field.name: field.schema for field in fields}) if fields else None


def _spec(properties: Mapping[str, Any]) -> ToolSpec:
    return ToolSpec(
        name=NAME,
        description="Notes how your own state has changed by what was just said. Give only what changes.",
        parameters={"type": "object", "properties": {**properties}, "required": [], "additionalProperties": False},
    )


def _read(fields: Mapping[str, MoodField], arguments: Mapping[str, Any]) -> dict[str, Value]:
    """What is to be set: all of it or nothing, so that a repeated call means the same."""
    if strange := [name for name in arguments if name not in fields]:
        raise ToolError(f"There is no {strange[0][:64]!r}. There are: {', '.join(fields)}.")
    given = {name: value for name, value in arguments.items() if value is not None}  # strict servers demand them all
    if not given:
        raise ToolError(f"Nothing is set. Give at least one of: {', '.join(fields)}.")
    try:
        return {name: fields[name].read(value) for name, value in given.items()}
    except BadValue as error:
        raise ToolError(f"Nothing is set: {error}.") from error
