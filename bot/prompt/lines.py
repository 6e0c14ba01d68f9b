"""How a prompt writes the history: lines with speakers and quotes, in units that stay together. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby

from bot.store.tables import MessageKind
from bot.store.window import WindowRow
from bot.turn import Turn

_SPEAKER = re.compile(r"\s*(\S.{0,63}?)\s*[:：]")
"""What a line begins with that reads as somebody's."""


def line_of(row: WindowRow, turn: Turn) -> str:
    """A person's (or another persona's) message as the input convention writes it."""
    return prefix_of(row, turn.is_group) + (_own_words(row, turn) if turn.is_group else row.text)


def _own_words(row: WindowRow, turn: Turn) -> str:
    """A message of several lines, of which those that would read as somebody else's are marked as quoted: nobody speaks
    for others.
    """
    first, line_break, rest = row.text.partition("\n")
    if not line_break:
        return first
    others = {name.casefold() for name in (*turn.participants, turn.persona_name, *(peer.name for peer in turn.peers))}
    others.discard(row.author_name.casefold())
    lines = (f"> {line}" if _speaker_of(line) in others else line for line in rest.split("\n"))
    return "\n".join((first, *lines))


def _speaker_of(line: str) -> str | None:
    found = _SPEAKER.match(line)
    return found[1].casefold() if found else None


def prefix_of(row: WindowRow, in_group: bool) -> str:
    """What stands before a message's own words, and what `WindowRow.tokens` therefore does not count: the quote of
    what it replies to, and who speaks.
    """
    note = f"[replying to {row.quote}]\n" if row.quote else ""
    is_other_persona = row.kind is MessageKind.REPLY
    speaker = f"{row.author_name}: " if in_group or is_other_persona else ""
    return note + speaker


def is_own_word(row: WindowRow, turn: Turn) -> bool:
    """Whether the turn's persona said it in this conversation, or a tool did; such rows have no prefix. What another
    one said that had the conversation before (`PERSONA_SWITCH=shared`) is a line of somebody else.
    """
    return row.kind is MessageKind.TOOL or is_own_reply(row, turn)


def is_own_reply(row: WindowRow, turn: Turn) -> bool:
    """Whether it is an answer of the turn's persona in this conversation."""
    speaker = (row.conversation_id, row.persona_id)
    return row.kind is MessageKind.REPLY and speaker == (turn.conversation_id, turn.persona_id)


def group_history(rows: Iterable[WindowRow]) -> list[tuple[WindowRow, ...]]:
    """Rows in units that are kept or left out as a whole: all that stands at one position, which is what was said, the
    tool rounds of its answer, and the answer. A round that lacks a result is no part of it (L05).
    """
    units = (tuple(_without_open_rounds(unit)) for _, unit in groupby(rows, key=lambda row: row.position))
    return [unit for unit in units if unit]


def _without_open_rounds(rows: Iterable[WindowRow]) -> Iterator[WindowRow]:
    tool_round: list[WindowRow] = []
    missing: list[str] = []
    for row in rows:
        if row.kind is not MessageKind.TOOL:
            missing = []
            yield row
        elif row.tool_calls:
            tool_round, missing = [row], [call["id"] for call in row.tool_calls]
        elif row.tool_call_id in missing:
            tool_round.append(row)
            missing.remove(row.tool_call_id)
            if not missing:
                yield from tool_round
