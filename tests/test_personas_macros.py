"""Macros in card text: one pass, any case, nothing inserted is read again."""

from __future__ import annotations

import random
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.personas.macros import expand


@pytest.mark.parametrize("user", ["{{reverse:abc}}", "{{char}}", "<bot>", "{{", "}}", "\\1", "{{original}}"])
def test_P20_a_name_that_looks_like_a_macro_stays_a_name(user: str) -> None:
    assert expand("Hi {{user}}, I am {{char}}.", char="{{user}}", user=user) == f"Hi {user}, I am {{{{user}}}}."


def test_P20_the_text_that_a_card_replaces_is_not_expanded_again() -> None:
    assert expand("{{original}} End.", char="Luna", user="Sam", original="Be {{char}}.") == "Be {{char}}. End."


@pytest.mark.parametrize("seed", range(20))
def test_P21_macros_of_the_specification_are_expanded_in_any_case(seed: int) -> None:
    text = r"{{CHAR}} <BOT> <User> {{random:a\,b,c}} {{roll:d6}} {{roll:6}} {{// note}}x"
    expanded = expand(text, char="Nick", user="Sam", rng=random.Random(seed))
    assert re.fullmatch(r"Nick Nick Sam (a,b|c) [1-6] [1-6] x", expanded)


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("{{ char }} and {{User}}", "Luna and Sam"),
        ("<char><bot><USER>", "LunaLunaSam"),
        ("{{reverse:abc}} {{REVERSE: d e}}", "cba e d "),
        ("a{{//}}b{{// any, thing: here}}c", "abc"),
        ("{{random:only}} {{random::one}} {{Random one}}", "only one one"),
        ("{{roll:1}} {{roll D1}}", "1 1"),
        ("{{original}}", "The rules."),
    ],
)
def test_each_macro_in_each_spelling(text: str, expanded: str) -> None:
    assert expand(text, char="Luna", user="Sam", original="The rules.") == expanded


@pytest.mark.parametrize(
    "text",
    [
        "{{unknown}} {{time}} {{user guide}} {{char:x}}",
        "{{roll:0}} {{roll:d}} {{roll:2d6}} {{roll:-1}} {{roll:٣}} {{roll}}",
        "{{random}} {{random:}}",
        "{char} {{char} {char}} { {char} } {{}} <character> < user > {{:}}",
        "if (a) { b } else {{ c",
    ],
)
def test_what_is_no_macro_stays_as_it_was_written(text: str) -> None:
    assert expand(text, char="Luna", user="Sam") == text


def test_a_choice_stays_the_same_for_the_same_text() -> None:
    text = "{{random:a,b,c,d,e,f,g,h}} {{roll:1000000}}"
    assert len({expand(text, char="Luna", user=user) for user in ("Sam", "Kim", "Sam")}) == 1


def test_a_choice_takes_every_option_in_time() -> None:
    rng = random.Random(1)
    assert {expand("{{random::a::b, c::d}}", char="", user="", rng=rng) for _ in range(60)} == {"a", "b, c", "d"}


@given(st.text(st.sampled_from("{}<>:/ucharse,\\ "), max_size=60), st.text(max_size=8))
def test_expanding_never_raises_and_touches_no_text_without_brackets(text: str, name: str) -> None:
    expanded = expand(text, char=name, user=name)
    if not set(text) & set("{<"):
        assert expanded == text


@pytest.mark.parametrize(
    "text", ["{" * 200_000, "{{" + "a" * 200_000, "{{a" * 70_000, "{{char}}" * 30_000, "<" * 200_000]
)
def test_a_hostile_text_costs_time_in_proportion_to_its_length(text: str) -> None:
    started = time.process_time()
    expand(text, char="Luna", user="Sam")
    assert time.process_time() - started < 1
