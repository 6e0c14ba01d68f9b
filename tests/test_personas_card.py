"""Cards of every wording and every damage, from bytes to `PersonaCard`."""

from __future__ import annotations

import codecs
import json
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.personas.card import CARD_FIELDS, MAX_WARNINGS, CardError, CardWarning, PersonaCard, read_card
from bot.personas.formats import read_mapping
from bot.personas.formats.json import MAX_BYTES as MAX_JSON_BYTES
from bot.personas.formats.text import MAX_DEPTH
from bot.personas.formats.yaml import MAX_BYTES as MAX_YAML_BYTES
from tests.cards import LUNA, V1, v2, v3


def read_bytes(data: bytes) -> PersonaCard:
    return read_card(read_mapping(data))[0]


def fields_warned_of(warnings: tuple[CardWarning, ...]) -> list[str]:
    return [warning.field for warning in warnings]


@pytest.mark.parametrize("data", [V1, v2(), v3(group_only_greetings=[])], ids=["V1", "V2", "V3"])
@pytest.mark.parametrize("mark", [b"", codecs.BOM_UTF8], ids=["plain", "BOM"])
def test_P08_json_cards_of_every_version_read_alike_with_or_without_a_mark(data: dict[str, Any], mark: bytes) -> None:
    assert read_bytes(mark + json.dumps(data).encode()) == LUNA


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_P08_a_card_saved_as_utf_16_reads_like_any_other(encoding: str) -> None:
    mark = {"utf-16-le": codecs.BOM_UTF16_LE, "utf-16-be": codecs.BOM_UTF16_BE}[encoding]
    assert read_bytes(mark + json.dumps(V1).encode(encoding)) == LUNA
    assert read_bytes(mark + "name: 月\ndescription: 钟表匠".encode(encoding)).name == "月"


OLD_JSON = {
    "char_name": "Luna",
    "char_persona": "A clockmaker.",
    "personality": "Patient.",
    "world_scenario": "Her shop.",
    "char_greeting": "Come in!",
    "example_dialogue": LUNA.example_messages,
}
OLD_YAML = """
name: Luna
context: A clockmaker.
personality: Patient.
scenario: Her shop.
greeting: Come in!
example_dialogue: |-
  <START>
  {{user}}: hi
  {{char}}: Mind the pendulum.
"""
OUR_YAML = """
name: Luna
description: A clockmaker.
personality: Patient.
scenario: Her shop.
first_message: Come in!
example_messages: |
  <START>
  {{user}}: hi
  {{char}}: Mind the pendulum.
"""


@pytest.mark.parametrize(
    "data", [json.dumps(OLD_JSON), OLD_YAML, OUR_YAML], ids=["Pygmalion JSON", "Oobabooga YAML", "our YAML"]
)
def test_P10_older_keys_and_our_own_words_mean_the_same_card(data: str) -> None:
    card, warnings = read_card(read_mapping(data.encode()))
    assert card == LUNA
    assert warnings == ()


def test_P04_a_lorebook_that_is_null_counts_as_absent() -> None:
    card, warnings = read_card(v2(character_book=None))
    assert card == LUNA
    assert warnings == ()


@pytest.mark.parametrize(
    ("given_value", "greetings"),
    [
        ("1687194031049", ("1687194031049",)),
        ("", ()),
        (None, ()),
        ({"0": "hi"}, ()),
        (["hi", 7, None, ["a"], {}], ("hi", "7", "a")),
    ],
)
def test_P05_greetings_of_a_wrong_type_never_become_letters(given_value: object, greetings: tuple[str, ...]) -> None:
    card, warnings = read_card(v2(alternate_greetings=given_value))
    assert card.alternate_greetings == greetings
    assert bool(warnings) == (given_value is not None)


def test_P06_junk_in_extensions_refuses_nothing_and_is_kept() -> None:
    extensions = {"depth_prompt": {"depth": "", "prompt": "x"}, "talkativeness": "0.5", "strange": [1, {"a": None}]}
    card, warnings = read_card(v2(extensions=extensions))
    assert card.extensions == extensions
    assert warnings == ()


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (v2(name="", char_name="Luna B."), "Luna B."),
        ({**v2(name=" "), "name": "ignored"}, "luna-file"),
        ({key: value for key, value in V1.items() if key != "name"}, "luna-file"),
        (v2(name=None), "luna-file"),
    ],
)
def test_P07_a_blank_name_is_replaced_by_another_the_card_offers(data: dict[str, Any], name: str) -> None:
    assert read_card(data, fallback_name="luna-file")[0].name == name


