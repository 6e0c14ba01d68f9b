"""How old tool rounds are sent that are not sent in full, and which of them are old. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from bot.prompt.lines import is_own_reply
from bot.prompt.shortening import Count, head
from bot.settings import ContextPruning
from bot.store.tables import MessageKind
from bot.store.window import WindowRow
from bot.turn import CutForm, Turn

Unit = tuple[WindowRow, ...]

LONG_RESULT_CHARS = 1_500
"""Results above that are cut to their beginning when a request does not fit."""
HEAD_CHARS = 500
"""What is left of them."""
LINE_CHARS = 100
"""What is left of a result when its round becomes a line."""
ELLIPSIS = "\n...\n"


def is_result(row: WindowRow) -> bool:
    """Whether a row is what a tool said."""
    return row.kind is MessageKind.TOOL and not row.tool_calls


def tool_groups(units: Iterable[Unit]) -> list[Unit]:
    """The tool rounds of a history in order: what was called, and each result."""
    return [group for unit in units for group in _groups(unit)]


def _groups(unit: Unit) -> Iterator[Unit]:
    group: list[WindowRow] = []
    for row in unit:
        if row.tool_calls and group:
            yield tuple(group)
            group = []
        if row.kind is MessageKind.TOOL:
            group.append(row)
    if group:
        yield tuple(group)


def results_before(units: Sequence[Unit], assistants: int, turn: Turn) -> list[WindowRow]:
    """The results that stand before the last so many of the persona's messages, oldest first; calls count as such."""
    rows = [row for unit in units for row in unit]
    own = [at for at, row in enumerate(rows) if row.tool_calls or is_own_reply(row, turn)]
    if len(own) < assistants:
        return []
    end = own[-assistants] if assistants else len(rows)
    newest = {row.id for group in tool_groups(units)[-1:] for row in group}
    return [row for row in rows[:end] if is_result(row) and row.id not in newest]


def in_form(row: WindowRow, form: CutForm, pruning: ContextPruning, count: Count) -> WindowRow:
    """A result as that form has it."""
    match form:
        case CutForm.TRIMMED:
            text = _trimmed(row.text, pruning.soft_trim.head_chars, pruning.soft_trim.tail_chars)
        case CutForm.HEAD:
            text = head(row.text, HEAD_CHARS)
        case CutForm.CLEARED:
            text = pruning.hard_clear.placeholder
        case CutForm.LINE:
            return row  # said of a whole round
    return replace(row, text=text, tokens=count(text))


def _trimmed(text: str, head_chars: int, tail_chars: int) -> str:
    if len(text) <= head_chars + tail_chars:
        return text
    return text[:head_chars] + ELLIPSIS + text[len(text) - tail_chars :]


def as_line(group: Unit, count: Count) -> WindowRow:
    """A whole round as one message of the persona, under the id of the call."""
    call, *results = group
    text = "\n".join(
        f"[earlier tool call] {row.tool_name or 'tool'} → {' '.join(row.text.split())[:LINE_CHARS]}" for row in results
    )
    return replace(call, kind=MessageKind.REPLY, text=text, tokens=count(text), tool_calls=())
