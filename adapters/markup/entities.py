"""Markdown as plain text with formats, block by block and line by line as in its source. Knows no client library."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from markdown_it.token import Token

from adapters.markup.dialect import RULE, parse, worth_parsing
from adapters.markup.formatted import EntityType, FormattedText, Styled, format_text
from adapters.markup.tables import draw_table
from adapters.split import find_late_fences


def to_entities(markdown: str) -> FormattedText:
    """The text that people read for a Markdown source, whole or cut anywhere, and its formatting.

    Markers without a partner, HTML, formulas, footnotes and links to nowhere stay visible as they are (T02, T03, T04).
    Lines stand as far apart as in the source. A source that is not blank never gives a blank text. What lies beyond
    `LONGEST` stays Markdown.
    """
    source, rest = worth_parsing(markdown)
    writer = _Writer()
    tokens = iter(parse(_break_before_fences(source)))
    for token in tokens:
        writer.add_block(token, tokens)
    formatted = format_text("".join(writer.pieces).rstrip(), reversed(writer.styled))
    if not formatted.text.strip():
        return FormattedText(text=markdown.strip())
    return replace(formatted, text=formatted.text + rest.rstrip())


def _break_before_fences(markdown: str) -> str:
    places = [0, *find_late_fences(markdown), len(markdown)]
    lines = [markdown[start:end] for start, end in pairwise(places)]
    return "\n".join([*(line.rstrip(" \t") for line in lines[:-1]), lines[-1]])


class _Writer:
    """Walks over the parser's tokens and collects visible text and its formats, in the order in which they end."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.styled: list[Styled] = []
        self._length = 0
        self._line = 0  # of the source, up to which everything is written
        self._margins: list[str] = [""]
        self._bullet = ""  # margin and markers of list items that no line shows yet, and where the last one stands
        self._bullet_line = 0
        self._open: list[Styled | None] = []

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
                marker = _marker(token)
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
        self._open.append(None if known or hollow else Styled(kind=kind, start=self._length, url=url))

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
            self.styled.append(Styled(kind=styled.kind, start=styled.start, end=self._length))
        start = self._length
        self._write(text)
        self.styled.append(Styled(kind="code", start=start, end=self._length))
        for styled in around:
            styled.start = self._length

    def _add_pre(self, text: str, info: str = "") -> None:
        start = self._length
        self._write(text)
        language = next(iter(info.split()), None)
        self.styled.append(Styled(kind="pre", start=start, end=self._length, language=language))


def _marker(item: Token) -> str:
    """What stands before a list item: its number, its box, or a bullet."""
    number, box = item.info and f"{item.info}{item.markup}", item.meta.get("box")
    return " ".join(part for part in (number, box) if part) + " " if number or box else "• "


_STYLES: dict[str, EntityType] = {"em_open": "italic", "s_open": "strikethrough", "spoiler_open": "spoiler"}


def _address(token: Token) -> str:
    return str(token.attrs.get("href") or token.attrs.get("src"))
