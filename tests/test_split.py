"""The splitter: whole tokens, balanced fences, nothing lost, linear time."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import regex
from hypothesis import example, given, settings
from hypothesis import strategies as st

from adapters.split import split, utf16_length
from tests.markdown_samples import calls

LIMIT = 2000
CODE = "\n".join(f"value_{i} = compute({i})  # line {i}" for i in range(90))[:3200]
FAMILY = "👨‍👩‍👧‍👦"
EMOJI = "<:pog:123456789012345678>"
MENTION = "<@123456789012345678>"
LINK = "[docs](https://example.org/a)"


def is_source_without_added_fences(parts: list[str], source: str) -> bool:
    """Whether dropping a first and a last fence line of some parts, and nothing else, leaves the source."""
    if not parts:
        return source == ""
    return any(
        source.startswith(body) and is_source_without_added_fences(parts[1:], source[len(body) :])
        for body in possible_bodies(parts[0])
        if body
    )


def possible_bodies(part: str) -> set[str]:
    """The part itself and what is left of it without border lines that look like fences."""
    opened = regex.sub(r"\A(?:> )*(?:`{3,}|~{3,})[^\n]*\n", "", part)
    bodies = {part, opened}
    for body in (part, opened):
        closing = regex.search(r"(\n?)(?:> )*(?:`{3,}|~{3,})\Z", body)
        if closing:
            bodies |= {body[: closing.start()], body[: closing.end(1)]}
    return bodies


# --- Lengths


@pytest.mark.parametrize(
    ("text", "lengths"),
    [
        ("", []),
        ("hello", [5]),
        ("a" * 2000, [2000]),
        ("a" * 2001, [2000, 1]),
        ("a" * 3900, [2000, 1900]),
        ("word " * 780, [2000, 1900]),
    ],
    ids=["empty", "short", "2000", "2001", "3900", "3900 in words"],
)
def test_D03_a_text_takes_as_few_messages_as_the_limit_allows(text: str, lengths: list[int]) -> None:
    assert [len(part) for part in split(text, LIMIT)] == lengths


def test_D02_a_text_without_any_whitespace_is_cut_at_the_limit() -> None:
    parts = split("a" * 4500, LIMIT)
    assert [len(part) for part in parts] == [2000, 2000, 500]
    assert "".join(parts) == "a" * 4500


def test_T05_the_measure_counts_utf16_units() -> None:
    text = "😀" * 2049
    assert len(text) == 2049
    parts = split(text, 4096, length=utf16_length)
    assert [utf16_length(part) for part in parts] == [4096, 2]
    assert "".join(parts) == text


def test_a_limit_without_room_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one character"):
        split("a", 0)


# --- Borders

SENTENCE = "This sentence ends a little beyond the middle of its part. "


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("a" * 70 + "\n\n" + "b" * 20 + "\n" + "c. d e" * 5, "a" * 70 + "\n\n"),
        ("a" * 70 + "\n" + "b. " * 20, "a" * 70 + "\n"),
        (SENTENCE + "and then words follow for long, without a stop until far beyond", SENTENCE),
        ("一二三四五六七八九十" * 6 + "。" + "一" * 60, "一二三四五六七八九十" * 6 + "。"),
        ("a" * 80 + " " + "b" * 80, "a" * 80 + " "),
        ("a\n\n" + "b" * 200, "a\n\n" + "b" * 97),
        ("a" * 70 + "\n```py\n" + "b\n" * 30 + "```", "a" * 70 + "\n"),
    ],
    ids=["paragraph", "line", "sentence", "sentence without spaces", "word", "too early to count", "before a fence"],
)
def test_a_part_ends_at_the_best_border_of_its_later_half(text: str, first: str) -> None:
    assert split(text, 100)[0] == first


@pytest.mark.parametrize("token", [FAMILY, EMOJI, MENTION, LINK, "<@&123456>", "<#123456>", "<a:party:123456>"])
@pytest.mark.parametrize("before", range(1976, 2003))
@pytest.mark.parametrize("filler", ["a", "字", "!"])
def test_D26_a_token_at_the_border_stays_whole(token: str, before: int, filler: str) -> None:
    text = filler * before + token + filler * 1500
    parts = split(text, LIMIT)
    assert sum(part.count(token) for part in parts) == 1
    assert "".join(parts) == text
    assert max(map(len, parts)) <= LIMIT


@pytest.mark.parametrize(
    "token",
    ["`some code span`", "``a ` b``", "![alt text](https://example.org/x.png)", "https://example.org/a?b=c.d,e",
     "||a hidden thing||", "**bold words here**", "<https://example.org/a>", "[a](https://x.org/b_(c))",
     "</session set:12345>", "<t:1700000000:R>", "🇩🇪", "e\u0301", "\r\n", "ते"],
)  # fmt: skip
def test_spans_and_clusters_stay_whole(token: str) -> None:
    for before in range(60, 102):
        parts = split("x" * before + token + "y" * 60, 100)
        assert sum(part.count(token) for part in parts) == 1, before


def test_flags_are_cut_between_pairs() -> None:
    assert [len(part) for part in split("x" + "🇩🇪" * 100, 100)] == [99, 100, 2]


@pytest.mark.parametrize("token", ["[" + "a" * 300 + "](b)", "`" + "b " * 200 + "`", "\u0301" * 300, "<@" + "1" * 300])
def test_a_token_longer_than_a_message_is_cut_somewhere(token: str) -> None:
    parts = split("start " + token + " end", 100)
    assert "".join(parts) == "start " + token + " end"
    assert max(map(len, parts)) <= 100


# --- Fences


def test_D01_a_fence_is_closed_and_opened_again_with_its_language() -> None:
    source = "p" * 100 + "\n```python\n" + CODE + "\n```\n" + "e" * 50
    parts = split(source, LIMIT)
    assert max(map(len, parts)) <= LIMIT
    assert all(part.count("```") % 2 == 0 for part in parts)
    assert parts[1].startswith("```python\n")
    assert parts[0].removesuffix("```") + parts[1].removeprefix("```python\n") == source


@pytest.mark.parametrize("opening", ["```", "```py", "~~~", "~~~~ py", "````md", "> ```py", "   ```py", "1. ```py"])
@pytest.mark.parametrize("size", range(80, 130, 7))
def test_every_kind_of_fence_is_balanced_in_every_part(opening: str, size: int) -> None:
    marker = regex.search(r"[`~]+", opening)[0]
    closing = opening[: opening.index(marker)].replace("1.", "  ") + marker
    source = "prose\n" + opening + "\n" + "code = 1\n" * (size // 9) + "c" * 30 + "\n" + closing + "\nmore prose"
    parts = split(source, 100)
    assert len(parts) > 1
    assert all(len(regex.findall(rf"^[> 1.]*{marker}", part, regex.M)) in (0, 2) for part in parts)
    assert is_source_without_added_fences(parts, source)


def test_inner_fences_of_a_longer_fence_are_code() -> None:
    source = "````md\n" + "```py\nx = 1\n```\n" * 20 + "````\nprose"
    parts = split(source, 100)
    assert all(part.startswith("````md\n") for part in parts)
    assert all(part.count("````") == 2 for part in parts)


def test_a_line_too_long_for_a_message_is_cut_within_its_fence() -> None:
    parts = split("```py\n" + "x" * 250 + "\n```", 100)
    assert parts == [f"```py\n{'x' * 90}\n```", f"```py\n{'x' * 90}\n```", f"```py\n{'x' * 70}\n```"]


@pytest.mark.parametrize(
    ("partial", "shown"),
    [
        ("```py\nx = 1", "```py\nx = 1\n```"),
        ("```py\nx = 1\n", "```py\nx = 1\n```"),
        ("~~~\nx", "~~~\nx\n~~~"),
        ("> ```\n> x", "> ```\n> x\n> ```"),
        ("```py", "```py"),
        ("text\n``", "text\n``"),
        ("a fence starts with ```", "a fence starts with ```"),
        ("one ```inline``` fence", "one ```inline``` fence"),
    ],
)
def test_an_unfinished_fence_is_closed_when_it_holds_something(partial: str, shown: str) -> None:
    assert split(partial, LIMIT) == [shown]


def test_a_fence_may_open_at_the_end_of_a_line_of_prose() -> None:
    parts = split("Sure: ```py\n" + "x = 1\n" * 20 + "```\nThat is it.", 100)
    assert parts[1].startswith("```py\n")
    assert parts[-1].endswith("```\nThat is it.")
    assert all(part.count("```") == 2 for part in parts)


@pytest.mark.parametrize(
    "text",
    ["```" + "i" * 3000 + "\ncode\n```\nprose", "`" * 3000, "```py " + "x " * 900 + "\n" + "c\n" * 900,
     "~" * 2500 + "\na", " " * 30 + "```\nx\n```", "```\n```\n" * 600, "```a\n" * 900],
    ids=["info", "marker", "info words", "tildes", "indented", "empty fences", "openings only"],
)  # fmt: skip
def test_odd_fences_are_safe(text: str) -> None:
    parts = split(text, LIMIT)
    assert max(map(len, parts)) <= LIMIT
    assert is_source_without_added_fences(parts, text)


# --- Any text

MARKUP = (
    "\n",
    "\n\n",
    "```",
    "```py\n",
    "\n```\n",
    "~~~\n",
    "````\n",
    "> ",
    "`",
    "``",
    "[a](b)",
    "[",
    "](",
    "||",
    "**",
)
TOKENS = (MENTION, LINK, EMOJI, FAMILY, "😀", "🇩🇪", "e\u0301", "\r\n", ". ", "。", " ", "- ", "https://a.b/c", "\ud800")
FRAGMENTS = st.one_of(st.sampled_from(MARKUP + TOKENS), st.text(max_size=30), st.text("ab .\n", max_size=60))
SOURCES = st.lists(FRAGMENTS, max_size=40).map("".join)


@settings(deadline=None)
@given(SOURCES, st.integers(4, 120), st.sampled_from([len, utf16_length]))
@example("```\nx\n```" * 30, 40, len)
def test_any_text_is_split_within_the_limit_and_without_loss(
    text: str, limit: int, length: Callable[[str], int]
) -> None:
    parts = split(text, limit, length=length)
    assert all(length(part) <= limit for part in parts)
    assert is_source_without_added_fences(parts, text)


@settings(deadline=None)
@given(SOURCES.filter(lambda text: "```" not in text and "~~~" not in text), st.integers(30, 120))
def test_any_text_is_cut_between_grapheme_clusters(text: str, limit: int) -> None:
    borders, position = {0}, 0
    for cluster in regex.findall(r"\X", text):
        position += len(cluster)
        borders.add(position)
    position = 0
    for part in split(text, limit):
        position += len(part)
        assert position in borders or len(regex.search(r"(?r)\X", text[:position])[0]) > limit


@settings(deadline=None)
@given(SOURCES, st.integers(40, 120))
def test_a_longer_text_keeps_the_first_parts_of_a_shorter_one(text: str, limit: int) -> None:
    grown = split(text + "\nand a last line.", limit)
    before = split(text, limit)
    assert before[: max(len(before) - 2, 0)] == grown[: max(len(before) - 2, 0)]


@pytest.mark.parametrize(
    "unit",
    ["a", "😀", FAMILY, "🇩🇪", "\u0301", "字", "[", "[a](", "`", "`a``b```c", "||a ", "```\n", "~~~ a\n", "x ```py\n",
     "> ```py\n> a\n> ```\n", "word ", " ", "\n", EMOJI],
    ids=ascii,
)  # fmt: skip
def test_four_times_the_text_is_four_times_the_work(unit: str) -> None:
    def work(size: int) -> int:
        return calls(lambda: split(unit * (size // len(unit)), 200))

    assert work(40_000) < 5 * work(10_000)
