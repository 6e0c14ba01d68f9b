"""Cuts Markdown into messages of a limited length without breaking what must stay whole.

Knows no platform: the limit and the measure of length are parameters.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile, zip_longest

import regex

Measure = Callable[[str], int]
"""Length of a text in a platform's units. It must count every character as one or more, each for itself."""

Span = tuple[int, int]
"""Start and end of a stretch of text that a border must not fall into; touching its ends is fine."""


def split(text: str, limit: int, *, length: Measure = len) -> list[str]:
    """The messages for a Markdown source, each at most `limit` long, border characters included.

    Prefers to end a message at a paragraph, then a line, a sentence, a word. Links, mentions, custom emoji, code spans
    and grapheme clusters stay whole as long as one message can hold them. A fence that goes on in the next message is
    closed and opened again there, and one that never ends is closed (D01); without those added lines the joined
    messages are the source, byte for byte. A message is blank only where the source is blank for longer than `limit`.

    Raises:
        ValueError: `limit` is below 1.
    """
    if limit < 1:
        raise ValueError(f"a message needs room for at least one character, not {limit}")
    parts: list[str] = []
    fences = deque(fence for fence in _find_fences(text) if _is_slim(text, fence, limit, length))
    start = 0
    while start < len(text):
        opened = fences[0].reopening if fences and fences[0].start < start else ""
        end = _end_of_part(text, start, limit - length(opened), fences, length)
        while fences and fences[0].end <= end:
            fences.popleft()
        closed = _closing(text, end, fences[0]) if fences and fences[0].start < end else ""
        parts.append(opened + text[start:end] + closed)
        start = end
    return parts


def utf16_length(text: str) -> int:
    """Length in UTF-16 code units, which Telegram counts in (T05)."""
    if text.isascii():
        return len(text)
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def clusters(text: str) -> list[str]:
    """Its grapheme clusters: what people take for its characters."""
    return _CLUSTER.findall(text)


def find_late_fences(text: str) -> list[int]:
    """Where fences open behind prose on the same line, which chat programs allow and CommonMark does not."""
    return [fence.mark for fence in _find_fences(text) if fence.late]


def fit(text: str, start: int, room: int, length: Measure) -> int:
    """The furthest end of a stretch from `start` that measures at most `room`; always past `start`."""
    end = min(start + max(room, 1), len(text))
    if length is len or length(text[start:end]) <= room:
        return end
    low, high = start + 1, end
    while low < high:
        middle = (low + high + 1) // 2
        if length(text[start:middle]) <= room:
            low = middle
        else:
            high = middle - 1
    return low


def cut(text: str, start: int, end: int, kept: Sequence[Span]) -> int:
    """The best border in `(start, end]`, in its later half if there is any; `kept` is sorted and disjoint."""
    middle = start + (end - start) // 2
    for border in _BORDERS:
        for place in reversed([match.end() for match in border.finditer(text, middle, end)]):
            if _settle(text, start, place, kept) == place:
                return place
    for place in (_settle(text, start, end, kept), _settle(text, start, end, ())):
        if place > start:
            return place
    return end  # one grapheme cluster or token longer than a message


_BORDERS = tuple(
    re.compile(border)
    for border in (
        r"(?:\n[ \t\r]*)+\n",
        r"\n",
        r"""[.!?…]["'”’»)\]*_]*\s+|[。！？…]+[”’」』）】]*\s*""",
        r"\s+|[，、：；]",
    )
)
"""Ends of a paragraph, a line, a sentence, a word; best first."""


def _settle(text: str, start: int, place: int, kept: Sequence[Span]) -> int:
    """The last place up to `place` that is in nothing kept and in no grapheme cluster; `start` if there is none."""
    while place > start:
        index = bisect_left(kept, (place,)) - 1
        if index >= 0 and place < kept[index][1]:
            place = max(kept[index][0], start)
            continue
        border = _cluster_border(text, start, place)
        if border == place:
            break
        place = border
    return place


_CLUSTER = regex.compile(r"\p{Regional_Indicator}{2}[\p{M}\p{Emoji_Modifier}\u200d]*|\X")
"""A flag is spelled out because `\\X` looks back over a whole run of them each time."""
_SURE_START = regex.compile(r"(?r)[^\p{M}\u200d\p{Regional_Indicator}\p{Extended_Pictographic}]")
"""The last character whose left neighbours have no say in where clusters end after it (UAX 29, GB9c, GB11, GB12)."""


def _cluster_border(text: str, start: int, place: int) -> int:
    """The last border between grapheme clusters up to `place`."""
    pair = text[place - 1 : place + 1]
    if len(pair) < 2 or (pair.isascii() and pair != "\r\n"):
        return place
    sure = _SURE_START.search(text, start, place)
    border = sure.start() if sure else start
    for cluster in _CLUSTER.findall(text[border : place + 1]):
        if border + len(cluster) > place:
            break
        border += len(cluster)
    return border


# --- Fences


@dataclass(frozen=True, kw_only=True, slots=True)
class _Fence:
    """A fenced block: opening line from `start` to `body`, closing line from `close` to `end`.

    One that never ends has both of the latter one past the text.
    """

    start: int
    late: bool
    mark: int
    body: int
    close: int
    end: int
    reopening: str
    closing: str

    def spans(self) -> tuple[Span, Span]:
        """Its opening line with the border after it and its closing line with the border before it."""
        return (self.start, self.body + 1), (self.close - 1, self.end)


