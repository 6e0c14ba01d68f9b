"""Keys in texts: words and phrases, case and width, secondary keys, patterns of strangers, and how far back."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.personas.lorebook import LoreIndex
from bot.personas.lorebook.patterns import MAX_PATTERN_CHARS, Patience, as_pattern, compile_pattern
from bot.personas.lorebook.texts import Text
from tests.lore import contents, entry, index_of, scanned, silly, why


def is_in(text: str, *keys: str, **settings: Any) -> bool:
    return bool(scanned(text, silly(*keys, **settings)).entries)


@pytest.mark.parametrize(
    ("text", "key", "found"),
    [
        ("A Dragon came.", "dragon", True),
        ("DRAGON!", "dragon", True),
        ("dragons", "dragon", False),
        ("snapdragon", "dragon", False),
        ("dragon_fire", "dragon", False),
        ("the dragon's egg", "dragon", True),
        ("red dragons here", "red dragon", True),
        ("ＤＲＡＧＯＮ", "dragon", True),
        ("straße", "STRASSE", True),
        ("那条龙很大", "龙", True),
        ("我用python写", "python", True),
        ("용이 온다", "용", True),
        ("I like c++ a lot", "c++", True),
        ("abc++", "c++", False),
        ("c++x", "c++", True),
        ("nothing", "", False),
        ("a <tag> here", "<tag>", True),
        ("path /usr/bin here", "/usr/bin", True),
    ],
)
def test_a_word_is_found_between_its_borders_and_a_phrase_anywhere(text: str, key: str, found: bool) -> None:
    assert is_in(text, key) is found


@pytest.mark.parametrize(
    ("text", "settings", "found"),
    [
        ("dragons", {"match_whole_words": False}, True),
        ("dragons", {"match_whole_words": True}, False),
        ("Dragon", {"case_sensitive": True}, False),
        ("a dragon", {"case_sensitive": True}, True),
        ("snapdragons", {"case_sensitive": True, "match_whole_words": False}, True),
        ("SNAPDRAGONS", {"case_sensitive": True, "match_whole_words": False}, False),
    ],
)
def test_borders_and_case_are_as_the_entry_says(text: str, settings: dict[str, Any], found: bool) -> None:
    assert is_in(text, "dragon", **settings) is found


@pytest.mark.parametrize(
    ("logic", "expected"),
    [
        (0, {"": False, "a": True, "b": True, "a b": True}),
        (1, {"": True, "a": True, "b": True, "a b": False}),
        (2, {"": True, "a": False, "b": False, "a b": False}),
        (3, {"": False, "a": False, "b": False, "a b": True}),
    ],
)
def test_secondary_keys_follow_their_logic(logic: int, expected: dict[str, bool]) -> None:
    made = silly("key", selectiveLogic=logic, selective=True, secondary_keys=["a", "b"])
    assert {text: bool(scanned(f"key {text}", made).entries) for text in expected} == expected
    assert why(scanned("a b", made, explains=True)) == "no_key"


def test_secondary_keys_count_only_where_the_entry_is_selective() -> None:
    assert contents(scanned("key", silly("key", secondary_keys=["a"], selective=False))) == ["Text."]
    assert contents(scanned("key", silly("key", secondary_keys=[], selective=True))) == ["Text."]
    refused = scanned("key", silly("key", secondary_keys=["a"], selective=True))
    assert why(refused) == "secondary_keys"


@pytest.mark.parametrize(("depth", "found"), [(0, False), (1, False), (2, False), (3, True), (4, True)])
def test_only_the_newest_messages_are_looked_through(depth: int, found: bool) -> None:
    messages = ["old", "key", "new", "newest"]
    assert bool(scanned(messages, entry("key"), scan_depth=depth).entries) is found
    assert bool(scanned(messages, entry("key"), book={"scan_depth": depth}).entries) is found
    assert bool(scanned(messages, silly("key", scan_depth=depth)).entries) is found


def test_a_phrase_does_not_reach_across_messages() -> None:
    assert not scanned(["a red", "dragon"], entry("red dragon")).entries
    assert not scanned(["a red", "dragon"], entry(r"/red\s+dragon/")).entries


def test_several_mentions_bring_an_entry_in_once() -> None:
    assert contents(scanned("key key key", entry("key", "other", content="Once."))) == ["Once."]


def test_a_key_may_be_a_macro() -> None:
    def expand(text: str, _where: object) -> str:
        return text.replace("{{char}}", "Luna")

    assert contents(scanned("Luna?", entry("{{char}}", content="{{char}} sails."), expand=expand)) == ["Luna sails."]
    assert not scanned("char", entry("{{char}}"), expand=expand).entries


@pytest.mark.parametrize(
    ("key", "pattern"),
    [
        ("/a+/", ("a+", "")),
        ("/a+/i", ("a+", "i")),
        (r"/a\/b/gim", ("a/b", "gim")),
        ("/usr/bin/", None),
        ("/usr/bin", None),
        ("//", None),
        ("/a/x", None),
        ("a/b/c", None),
        ("/", None),
    ],
)
def test_a_key_written_as_a_pattern_is_one(key: str, pattern: tuple[str, str] | None) -> None:
    assert as_pattern(key) == pattern


@pytest.mark.parametrize(
    ("key", "text", "found"),
    [
        (r"/drag(on|oon)s?\b/", "dragoons", True),
        (r"/DRAGON/", "dragon", False),
        (r"/DRAGON/i", "dragon", True),
        (r"/^b$/m", "a\nb\nc", True),
        (r"/a.c/s", "a\nc", True),
        (r"/(?<n>a)b/", "ab", True),
    ],
)
def test_patterns_search_with_their_flags(key: str, text: str, found: bool) -> None:
    assert is_in(text, key) is found


def test_by_the_letter_all_keys_are_patterns_and_secondary_and_excluded_ones_do_not_count() -> None:
    made = entry("drag.n", use_regex=True, selective=True, secondary_keys=["fire"], content="@@exclude_keys egg\nText.")
    assert contents(scanned("DRAGON egg", made)) == ["Text."]
    assert not scanned("dragon", entry("DRAGON", use_regex=True, case_sensitive=True)).entries
    assert contents(scanned("wyrm", entry("drag.n", use_regex=True, content="@@additional_keys w.rm\nText."))) == [
        "Text."
    ]


def test_by_the_letter_constant_does_not_count_where_there_are_patterns() -> None:
    assert not scanned("nothing", entry("drag.n", use_regex=True, constant=True)).entries
    assert contents(scanned("nothing", entry(use_regex=True, constant=True))) == ["Text."]


def test_what_sillytavern_exports_is_matched_as_sillytavern_does() -> None:
    plain = silly("a.b", content="Plain.")
    chosen = silly("key", content="Chosen.", selective=True, secondary_keys=["fire"])
    always = silly(content="Always.", constant=True)
    assert contents(scanned("axb key", plain, chosen, always)) == ["Always."]
    assert contents(scanned("a.b key fire", plain, chosen, always)) == ["Plain.", "Chosen.", "Always."]


CATASTROPHE = "a" * 40 + "!"


@pytest.mark.parametrize("key", ["(a+)+$", "(a|aa)+$", "(?=(a+)+$)", "(?R)", "(?:" + "a?" * 400 + ")" + "a" * 400])
@pytest.mark.parametrize("text", [CATASTROPHE, "a" * 9_000 + "!"])
def test_P17_a_pattern_that_takes_too_long_is_no_match_within_the_limit(key: str, text: str) -> None:
    books = [entry(key, use_regex=True, content=f"Text {number}.") for number in range(20)]
    started = time.perf_counter()
    activation = scanned([text, text + "?"], *books, entry("a*!", use_regex=True, content="Other."))
    assert time.perf_counter() - started < 1
    assert set(contents(activation)) <= {"Other."}


def test_P17_a_pattern_that_takes_too_long_is_told() -> None:
    activation = scanned("a" * 9_000 + "!", entry("(a+)+$", use_regex=True))
    assert not activation.entries
    assert "(a+)+$" in str(activation.warnings[0])
    assert why(activation) == "no_key"


def test_P17_patterns_of_a_scan_share_one_time_limit() -> None:
    times = iter(range(0, 1_000, 10))
    patience = Patience(15, clock=lambda: next(times))
    patterns = [compile_pattern(text) for text in ("a", "b", "c")]
    found = [pattern is not None and patience.finds(pattern, "abc") for pattern in patterns]
    assert found == [True, True, False]
    assert patience.given_up == ("c",)


@pytest.mark.parametrize(
    "made",
    [
        entry("[unclosed", use_regex=True),
        entry("/[unclosed/", use_regex=False),
        entry("(" * 900, use_regex=True),
        entry("x" * (MAX_PATTERN_CHARS + 1), use_regex=True),
        entry(r"\L<words>", use_regex=True),
        entry("key", enabled=False, constant=True),
        entry("key", content=""),
        entry("key", content="@@depth 3"),
        entry("key", content="\n\n"),
    ],
)
def test_P18_what_is_invalid_or_off_or_empty_adds_nothing(made: dict[str, Any]) -> None:
    text = "key [unclosed ((( x" + "x" * MAX_PATTERN_CHARS
    assert contents(scanned(text, made)) == []


def test_P18_an_invalid_pattern_takes_no_other_key_along() -> None:
    assert contents(scanned("key", silly("/[unclosed/", "key"))) == ["Text."]


def test_keys_that_never_match_are_told() -> None:
    warnings = index_of(entry("[x", use_regex=True, name="A"), entry("y" * 300, name="B"), entry("ok")).warnings
    assert [warning.field for warning in warnings] == ["A", "B"]


def test_lively_keys_beyond_the_limit_of_a_book_match_nothing_and_are_told() -> None:
    index = index_of(*(entry(f"{{{{char}}}}{number}") for number in range(502)))
    assert len(index.warnings) == 2


def test_a_book_with_too_many_keys_to_look_for_is_cut_short_and_told() -> None:
    secondary = [f"s{number}" for number in range(500)]
    made = [silly("key", selective=True, secondary_keys=secondary) for _ in range(110)]
    started = time.process_time()
    activation = scanned(["key"] * 4, *made)
    assert time.process_time() - started < 5
    assert not activation.entries
    assert "too many" in str(activation.warnings[0])


def test_patterns_beyond_the_limit_of_a_book_match_nothing() -> None:
    many = [entry(f"/k{number}x/", content=f"{number}") for number in range(501)]
    assert contents(scanned("k499x k500x", *many)) == ["499"]


LETTERS = st.text(st.sampled_from("ab .龙"), min_size=1, max_size=5)


@given(st.lists(LETTERS, max_size=12), st.text(st.sampled_from("ab .龙"), max_size=30), st.booleans())
@settings(max_examples=300, deadline=None)
def test_the_index_finds_what_looking_for_each_key_finds(keys: list[str], text: str, whole: bool) -> None:
    made = [silly(key, content=f"{number}", match_whole_words=whole) for number, key in enumerate(keys)]
    index = index_of(*made)
    concerned = {item.order for item in index.concerned([Text(text)])}
    found = {int(content) for content in contents(scanned(text, *made))}
    assert found <= concerned
    if not whole:
        assert found == {number for number, key in enumerate(keys) if key.strip() and key.strip() in text}


@given(st.text(st.sampled_from("()[]{}ab*+?|\\1<>=!PR&:^$.-#ixLpN,0'"), max_size=20))
@settings(max_examples=300, deadline=None)
def test_any_text_is_a_pattern_or_refused(pattern: str) -> None:
    found = compile_pattern(pattern, "is")
    if found is not None:
        Patience().finds(found, "ab")


@pytest.mark.parametrize("unit", ["a", "ab", "a ", "-a", "a-"])
def test_keys_made_to_be_slow_cost_time_in_proportion(unit: str) -> None:
    keys = [(unit * 200)[:length] for length in range(1, 201)]
    index: LoreIndex = index_of(*(silly(key, match_whole_words=whole) for key in keys for whole in (True, False)))
    text = Text(unit * 5_000)
    started = time.process_time()
    list(index.concerned([text] * 4))
    assert time.process_time() - started < 1
