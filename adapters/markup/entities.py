"""Markdown as plain text with entities, the form Telegram cannot misread, and its messages.

Knows no client library.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from markdown_it.token import Token

from adapters.markup.dialect import LONGEST, RULE, parse
from adapters.markup.tables import draw_table
from adapters.split import cut, find_late_fences, fit, utf16_length

EntityType = Literal[
    "bold", "italic", "underline", "strikethrough", "spoiler", "code", "pre", "text_link", "blockquote"
]  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class Entity:
    """Formatting of a stretch of text, in words of the Bot API; `offset` and `length` are UTF-16 units."""

    type: EntityType
    offset: int
    length: int
    url: str | None = None
    language: str | None = None

    @property
    def end(self) -> int:
        """First unit after it."""
        return self.offset + self.length


@dataclass(frozen=True, kw_only=True, slots=True)
class FormattedText:
    """Plain text and its entities, sorted, outer before inner, never empty and never crossing each other."""

    text: str
    entities: tuple[Entity, ...] = ()


def to_entities(markdown: str) -> FormattedText:
    """The text that people read for a Markdown source, whole or cut anywhere, and its formatting.

    Markers without a partner, HTML, formulas, footnotes and links to nowhere stay visible as they are (T02, T03, T04).
    Lines stand as far apart as in the source. A source that is not blank never gives a blank text.
    """
    if len(markdown) > LONGEST:
        return FormattedText(text=markdown.strip())
    writer = _Writer()
    tokens = iter(parse(_break_before_fences(markdown)))
    for token in tokens:
        writer.add_block(token, tokens)
    formatted = _format("".join(writer.pieces).rstrip(), reversed(writer.styled))
    return formatted if formatted.text.strip() else FormattedText(text=markdown.strip())


def split_entities(formatted: FormattedText, limit: int = 4096) -> list[FormattedText]:
    """The messages for a text, each at most `limit` UTF-16 units; joined they are the text (T05).

    Entities go on over a border, `pre` with its language; links and code spans stay whole if a message can hold them.
    """
    text = formatted.text
    if utf16_length(text) <= limit:
        return [formatted] if text else []
    units = _Units(text)
    waiting = deque(
        _Styled(kind=it.type, start=units.index(it.offset), end=units.index(it.end), url=it.url, language=it.language)
        for it in formatted.entities
    )
    kept = [(styled.start, styled.end) for styled in waiting if styled.kind in ("text_link", "code")]
    current: list[_Styled] = []
    parts: list[FormattedText] = []
    start = 0
    while start < len(text):
        end = fit(text, start, limit, utf16_length)
        if end < len(text):
            end = cut(text, start, end, kept)
        while waiting and waiting[0].start < end:
            current.append(waiting.popleft())
        parts.append(_format(text[start:end], (styled.within(start, end) for styled in current)))
        current = [styled for styled in current if styled.end > end]
        start = end
    return parts


def _break_before_fences(markdown: str) -> str:
    for place in reversed(find_late_fences(markdown)):
        markdown = markdown[:place].rstrip(" \t") + "\n" + markdown[place:]
    return markdown


# --- Text and entities


@dataclass(kw_only=True, slots=True)
class _Styled:
    """A stretch of visible text with a format, counted in characters; `end` is unknown while it is being written."""

    kind: EntityType
    start: int
    end: int = -1
    url: str | None = None
    language: str | None = None

    def within(self, start: int, end: int) -> _Styled:
        """What a part from `start` to `end` shows of it, counted in the part."""
        return _Styled(
            kind=self.kind,
            start=max(self.start - start, 0),
            end=min(self.end, end) - start,
            url=self.url,
            language=self.language,
        )


def _format(text: str, styled: Iterable[_Styled]) -> FormattedText:
    """Entities without blank ends, as Telegram trims them; of two on the same stretch the first is the outer one."""
    units = _Units(text)
    entities = []
    for it in styled:
        content = text[it.start : it.end]
        start = it.start if it.kind == "pre" else it.start + len(content) - len(content.lstrip())
        end = it.start + len(content.rstrip())
        if start < end:
            offset = units.offset(start)
            length = units.offset(end) - offset
            entities.append(Entity(type=it.kind, offset=offset, length=length, url=it.url, language=it.language))
    return FormattedText(
        text=text, entities=tuple(sorted(entities, key=lambda entity: (entity.offset, -entity.length)))
    )


class _Units:
    """Converts between characters and UTF-16 units of one text, in which the astral characters count twice."""

    def __init__(self, text: str) -> None:
        self._astral = [] if text.isascii() else [match.start() for match in _ASTRAL.finditer(text)]
        self._offsets = [index + number for number, index in enumerate(self._astral)]

    def offset(self, index: int) -> int:
        return index + bisect_left(self._astral, index)

    def index(self, offset: int) -> int:
        return offset - bisect_left(self._offsets, offset)


_ASTRAL = re.compile("[\U00010000-\U0010ffff]")


class _Writer:
    """Walks over the parser's tokens and collects visible text and its formats, in the order in which they end."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.styled: list[_Styled] = []
        self._length = 0
        self._line = 0  # of the source, up to which everything is written
        self._margins: list[str] = [""]
        self._bullet = ""  # margin and markers of list items that no line shows yet, and where the last one stands
        self._bullet_line = 0
        self._open: list[_Styled | None] = []

    def add_block(self, token: Token, tokens: Iterator[Token]) -> None:
        """Write a block token; a table takes the tokens up to its end."""
        match token.type:
            case "paragraph_open":
                self._begin_line(token.map)
            case "heading_open":
                self._begin_line(token.map)
                self._begin("bold")
            case "blockquote_open":
                self._begin("blockquote")
            case "heading_close" | "blockquote_close":
                self._end()
            case "list_item_open":
                marker = f"{token.info}{token.markup} " if token.info else "• "
                self._bullet = (self._bullet or self._margins[-1]) + marker
                self._bullet_line = token.map[0] if token.map else self._line
                self._margins.append(self._margins[-1] + " " * len(marker))
            case "list_item_close":
                if self._bullet:
                    self._begin_line((self._bullet_line, self._bullet_line + 1))
                self._margins.pop()
            case "inline":
                for child in token.children or ():
                    self._add_inline(child)
            case "fence":
                self._begin_line(token.map, flush=True)
                self._add_pre(token.content.rstrip("\n"), token.info)
            case "table_open":
                self._begin_line(token.map, flush=True)
                self._add_pre(draw_table(tokens))
            case "hr":
                self._begin_line(token.map)
                self._write(RULE)

    def _add_inline(self, token: Token) -> None:
        match token.type:
            case "text":
                self._write(token.content)
            case "softbreak" | "hardbreak":
                self._write("\n" + self._margins[-1])
            case "code_inline":
                self._add_code(token.content)
            case "image":
                self._begin("text_link", _address(token))
                self._write(token.content)
                self._end_link()
            case "link_open":
                self._begin("text_link", None if token.info == "auto" else _address(token))
            case "link_close":
                self._end_link()
            case "strong_open":
                self._begin("underline" if token.markup == "__" else "bold")
            case "em_open" | "s_open" | "spoiler_open":
                self._begin(_STYLES[token.type])
            case "strong_close" | "em_close" | "s_close" | "spoiler_close":
                self._end()

    def _write(self, text: str) -> None:
        self.pieces.append(text)
        self._length += len(text)

    def _begin_line(self, lines: Sequence[int] | None, *, flush: bool = False) -> None:
        """Start a block of these source lines, as far below the previous one as it is in the source.

        A `flush` block has no margin, because Telegram draws a box around it.
        """
        first, last = lines or (self._line, self._line)
        if self._length:
            self._write("\n" * max(first - self._line + 1, 1))
        self._write(self._bullet or ("" if flush else self._margins[-1]))
        self._bullet = ""
        self._line = last

    def _begin(self, kind: EntityType, url: str | None = None) -> None:
        """Open a format, unless it is open already: Telegram nests none in itself, and no link without address."""
        known = any(styled and styled.kind == kind for styled in self._open)
        hollow = kind == "text_link" and url is None
        self._open.append(None if known or hollow else _Styled(kind=kind, start=self._length, url=url))

    def _end(self) -> None:
        styled = self._open.pop()
        if styled:
            styled.end = self._length
            self.styled.append(styled)

    def _end_link(self) -> None:
        link = self._open[-1]
        if link and link.url and link.start == self._length:
            self._write(link.url)
        self._end()

    def _add_code(self, text: str) -> None:
        """Write a code span. Open styles pause around it, since Telegram lets code hold and be in no other entity."""
        if any(styled and styled.kind == "text_link" for styled in self._open):
            self._write(text)
            return
        around = [styled for styled in self._open if styled and styled.kind != "blockquote"]
        for styled in around:
            self.styled.append(_Styled(kind=styled.kind, start=styled.start, end=self._length))
        start = self._length
        self._write(text)
        self.styled.append(_Styled(kind="code", start=start, end=self._length))
        for styled in around:
            styled.start = self._length

    def _add_pre(self, text: str, info: str = "") -> None:
        start = self._length
        self._write(text)
        language = next(iter(info.split()), None)
        self.styled.append(_Styled(kind="pre", start=start, end=self._length, language=language))


_STYLES: dict[str, EntityType] = {"em_open": "italic", "s_open": "strikethrough", "spoiler_open": "spoiler"}


def _address(token: Token) -> str:
    return str(token.attrs.get("href") or token.attrs.get("src"))
