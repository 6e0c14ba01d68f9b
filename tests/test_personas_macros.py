"""Macros in card text: one pass, any case, nothing inserted is read again."""

from __future__ import annotations

import random
import re
import time
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.personas.macros import MAX_INSERTED_CHARS, Moment, Where, expand, name_of_passing, passing_macros

NOON = Moment(
    now=datetime(2026, 11, 30, 9, 5, tzinfo=UTC), idle=timedelta(hours=2, minutes=5), last_message="Hi {{char}}"
)
PASSING = "{{time}}|{{date}}|{{weekday}}|{{isotime}}|{{isodate}}|{{idle_duration}}|{{lastMessage}}"


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
        ("a{{// of {{user}} and {{char}} }}b{{comment: {{roll:6}}!}}c", "abc"),
        ("{{// {{user}}", "{{// Sam"),
        ("{{random:only}} {{random::one}} {{Random one}}", "only one one"),
        ("{{roll:1}} {{roll D1}}", "1 1"),
        ("{{original}}", "The rules."),
        ("{{pick:only}} {{PICK::one}} {{pick: a }}", "only one a"),
        ("a{{hidden_key:dragon}}b{{comment: for people}}c{{Comment:}}d", "abcd"),
        ("a{{newline}}b{{noop}}c", "a\nbc"),
        ("a\n\n{{trim}}\n\nb{{ TRIM }}c\n{{trim}}\n\n{{trim}}\nd", "abcd"),
        ("{{group}}", "Luna"),
    ],
)
def test_each_macro_in_each_spelling(text: str, expanded: str) -> None:
    assert expand(text, char="Luna", user="Sam", original="The rules.") == expanded


@pytest.mark.parametrize(
    "text",
    [
        "{{unknown}} {{time}} {{lastMessage}} {{user guide}} {{char:x}} {{time:x}}",
        "{{description}} {{persona}} {{mesExamples}}",
        "{{roll:0}} {{roll:d}} {{roll:2d6}} {{roll:-1}} {{roll:٣}} {{roll}}",
        "{{random}} {{random:}} {{pick}} {{pick:}} {{trim:x}}",
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


def test_a_pick_is_always_the_same_for_its_text_and_every_option_is_picked_for_some() -> None:
    rolled = {expand("{{pick:a,b,c}}", char="", user="", rng=random.Random(seed)) for seed in range(30)}
    assert len(rolled) == 1
    assert {expand(f"{{{{pick:a,b,c}}}}{number}", char="", user="")[0] for number in range(60)} == {"a", "b", "c"}


def test_options_after_two_colons_may_have_commas_between_them() -> None:
    picked = {expand("{{random::a,b}}", char="", user="", rng=random.Random(seed)) for seed in range(30)}
    assert picked == {"a", "b"}


@pytest.mark.parametrize(
    ("language", "told"),
    [
        ("en", "09:05|November 30, 2026|Monday|09:05|2026-11-30|2 hours|Hi {{char}}"),
        ("zh-CN", "09:05|2026年11月30日|星期一|09:05|2026-11-30|2小时|Hi {{char}}"),
    ],
)
def test_what_passes_is_told_behind_the_history(language: str, told: str) -> None:
    assert expand(PASSING, char="Luna", user="Sam", moment=NOON, language=language) == told


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_passes_is_only_named_in_a_prefix_and_never_changes_it(language: str) -> None:
    def in_prefix(moment: Moment | None) -> str:
        return expand(PASSING, char="Luna", user="Sam", moment=moment, where=Where.PREFIX, language=language)

    later = Moment(now=NOON.now + timedelta(days=1), last_message="Other")
    assert in_prefix(NOON) == in_prefix(later) == in_prefix(None)
    assert in_prefix(NOON).split("|")[0] == name_of_passing("time", language=language)
    assert "{{" not in in_prefix(None)


def test_chance_in_a_prefix_depends_on_the_text_alone() -> None:
    text = "{{random:a,b,c,d,e,f,g,h}} {{roll:1000000}}"
    rolled = {expand(text, char="", user="", rng=random.Random(seed), where=Where.PREFIX) for seed in range(10)}
    assert len(rolled) == 1


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{{random:{{char}}, {{user}}}}!", {"Luna!", "Sam!"}),
        ("{{pick::{{char}} smiles::{{user}} waves}}", {"Luna smiles", "Sam waves"}),
        (r"{{Random: a\, {{user}},{{random:x,y}}}}", {"a, Sam", "x", "y"}),
        ("{{random:{{unknown}},{{unknown}}}}", {"{{unknown}}"}),
        ("{{random:{{char}}", {"{{random:Luna"}),
    ],
)
def test_what_is_chosen_may_hold_macros_of_its_author(text: str, told: set[str]) -> None:
    seen = {expand(text, char="Luna", user="Sam", rng=random.Random(seed)) for seed in range(40)}
    assert seen == told or (seen < told and "pick" in text)


