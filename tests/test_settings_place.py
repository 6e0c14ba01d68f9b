"""Per-place keys: which there are, how people's words for their values are read, and which time zones are known."""

from __future__ import annotations

import zoneinfo

import pytest
from pydantic import ValidationError

from bot.settings import Activation, place_keys


@pytest.mark.parametrize("zone", ["GMT+25", "Mars/Olympus", "../../etc/passwd", "", "US\x00/Eastern", "America"])
def test_S15_an_unknown_time_zone_is_refused_at_input_and_never_read_as_utc(zone: str) -> None:
    with pytest.raises(ValidationError):
        place_keys()["timezone"].parse(zone)


@pytest.mark.parametrize("zone", ["US/Eastern", "Europe/Kyiv", "UTC"])
def test_S15_every_zone_is_known_on_a_machine_that_has_no_list_of_them(zone: str) -> None:
    zoneinfo.reset_tzpath(to=())
    zoneinfo.ZoneInfo.clear_cache()
    try:
        assert place_keys()["timezone"].parse(zone) == zone
    finally:
        zoneinfo.reset_tzpath()


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("thinking", "off", False),
        ("activation", "random", Activation.RANDOM),
        ("tool_groups", "web,files", ("web", "files")),
        ("activation_keywords", "猫，狗、good night", ("猫", "狗", "good night")),
        ("max_output_tokens", "2000", 2000),
        ("summary__hard_ratio", "0.8", 0.8),
        ("persona_switch", "carry", "carry"),
    ],
)
def test_a_per_place_key_reads_what_people_type(name: str, text: str, value: object) -> None:
    assert place_keys()[name].parse(text) == value


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("thinking", "perhaps"),
        ("activation", "sometimes"),
        ("max_output_tokens", "15"),
        ("summary__hard_ratio", "1.5"),
        ("summary__trigger__value", "inf"),
        ("context_tokens", "-1"),
        ("timezone", 5),
        ("history_limit", "9" * 20),
        ("summary__idle_seconds", "9" * 12),
    ],
)
def test_a_per_place_key_refuses_what_it_cannot_be(name: str, text: object) -> None:
    with pytest.raises(ValidationError):
        place_keys()[name].parse(text)


def test_closed_sets_offer_their_values_and_others_offer_none() -> None:
    keys = place_keys()
    assert keys["thinking"].choices == ("on", "off")
    assert keys["activation"].choices == ("mention", "always", "keyword", "random")
    assert keys["persona_switch"].choices == ("separate", "shared", "carry")
    assert keys["model"].choices == ()


def test_exactly_the_keys_of_a_place_can_be_changed_there() -> None:
    """The column "per place" of the settings' table."""
    assert sorted(place_keys()) == sorted(
        [
            "model", "fallbacks", "persona", "thinking", "system_prompt", "context_tokens", "max_output_tokens",
            "history_limit", "tool_groups", "summary__trigger__type", "summary__trigger__value", "summary__hard_ratio",
            "summary__threshold", "summary__keep_recent", "summary__keep_tokens", "summary__idle_seconds",
            "context_pruning__enabled", "moderation__input", "moderation__output", "cast", "cast_cascade",
            "persona_switch", "activation", "activation_keywords", "activation_probability", "burst_ms", "timezone",
            "language", "notices", "proactive", "max_reply_messages", "spoken_answers",
        ]
    )  # fmt: skip
