"""Lorebooks as files have them: every wording, every fault seen, and nothing lost on the way out."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.personas.card import read_card
from bot.personas.lorebook import (
    CARD_ENTRIES,
    Logic,
    Lorebook,
    LoreEntry,
    LoreRole,
    Slot,
    find_book,
    read_book,
    write_book,
    write_book_file,
)
from bot.personas.lorebook.reading import MAX_CONTENT_CHARS
from tests.lore import entry, silly


def read(*entries: object, **book: Any) -> Lorebook:
    return read_book({"entries": list(entries), **book})[0]


def one(raw: dict[str, Any]) -> LoreEntry:
    return read(raw).entries[0]


def test_a_book_of_the_specification_is_read_whole() -> None:
    raw = entry("a", "b", content="C", name="N", comment="X", priority=3, id=7, selective=True, secondary_keys=["s"])
    raw |= {"case_sensitive": True, "constant": True, "position": "before_char", "insertion_order": 5}
    book, warnings = read_book(
        {"name": "B", "scan_depth": 3, "token_budget": 9, "recursive_scanning": False, "entries": [raw]}
    )
    assert (book.name, book.scan_depth, book.token_budget, book.recursive_scanning) == ("B", 3, 9, False)
    found = book.entries[0]
    assert (found.keys, found.secondary_keys, found.content, found.id, found.priority) == (
        ("a", "b"),
        ("s",),
        "C",
        7,
        3,
    )
    assert (found.name, found.comment, found.insertion_order) == ("N", "X", 5)
    assert found.case_sensitive
    assert found.constant
    assert found.selective
    assert found.slot is Slot.BEFORE_CHAR
    assert warnings == ()


WORLD = {
    "entries": {
        "0": {"uid": 0, "key": ["dragon"], "keysecondary": ["fire"], "content": "D", "comment": "c", "constant": False}
        | {"selective": True, "selectiveLogic": 3, "order": 42, "position": 4, "disable": True, "depth": 2, "role": 1}
        | {"probability": 30, "useProbability": True, "sticky": 2, "cooldown": 3, "delay": 4, "group": "g"}
        | {"excludeRecursion": True, "preventRecursion": True, "delayUntilRecursion": 2, "scanDepth": 9}
        | {"matchWholeWords": False, "caseSensitive": True, "groupOverride": True, "groupWeight": 7, "addMemo": True}
        | {"useGroupScoring": True, "ignoreBudget": True}
        | {"characterFilter": {"isExclude": True, "names": ["Luna"], "tags": []}},
        "5": {"key": "a, /b,c/i, d", "content": "E"},
    }
}  # fmt: skip


def test_a_world_file_of_sillytavern_is_read_whole() -> None:
    dragon, other = read_book(WORLD)[0].entries
    assert (dragon.id, dragon.keys, dragon.secondary_keys, dragon.insertion_order) == (0, ("dragon",), ("fire",), 42)
    assert (dragon.logic, dragon.slot, dragon.depth, dragon.role) == (Logic.AND_ALL, Slot.DEPTH, 2, LoreRole.USER)
    assert (dragon.probability, dragon.sticky, dragon.cooldown, dragon.delay) == (30, 2, 3, 4)
    assert (dragon.exclude_recursion, dragon.prevent_recursion, dragon.delay_until_recursion) == (True, True, 2)
    assert (dragon.group, dragon.group_override, dragon.group_weight, dragon.use_group_scoring) == ("g", True, 7, True)
    assert (dragon.scan_depth, dragon.whole_words, dragon.case_sensitive, dragon.ignore_budget) == (
        9,
        False,
        True,
        True,
    )
    assert (dragon.only_personas, dragon.excludes_personas, dragon.enabled) == (("Luna",), True, False)
    assert dragon.unknown == {"addMemo": True}
    assert (other.id, other.keys) == (5, ("a", "/b,c/i", "d"))


def test_what_sillytavern_leaves_out_is_what_it_means_by_that() -> None:
    found = one({"keys": ["k"], "content": "c", "extensions": {"display_index": 1}})
    assert (found.probability, found.use_probability, found.depth, found.role) == (100, True, 4, LoreRole.SYSTEM)
    assert (found.logic, found.slot, found.id, found.enabled) == (Logic.AND_ANY, Slot.AFTER_CHAR, 0, True)


@pytest.mark.parametrize(
    ("position", "extension", "slot"),
    [
        ("before_char", None, Slot.BEFORE_CHAR),
        ("after_char", None, Slot.AFTER_CHAR),
        ("before_char", 1, Slot.AFTER_CHAR),
        ("after_char", 0, Slot.BEFORE_CHAR),
        (None, 2, Slot.NOTE_TOP),
        (None, 5, Slot.BEFORE_EXAMPLES),
        (4, None, Slot.DEPTH),
        ("", None, Slot.AFTER_CHAR),
        ("somewhere", None, Slot.AFTER_CHAR),
        (99, None, Slot.AFTER_CHAR),
        ([], None, Slot.AFTER_CHAR),
    ],
)
def test_the_place_in_the_extensions_goes_before_the_specified_one(
    position: object, extension: object, slot: Slot
) -> None:
    raw = {"keys": ["k"], "content": "c", "position": position, "extensions": {"position": extension}}
    assert one(raw).slot is slot


def test_a_pattern_for_every_key_is_believed_only_where_sillytavern_did_not_write_it() -> None:
    assert not one(silly("dragon")).keys_are_patterns
    assert not one({"key": ["dragon"], "keysecondary": [], "use_regex": True}).keys_are_patterns
    assert one(entry("dragon", use_regex=True)).keys_are_patterns
    assert not one(entry("dragon", use_regex=False)).keys_are_patterns


@pytest.mark.parametrize("book", [None, {}, [], "text", 3, {"entries": None}, {"name": "only"}, {"entries": "x"}])
def test_P04_what_is_no_lorebook_is_an_empty_one(book: object) -> None:
    found, warnings = read_book(book)
    assert found.entries == ()
    assert len(warnings) == (book is not None)


V2 = {"spec": "chara_card_v2", "name": "Luna", "data": {"name": "Luna", "description": "d"}}


def card(inside: object, outside: object) -> dict[str, Any]:
    found = {**V2, "data": dict(V2["data"])}  # type: ignore[call-overload]
    if inside:
        found["data"]["character_book"] = {"entries": [entry("in", content=str(inside))]}
    if outside:
        found["character_book"] = {"entries": [entry("out", content=str(outside))]}
    return found


@pytest.mark.parametrize(
    ("inside", "outside", "expected"), [("in", "out", "in"), ("in", None, "in"), (None, "out", "out")]
)
def test_P11_a_book_inside_the_data_goes_before_one_outside(inside: object, outside: object, expected: str) -> None:
    assert read_book(card(inside, outside))[0].entries[0].content == expected
    read_card(card(inside, outside))


BOOK = {"name": "B", "entries": [entry("k", content="c")]}


@pytest.mark.parametrize(
    "wrapped",
    [
        BOOK,
        {"spec": "lorebook_v3", "data": BOOK},
        {"character_book": BOOK},
        {"character_book": {"character_book": BOOK}},
        {"data": {"character_book": {"data": BOOK}}},
        {"entries": BOOK},
        {"lorebook": BOOK},
        [entry("k", content="c")],
        {"type": "risu", "data": [{"key": "k", "content": "c", "insertorder": 3}]},
        {"kind": "memory", "entries": [{"keywords": ["k"], "entry": "c", "enabled": True}]},
        {"lorebookVersion": 5, "entries": [{"keys": ["k"], "text": "c", "displayName": "n"}]},
    ],
)
def test_a_book_is_found_whatever_is_wrapped_around_it_and_whoever_wrote_it(wrapped: object) -> None:
    found = read_book(wrapped)[0].entries
    assert [(entry.keys, entry.content) for entry in found] == [(("k",), "c")]


def test_a_mapping_that_holds_itself_is_no_book() -> None:
    loop: dict[str, Any] = {}
    loop["data"] = loop
    assert find_book(loop) is None


def test_missing_and_repeated_ids_become_free_ones() -> None:
    found = read(
        entry("a"), entry("b", id=0), entry("c", id=7), entry("d", id="7"), entry("e", id={}), entry("f", id="")
    )
    ids = [entry.id for entry in found.entries]
    assert len({str(entry_id) for entry_id in ids}) == len(ids) == 6
    assert ids[0] == 0
    assert ids[2] == 7


@pytest.mark.parametrize(
    ("field", "value", "read_as"),
    [
        ("secondary_keys", "a, b ,,c", ("a", "b", "c")),
        ("keys", "dragon", ("dragon",)),
        ("keys", [1, "x", None, "", "x", ["y"]], ("1", "x")),
        ("keys", {"a": 1}, ()),
        ("insertion_order", "7", 7),
        ("insertion_order", "high", 0),
        ("insertion_order", 1e400, 100),
        ("insertion_order", 10**30, 1_000_000),
        ("priority", "", None),
        ("enabled", "false", False),
        ("enabled", 1, True),
        ("enabled", "perhaps", False),
        ("constant", None, False),
        ("content", 5, "5"),
        ("content", ["a", "b"], "a\nb"),
        ("content", {}, ""),
        ("name", "a\nb\u202e", "a b"),
        ("case_sensitive", "", None),
    ],
)
def test_a_field_of_an_odd_type_is_repaired(field: str, value: object, read_as: object) -> None:
    assert getattr(one({**entry("k"), field: value}), field) == read_as


@pytest.mark.parametrize(
    ("setting", "value", "field", "read_as"),
    [
        ("depth", "", "depth", 4),
        ("depth", "2", "depth", 2),
        ("depth", -3, "depth", 0),
        ("depth", "deep", "depth", 4),
        ("probability", None, "probability", 100),
        ("probability", 250, "probability", 100),
        ("probability", "33.4", "probability", 33),
        ("delay_until_recursion", True, "delay_until_recursion", 1),
        ("delay_until_recursion", 3, "delay_until_recursion", 3),
        ("delay_until_recursion", False, "delay_until_recursion", 0),
        ("selectiveLogic", "x", "logic", Logic.AND_ANY),
        ("selectiveLogic", 2, "logic", Logic.NOT_ANY),
        ("role", "assistant", "role", LoreRole.ASSISTANT),
        ("role", 9, "role", LoreRole.SYSTEM),
        ("scan_depth", "", "scan_depth", None),
        ("match_whole_words", None, "whole_words", None),
        ("group_weight", "50", "group_weight", 50),
    ],
)
def test_a_setting_of_an_odd_type_is_repaired(setting: str, value: object, field: str, read_as: object) -> None:
    assert getattr(one(silly("k", **{setting: value})), field) == read_as


def test_repairs_are_told_with_the_place_and_never_too_many() -> None:
    warnings = read_book({"entries": [entry("k"), {**entry("k"), "keys": 5}]})[1]
    assert [str(warning) for warning in warnings] == ["entries[1].keys: should be a list, not int; ignored."]
    assert len(read_book({"entries": [{"keys": 5, "enabled": "x"}] * 500})[1]) <= 50


def test_too_much_of_anything_is_cut_and_told() -> None:
    book, warnings = read_book({"entries": [entry("k")] * (CARD_ENTRIES + 1)})
    assert len(book.entries) == CARD_ENTRIES
    assert "5,001" in str(warnings[0])
    assert len(read_book({"entries": [entry("k")] * 20}, max_entries=10)[0].entries) == 10
    assert len(one(entry("k", content="x" * 60_000)).content) == MAX_CONTENT_CHARS
    assert len(one(entry(*map(str, range(2_000)))).keys) == 500


def test_ids_made_to_collide_cost_no_time() -> None:
    ids = [*range(5_000, 10_000), *([5_000] * 5_000)]
    found = read_book({"entries": [entry("k", id=number) for number in ids]}, max_entries=10_000)[0].entries
    assert len({str(made.id) for made in found}) == 10_000


def test_entries_that_are_no_mappings_are_left_out() -> None:
    book, warnings = read_book({"entries": [entry("a"), None, "x", 3, entry("b")]})
    assert [found.keys for found in book.entries] == [("a",), ("b",)]
    assert len(warnings) == 3


def test_what_nothing_reads_is_kept_for_export() -> None:
    raw = {"entries": [{**silly("k", vectorized=True), "mine": [1]}], "extensions": {"a": 1}, "theirs": {"b": 2}}
    written = write_book(read_book(raw)[0])
    assert written["theirs"] == {"b": 2}
    assert written["extensions"] == {"a": 1}
    assert written["entries"][0]["mine"] == [1]
    assert written["entries"][0]["extensions"]["vectorized"] is True
    assert written["entries"][0]["extensions"]["selectiveLogic"] == 0


def test_an_entry_of_patterns_by_the_letter_stays_one_on_the_way_out() -> None:
    written = write_book(read(entry("a+", use_regex=True)))["entries"][0]
    assert written["use_regex"] is True
    assert written["extensions"] == {}


def test_a_book_of_its_own_says_what_it_is() -> None:
    book = read_book(BOOK)[0]
    assert write_book_file(book)["spec"] == "lorebook_v3"
    assert read_book(write_book_file(book))[0] == book


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
WORDS = st.sampled_from(
    (
        *("keys", "key", "secondary_keys", "content", "constant", "selective", "insertion_order", "order", "enabled"),
        *("disable", "position", "id", "uid", "name", "comment", "priority", "case_sensitive", "use_regex", "depth"),
        *("extensions", "role", "probability", "group", "sticky", "character_filter", "key\0"),
    )
)
INNER = st.sampled_from(
    (
        *("position", "depth", "role", "selectiveLogic", "probability", "useProbability", "exclude_recursion", "group"),
        *("delay_until_recursion", "group_weight", "sticky", "cooldown", "delay", "scan_depth", "match_whole_words"),
        *("characterFilter", "display_index", "x"),
    )
)
ENTRIES = st.dictionaries(WORDS, JSON | st.dictionaries(INNER, JSON, max_size=6), max_size=10)
BOOKS = st.fixed_dictionaries(
    {"entries": st.lists(ENTRIES, max_size=4) | st.dictionaries(st.text(max_size=3), ENTRIES, max_size=3)},
    optional=dict.fromkeys(("name", "scan_depth", "token_budget", "recursive_scanning", "extensions", "zzz"), JSON),
)


@given(JSON | BOOKS)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_reading_takes_any_junk(data: object) -> None:
    read_book(data)


@given(BOOKS)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_what_is_written_is_read_as_the_same_book(data: dict[str, Any]) -> None:
    book = read_book(data)[0]
    again = json.loads(json.dumps(write_book(book), allow_nan=False))
    assert read_book(again)[0] == book
