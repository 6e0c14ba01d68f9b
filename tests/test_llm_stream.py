"""Labels, echoes, role-play and loops are filtered out of answers, the same for every chunking."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.llm.reasoning import ReasoningFilter
from bot.llm.stream import clean_reply, reply_filter
from tests.piecewise import cut, shown

BORDERS = st.lists(st.integers(0, 10_000), max_size=40)


def texts_of(*fragments: str) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(fragments) | st.text(max_size=4), max_size=14).map("".join)


# Labels, echoes and role-play

NAMES = (["Luna"], ["Alice", "Bob", "Dr. Who", "José 🎸"])


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("Luna: Luna:Hi", "Hi"),
        ("luna: LUNA : Hi", "Hi"),
        ("**Luna:** Hi", "Hi"),
        ("**Luna**: Hi", "Hi"),
        ("[Luna]: Hi", "Hi"),
        ("**[Luna]:** Hi", "Hi"),
        ("*Luna*: Hi", "Hi"),
        ("【Luna】：你好", "你好"),
        ("Luna：你好", "你好"),
        ("\n Luna:\n\nHi", "Hi"),
        ("Luna: **bold** words", "**bold** words"),
        ("Hi!\nLuna: And more", "Hi!\nAnd more"),
        ("Lunatics: a study", "Lunatics: a study"),
        ("**Luna: the moon**", "**Luna: the moon**"),
        ("(Luna: the moon)", "(Luna: the moon)"),
        ("Luna says: hi", "Luna says: hi"),
        ("Luna", "Luna"),
        ("***", "***"),
    ],
)
def test_L15_the_label_of_the_persona_is_dropped(text: str, clean: str) -> None:
    assert clean_reply(text, *NAMES) == clean


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("Sure!\nAlice: thanks\nLuna: np", "Sure!"),
        ("Sure!\n\n  **alice:** thanks", "Sure!"),
        ("Sure!\n[Bob]: thanks", "Sure!"),
        ("Sure!\nDr. Who: thanks", "Sure!"),
        ("Sure!\nJosé 🎸: thanks", "Sure!"),
        ("Luna: Sure!\n[10:02] Alice: thanks", "Sure!"),
        ("Sure!\n[2026-11-01 10:02] (replying to Luna) Bob: thanks", "Sure!"),
        ("Sure!\nAlicent: a queen", "Sure!\nAlicent: a queen"),
        ("Sure!\nAlice, thanks: nice", "Sure!\nAlice, thanks: nice"),
        ("Sure!\n- Alice: cake", "Sure!\n- Alice: cake"),
        ("Sure!\n* Alice: cake", "Sure!\n* Alice: cake"),
        ("As she said:\n> Alice: cake\n> Luna: mine", "As she said:\n> Alice: cake\n> Luna: mine"),
        ("Sure!\n```yaml\nAlice: 5\n```\nAlice: thanks", "Sure!\n```yaml\nAlice: 5\n```"),
        ("Alice: yes, of course", "Alice: yes, of course"),
        ("Sure!\n\n", "Sure!\n\n"),
    ],
)
def test_L16_the_answer_ends_where_it_speaks_for_others(text: str, clean: str) -> None:
    assert clean_reply(text, *NAMES) == clean


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("[2026-11-01 10:01] Luna: hello", "hello"),
        ("[2026-11-01 10:01:59] hello", "hello"),
        ("[10:01] hello", "hello"),
        ("(replying to Alice) hello", "hello"),
        ("[replying to Alice: what (really)?]\nhello", "hello"),
        ("[Replying to Alice: what?] Luna: hello", "hello"),
        ("Hm.\n[replying to Luna: hello]\nBob: hi", "Hm."),
        ("[10:01] (Replying to Bob: “what?”) Luna: hello", "hello"),
        ("Luna: [10:01] Luna: hello", "hello"),
        ("Hm.\n[10:02] Luna: hello", "Hm.\nhello"),
        ("Hm.\n[replying to Luna: hello]\nhi", "Hm.\nhi"),
        ("Hm.\n[10:02] first train", "Hm.\n[10:02] first train"),
        ("[2026] was a year", "[2026] was a year"),
        ("[see](https://example.org)", "[see](https://example.org)"),
        ("(replying is fun) hello", "(replying is fun) hello"),
    ],
)
def test_L24_echoed_metadata_is_dropped(text: str, clean: str) -> None:
    assert clean_reply(text, *NAMES) == clean


def test_a_cut_answer_says_that_the_stream_can_be_closed() -> None:
    answer = reply_filter(*NAMES)
    assert answer.feed("Sure!\nAli") == "Sure!"
    assert not answer.stopped
    assert answer.feed("ce: thanks") == ""
    assert answer.stopped
    assert answer.feed("more") + answer.flush() == ""


@pytest.mark.parametrize("start", ["H", "Hm", "Bx", "[x", "[12 apples", "(no", "*w", "Lu,", "9"])
def test_text_that_cannot_be_a_label_is_shown_at_once(start: str) -> None:
    assert reply_filter(*NAMES).feed(start) == start


def test_a_label_is_held_for_64_characters_at_most() -> None:
    answer = reply_filter(["L" * 200], [])
    assert answer.feed("L" * 63) == ""
    assert answer.feed("L") == "L" * 64


LINES = texts_of(
    "Luna", "luna:", "**Luna:**", "[Luna]: ", "Alice", "Alice: ", "**", "*", "> ", "\n", "\n\n", " ", ":", "[10:01] ",
    "[2026-11-01 10:01] ", "(replying to Bob) ", "(replying", "[replying to Bob: hi]\n",
    "```", "`", "Hi", "hello there. ",
)  # fmt: skip


@given(LINES, BORDERS)
def test_a_reply_comes_out_the_same_for_every_chunking(text: str, borders: list[int]) -> None:
    assert "".join(shown(reply_filter(*NAMES), cut(text, borders))) == clean_reply(text, *NAMES)


@given(st.text(max_size=60))
def test_an_ordinary_answer_is_left_alone(text: str) -> None:
    assert clean_reply(text, ["Персона"], ["Somebody"]) == text.lstrip()


def heard(pieces: Sequence[str]) -> str:
    """What people see of a stream: reasoning taken out, then the rules for replies."""
    thoughts, answer = ReasoningFilter(), reply_filter(*NAMES)
    told = [answer.feed(piece) for piece in shown(thoughts, pieces)]
    return "" if thoughts.retracted else "".join(told) + answer.flush()


THOUGHTS = texts_of(
    "<think>", "</think>", "[THINK]", "[/THINK]", "secret", "\n", "`", "```", "Luna: ", "Alice: ", "[10:01] ", "Hi "
)  # fmt: skip


@given(THOUGHTS, BORDERS)
def test_the_rules_together_give_the_same_for_every_chunking(text: str, borders: list[int]) -> None:
    once, pieces = heard([text]), cut(text, borders)
    thoughts = ReasoningFilter()
    shown(thoughts, pieces)
    assert thoughts.retracted or heard(pieces) == once


# Loops


@pytest.mark.parametrize(
    "piece", ["I am stuck. ", "哈", "The same line again and again, as a small model does.\n", "ab", "-" * 149 + "\n"]
)
def test_a_text_that_repeats_itself_is_stopped(piece: str) -> None:
    answer = reply_filter(*NAMES)
    text = answer.feed("A good beginning. " + piece * 1000) + answer.flush()
    assert answer.stopped
    assert text.startswith("A good beginning. " + piece)
    assert len(text) < 800


def test_a_long_text_that_does_not_repeat_itself_goes_through() -> None:
    text = "".join(f"{number}. Line number {number} of a long list.\n" for number in range(2000))
    assert clean_reply(text, *NAMES) == text


@given(st.text(alphabet="ab", min_size=1, max_size=12), st.integers(1, 200), BORDERS)
def test_a_loop_is_cut_at_the_same_place_for_every_chunking(piece: str, times: int, borders: list[int]) -> None:
    text = "Well, " + piece * times
    assert "".join(shown(reply_filter(*NAMES), cut(text, borders))) == clean_reply(text, *NAMES)
