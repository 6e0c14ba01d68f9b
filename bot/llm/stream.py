"""Cleans an answer while it streams: labels, echoed metadata, speaking for others, endless loops.

Knows names and the way our prompts write a line, but no prompt, no platform and no server.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_HOLD = 64  # characters of a line start held at most for a speaker label; longer names are never recognised (L15)
_MIRROR = {"[": "]", "(": ")", "<": ">", "【": "】", "「": "」"}
_OPENERS = "*_" + "".join(_MIRROR)
_CLOSERS = "*_" + "".join(_MIRROR.values())
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


_STAMP = re.compile(r"\[(?:\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d)?)?|\d\d?:\d\d(?::\d\d)?)Z?\]")

# The one place that says how a prompt writes what belongs to a message but was not said: "[replying to Bob: words]"
# before it (bot.prompt.sections), and a time "[2026-11-01 10:01]" or "[10:01]", which models have seen elsewhere and
# write before labels. Whoever changes the prompt's convention changes these with it.
ECHOES = (
    Echo(start="[", inside=re.compile(r"[\d\-: TZ]{0,24}"), whole=_STAMP),
    *(
        Echo(
            start=f"{opening}replying to ",
            inside=re.compile(rf"[^{re.escape(closing)}\n]{{0,400}}"),
            whole=re.compile(
                rf"{re.escape(opening)}replying to [^{re.escape(closing)}\n]{{1,400}}{re.escape(closing)}", re.I
            ),
        )
        for opening, closing in ("[]", "()")
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

    @property
    def repeats(self) -> bool:
        """Whether it stopped because the text repeats itself."""
        return self._loop.stopped

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
        if fence is None or fence or self._fenced:
            self._fenced ^= bool(fence)
            return fence and 0
        start = 0
        while end := self._echo_end(line[start:]):
            start += end
            if self._first or not _STAMP.match(line):
                return start  # on later lines a time alone may belong to the answer: a list of times
        label, name = (None, "") if end is None else _label(line[start:], self._names)
        if not label:
            return label
        if name in self._own:
            return start + label
        self.stopped = not self._first
        return 0

    def _echo_end(self, line: str) -> int | None:
        ends = [echo.end(line) for echo in self._echoes]
        if end := next(filter(None, ends), 0):
            return end + len(line[end:]) - len(line[end:].lstrip())
        return None if None in ends else 0


class _Loop:
    """Notices that the text has been repeating itself for a while (a small model that got stuck).

    Looks at fixed positions of the text, so that the cut does not depend on the chunking.
    """

    _STEP = 64  # characters between two looks
    _WINDOW = 600  # characters looked at
    _PERIOD = 150  # longest piece whose repetition is noticed: at least four times in the window

    def __init__(self) -> None:
        self.stopped = False
        self._tail = ""
        self._fresh = 0

    def feed(self, text: str) -> str:
        if self.stopped:
            return ""
        position = 0
        while len(text) - position >= (step := self._STEP - self._fresh):
            self._tail = (self._tail + text[position : position + step])[-self._WINDOW :]
            self._fresh = 0
            position += step
            if self._repeats():
                self.stopped = True
                return text[:position]
        self._tail += text[position:]
        self._fresh += len(text) - position
        return text

    def _repeats(self) -> bool:
        # Text with period p equals itself shifted by p: its head is found again at p.
        return len(self._tail) == self._WINDOW and self._tail.find(self._tail[: -self._PERIOD], 1) > 0


def _label(text: str, names: frozenset[str]) -> tuple[int | None, str]:
    """Length and name of the speaker label at the start of `text`: 0 without one, `None` while that is open."""
    body = text.lstrip(_OPENERS)
    opening = text[: len(text) - len(body)]
    found = re.search(r"[:：\n]", body[:_HOLD])
    if len(opening) > _MOST_DECORATION or (found and found.group() == "\n"):
        return 0, ""
    if not found:
        return (None if len(body) < _HOLD and _may_become(body.casefold(), names) else 0), ""
    name = body[: found.start()].rstrip(_CLOSERS + " ").casefold()  # after "* " or "> " it is no label
    if name not in names:
        return 0, ""
    closing = body[len(body[: found.start()].rstrip(_CLOSERS + " ")) : found.start()]
    if any(_MIRROR[bracket] not in closing for bracket in opening if bracket in _MIRROR):
        return 0, ""
    end = len(opening) + found.end()
    emphasis = "".join(mark for mark in reversed(opening) if mark not in _MIRROR)
    if closing.rstrip(" ").endswith(emphasis):
        return end, name
    after = text[end : end + len(emphasis)]  # "**Luna:** Hi"
    if after == emphasis:
        return end + len(emphasis), name
    return (None if emphasis.startswith(after) else 0), ""


def _may_become(start: str, names: frozenset[str]) -> bool:
    for name in names:
        if name.startswith(start):
            return True
        rest = start[len(name) :]
        if start.startswith(name) and len(rest) <= _MOST_DECORATION and not rest.strip(_CLOSERS + " "):
            return True
    return False


def _plain(name: str) -> str:
    return name.strip(_OPENERS + _CLOSERS + " ").casefold()


def _fence_end(line: str) -> int | None:
    """Length of a fence at the start of `line`: 0 without one, `None` while that is open."""
    if line.startswith(("```", "~~~")):
        return 3
    return None if line in ("`", "``", "~", "~~") else 0
