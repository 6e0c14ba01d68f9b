"""What a summariser returns is kept only as far as its sources bear it out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.memory.delta import LONGEST_GIST, LONGEST_TEXT, MOST_OPERATIONS, BadDelta, Citable, Line, read_delta, schema
from bot.memory.items import Category, FollowUpState, Item, ItemKind, NewItem

DAY = date(2026, 11, 1)
ALICE, BOB = "discord:1", "discord:2"


def line(message_id: int, author: str | None = ALICE) -> Line:
    return Line(message_id=message_id, author_key=author, day=DAY)


def item(number: int, **facts: Any) -> Item:
    new = NewItem(
        **{"kind": ItemKind.FACT, "text": "Alice lives in Oslo", "subject": ALICE, "subject_name": "Alice"} | facts
    )
    return Item(id=number, new=new, tokens=5)


CITABLE = Citable(
    lines={1: line(101), 2: line(102, BOB), 3: line(103, None)},
    people={ALICE: "Alice", BOB: "Bob"},
    items={1: item(71), 2: item(72, text="Alice is 30", pinned=True)},
)


def reply(**lists: Any) -> str:
    return json.dumps(lists)


def fact(text: str = "Alice likes tea", who: str = ALICE, lines: tuple[int, ...] = (1,), **more: Any) -> dict[str, Any]:
    return {"who": who, "category": "preference", "text": text, "lines": [*lines], **more}


def test_L14_a_delta_is_read_out_of_the_prose_around_it() -> None:
    text = f"Here it is:\n```json\n{reply(facts=[fact()])}\n```\nI found one fact."
    delta = read_delta(text, CITABLE)
    assert [add.item for add in delta.adds] == [
        NewItem(
            kind=ItemKind.FACT,
            text="Alice likes tea",
            subject=ALICE,
            subject_name="Alice",
            category=Category.PREFERENCE,
            sources=(101,),
        )
    ]


def test_M08_a_fact_belongs_to_whom_its_key_names_and_a_name_of_one_person_will_do() -> None:
    delta = read_delta(reply(facts=[fact(), fact("Bob likes JavaScript", "bob", (2,))]), CITABLE)
    assert [(add.item.subject, add.item.text) for add in delta.adds] == [
        (ALICE, "Alice likes tea"),
        (BOB, "Bob likes JavaScript"),
    ]


def test_M19_a_fact_in_the_first_person_names_whom_it_is_about() -> None:
    delta = read_delta(reply(facts=[fact("I hate cilantro")]), CITABLE)
    assert delta.adds[0].item.text == "Alice: I hate cilantro"


@pytest.mark.parametrize(
    ("lists", "why"),
    [
        ({"facts": [fact(lines=(9,))]}, "there is no line 9"),
        ({"facts": [fact(lines=(3,))]}, "no person said that"),
        ({"facts": [fact(who="user")]}, "nobody here"),
        ({"facts": [fact(who="discord:3")]}, "nobody here"),
        ({"facts": [fact(text="x" * (LONGEST_TEXT + 1))]}, "at most 300"),
        ({"facts": [fact(lines=())]}, "lines"),
        ({"facts": [fact(lines=(True,))]}, "a number is expected"),
        ({"facts": [fact(item=True)]}, "a number is expected"),
        ({"retire": [{"item": True, "lines": [1]}]}, "a number is expected"),
        ({"facts": [fact(item=2)]}, "pinned"),
        ({"facts": [fact(item=9)]}, "to update"),
        ({"facts": ["tea"]}, "facts 1"),
        ({"events": [{"day": 0, "text": "The fair", "lines": [1]}]}, "a day is written as 2026-01-31"),
        ({"open": [{"due": "0", "text": "The tent", "lines": [1]}]}, "a day is written as 2026-01-31"),
        ({"agreed": [{"who": [ALICE], "text": "Pizza on Friday", "lines": [3]}]}, "no person confirmed"),
        ({"retire": [{"item": 9, "lines": [1]}]}, "no item"),
        ({"retire": [{"item": 2, "lines": [1]}]}, "pinned"),
        ({"retire": [{"item": 1, "lines": []}]}, "cites no line"),
        ({"gist": "g" * (LONGEST_GIST + 1)}, "at most"),
    ],
)
def test_M09_what_its_sources_do_not_bear_out_is_refused_in_words(lists: dict[str, Any], why: str) -> None:
    with pytest.raises(BadDelta, match="not borne out") as bad:
        read_delta(reply(**lists), CITABLE)
    assert why in str(bad.value)
    sound = [fact("Alice knits"), fact("Alice sings")]
    mixed = {**lists, "facts": [*sound, *lists.get("facts", [])]}
    delta = read_delta(reply(**mixed), CITABLE)
    assert [add.item.text for add in delta.adds] == ["Alice knits", "Alice sings"]
    assert len(delta.refused) == 1


def test_a_character_that_is_none_is_left_out_of_every_text() -> None:
    delta = read_delta(reply(facts=[fact("Alice\0 likes\0 tea", ALICE + "\0")], gist="They\0 talked."), CITABLE)
    assert ([add.item.text for add in delta.adds], delta.gist) == (["Alice likes tea"], "They talked.")


@pytest.mark.parametrize(
    "text", ["", "I am sorry.", "{", '{"facts": [', '{"facts": [{"who": "a"', reply(), reply(gist=" ")]
)
def test_M02_an_empty_or_broken_reply_changes_nothing(text: str) -> None:
    with pytest.raises(BadDelta):
        read_delta(text, CITABLE)


def test_a_move_closes_the_old_fact_and_opens_the_new_one() -> None:
    moved = fact("Alice moved from Oslo to Bergen", category="place", item=1)
    (add,) = read_delta(reply(facts=[moved]), CITABLE).adds
    assert (add.replaces, add.item.category) == (71, Category.PLACE)


def test_events_take_their_day_and_open_items_their_owner_and_due_day() -> None:
    delta = read_delta(
        reply(
            events=[{"day": "2026-11-03", "text": "The fair", "lines": [1]}, {"text": "It rained", "lines": [3, 2]}],
            open=[{"who": BOB, "due": "2026-11-05", "state": "open", "text": "Bob brings the tent", "lines": [2]}],
            agreed=[{"who": [ALICE, BOB, ALICE], "text": "Meet at noon", "lines": [3, 2]}],
        ),
        CITABLE,
    )
    fair, rain, meet, tent = (add.item for add in delta.adds)
    assert (fair.day, rain.day, rain.sources) == (date(2026, 11, 3), DAY, (103, 102))
    assert (tent.subject, tent.day, tent.state) == (BOB, date(2026, 11, 5), FollowUpState.OPEN)
    assert meet.people == (ALICE, BOB)


def test_what_is_known_already_is_not_kept_twice() -> None:
    delta = read_delta(reply(facts=[fact("alice lives in oslo."), fact(), fact()]), CITABLE)
    assert [add.item.text for add in delta.adds] == ["Alice likes tea"]


def test_what_is_retired_may_be_noted_anew_by_the_same_reply() -> None:
    again = fact("Alice lives in Oslo", lines=(1,))
    delta = read_delta(reply(facts=[again], retire=[{"item": 1, "lines": [1]}]), CITABLE)
    assert [add.item.text for add in delta.adds] == ["Alice lives in Oslo"]
    assert [retire.item for retire in delta.retires] == [71]


def test_who_agrees_to_what_is_known_already_is_noted() -> None:
    """The words stay as they are; what is new is who has said yes to them."""
    known = item(71, kind=ItemKind.CONSENSUS, text="Meet at noon", subject=None, subject_name="", people=(ALICE,))
    citable = Citable(lines=CITABLE.lines, people=CITABLE.people, items={1: known})
    (both,) = read_delta(
        reply(agreed=[{"who": [ALICE, BOB], "text": "Meet at noon", "lines": [2], "item": 1}]), citable
    ).adds
    assert (both.replaces, both.item.people) == (71, (ALICE, BOB))
    same = {"who": [ALICE], "text": "meet at noon.", "lines": [1], "item": 1}
    with pytest.raises(BadDelta, match="nothing"):
        read_delta(reply(agreed=[same]), citable)


def test_an_item_whose_place_something_known_takes_is_closed() -> None:
    bergen = item(73, text="Alice lives in Bergen")
    citable = Citable(lines=CITABLE.lines, people=CITABLE.people, items={**CITABLE.items, 3: bergen})
    delta = read_delta(reply(facts=[fact("Alice lives in Bergen", item=1)]), citable)
    assert (delta.adds, [gone.item for gone in delta.retires]) == ((), [71])


def test_nothing_is_left_out_of_a_reply_because_it_is_long() -> None:
    many = [fact(f"Alice likes tea number {number}") for number in range(MOST_OPERATIONS + 5)]
    assert len(read_delta(reply(facts=many), CITABLE).adds) == MOST_OPERATIONS + 5


NOBODY = Citable(lines={1: line(101, None)}, people={}, items={})
CROWD = Citable(lines=CITABLE.lines, people={f"discord:{number}": "Al" for number in range(51)}, items={})


def parts(part: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every schema within a schema, with where it stands."""
    if isinstance(part, dict):
        if "type" in part and not isinstance(part["type"], dict):
            yield path, part
        for key, value in part.items():
            yield from parts(value, f"{path}/{key}")


