"""What a pipe gets of Markdown: plain text, at once as far as nothing that follows can change it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.console.plain import sure_part, to_plain
from tests.markdown_samples import PROSE, RICH


@pytest.mark.parametrize(
    ("markdown", "plain"),
    [
        (r"**Rex [the dog\]** and snake\_case \*x\*", "Rex [the dog] and snake_case *x*"),
        ("*waves* Hello, **you**.", "*waves* Hello, you."),
        ("- `1` likes tea · [2026-12-24](https://example.org/1)", "• 1 likes tea · 2026-12-24 (https://example.org/1)"),
        ("😀 _runs_ *off*", "😀 *runs* *off*"),
        ("one\n\ntwo\nthree", "one\n\ntwo\nthree"),
        ("https://example.org", "https://example.org"),
        ("2 * 3 * 4", "2 * 3 * 4"),
    ],
)
def test_a_pipe_gets_the_text_that_people_read(markdown: str, plain: str) -> None:
    assert to_plain(markdown) == plain


@pytest.mark.parametrize(
    ("so_far", "sure"),
    [
        ("Once upon", "Once upon"),
        ("Once upon a *ti", "Once upon a "),
        ("Once *upon* a time.\n\nThe", "Once *upon* a time.\n\nThe"),
        ("Look:\n\n- one", "Look:\n\n"),
        ("Look:\n\n```\ncode\n\nmore", "Look:\n"),
        ("***", ""),
    ],
)
def test_a_growing_text_is_shown_as_far_as_it_is_sure(so_far: str, sure: str) -> None:
    assert sure_part(so_far) == sure


PIECES = [
    "a",
    " ",
    "b. ",
    "\n",
    "\n\n",
    "*",
    "**",
    "`",
    "```\n",
    "\\",
    "[x](https://y.z)",
    "- ",
    "1. ",
    "> ",
    "||",
    "# ",
    "!",
]


@given(
    st.one_of(st.sampled_from([*PROSE, RICH]), st.lists(st.sampled_from(PIECES), max_size=12).map("".join)), st.data()
)
def test_nothing_that_was_shown_of_a_growing_text_changes(markdown: str, data: st.DataObject) -> None:
    so_far = markdown[: data.draw(st.integers(0, len(markdown)))]
    assert to_plain(markdown).startswith(to_plain(sure_part(so_far)).rstrip())
