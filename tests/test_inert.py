"""Texts of others within our own: shown as they were written, brackets and stars included, on every surface."""

from __future__ import annotations

import io

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from adapters.console.screen import _to_markdown
from adapters.markup.dialect import parse
from bot.commands.command import inert
from tests.conftest import MakeApp
from tests.talking import open_chat


@given(st.text(alphabet="ab [](){}\\`*_~|<>#&$-+.!:/@\n1漢"))
def test_D28_no_text_within_a_line_of_ours_is_read_as_markup_and_none_is_changed(text: str) -> None:
    inline = parse(f"x {inert(text)} [day](https://a.b/c)")[1].children or []
    assert {token.type for token in inline} <= {"text", "link_open", "link_close"}
    shown = "".join(token.content for token in inline)
    assert shown.split() == f"x {text} day".split()


async def test_notes_and_names_with_brackets_and_stars_are_shown_without_backslashes(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="none")
    await chat.say("/memory add event [Ferry] to **Bergen** for $5 [see](https://a.b)")
    (answer,) = await chat.say("/memory")
    paper = io.StringIO()
    Console(file=paper, width=100).print(_to_markdown(answer, hyperlinks=False))
    assert "[Ferry] to **Bergen** for $5 [see](https://a.b)" in paper.getvalue()
    assert "\\" not in paper.getvalue()


async def test_within_code_of_ours_no_backslash_is_seen_and_nothing_ends_it(make_app: MakeApp) -> None:
    desk = (await open_chat(make_app, persona="none")).app.desk
    told = desk.text("persona-imported", "en", persona="A [b] *c* `d`", id="p_1")
    inline = parse(told)[1].children or []
    assert [token.content for token in inline if token.type == "code_inline"] == ["/persona use A [b] *c* 'd'"]
    assert "A [b] *c* `d`" in "".join(token.content for token in inline if token.type == "text")
