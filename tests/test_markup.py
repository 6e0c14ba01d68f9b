"""What people see of a model's Markdown, on Telegram as entities and on Discord as text."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.markup import Entity, FormattedText, split_entities, to_discord, to_entities
from adapters.split import utf16_length


def seen(formatted: FormattedText) -> list[tuple[str, str]]:
    """The entities as (type, covered text)."""
    units = formatted.text.encode("utf-16-le", "surrogatepass")
    return [
        (it.type, units[2 * it.offset : 2 * it.end].decode("utf-16-le", "surrogatepass")) for it in formatted.entities
    ]


def assert_telegram_accepts(formatted: FormattedText) -> None:
    """Every rule that Telegram has for entities."""
    entities = formatted.entities
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


# --- Telegram: what is visible

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


@pytest.mark.parametrize("prose", PROSE)
def test_T02_prose_looks_like_its_source(prose: str) -> None:
    assert to_entities(prose) == FormattedText(text=prose)


@pytest.mark.parametrize("html", ["<b>bold</b> & </i>", "<div>\n<script>x()</script>\n</div>", "<!-- a --> &lt;b&gt;"])
def test_T03_html_is_shown_as_text(html: str) -> None:
    assert to_entities(html) == FormattedText(text=html)


def test_T01_a_chinese_list_with_bold_keys_is_formatted() -> None:
    formatted = to_entities("*   **标题**：第一点\n*   **注意：**请看")
    assert formatted.text == "• 标题：第一点\n• 注意：请看"
    assert seen(formatted) == [("bold", "标题"), ("bold", "注意：")]


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


def test_every_construct_has_its_entity() -> None:
    formatted = to_entities(RICH)
    assert_telegram_accepts(formatted)
    assert formatted.text == (
        "A title\n\nHere is bold and italic with code, gone and a secret.\n\n"
        "A quote\nand an inner one\n\n• with a list\n\n"
        '1. first\ndef f():\n    return "```"\n10. tenth\n    • inner\n\n'
        "Name                       | Count\n---------------------------+------\n"
        "猫😀                       |     1\ndocs (https://example.org) |    22\n\n"
        "──────────\nlink x image https://example.org/_a_ 👨‍👩‍👧‍👦"
    )
    found = seen(formatted)
    assert found[:8] == [
        ("bold", "A title"),
        ("italic", "title"),
        ("bold", "bold and italic"),
        ("italic", "and italic"),
        ("code", "code"),
        ("strikethrough", "gone"),
        ("spoiler", "a secret"),
        ("bold", "secret"),
    ]
    assert found[8] == ("blockquote", "A quote\nand an inner one\n\n• with a list")
    assert [kind for kind, _ in found[9:]] == ["pre", "pre", "text_link", "bold", "text_link"]
    assert formatted.entities[9].language == "python"
    assert [it.url for it in formatted.entities if it.url] == ["https://example.org/a_(b)", "https://example.org/i.png"]


@pytest.mark.parametrize(
    ("markdown", "text", "entities"),
    [
        ("**a `code` b**", "a code b", [("bold", "a"), ("code", "code"), ("bold", "b")]),
        ("[`c`](https://a.b)", "c", [("text_link", "c")]),
        ("***both***", "both", [("italic", "both"), ("bold", "both")]),
        ("__under__ and **bold**", "under and bold", [("underline", "under"), ("bold", "bold")]),
        ("# all **bold** here", "all bold here", [("bold", "all bold here")]),
        ("是**“标题”**的", "是“标题”的", [("bold", "“标题”")]),
        ("[](https://a.b)", "https://a.b", [("text_link", "https://a.b")]),
        ("[![alt](https://a.b/i)](https://a.b)", "alt", [("text_link", "alt")]),
        ("[no](javascript:x)", "[no](javascript:x)", []),
        ("```\n  x\n\n```\ny", "  x\ny", [("pre", "  x")]),
        ("- a\n\n- b\n  more\n- \n- c", "• a\n\n• b\n  more\n• \n• c", []),
        ("7) seven\n8) eight", "7) seven\n8) eight", []),
        ("1. one\n    ```\n    deep\n    ```", "1. one\ndeep", [("pre", "deep")]),
        ("Sure: ```py\nx = 1\n```\nBye", "Sure:\nx = 1\nBye", [("pre", "x = 1")]),
        ("It ends with ```\n```py\nx\n```", "It ends with ```\nx", [("pre", "x")]),
        ("a  \nb\\\nc", "a\nb\nc", []),
        ("#\n\n> \n\n```\n```", "#\n\n> \n\n```\n```", []),
        ("😀 **b😀** _c_", "😀 b😀 c", [("bold", "b😀"), ("italic", "c")]),
    ],
)
def test_a_source_gives_this_text_and_these_entities(markdown: str, text: str, entities: list[tuple[str, str]]) -> None:
    formatted = to_entities(markdown)
    assert_telegram_accepts(formatted)
    assert (formatted.text, seen(formatted)) == (text, entities)


@pytest.mark.parametrize(
    "partial", ["Here is **bo", "*bold _it ~st~_*", "[link](http", "```py", "||se", "| a | b |\n|--"]
)
def test_T04_a_stream_cut_in_its_markup_is_shown(partial: str) -> None:
    formatted = to_entities(partial)
    assert_telegram_accepts(formatted)
    assert formatted.text


def test_T04_every_beginning_of_a_rich_answer_is_shown() -> None:
    for length in range(1, len(RICH)):
        formatted = to_entities(RICH[:length])
        assert_telegram_accepts(formatted)
        assert formatted.text


BLOCKS = ("```", "```py\n", "~~~\n", "\n", "\n\n", "> ", "- ", "1. ", "# ", "  ", "|-|-|\n", "---\n", "\r\n")
MARKERS = ("*", "**", "_", "__", "~~", "||", "`", "|", "$", "[", "](https://a.b)", "![", "<", ">", "\\")
CHARACTERS = ("字", "😀", " ", "word", "\u3000", "\x00", "e\u0301")
PIECES = st.sampled_from(BLOCKS + MARKERS + CHARACTERS) | st.text(max_size=8)
SOURCES = st.lists(PIECES, max_size=30).map("".join)


@settings(deadline=None)
@given(SOURCES)
def test_any_text_gives_entities_that_telegram_accepts(markdown: str) -> None:
    formatted = to_entities(markdown)
    assert_telegram_accepts(formatted)
    assert bool(formatted.text.strip()) == bool(markdown.strip())


# --- Telegram: messages


def test_T05_astral_characters_count_twice() -> None:
    parts = split_entities(to_entities("😀" * 2049))
    assert [utf16_length(part.text) for part in parts] == [4096, 2]
    assert "".join(part.text for part in parts) == "😀" * 2049


def test_a_long_code_block_keeps_its_language_in_every_message() -> None:
    code = "".join(f"value_{i} = compute({i})\n" for i in range(300))
    parts = split_entities(to_entities(f"Look:\n```python\n{code}```\nThat is **it**."), 1000)
    assert len(parts) > 5
    for part in parts:
        assert_telegram_accepts(part)
        assert [(it.type, it.language) for it in part.entities if it.type == "pre"] == [("pre", "python")]
        assert utf16_length(part.text) <= 1000
    assert "".join(part.text for part in parts) == f"Look:\n{code}That is it."
    assert seen(parts[-1])[-1] == ("bold", "it")


@pytest.mark.parametrize("before", range(80, 101))
def test_a_link_is_not_cut(before: int) -> None:
    parts = split_entities(to_entities("字" * before + "[a link 😀](https://example.org)" + "字" * 50), 100)
    assert [(kind, text) for part in parts for kind, text in seen(part)] == [("text_link", "a link 😀")]


def test_a_short_text_is_one_message_and_a_blank_one_none() -> None:
    formatted = to_entities("**short**")
    assert split_entities(formatted) == [formatted]
    assert split_entities(to_entities("")) == []


def formats_of_units(formatted: FormattedText) -> list[set[object]]:
    """For every UTF-16 unit that is no whitespace, which formats it has."""
    units = formatted.text.encode("utf-16-le", "surrogatepass")
    formats: list[set[object]] = [set() for _ in range(len(units) // 2)]
    for it in formatted.entities:
        for unit in range(it.offset, it.end):
            formats[unit].add((it.type, it.url, it.language))
    blank = [units[2 * i : 2 * i + 2].decode("utf-16-le", "replace").isspace() for i in range(len(formats))]
    return [formats[i] for i in range(len(formats)) if not blank[i]]


@settings(deadline=None)
@given(SOURCES, st.integers(8, 60))
def test_messages_are_the_text_with_its_formats(markdown: str, limit: int) -> None:
    formatted = to_entities(markdown)
    parts = split_entities(formatted, limit)
    assert "".join(part.text for part in parts) == formatted.text
    for part in parts:
        assert utf16_length(part.text) <= limit
        assert_telegram_accepts(part)
    assert [formats for part in parts for formats in formats_of_units(part)] == formats_of_units(formatted)


# --- Discord


@pytest.mark.parametrize(
    "markdown",
    [
        *PROSE,
        "# A\n## B\n### C\n**b** *i* __u__ ~~s~~ ||x|| `c`\n> q\n- a\n1. b\n[l](https://a.b) <@1> <:a:1>",
        "```py\n#### not a heading\n---\n| a |\n|---|\n```",
        "`![a](https://a.b)` and \\![a](https://a.b)",
        "<b>bold</b> & </i>",
        "spaces  \r\nand ends\r\n",
        "",
    ],
)
def test_what_discord_shows_stays_byte_for_byte(markdown: str) -> None:
    assert to_discord(markdown) == markdown


@pytest.mark.parametrize(
    ("markdown", "shown"),
    [
        ("| A | B |\n|---|--:|\n| 猫 | 1 |\n\nend", "```\nA  | B\n---+--\n猫 | 1\n```\n\nend"),
        ("> | A |\n> |---|\n> | 1 |", "> ```\n> A\n> --\n> 1\n> ```".replace("--", "-")),
        ("a\n\n---\n* * *\nb", "a\n\n──────────\n──────────\nb"),
        ("#### Deep\n##### **a** b ##\n### ok", "**Deep**\n**a** b\n### ok"),
        ("![cat](https://a.b/c.png) ![](https://a.b/d)", "[cat](https://a.b/c.png) https://a.b/d"),
        ("[![cat](https://a.b/c)](https://a.b)", "[cat](https://a.b)"),
        ("### ![cat](https://a.b/c)", "### [cat](https://a.b/c)"),
        ("~~~py\nx\n~~~\n", "```py\nx\n```\n"),
        ("~~~\npartial", "```\npartial"),
        ("````md\n```\nx\n```\n````", "```md\n`\u200b`\u200b`\nx\n`\u200b`\u200b`\n```"),
        ("a\r\n---\r\n**b**\r\n", "a\r\n──────────\r\n**b**\r\n"),
        ("- a\n  #### b\n- c", "- a\n  **b**\n- c"),
    ],
)
def test_what_discord_does_not_show_is_put_in_other_words(markdown: str, shown: str) -> None:
    assert to_discord(markdown) == shown


def test_every_beginning_of_a_rich_answer_can_be_put_in_words() -> None:
    for length in range(1, len(RICH)):
        assert to_discord(RICH[:length])


@settings(deadline=None)
@given(SOURCES)
def test_a_text_that_is_not_blank_stays_so(markdown: str) -> None:
    assert bool(to_discord(markdown).strip()) == bool(markdown.strip())


# --- Speed

UNITS = [
    "word ",
    "**b** `c` ",
    "[",
    "![",
    "[a](",
    "||a ",
    "*a **a ",
    "> ",
    "- ",
    "a|b\n-|-\n",
    "`",
    "$a",
    "\\[",
    "字*",
    "a\n- ",
]


@pytest.mark.parametrize("unit", UNITS, ids=ascii)
@pytest.mark.parametrize("size", [50_000, 1_000_000])
def test_long_and_hostile_texts_take_no_longer_than_their_length_allows(unit: str, size: int) -> None:
    markdown = unit * (size // len(unit))
    began = time.process_time()
    split_entities(to_entities(markdown))
    to_discord(markdown + "~~~")
    assert time.process_time() - began < 2.0


def test_an_answer_of_usual_length_takes_well_below_a_millisecond() -> None:
    answer = (
        "Hello **there**, this is an `answer` with a [link](https://example.org/a).\n\n- a point\n- another\n\n" * 3
    )
    best = 1.0
    for _ in range(50):
        began = time.process_time()
        to_entities(answer)
        best = min(best, time.process_time() - began)
    assert best < 0.001