def test_P20_a_name_that_is_inserted_into_a_choice_parts_no_options_and_is_no_macro() -> None:
    hostile = "a,b::{{char}}}}{{random:x,y}}"
    assert expand("{{random:{{user}},{{user}}}}", char="Luna", user=hostile, rng=random.Random(1)) == hostile


def test_the_time_within_a_choice_is_told_too() -> None:
    assert passing_macros("{{random:{{time}},{{date}} or so}}") == ("time", "date")


def test_a_comment_is_for_people_alone() -> None:
    text = "a{{comment: b }}c{{// d}}{{Comment:{{roll:6}}}}"
    assert [expand(text, char="", user="", where=where) for where in Where] == ["ac", "ac", "abc", "ac"]


def test_what_a_text_tells_of_time_is_known_beforehand() -> None:
    assert passing_macros("{{Time}} {{ date }} {{time}} {{user}} <user> {{isotime:x}} {time}") == ("time", "date")
    assert passing_macros("a {{// {{time}} }} b {{comment: {{date}}{{time}}}} {{weekday}}") == ("weekday",)


@pytest.mark.parametrize(
    ("idle", "told"),
    [
        (-5, "a moment"),
        (0, "a moment"),
        (59, "a moment"),
        (60, "1 minute"),
        (7200, "2 hours"),
        (86_400, "1 day"),
        (900_000, "10 days"),
    ],
)
def test_a_silence_is_told_in_its_largest_unit(idle: int, told: str) -> None:
    moment = Moment(now=NOON.now, idle=timedelta(seconds=idle))
    assert expand("{{idle_duration}}", char="", user="", moment=moment) == told


def test_fields_of_the_card_come_from_the_caller_and_are_not_read_again() -> None:
    fields = {"description": "Keeps {{char}}s.", "persona": "A sailor.", "example_messages": "<START>"}
    text = "{{description}} {{PERSONA}} {{mesExamples}} {{scenario}}"
    expanded = expand(text, char="Luna", user="Sam", field=fields.get)
    assert expanded == "Keeps {{char}}s. A sailor. <START> {{scenario}}"


def test_a_hidden_key_is_seen_by_a_scan_alone() -> None:
    text = "a {{hidden_key: dragon }}{{// wyrm}}{{comment:drake}}"
    assert [expand(text, char="", user="", where=where) for where in Where] == ["a ", "a ", "a drake", "a \ndragon\n"]


def test_what_macros_insert_has_a_limit_and_the_rest_stays_as_written() -> None:
    long = "x" * (MAX_INSERTED_CHARS // 10)
    expanded = expand("{{description}}" * 1000, char="Luna", user="Sam", field=lambda _: long)
    assert len(expanded) < MAX_INSERTED_CHARS + 1000 * len("{{description}}")
    assert expanded.endswith("{{description}}")


@given(st.text(max_size=30), st.text(max_size=30), st.text(max_size=30))
def test_P20_a_value_is_put_in_as_it_is_whatever_it_holds(char: str, user: str, said: str) -> None:
    moment = Moment(now=NOON.now, last_message=said)
    expanded = expand(
        "{{char}}|<user>|{{lastMessage}}|{{scenario}}", char=char, user=user, moment=moment, field=lambda _: said
    )
    assert expanded == f"{char}|{user}|{said}|{said}"


@given(st.text(st.sampled_from("{}<>:/ucharse,\\ "), max_size=60), st.text(max_size=8))
def test_expanding_never_raises_and_touches_no_text_without_brackets(text: str, name: str) -> None:
    expanded = expand(text, char=name, user=name)
    if not set(text) & set("{<"):
        assert expanded == text


@pytest.mark.parametrize(
    "text",
    [
        "{" * 200_000,
        "{{" + "a" * 200_000,
        "{{a" * 70_000,
        "{{char}}" * 30_000,
        "<" * 200_000,
        "\n" * 200_000,
        "{{trim" + " " * 200_000,
        "{{//" * 50_000,
        "{{//" + "{{a}}" * 40_000,
        "{{// {{a}}" * 20_000,
        "{{random:{{a}}" * 20_000,
        "{{random:" + "{{a}}" * 50_000,
        "{{random:" + "a," * 100_000 + "{{b}}}}",
        "{{random:" + "a::{{b}}" * 30_000 + "}}",
        "{{comment" + " " * 200_000,
    ],
)
def test_a_hostile_text_costs_time_in_proportion_to_its_length(text: str) -> None:
    started = time.process_time()
    expand(text, char="Luna", user="Sam")
    assert time.process_time() - started < 1
