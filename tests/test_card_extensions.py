"""What a card says besides its texts: SillyTavern's fields under `extensions`, notes by language, times, files."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.personas.card import DEFAULT_DEPTH, DEFAULT_TALKATIVENESS, DepthPrompt, PersonaCard, read_card
from tests.cards import BOOK, LUNA, luna, v3

JUNK = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.integers(), max_size=2)


@pytest.mark.parametrize(
    ("said", "depth", "role"),
    [
        ({"depth": "", "role": ""}, DEFAULT_DEPTH, "system"),
        ({}, DEFAULT_DEPTH, "system"),
        ({"depth": 0, "role": "assistant"}, 0, "assistant"),
        ({"depth": "2", "role": "user"}, 2, "user"),
        ({"depth": -3, "role": "admin"}, 0, "system"),
        ({"depth": 1e30, "role": 7}, DEFAULT_DEPTH, "system"),
    ],
)
def test_P06_a_depth_prompt_with_junk_has_the_defaults(said: dict[str, object], depth: int, role: str) -> None:
    card = luna(extensions={"depth_prompt": {"prompt": " Tick. ", **said}})
    found = card.depth_prompt
    assert found is not None
    assert (found.text, found.depth, found.role) == ("Tick.", depth, role)


@pytest.mark.parametrize("said", [None, "", "Tick.", {}, {"prompt": " "}, {"prompt": 5}, ["Tick."]])
def test_P06_a_depth_prompt_without_a_text_is_none(said: object) -> None:
    assert luna(extensions={"depth_prompt": said}).depth_prompt is None


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("0.5", 0.5),
        (0.8, 0.8),
        (7, 1.0),
        (-1, 0.0),
        *((junk, DEFAULT_TALKATIVENESS) for junk in ("", None, "nan", math.inf, [1])),
    ],
)
def test_P06_talkativeness_is_a_share_whatever_was_written(said: object, meant: float) -> None:
    assert luna(extensions={"talkativeness": said}).talkativeness == meant
    assert LUNA.talkativeness == DEFAULT_TALKATIVENESS


@given(JUNK, JUNK, JUNK)
def test_P06_no_junk_breaks_what_is_read_from_extensions(depth: object, role: object, talkativeness: object) -> None:
    said = {"depth_prompt": {"prompt": "x", "depth": depth, "role": role}, "talkativeness": talkativeness}
    card = luna(extensions=said)
    assert isinstance(card.depth_prompt, DepthPrompt)
    assert card.depth_prompt.depth >= 0
    assert 0 <= card.talkativeness <= 1


def test_notes_come_in_the_language_asked_for_or_as_the_creator_wrote_them() -> None:
    card, _ = read_card(v3(creator_notes="Hello.", creator_notes_multilingual={"zh": "你好。", "de": ""}))
    assert [card.notes_in(language) for language in ("zh", "de", "en")] == ["你好。", "Hello.", "Hello."]


def test_the_fields_of_v3_are_read_under_their_own_names() -> None:
    listed = {"type": "x_sound", "uri": "https://example.org/a.ogg", "name": "tick", "ext": "ogg", "x_own": 1}
    card, warnings = read_card(
        v3(source=["https://example.org/1"], creation_date=1, modification_date=2, assets=[listed], character_book=BOOK)
    )
    assert card == luna(
        source=("https://example.org/1",),
        creation_date=1,
        modification_date=2,
        assets=(listed,),
        character_book=BOOK,
    )
    assert warnings == ()


def test_what_is_kept_for_export_can_always_be_written_as_json() -> None:
    card, _ = read_card(v3(extensions={"a": math.nan, "b\ud800": "\udfff", 3: (1, "x\0")}))
    assert card.extensions == {"a": None, "b\ufffd": "\ufffd", "3": [1, "x"]}
    assert PersonaCard.model_validate_json(card.model_dump_json()) == card


@pytest.mark.parametrize(
    ("extensions", "told"),
    [
        ({"regex_scripts": [{"findRegex": "/a/"}]}, ["regex_scripts"]),
        ({"tavern_helper": {"scripts": [1]}, "TavernHelper_scripts": [2]}, ["TavernHelper_scripts", "tavern_helper"]),
        ({"regex_scripts": [], "world": " "}, []),
        ({"world": "Coast"}, ["world"]),
        ({"world": ["Coast"]}, []),
    ],
)
def test_what_a_card_leans_on_and_has_not_here_is_told(extensions: dict[str, object], told: list[str]) -> None:
    said = {"name": "Mira", "description": "Somebody.", "extensions": extensions}
    assert [warning.field for warning in read_card(said)[1]] == told
    with_book = {**said, "character_book": {"entries": []}}
    assert "world" not in [warning.field for warning in read_card(with_book)[1]]
