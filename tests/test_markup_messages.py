"""Formatted text as Telegram's messages: nothing lost, every part within the limits, in linear work."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.markup import Entity, FormattedText, split_entities, to_discord, to_entities, under_name
from adapters.markup.messages import MAX_ENTITIES, MAX_ENTITY_BYTES
from adapters.split import split, utf16_length
from tests.markdown_samples import SOURCES, assert_telegram_accepts, calls, seen


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


# --- How many entities


def test_a_message_ends_before_the_entity_that_telegram_would_leave_out() -> None:
    parts = split_entities(to_entities("".join(f"**word{number}** and then " for number in range(130))))
    assert [len(part.entities) for part in parts] == [100, 30]
    assert sum(text.startswith("word") for part in parts for _, text in seen(part)) == 130


def test_where_entities_stand_too_close_the_least_important_are_left_out() -> None:
    letters = [Entity(type="italic", offset=2 * number, length=1) for number in range(400)]
    secret = Entity(type="spoiler", offset=800, length=1)
    text = "a " * 400 + "b" + " c" * 1600
    (part,) = split_entities(FormattedText(text=text, entities=(*letters, secret)))
    assert part.entities == (*letters[: MAX_ENTITIES - 1], secret)


def test_addresses_of_links_stay_below_what_the_server_takes_of_one_message() -> None:
    links = "".join(
        f"see [link {number}](https://example.org/{'a' * 300}) and so on for a while; " for number in range(60)
    )
    parts = split_entities(to_entities(links))
    assert all(sum(len(entity.url or "") + 12 for entity in part.entities) <= MAX_ENTITY_BYTES for part in parts)
    assert sum(len(part.entities) for part in parts) == 60


# --- How much work


UNITS = [
    "word ", "**b** `c` ", "[", "![", "[a](", "||a ", "*a **a ", "*_", "> ", "- ", "a|b\n-|-\n", "`", "``a```b", "$a",
    "\\[", "字*", "a\n- ", "<", "<<https://a ", "x ```py\n", "> ```py\n> a\n> ```\n", "~~~ a\n", "```\n", "1. a\n",
    "# a\n", "|a|b|\n|-|-|\n|c|d|\n\n", "- [ ] a\n", "[a](https://a.b)", "||a|| ", "😀", "🇩🇪", "\u0301", "\n",
]  # fmt: skip


@pytest.mark.parametrize("unit", UNITS, ids=ascii)
def test_four_times_the_text_is_four_times_the_work(unit: str) -> None:
    def work(size: int) -> int:
        markdown = unit * (size // len(unit))
        return calls(
            lambda: (split_entities(to_entities(markdown), 400), to_discord(markdown + "~~~"), split(markdown, 200))
        )

    assert work(3_000) < 5 * work(750)


@pytest.mark.parametrize(
    "text",
    ["hello", "**bold** and 😀 `code`", "```python\nx = 1\n```", "> quoted", "| a | b |\n| - | - |\n| 1 | 2 |", "---"],
)
@pytest.mark.parametrize("name", ["Mira", "苏轼", "😀 Rex"])
def test_a_name_stands_above_a_text_and_changes_nothing_of_it(name: str, text: str) -> None:
    formatted = to_entities(text)
    named = under_name(name, formatted)
    assert_telegram_accepts(named)
    assert named.text == f"{name}\n{formatted.text}"
    assert seen(named) == [("bold", name), *seen(formatted)]


def test_where_there_is_nothing_to_say_or_nobody_to_name_there_is_no_name() -> None:
    blank, said = to_entities(" \n"), to_entities("*said*")
    assert (under_name("Mira", blank), under_name("", said)) == (blank, said)