@pytest.mark.parametrize("citable", [CITABLE, NOBODY, CROWD])
def test_the_schema_bounds_every_string_list_and_number(citable: Citable) -> None:
    for path, part in parts(schema(citable)):
        kinds = part["type"]
        if "string" in kinds:
            assert "maxLength" in part or "enum" in part, path
        if "array" in kinds:
            assert "maxItems" in part, path
        if "integer" in kinds:
            assert part["minimum"] == 1 <= part["maximum"], path


@pytest.mark.parametrize("citable", [CITABLE, NOBODY, CROWD])
def test_L13_the_schema_is_one_that_strict_outputs_take(citable: Citable) -> None:
    words = {"type", "properties", "required", "additionalProperties", "items", "enum", "format"}
    words |= {"minItems", "maxItems", "minimum", "maximum", "minLength", "maxLength"}
    for path, part in parts(schema(citable)):
        assert part.keys() <= words, path
        if part["type"] == "object":
            assert part["additionalProperties"] is False, path
            assert part["required"] == [*part["properties"]], path


def test_a_reply_that_keeps_to_the_schema_refers_to_nothing_that_is_not_there() -> None:
    properties = schema(CITABLE)["properties"]
    one = properties["facts"]["items"]["properties"]
    assert one["who"]["enum"] == [ALICE, BOB]
    assert one["lines"]["items"]["maximum"] == 3
    assert one["item"]["maximum"] == properties["retire"]["items"]["properties"]["item"]["maximum"] == 2
    assert properties["open"]["items"]["properties"]["who"]["enum"] == [ALICE, BOB, None]
    assert "retire" not in schema(NOBODY)["properties"]
    assert "item" not in schema(NOBODY)["properties"]["facts"]["items"]["properties"]


NAMES = st.sampled_from(["facts", "who", "text", "lines", "item", "gist", "retire"])
ANYTHING = st.recursive(
    st.none() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner),
    max_leaves=20,
)


@given(ANYTHING)
def test_no_reply_whatever_does_more_than_be_refused(value: Any) -> None:
    try:
        delta = read_delta(json.dumps({"facts": [value], "retire": value, "gist": value}), CITABLE)
    except BadDelta:
        return
    assert not delta.is_empty
