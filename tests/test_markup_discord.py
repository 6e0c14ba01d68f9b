"""What Discord's people see of a model's Markdown: what it understands as it is, the rest in other words."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from adapters.markup import to_discord
from adapters.markup.dialect import LONGEST
from tests.markdown_samples import PROSE, RICH, SOURCES


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


def test_a_text_too_long_to_be_parsed_is_reworded_as_far_as_it_is() -> None:
    markdown = "#### deep\n" * (2 * LONGEST // 10)
    shown = to_discord(markdown)
    assert shown.startswith("**deep**\n" * 100)
    assert shown.endswith("#### deep\n" * 100)
    assert shown.count("deep") == markdown.count("deep")
