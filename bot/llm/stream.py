"""Cleans an answer while it streams: labels, echoed metadata, speaking for others, endless loops.

Knows names and the way our prompts write a line, but no prompt, no platform and no server.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_HOLD = 64  # characters of a line start held at most for a speaker label; longer names are never recognised (L15)
_OPENERS = "*_[(<【「"
_CLOSERS = "*_])>】」"
_MOST_DECORATION = 4  # characters of mark-up before or after a name


@dataclass(frozen=True, kw_only=True, slots=True)
class Echo:
    """Metadata that our prompts write before a line and that models imitate (L24).

    `whole` matches it; while only `start` and characters that `inside` allows are there, it may still come.
    """

    start: str
    inside: re.Pattern[str]
    whole: re.Pattern[str]

    def end(self, text: str) -> int | None:
        """Where the echo at the start of `text` ends, 0 without one, `None` while that is open."""
        if found := self.whole.match(text):
            return found.end()
        head = text[: len(self.start)].lower()
        return None if self.start.startswith(head) and self.inside.fullmatch(text, len(self.start)) else 0


# The one place that says how our prompts write a message: "[2026-11-01 10:01] Luna: text", within a day "[10:01]",
# and "(replying to Bob) " or "(replying to Bob: "words of Bob") " before the words. Whoever changes the prompt's
# convention changes these with it.
ECHOES = (
    Echo(
        start="[",
        inside=re.compile(r"[\d\-: TZ]{0,24}"),
        whole=re.compile(r"\[(?:\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d)?)?|\d\d?:\d\d(?::\d\d)?)Z?\]"),
    ),
    Echo(
        start="(replying to ",
        inside=re.compile(r"[^)\n]{0,160}"),
        whole=re.compile(r"\(replying to [^)\n]{1,160}\)", re.IGNORECASE),
    ),
)


class ReplyFilter:
    """Everything between the model's visible text and what people see; the same result for any chunking.

    The persona's own label and echoed metadata are dropped wherever a line starts with them (L15, L24). The answer
    ends before the first line, after the first, that starts with the label of somebody else (L16): a first line
    "Bob: yes" addresses Bob. Nothing is looked for in code fences. A text that repeats itself ends too. Once
    `stopped`, all further text is ignored and the caller can close the stream.
    """

    def __init__(self, persona_names: Iterable[str], participants: Iterable[str], echoes: tuple[Echo, ...]) -> None:
        self._lines = _Lines(persona_names, participants, echoes)
        self._loop = _Loop()

    @property
    def stopped(self) -> bool:
        """Whether the rest of the answer is worthless."""
        return self._lines.stopped or self._loop.stopped

    def feed(self, text: str) -> str:
        """Take a piece of the answer, return what may be shown now."""
        return self._loop.feed(self._lines.feed(text))

    def flush(self) -> str:
        """The answer has ended: return what was still held."""
        return self._loop.feed(self._lines.flush())


def reply_filter(
    persona_names: Iterable[str], participants: Iterable[str], echoes: tuple[Echo, ...] = ECHOES
) -> ReplyFilter:
    """A filter for one answer of a persona (all its names) among participants (the names of the people)."""
    return ReplyFilter(persona_names, participants, echoes)


def clean_reply(text: str, persona_names: Iterable[str], participants: Iterable[str]) -> str:
    """A whole answer, filtered; equals what a stream of it shows."""
    whole = reply_filter(persona_names, participants)
    return whole.feed(text) + whole.flush()


class _Lines:
    """Reads the start of each line: drops own labels and echoes, stops at the label of somebody else.

    Holds the white space before a line until the line's start is understood, so that a cut leaves no loose end.
    """

    def __init__(self, persona_names: Iterable[str], participants: Iterable[str], echoes: tuple[Echo, ...]) -> None:
        self.stopped = False
        self._own = frozenset(filter(None, map(_plain, persona_names)))
        self._others = frozenset(filter(None, map(_plain, participants))) - self._own
        self._names = self._own | self._others
        self._echoes = echoes
        self._gap: list[str] = []
        self._start = ""
        self._at_start = True
        self._first = True
        self._dropped = False  # right after a label: white space goes with it
        self._fenced = False

    def feed(self, text: str) -> str:
        return "" if self.stopped else self._read(text, final=False)

    def flush(self) -> str:
        return "" if self.stopped else self._read("", final=True)

    def _read(self, text: str, *, final: bool) -> str:
        shown: list[str] = []
        text = self._start + text
        self._start = ""
        while text and not self.stopped:
            if self._at_start:
                text = self._read_start(text, shown, final=final)
                if self._start:
                    break
            else:
                line, newline, text = text.partition("\n")
                shown.append(line)
                if newline:
                    self._gap.append(newline)
                    self._at_start = True
        if final and not self.stopped and not self._first:
            shown.extend(self._gap)
        return "".join(shown)

    def _read_start(self, text: str, shown: list[str], *, final: bool) -> str:
        """Decide about the start of a line and return what is left to read; an open question goes to `_start`."""
        body = text.lstrip()
        if not self._dropped and not self._first:
            self._gap.append(text[: len(text) - len(body)])
        if not body:
            return ""
        end = self._prefix_end(body)
        if end is None and not final:
            self._start = body
        elif end:
            self._dropped = True
            return body[end:]
        elif not self.stopped:
            self._open_line(shown)
            return body
        return ""

    def _open_line(self, shown: list[str]) -> None:
        shown.extend(self._gap)
        self._gap.clear()
        self._at_start = self._dropped = self._first = False

    def _prefix_end(self, line: str) -> int | None:
        """Length of what has to go from the start of `line`, `None` while that is open; sets `stopped`."""
        fence = _fence_end(line)
        if fence != 0 or self._fenced:
            if fence:
                self._fenced = not self._fenced
            return None if fence is None else 0
        for echo in self._echoes:
            if (end := echo.end(line)) != 0:
                return end
        end, name = _label(line, self._names)
        if name in self._own or end is None:
            return end
        self.stopped = bool(end) and not self._first
        return 0