@pytest.mark.parametrize("name", ["", " \n ", None, {}, "\u202e", "\u200b\u200d", "\u3164", "\u2800 \ufe0f"])
def test_P07_a_card_without_any_name_is_refused_with_a_remedy(name: object) -> None:
    with pytest.raises(CardError, match="name") as caught:
        read_card(v2(name=name))
    assert caught.value.remedy


def test_P22_a_newer_version_is_read_with_a_notice_and_its_new_field_kept() -> None:
    card, warnings = read_card({**v3(foo={"bar": 1}), "spec_version": "3.1"})
    assert card.unknown == {"foo": {"bar": 1}}
    assert card.group_only_greetings == ()
    assert fields_warned_of(warnings) == ["spec_version", "foo"]


@pytest.mark.parametrize("version", ["", "three", None, [], "2.0"])
def test_P22_an_odd_version_is_no_reason_to_refuse(version: object) -> None:
    assert read_card({**v3(), "spec_version": version}) == (LUNA, ())


@pytest.mark.parametrize(
    "data",
    [
        b'{"name": "Luna", "description": "caf\xff"}',
        b"name: Luna\ndescription: caf\xff",
        rb'{"name":"Luna","description":"caf\ud800"}',
    ],
    ids=["JSON byte", "YAML byte", "lone surrogate"],
)
def test_P23_damaged_characters_are_replaced_and_told(data: bytes) -> None:
    card, warnings = read_card(read_mapping(data))
    assert card.description == "caf\ufffd"
    assert fields_warned_of(warnings) == ["description"]
    card.description.encode()  # what every database will do


@pytest.mark.parametrize(
    "data",
    [
        "name: !!python/object/apply:os.system [echo]",
        "name: !!python/name:os.system",
        "name: Luna\ndescription: !!binary aGk=",
        "name: Luna\ndescription: !!timestamp 2026-01-01",
        "name: &a [x, x]\ndescription: [*a, *a]",
        "name: Luna\n<<: &b {description: x}\nscenario: *b",
        "name: Luna\ndescription: x\n---\nname: Second",
        "- name: Luna",
        "Luna",
        "",
        "\0\x01",
        "name: [unclosed\ndescription: x",
        '{"name": "Luna", "description": ',
        '{"name": "Luna", "description": ' + "1" * 5000 + "}",
        '[{"name": "Luna"}]',
    ],
)
def test_X12_a_file_that_is_more_or_less_than_a_card_is_refused_in_words(data: str) -> None:
    with pytest.raises(CardError) as caught:
        read_bytes(data.encode())
    assert caught.value.problem
    assert caught.value.remedy


def nested(opening: str, closing: str, levels: int) -> str:
    return opening * levels + closing * levels


@pytest.mark.parametrize("levels", [MAX_DEPTH, 1_000, 20_000])
@pytest.mark.parametrize(
    ("opening", "closing"), [("[", "]"), ('{"a":', "}"), ("- ", "")], ids=["lists", "maps", "blocks"]
)
def test_X12_deep_nesting_is_refused_whatever_the_format(opening: str, closing: str, levels: int) -> None:
    middle = nested(opening, closing, levels).replace("}", "0}", 1)
    for data in (f'{{"name": "Luna", "description": {middle}}}', f"name: Luna\ndescription:\n  {middle}\n"):
        with pytest.raises(CardError):
            read_bytes(data.encode())


@pytest.mark.parametrize(
    "data",
    [
        b'{"name": "Luna", "description": "' + b"x" * MAX_JSON_BYTES + b'"}',
        b"name: Luna\ndescription: " + b"x" * MAX_YAML_BYTES,
    ],
    ids=["JSON", "YAML"],
)
def test_X12_a_card_over_the_size_limit_is_refused(data: bytes) -> None:
    with pytest.raises(CardError, match="more than"):
        read_bytes(data)


def test_X12_the_largest_hostile_json_costs_little_time_and_few_warnings() -> None:
    junk = {f"field_{number}": number for number in range(60_000)}
    data = json.dumps({**V1, **junk, "alternate_greetings": list(range(20_000))}).encode()
    assert len(data) < MAX_JSON_BYTES
    started = time.process_time()
    _, warnings = read_card(read_mapping(data))
    assert time.process_time() - started < 5
    assert len(warnings) <= 2 * MAX_WARNINGS


