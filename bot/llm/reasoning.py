"""Separates what a model thinks aloud from what it says, while the answer streams. Knows only tags, no server."""

from __future__ import annotations

import re

# The tags that models write as text when their server does not split reasoning off: DeepSeek, Qwen, GLM and MiniMax
# use `think`, distillations `thinking`, Seed `seed:think`, Magistral `[THINK]`.
_OPENING = ("<think>", "<thinking>", "<seed:think>", "[think]")
_CLOSING = ("</think>", "</thinking>", "</seed:think>", "[/think]")
_LONGEST = max(map(len, _OPENING + _CLOSING))

_CLOSE = re.compile("|".join(map(re.escape, _CLOSING)), re.IGNORECASE)
_MARK = re.compile("`+|\n|" + "|".join(map(re.escape, _OPENING + _CLOSING)), re.IGNORECASE)
_STARTS = frozenset("`<[\n")


class ReasoningFilter:
    """Passes visible text on and keeps reasoning back, for any chunking of the stream (L04).

    Tags count outside code only, so that an answer *about* think tags survives. A closing tag without an opening one
    (L03) makes everything before it reasoning. What was already passed on by then cannot be taken back: `retracted`
    says so, and only text fed later is visible. With `hold` nothing is passed on until that question is settled; it
    is for models known to start inside their reasoning, and its price is that an answer without any tag comes at once
    at the end. White space at the start of the visible text is dropped.
    """

    def __init__(self, *, hold: bool = False) -> None:
        self.retracted = False
        self.unopened = False
        """Whether a closing tag came without an opening one."""
        self._holding = hold
        self._held: list[str] = []
        self._shown: list[str] = []
        self._thought: list[str] = []
        self._pending = ""  # a tag or a run of backticks that may go on in the next piece
        self._inside = False
        self._settled = False  # a tag was seen or the server splits by itself: a stray closing tag means nothing
        self._code = 0  # backticks that opened the code span or fence we are in, 0 outside

    @property
    def reasoning(self) -> str:
        """What the model thought, without tags."""
        return "".join(self._thought).strip()

    @property
    def text(self) -> str:
        """Everything visible so far; equals the joined results of `feed` and `flush` unless `retracted`."""
        return "".join(self._shown)

    def feed(self, text: str) -> str:
        """Take a piece of the stream, return what may be shown now."""
        if self._shown and not self._inside and not self._pending and _STARTS.isdisjoint(text):
            self._shown.append(text)
            return text
        return self._show(self._read(self._pending + text, final=False))

    def flush(self) -> str:
        """The stream has ended: return what was still held. Reasoning left open stays reasoning."""
        visible = self._read(self._pending, final=True)
        self._holding = False
        return self._show(visible)

    def settle(self) -> str:
        """The server splits reasoning off by itself: return what was held for the question of L03."""
        self._settled, self._holding = True, False
        return self._show("")

    def _read(self, text: str, *, final: bool) -> str:
        visible: list[str] = []
        end = len(text) if final else len(text) - _unfinished(text)
        position = 0
        while found := (_CLOSE if self._inside else _MARK).search(text, position, end):
            self._keep(text[position : found.start()], visible)
            self._mark(found.group(), visible)
            position = found.end()
        self._keep(text[position:end], visible)
        self._pending = text[end:]
        return "".join(visible)

    def _keep(self, text: str, visible: list[str]) -> None:
        (self._thought if self._inside else visible).append(text)

    def _mark(self, mark: str, visible: list[str]) -> None:
        tag = mark.lower()
        if self._inside:
            self._inside = False
        elif mark[0] == "`":
            self._code = _code_after(self._code, len(mark))
            visible.append(mark)
        elif mark == "\n":
            # A code span ends with its line, a fence does not: a lone backtick must not disarm the tags for ever.
            self._code = self._code if self._code >= 3 else 0
            visible.append(mark)
        elif self._code:
            visible.append(mark)
        elif tag in _OPENING:
            self._inside = self._settled = True
            self._holding = False
        elif not self._settled:
            self._recast(visible)

    def _recast(self, visible: list[str]) -> None:
        self.retracted = bool(self._shown)
        self.unopened = self._settled = True
        self._holding = False
        self._thought.extend((*self._shown, *self._held, *visible))
        for spent in (self._shown, self._held, visible):
            spent.clear()

    def _show(self, visible: str) -> str:
        if self._holding:
            self._held.append(visible)
            return ""
        if self._held:
            visible = "".join((*self._held, visible))
            self._held.clear()
        if not self._shown:
            visible = visible.lstrip()
        if visible:
            self._shown.append(visible)
        return visible


def _unfinished(text: str) -> int:
    """How many characters at the end may be the start of a tag, or of a longer run of backticks."""
    start = max(text.rfind("<", -_LONGEST), text.rfind("[", -_LONGEST))
    tail = text[start:].lower() if start >= 0 else ""
    if tail and any(tag != tail and tag.startswith(tail) for tag in _OPENING + _CLOSING):
        return len(tail)
    return len(text) - len(text.rstrip("`"))


def _code_after(code: int, run: int) -> int:
    if code == 0:
        return run
    closes = run >= code if code >= 3 else run == code
    return 0 if closes else code
