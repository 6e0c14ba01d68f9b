"""Fits the history of one request into its room. Nothing is lost: what is left out of a request stays in the store.

What was left out once stays out of the next requests too (`Cuts`), because each change of the beginning is paid in
full: a cut makes room for several turns, and between cuts one request is a prefix of the next (DESIGN 7).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from bot.prompt.lines import group_history, is_own_word, prefix_of
from bot.store.images import ImageKey, ImageRow
from bot.store.window import WindowRow
from bot.turn import Cuts, Turn

U = TypeVar("U")
Unit = tuple[WindowRow, ...]
Count = Callable[[str], int]

REFILL_RATIO = 0.75
"""How full the history is after something had to go. Cutting below the limit lets the next turns append to a stable
prefix; a window that slides with every message is paid in full every time."""

MESSAGE_OVERHEAD_TOKENS = 6
"""What role markers and separators cost per message (OpenAI's documentation counts 3 to 4; templates vary)."""

IMAGE_TOKENS = 800
"""Estimate for one image of ordinary size at the usual detail."""

MOST_IMAGES = 4
"""Images of a conversation that go with a request, so that a question about a picture may come later than the picture.
More would fill a window of 16,000 tokens by a quarter, and servers that people run at home take few."""

IMAGE_ROOM_RATIO = 0.75
"""How much of the history's room images may take, so that in a small window the words about them stay."""

SMALLEST_SHARE = 32
"""Tokens below which a message of a burst is not shortened any more: a name, the note and a few words. Of a flood of
hundreds in one small window, the oldest go."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Fitted:
    """The history as the request has it."""

    units: Sequence[Unit]
    images: Sequence[ImageRow]
    tokens: int
    whole: int
    """What the history would cost with nothing left out."""
    dropped: int
    """Messages left out; they stay in the store."""
    cuts: Cuts
    """What the next requests leave out as well."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Costs:
    """What rows cost as the prompt writes them: their words, the prefix, the images and the markers around."""

    turn: Turn
    count: Count
    images: Mapping[int, int] = field(default_factory=dict)
    """How many images a message is sent with."""

    def row(self, row: WindowRow) -> int:
        return row.tokens + self.around(row)

    def around(self, row: WindowRow) -> int:
        """The cost of everything but the words."""
        prefix = "" if is_own_word(row, self.turn.conversation_id) else prefix_of(row, self.turn.is_group)
        images = self.images.get(row.id, 0) * IMAGE_TOKENS
        return images + (self.count(prefix) if prefix else 0) + MESSAGE_OVERHEAD_TOKENS

    def unit(self, unit: Iterable[WindowRow]) -> int:
        return sum(map(self.row, unit))


def fit(turn: Turn, room: int, count: Count) -> Fitted:
    """The history of a turn within `room` tokens: first older units go, as a whole; only then are the messages to
    answer shortened.
    """
    images = _images_that_fit(turn, int(room * IMAGE_ROOM_RATIO))
    costs = _Costs(turn=turn, count=count, images=_images_by_message(images))
    units = group_history(_shortened(row, turn.cuts.shortened, count) for row in turn.history)
    asked = _asked(units, turn)
    shortened = dict(turn.cuts.shortened)
    if asked and sum(map(costs.unit, units[-asked:])) > room:
        whole = group_history(turn.history)[-asked:]
        room = int(room * REFILL_RATIO)
        while asked > 1 and fair_share([costs.row(row) for unit in whole for row in unit], room) < SMALLEST_SHARE:
            whole, asked = whole[1:], asked - 1
        shortened |= _shortenings([row for unit in whole for row in unit], room, costs)
        units[-asked:] = [tuple(_shortened(row, shortened, count) for row in unit) for unit in whole]
    limit = turn.settings.values.history_limit
    newest = keep_newest(units, limit, cost=len, asked=asked) if limit else units
    kept = keep_newest(newest, room, cost=costs.unit, asked=asked)
    ids = {row.id for unit in kept for row in unit}
    dropped = sum(map(len, units[: len(units) - len(kept)]))
    start = kept[0][0].position if kept and dropped else turn.cuts.start
    return Fitted(
        units=kept,
        images=images,
        tokens=sum(map(costs.unit, kept)),
        whole=sum(map(costs.row, turn.history)),
        dropped=dropped,
        cuts=Cuts(
            start=start,
            shortened={row: chars for row, chars in shortened.items() if row in ids},
            images=tuple(image.id for image in images if image.message_id in ids),
        ),
    )


def choose_images(found: Sequence[ImageKey], burst: Sequence[int], sent: Sequence[int]) -> Sequence[ImageKey]:
    """Of the images in the window, those to send: what was `sent` before and what is new. Where new ones make them too
    many, half of them go at once, so that there is room for the next; those of the burst itself always stay.
    """
    found = [image for image in found if not sent or image.id >= sent[0]]
    is_new = bool(found) and (not sent or found[-1].id > sent[-1])
    if not is_new or len(found) <= MOST_IMAGES:
        return found
    asked = sum(image.message_id in burst for image in found)
    return found[-max(MOST_IMAGES // 2, asked) :]


def _images_that_fit(turn: Turn, room: int) -> Sequence[ImageRow]:
    most = max(0, room // IMAGE_TOKENS)
    if len(turn.images) <= most:
        return turn.images
    asked = sum(image.message_id in turn.burst for image in turn.images)
    kept = max(most // 2, min(most, asked))
    return turn.images[len(turn.images) - kept :]


def _images_by_message(images: Iterable[ImageRow]) -> Mapping[int, int]:
    number: dict[int, int] = {}
    for image in images:
        number[image.message_id] = number.get(image.message_id, 0) + 1
    return number


def _asked(units: Sequence[Unit], turn: Turn) -> int:
    """How many of the last units hold what is answered: the burst, and what was said in between."""
    first = turn.burst[0] if turn.burst else turn.position
    return min(len(units), max(1, sum(unit[0].position >= first for unit in units)))


def keep_newest(units: Sequence[U], room: int, *, cost: Callable[[U], int], asked: int = 1) -> list[U]:
    """The newest units that fit into `room`: all of them, or else what fits into three quarters of it.

    The last `asked` units are always kept, because they hold what is being answered.
    """
    costs = [cost(unit) for unit in units]
    if sum(costs) <= room:
        return list(units)
    limit = int(room * REFILL_RATIO)
    first = max(0, len(units) - asked)
    used = sum(costs[first:])
    while first and used + costs[first - 1] <= limit:
        first -= 1
        used += costs[first]
    return list(units[first:])


def fair_share(costs: Iterable[int], room: int) -> int:
    """The most that each may cost so that all fit: small ones stay whole, large ones share what is left."""
    left, waiting = room, sorted(costs)
    share = room
    while waiting:
        share = left // len(waiting)
        if waiting[0] > share:
            break
        left -= waiting.pop(0)
    return share


def _shortenings(rows: Sequence[WindowRow], room: int, costs: _Costs) -> dict[int, int]:
    """Characters to keep of each row that is larger than its share of the room."""
    share = fair_share(map(costs.row, rows), room)
    return {
        row.id: _chars_within(row, share - costs.around(row), costs.count)
        for row in rows
        if row.text and not row.tool_calls and costs.row(row) > share
    }


def _chars_within(row: WindowRow, limit: int, count: Count) -> int:
    """How many characters of a row's text fit into `limit` tokens, the note about the rest included."""
    chars = max(0, len(row.text) * limit // max(1, row.tokens))
    while chars and (used := count(shorten(row.text, chars))) > limit:
        chars = chars * limit * 9 // (used * 10)
    return chars


def shorten(text: str, chars: int) -> str:
    """The beginning and the end of a text, `chars` characters together, with a note of how much went between them.

    Both count: a file stands below the question about it, or a question below what was pasted.
    """
    if len(text) <= chars:
        return text
    tail = chars // 3
    note = f"[{len(text) - chars} characters left out]"
    return "\n".join(filter(None, (text[: chars - tail], note, text[len(text) - tail :])))


def _shortened(row: WindowRow, shortened: Mapping[int, int], count: Count) -> WindowRow:
    chars = shortened.get(row.id)
    if chars is None or len(row.text) <= chars:
        return row
    text = shorten(row.text, chars)
    return replace(row, text=text, tokens=count(text))