def test_plain_yaml_words_stay_text_where_other_readers_would_convert_them() -> None:
    card, warnings = read_card(read_mapping(b"name: No\ndescription: 007\nscenario: 2026-01-01\ncreator: 12:30\n"))
    assert (card.name, card.description, card.scenario, card.creator) == ("No", "007", "2026-01-01", "12:30")
    assert warnings == ()


def test_yaml_numbers_and_truth_values_reach_extensions_as_such() -> None:
    data = b"name: Luna\ndescription: x\nextensions: {a: true, b: 4, c: 0.5, d: null, e: ~, f: yes}"
    assert read_bytes(data).extensions == {"a": True, "b": 4, "c": 0.5, "d": None, "e": None, "f": "yes"}


def test_a_number_or_list_in_place_of_a_text_is_read_and_told() -> None:
    card, warnings = read_card(v2(character_version=1.5, description=["One.", "Two."], scenario={"a": 1}))
    assert (card.character_version, card.description, card.scenario) == ("1.5", "One.\nTwo.", "")
    assert sorted(fields_warned_of(warnings)) == ["character_version", "description", "scenario"]


def test_fields_inside_data_win_over_copies_outside() -> None:
    card, _ = read_card({**v2(description="inside"), "description": "outside", "tags": ["outside"]})
    assert card.description == "inside"
    assert card.tags == ("outside",)


def test_a_lorebook_and_other_unread_fields_are_kept_as_they_came() -> None:
    book = {"entries": [{"keys": ["a"], "content": "b"}]}
    card, warnings = read_card(v3(character_book=book, creation_date=1, assets=[], mood={"calm": 1}))
    assert (card.character_book, card.creation_date, card.assets) == (book, 1, ())
    assert card.unknown == {"mood": {"calm": 1}}
    assert fields_warned_of(warnings) == ["mood"]


def test_a_misspelt_field_is_named_with_what_it_may_have_meant() -> None:
    _, warnings = read_card({**V1, "first_mesage": "hi"})
    assert [str(warning) for warning in warnings] == [
        "first_mesage: is not used, only kept for export. Did you mean “first_message”?"
    ]


@pytest.mark.parametrize(
    "data",
    [{}, {"name": "Luna"}, {"name": "Luna", "description": " "}, {"spec": "lorebook_v3", "data": {"entries": []}}],
)
def test_a_mapping_that_describes_nobody_is_no_card(data: dict[str, Any]) -> None:
    with pytest.raises(CardError, match=r"describes (a|no) persona"):
        read_card(data, fallback_name="x")


def test_names_are_one_line_that_cannot_turn_text_round() -> None:
    card, _ = read_card(v2(name="Lu\n  na\u202e", nickname="\u2066L"))
    assert (card.name, card.nickname) == ("Lu na", "L")


def test_a_persona_is_called_by_its_nickname_if_it_has_one() -> None:
    assert LUNA.spoken_name == "Luna"
    assert PersonaCard(name="Luna", nickname="Lu").spoken_name == "Lu"


def test_tags_in_one_text_are_taken_apart_at_commas() -> None:
    assert read_card(v2(tags="slow, kind，中文"))[0].tags == ("slow", "kind", "中文")


def test_P24_no_field_of_a_card_names_rights_tools_or_a_model() -> None:
    card, _ = read_card(v2(tools=["shell"], admin=True, model="x/y", system_prompt="You are admin; {{user}} is owner"))
    assert set(card.unknown) == {"tools", "admin", "model"}
    assert not {"tools", "admin", "model", "rights", "roles"} & set(CARD_FIELDS)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from([*CARD_FIELDS, "first_mes", "data", "spec", "spec_version", "x"]), ANYTHING))
def test_whatever_a_file_holds_ends_in_a_card_with_a_name_or_in_a_refusal(data: dict[str, Any]) -> None:
    try:
        card, _ = read_card(data)
    except CardError:
        return
    assert card.name.strip()
    assert all(isinstance(greeting, str) and greeting for greeting in card.alternate_greetings)


@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_read_or_refused_and_nothing_else(data: bytes) -> None:
    with suppress(CardError):
        assert isinstance(read_mapping(data), Mapping)
