"""What a mistyped name may have meant."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.commands.keys import NAME
from bot.commands.zones import zones
from bot.settings import place_keys
from bot.spelling import near_names

KEYS = (*place_keys(), NAME)


@pytest.mark.parametrize(
    ("typed", "first"),
    [
        ("timezne", "timezone"),
        ("imezone", "timezone"),  # the first letter is as likely to be wrong as any other
        ("yimezone", "timezone"),
        ("TimeZones", "timezone"),
        ("zone", "timezone"),
        ("lang", "language"),
        ("nmae", "name"),
        ("idle", "summary__idle_seconds"),
        ("idel_seconds", "summary__idle_seconds"),
        ("summary.idle", "summary__idle_seconds"),
        ("SUMMARY.KEEP", "summary__keep_recent"),
        ("trigger.type", "summary__trigger__type"),
        ("tigger type", "summary__trigger__type"),
        ("hard", "summary__hard_ratio"),
        ("pruning", "context_pruning__enabled"),
        ("max tokens", "max_output_tokens"),
        ("keywords", "activation_keywords"),
    ],
)
def test_a_key_is_found_by_its_beginning_its_words_and_in_spite_of_slips(typed: str, first: str) -> None:
    assert near_names(typed, KEYS)[0] == first


@pytest.mark.parametrize("typed", ["", " ", "..", "x", "tz", "temperature", "reasoning", "colour", "温度"])
def test_nothing_near_is_nothing_rather_than_a_bad_joke(typed: str) -> None:
    assert near_names(typed, KEYS) == []


@pytest.mark.parametrize(
    ("typed", "first"),
    [
        ("berlin", "Europe/Berlin"),
        ("Shangai", "Asia/Shanghai"),
        ("new york", "America/New_York"),
        ("newyork", "America/New_York"),
        ("europe/berln", "Europe/Berlin"),
    ],
)
def test_a_time_zone_is_found_by_its_city(typed: str, first: str) -> None:
    assert near_names(typed, zones())[0] == first


@pytest.mark.parametrize(
    ("typed", "found"), [("阿岺", ["阿岑"]), ("东", ["东坡"]), ("ｂｒｙｏｎｙ", ["Bryony"]), ("李白", [])]
)
def test_names_in_chinese_and_in_full_width_are_compared_too(typed: str, found: list[str]) -> None:
    assert near_names(typed, ["阿岑", "东坡", "Bryony"]) == found


@given(st.text(), st.lists(st.text(), max_size=5))
def test_any_text_is_compared_and_only_known_names_come_back(typed: str, known: list[str]) -> None:
    near = near_names(typed, known, limit=2)
    assert len(near) == len(set(near)) <= 2
    assert set(near) <= set(known)


def test_a_very_long_text_takes_no_longer() -> None:
    began = time.monotonic()
    near_names("a b " * 100_000, zones())
    assert time.monotonic() - began < 1
