"""Turns what a hook wants to ask a model with into sections and rows again, so that it is fitted as every request is.

What the hook left as it was stays the section or the row that it came from; everything else becomes a row of its own.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from bot.llm.model import ModelMessage, Role
from bot.prompt.draft import SEPARATOR
from bot.prompt.messages import Late, ToolExchange, message_of, rows_of, thoughts_of, with_late
from bot.prompt.pictures import IMAGE_TOKENS
from bot.prompt.sections import Section, Slot
from bot.prompt.shortening import Count
from bot.store.tables import MessageKind
from bot.store.window import WindowRow
from bot.turn import Turn

MADE_IDS = 2**62
"""Where the ids of made rows begin, above those of the store. The same words have the same id in every turn, so that
what was shortened of them stays so.
"""

Written = tuple[tuple[Section, str], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Whole:
    """A request with nothing left out: the row of each message of the history, and what stands around it."""

    system: str
    history: tuple[tuple[WindowRow, ModelMessage], ...]
    """Up to what is answered."""
    running: tuple[tuple[WindowRow, ModelMessage], ...]
    """The turn's own tool rounds."""
    late: Late

    @property
    def messages(self) -> tuple[ModelMessage, ...]:
        """As a model would read it."""
        system = [ModelMessage(role=Role.SYSTEM, text=self.system)] if self.system else []
        return (*system, *self.asked, *(message for _, message in self.running))

    @property
    def asked(self) -> Sequence[ModelMessage]:
        """The history with what is volatile."""
        return with_late([message for _, message in self.history], self.late)


def whole_of(turn: Turn, written: Written, exchanges: Sequence[ToolExchange], count: Count) -> Whole:
    """What a turn's request is made of."""
    thoughts = thoughts_of(exchanges)
    starter = (turn.starter,) if turn.starter and turn.starter not in turn.history else ()
    rows = ((*starter, *turn.history), rows_of(turn, exchanges, count))
    history, running = (tuple((row, message_of(row, turn, turn.images, thoughts)) for row in some) for some in rows)
    return Whole(system=joined(written, Slot.STABLE), history=history, running=running, late=late_of(written))


def joined(written: Iterable[tuple[Section, str]], slot: Slot) -> str:
    """What the sections of a slot say."""
    return SEPARATOR.join(text for section, text in written if section.slot is slot)


def late_of(written: Sequence[tuple[Section, str]]) -> Late:
    """What they say around the last thing said."""
    return Late(lead=joined(written, Slot.LEAD), tail=joined(written, Slot.TAIL))


@dataclass(frozen=True, kw_only=True, slots=True)
class Rewritten:
    """The same as a hook wants it; `verbatim` are the messages that made rows stand for, by the rows' ids."""

    written: Written
    turn: Turn
    verbatim: Mapping[int, ModelMessage]


def rewritten(whole: Whole, written: Written, turn: Turn, wanted: Iterable[ModelMessage], count: Count) -> Rewritten:
    """What is to be fitted in place of a request. `turn` is the one that the request was made of."""
    messages = list(wanted)
    system = [*takewhile(lambda message: message.role is Role.SYSTEM, messages)]
    stable = SEPARATOR.join(message.text for message in system)
    has_late = bool(whole.late) and whole.asked[-1] in messages
    made: dict[int, ModelMessage] = {}
    rows = [*_rows(whole, messages[len(system) :], turn, made, count)]
    positions = [*_positions(rows)]
    asked = [at for row, at in zip(rows, positions, strict=True) if row.id in turn.burst]
    placed = tuple(replace(row, position=at) for row, at in zip(rows, positions, strict=True))
    first = min(asked, default=positions[-1] if positions else 0)
    return Rewritten(
        written=(*_stable(whole, written, stable), *(pair for pair in written if has_late and not _is_stable(pair))),
        turn=replace(
            turn,
            history=placed,
            starter=None,
            burst=(first, *turn.burst),
            position=positions[-1] if positions else 0,
            cuts=replace(turn.cuts, start=0, gap=None),
        ),
        verbatim=made,
    )


def _is_stable(pair: tuple[Section, str]) -> bool:
    return pair[0].slot is Slot.STABLE


def _stable(whole: Whole, written: Written, text: str) -> Written:
    """The stable sections, or what takes the place of all of them."""
    if text == whole.system:
        return tuple(filter(_is_stable, written))
    return ((Section(name="rules", slot=Slot.STABLE, build=_nothing), text),) if text else ()


async def _nothing(_turn: Turn) -> None:
    """It is written already."""


def _rows(
    whole: Whole,
    messages: Iterable[ModelMessage],
    turn: Turn,
    made: dict[int, ModelMessage],
    count: Count,
) -> Iterator[WindowRow]:
    known: defaultdict[ModelMessage, deque[WindowRow]] = defaultdict(deque)
    for row, message in (*whole.history, *whole.running):
        known[message].append(row)
    if whole.history and whole.late and whole.history[-1][1].role is Role.USER:
        known[whole.asked[-1]].append(whole.history[-1][0])
    for message in messages:
        if known[message]:
            yield known[message].popleft()
        elif not (whole.late and message.text == whole.late.around("")):  # where nobody has asked, it stands by itself
            row = _made(message, turn, count)
            made[row.id] = message
            yield row


def _made(message: ModelMessage, turn: Turn, count: Count) -> WindowRow:
    is_tool = message.role is Role.TOOL or bool(message.tool_calls)
    calls = tuple({"id": call.id, "name": call.name, "arguments": call.arguments} for call in message.tool_calls)
    asked = sum(count(call.name + call.arguments) for call in message.tool_calls)
    return WindowRow(
        id=MADE_IDS + hash(message) % MADE_IDS,
        position=turn.position,
        kind=MessageKind.TOOL if is_tool else MessageKind.REPLY,
        conversation_id=turn.conversation_id,
        persona_id=turn.persona_id,
        author_key=None,
        author_name=turn.persona_name,
        text=message.text,
        quote="",
        addressed=False,
        tokens=count(message.text) + asked + IMAGE_TOKENS * len(message.images),
        sent_at=turn.now,
        tool_calls=calls,
        tool_call_id=message.tool_call_id,
        tool_name=message.name,
    )


def _positions(rows: Iterable[WindowRow]) -> Iterator[int]:
    """Where each row stands. Units are what they were; a made row that nobody answered with begins another one."""
    at, before = 0, None
    for row in rows:
        is_made = row.id >= MADE_IDS
        if (is_made and row.kind is MessageKind.REPLY) or (not is_made and row.position != before):
            at += 1
        before = before if is_made else row.position
        yield at


def as_made(row: WindowRow, message: ModelMessage) -> ModelMessage:
    """A message that a made row stands for, with what is left of its words; without its calls where they are told."""
    if message.tool_calls and not row.tool_calls:
        return ModelMessage(role=Role.ASSISTANT, text=row.text)
    return replace(message, text=row.text)
