"""Markdown of every kind to try mark-up with, the rules that Telegram has for what becomes of it, and its work."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import asdict
from types import FrameType

from hypothesis import strategies as st

from adapters.markup import Entity, FormattedText
from tests.emulators.telegram.entities import check_entities

PROSE = [
    "use parse_mode here",
    "2*3 is 6",
    "some_text - description",
    "snake_case_names and __ and ** and ~~",
    "a * b * c and 5 > 3",
    "a || b || c",
    "it costs $5, or $6 with *a star",
    "R&D, AT&amp;T",
    "see [1] and [a](b) and [x]: y",
    "[^1]: a footnote\n[foo]: https://example.org",
    "a title\n=====",
    "{{char}} says: #1! @all <3 ^_^ ¯\\(ツ)/¯"[:29],
    "$E = mc^2$ and \\(a_1 * b_1 * c\\)",
    "$$\na_i * b_i * c_i\n$$",
    "one\n\ntwo\n\n\n\nthree",
]


RICH = """# A *title*

Here is **bold _and italic_** with `code`, ~~gone~~ and ||a **secret**||.

> A quote
> > and an inner one
>
> - with a list

1. first
   ```python
   def f():
       return "```"
   ```
10. tenth
    - inner

| Name | Count |
|:-----|------:|
| 猫😀 | `1`   |
| [docs](https://example.org) | 22 |

---
[link **x**](https://example.org/a_(b)) ![image](https://example.org/i.png) <https://example.org/_a_> 👨‍👩‍👧‍👦
"""


BLOCKS = ("```", "```py\n", "~~~\n", "\n", "\n\n", "> ", "- ", "1. ", "# ", "  ", "|-|-|\n", "---\n", "\r\n")
MARKERS = ("*", "**", "_", "__", "~~", "||", "`", "|", "$", "[", "](https://a.b)", "![", "<", ">", "\\")
CHARACTERS = ("字", "😀", " ", "word", "\u3000", "\x00", "e\u0301")
PIECES = st.sampled_from(BLOCKS + MARKERS + CHARACTERS) | st.text(max_size=8)
SOURCES = st.lists(PIECES, max_size=30).map("".join)


def seen(formatted: FormattedText) -> list[tuple[str, str]]:
    """The entities as (type, covered text)."""
    units = formatted.text.encode("utf-16-le", "surrogatepass")
    return [
        (it.type, units[2 * it.offset : 2 * it.end].decode("utf-16-le", "surrogatepass")) for it in formatted.entities
    ]


def assert_telegram_accepts(formatted: FormattedText) -> None:
    """Every rule that Telegram has for entities."""
    entities = formatted.entities
    check_entities(formatted.text, [asdict(entity) for entity in entities])
    assert list(entities) == sorted(entities, key=lambda it: (it.offset, -it.length))
    for (kind, text), entity in zip(seen(formatted), entities, strict=True):
        assert entity.length > 0
        assert text == (text.rstrip() if kind == "pre" else text.strip())
        assert (entity.url is not None) == (kind == "text_link")
        assert entity.language is None or kind == "pre"
    open_entities: list[Entity] = []
    for entity in entities:
        open_entities = [it for it in open_entities if it.end > entity.offset]
        for outer in open_entities:
            assert entity.end <= outer.end, "entities cross"
            assert entity.type != outer.type, "nested in itself"
            assert outer.type not in ("code", "pre"), "something inside code"
            assert entity.type not in ("code", "pre") or outer.type == "blockquote", "code inside a style"
        open_entities.append(entity)


def calls(run: Callable[[], object]) -> int:
    """How many functions are called in a run, a measure of work that does not depend on the machine."""
    count = 0

    def tally(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(tally)
    try:
        run()
    finally:
        sys.setprofile(None)
    return count
