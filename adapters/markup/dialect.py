"""The Markdown that people in chats and language models write, parsed: GitHub's, less what mangles prose.

Knows nothing of how it will be shown.
"""

from __future__ import annotations

import re
from unicodedata import east_asian_width

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline, emphasis
from markdown_it.token import Token

LONGEST = 50_000
"""Characters that are worth parsing: they fill more than ten messages of any platform.

The bound keeps texts made to be slow (thousands of open brackets) below a second.
"""

RULE = "─" * 10
"""What a horizontal rule looks like where a platform has none."""


def parse(markdown: str) -> list[Token]:
    """The tokens of markdown-it for a source, with spoilers (`spoiler_open`, `spoiler_close`) and without HTML.

    Links go to addresses that a chat can open and to nothing else; entities (`&amp;`), footnotes and indented text are
    prose. Formulas (`$x$`, `$$x$$`, `\\(x\\)`, `\\[x\\]`) are text in which no marker counts. The box of a task is in
    the `meta` of its list item, no longer in its text.
    """
    return _PARSER.parse(markdown)


def worth_parsing(markdown: str) -> tuple[str, str]:
    """A source in two: at most `LONGEST` characters up to the end of a line, and the rest with that line's end."""
    if len(markdown) <= LONGEST:
        return markdown, ""
    end = len(markdown[: max(markdown.rfind("\n", 0, LONGEST), 0) or LONGEST].rstrip())
    return markdown[:end], markdown[end:]


def is_wide(char: str) -> bool:
    """Whether a character is East Asian and takes two columns."""
    return east_asian_width(char) in ("W", "F")


_NOT_IN_CHATS = ("code", "lheading", "reference", "entity", "html_block", "html_inline")
_ADDRESS = re.compile(r"(?:https?://|tg://|mailto:|tel:)\S", re.IGNORECASE)
_FORMULA = re.compile(
    r"\\\(.{1,1000}?\\\) | \\\[.{1,2000}?\\\] | \$\$.{1,2000}?\$\$ | \$(?=\S)[^$\n]{1,300}(?<=\S)\$(?!\d)",
    re.VERBOSE | re.DOTALL,
)
"""Dollars as pandoc reads them, so that prices are prose; lengths bound the search."""
_SPOILER = re.compile(r"\|\|(?=\S)(.{1,2000}?(?<=\S))\|\|", re.DOTALL)


class _Parser(MarkdownIt):
    def validateLink(self, url: str) -> bool:  # noqa: N802  # the library's name
        return bool(_ADDRESS.match(url))


def _make_parser() -> MarkdownIt:
    parser = _Parser("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable(_NOT_IN_CHATS)
    parser.inline.add_terminator_char("|")
    parser.inline.ruler.before("escape", "formula", _read_formula)
    parser.inline.ruler.before("emphasis", "spoiler", _read_spoiler)
    parser.inline.ruler.at("emphasis", _read_emphasis)
    parser.core.ruler.push("tasks", _mark_tasks)
    return parser


def _read_formula(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] not in "\\$":
        return False
    formula = _FORMULA.match(state.src, state.pos, state.posMax)
    if not formula:
        return False
    if not silent:
        state.append_pending(formula[0])
    state.pos = formula.end()
    return True


def _read_spoiler(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] != "|":
        return False
    spoiler = _SPOILER.match(state.src, state.pos, state.posMax)
    if not spoiler:
        return False
    if not silent:
        state.push("spoiler_open", "span", 1)
        rest, (state.pos, state.posMax) = state.posMax, spoiler.span(1)
        state.md.inline.tokenize(state)
        state.posMax = rest
        state.push("spoiler_close", "span", -1)
    state.pos = spoiler.end()
    return True


def _read_emphasis(state: StateInline, silent: bool) -> bool:
    """The rule of CommonMark, except that a neighbour in a script without spaces never keeps `*` from working.

    CommonMark wants a space or another sign between closing stars after a full stop and the next word, which Chinese
    and Japanese do not write.
    """
    start, known = state.pos, len(state.delimiters)
    if not emphasis.tokenize(state, silent):
        return False
    before, after = state.src[start - 1 : start], state.src[state.pos : state.pos + 1]
    if state.src[start] == "*" and before.strip() and after.strip():
        for delimiter in state.delimiters[known:]:
            delimiter.open = delimiter.open or is_wide(before)
            delimiter.close = delimiter.close or is_wide(after)
    return True


_BOXES = {"[ ] ": "☐", "[x] ": "☑", "[X] ": "☑"}


def _mark_tasks(state: StateCore) -> None:
    for item, first, inline in zip(state.tokens, state.tokens[1:], state.tokens[2:], strict=False):
        if item.type == "list_item_open" and first.type == "paragraph_open" and inline.children:
            text = inline.children[0]
            if box := _BOXES.get(text.content[:4]):
                item.meta["box"] = box
                text.content = text.content[4:]


_PARSER = _make_parser()
