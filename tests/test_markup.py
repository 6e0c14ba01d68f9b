"""What people see of a model's Markdown on Telegram: plain text, and entities that the server takes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from markdown_it.token import Token

from adapters.markup import FormattedText, split_entities, to_entities
from adapters.markup.dialect import LONGEST, parse
from adapters.split import find_late_fences
from tests.markdown_samples import PIECES, PROSE, RICH, SOURCES, assert_telegram_accepts, seen


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
        ("- [ ] to **do**\n- [x] done\n1. [X] first", "☐ to do\n☑ done\n1. ☑ first", [("bold", "do")]),
        ("- [x](y)\n- [ ]", "• [x](y)\n• [ ]", []),
        ("- a\n  - b\n    1. c", "• a\n  • b\n    1. c", []),
        ("> a `b`\n> ```\n> c\n> ```", "a b\nc", [("blockquote", "a b\nc"), ("code", "b"), ("pre", "c")]),
        ("$a_1 * b_2$ and _c_ \\(x_i^2 * y_i\\)", "$a_1 * b_2$ and c \\(x_i^2 * y_i\\)", [("italic", "c")]),
        ("<u>no</u> and <!-- this --> **b**", "<u>no</u> and <!-- this --> b", [("bold", "b")]),
        ("** a ** b", "** a ** b", []),
        ("**a\n\nb**", "**a\n\nb**", []),
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


@settings(deadline=None)
@given(SOURCES)
def test_any_text_gives_entities_that_telegram_accepts(markdown: str) -> None:
    formatted = to_entities(markdown)
    assert_telegram_accepts(formatted)
    assert bool(formatted.text.strip()) == bool(markdown.strip())


@pytest.mark.parametrize("line", ["a **b** c\n", "字"])
def test_a_text_too_long_to_be_parsed_is_formatted_as_far_as_it_is(line: str) -> None:
    markdown = line * (3 * LONGEST // len(line))
    formatted = to_entities(markdown)
    for part in split_entities(formatted):
        assert_telegram_accepts(part)
    assert formatted.text.startswith("a b c\na b c" if "b" in line else "字字")
    assert formatted.text.endswith(markdown[-9:].strip())
    assert formatted.text.count("c") == markdown.count("c")
    assert formatted.text.count("字") == markdown.count("字")


@pytest.mark.parametrize("cell", ["한국", "e\u0301e", "👨‍👩‍👧", "❤️", "🇩🇪🇩🇪", "猫a", "ｗ"])
def test_columns_are_as_wide_as_people_see_their_cells(cell: str) -> None:
    columns = {"한국": 4, "e\u0301e": 2, "👨‍👩‍👧": 2, "❤️": 2, "🇩🇪🇩🇪": 4, "猫a": 3, "ｗ": 2}
    drawn = to_entities(f"| four | n |\n|---|---|\n| {cell} | 1 |").text.split("\n")
    assert drawn == ["four | n", "-----+--", cell + " " * (4 - columns[cell]) + " | 1"]


def test_one_long_cell_does_not_widen_every_row() -> None:
    table = "| a | b |\n|---|---|\n" + f"| {'x' * 10_000} | 1 |\n" + "| a | b |\n" * 100
    assert len(to_entities(table).text) < 2 * len(table) + 100 * 60


VISIBLE = st.lists(PIECES | st.sampled_from("甲乙丙丁"), max_size=40).map("".join)


@settings(deadline=None)
@given(VISIBLE)
def test_the_text_is_what_is_visible_of_the_parse(markdown: str) -> None:
    assume(not find_late_fences(markdown))
    characters = re.findall(r"[\u4e00-\u9fff]", "".join(visible(parse(markdown))))
    assert not characters or re.findall(r"[\u4e00-\u9fff]", to_entities(markdown).text) == characters


def visible(tokens: Sequence[Token]) -> Iterator[str]:
    """What the tokens show, without the signs that stand for structure."""
    for token in tokens:
        if token.children:
            yield from visible(token.children)
        elif token.type in ("text", "code_inline", "fence"):
            yield token.content


@settings(deadline=None)
@given(SOURCES)
def test_no_entity_cuts_a_surrogate_pair(markdown: str) -> None:
    formatted = to_entities(markdown)
    units = formatted.text.encode("utf-16-le", "surrogatepass")
    for entity in formatted.entities:
        for unit in (entity.offset, entity.end):
            pair = units[2 * unit - 2 : 2 * unit + 2]
            assert not (len(pair) == 4 and 0xD8 <= pair[1] < 0xDC <= pair[3] < 0xE0)