def _end_of_part(text: str, start: int, room: int, fences: deque[_Fence], length: Measure) -> int:
    """Where the part from `start` ends, with room left for closing the fence it may end in."""
    end = fit(text, start, room, length)
    near = list(takewhile(lambda fence: fence.start < end, fences))
    if end == len(text) and not (near and near[-1].end > end):
        return end
    reserve = max((_tail_length(text, fence, length) for fence in near), default=0)
    end = fit(text, start, room - reserve, length)
    for fence in near:
        if fence.close - 1 <= end < fence.end:
            end = min(fence.end, len(text))  # the closing line of the source takes the reserve
    if end == len(text):
        return end
    if near and (start + end) // 2 < near[-1].start < end < near[-1].end:
        return near[-1].start  # code is read and copied best in one piece
    return cut(text, start, end, _kept_spans(text, start, end, near))


def _closing(text: str, end: int, fence: _Fence) -> str:
    return fence.closing if text[end - 1] == "\n" else "\n" + fence.closing


def _tail_length(text: str, fence: _Fence, length: Measure) -> int:
    return max(length("\n" + fence.closing), length(text[fence.close - 1 : fence.end]))


_MARKED_LINE = re.compile(r"^.*?(?:`{3}|~{3}).*$", re.MULTILINE)
_QUOTE = r"[ \t>]{0,12}"
_OPENING = re.compile(
    rf"(?P<quote>{_QUOTE})(?:(?:[-*+]|\d{{1,9}}[.)])[ \t]{{1,4}})?(?P<mark>`{{3,}}(?!.*`)|~{{3,}})(?P<info>.*)"
)
_LATE_OPENING = re.compile(r"(?P<quote>)(?![ \t]*>).*?[^`](?P<mark>```)(?P<info>[\w+#.-]*)[ \t\r]*$")
_CLOSING = re.compile(rf"{_QUOTE}(?P<mark>`{{3,}}|~{{3,}})[ \t\r]*$")


def _find_fences(text: str) -> Iterator[_Fence]:
    """Fences in order; a late one opens at the end of a line of prose, as chat programs allow, and is surely closed."""
    lines = list(_MARKED_LINE.finditer(text))
    opening: re.Match[str] | None = None
    start = body = 0
    for line, following in zip_longest(lines, lines[1:]):
        if opening is None:
            opening = _OPENING.match(line[0])
            if opening is None and following and _CLOSING.match(following[0]):
                opening = _LATE_OPENING.match(line[0])
            start, body = line.start(), line.end() + 1
        elif (closing := _CLOSING.match(line[0])) and closing["mark"].startswith(opening["mark"]):
            yield _make_fence(opening, start, body, line.start(), line.start() + closing.end("mark"))
            opening = None
    if opening is not None and body < len(text):
        yield _make_fence(opening, start, body, len(text) + 1, len(text) + 1)


def _make_fence(opening: re.Match[str], start: int, body: int, close: int, end: int) -> _Fence:
    quote = "> " * opening["quote"].count(">")
    language = (opening["info"].split(maxsplit=1) or [""])[0]
    return _Fence(
        start=start,
        late=opening.re is _LATE_OPENING,
        mark=start + opening.start("mark"),
        body=body,
        close=close,
        end=end,
        reopening=f"{quote}{opening['mark']}{language}\n",
        closing=quote + opening["mark"],
    )


def _is_slim(text: str, fence: _Fence, limit: int, length: Measure) -> bool:
    """Whether its border lines leave room for code in a message; a fence with fat ones is cut like prose."""
    lines = length(text[fence.start : fence.body]), length(fence.reopening), _tail_length(text, fence, length)
    return max(lines) <= limit // 4


# --- Tokens that stay whole

_WHOLE = re.compile(
    r"""
      (?<!`)(?P<ticks>`{1,3})(?!`).*?(?<!`)(?P=ticks)(?!`)    # code span on one line
    | !?\[[^\[\]\n]*+\]\((?:[^()\n]|\([^()\n]*+\))*+\)        # link or image
    | <https?://[^<>\s]++>
    | <(?:[@\#:/t]|a:)[^<>\n]{1,120}>                         # mention, custom emoji, command, time stamp
    | https?://[!-~]++
    | \|\|[^|\n]++\|\| | \*\*[^*\n]++\*\* | __[^_\n]++__ | ~~[^~\n]++~~
    """,
    re.VERBOSE,
)


def _kept_spans(text: str, start: int, end: int, fences: Sequence[_Fence]) -> list[Span]:
    """What a border near `end` must not fall into; tokens are sought in prose, as far beyond as one could reach."""
    spans = [span for fence in fences for span in fence.spans()]
    prose = start
    for fence in fences:
        spans += (match.span() for match in _WHOLE.finditer(text, prose, max(prose, fence.start)))
        prose = fence.end
    if prose < end:
        spans += (match.span() for match in _WHOLE.finditer(text, prose, 2 * end - start))
    return sorted(spans)
