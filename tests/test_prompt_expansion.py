"""The macros of a card in a prompt: its beginning stays the same, what passes is told behind the history."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.overrides import SessionSettings
from bot.personas.card import PersonaCard
from bot.personas.library import Persona
from bot.personas.macros import Where
from bot.prompt.build import PromptBuilder
from bot.prompt.expansion import expand_lore
from bot.prompt.sections import SECTIONS
from bot.settings import PlaceSettings
from bot.store.sessions import SessionRow
from bot.testing import make_channel, make_row, make_turn
from bot.testing.made import NOW
from bot.turn import Asker, Peer, Turn

SHANGHAI = SessionSettings(values=PlaceSettings(timezone="Asia/Shanghai"), chain={})
GROUP = SessionRow(id=1, channel=make_channel(), conversation_id=1)
CLOCK = "It is {{time}} on {{weekday}}, {{date}}; silence for {{idle_duration}}; last: {{lastMessage}}"


def turn_with(card: dict[str, Any], *, language: str = "", **changes: Any) -> Turn:
    persona = Persona(
        id="mira",
        card=PersonaCard.model_validate({"name": "Mira", **card}),
        source_path=Path("mira"),
        language=language,
    )
    rows = changes.pop("rows", (make_row("hi"),))
    more = {"settings": SHANGHAI, **changes}
    return make_turn(*rows, persona=persona, persona_id="mira", persona_name="Mira", **more)


async def request(turn: Turn) -> tuple[str, str]:
    """The system message and the last one."""
    messages = (await PromptBuilder(sections=SECTIONS, count=len, section_timeout_ms=0).build(turn, factor=1)).messages
    return messages[0].text, messages[-1].text


async def test_a_clock_in_the_card_stands_still_in_the_prefix_and_goes_on_behind_the_history() -> None:
    rows = make_row("before", sent_at=NOW - timedelta(hours=3)), make_row("now")
    first, tail = await request(turn_with({"description": CLOCK}, rows=rows))
    later, next_tail = await request(turn_with({"description": CLOCK}, rows=rows, now=NOW + timedelta(minutes=1)))
    assert first == later
    assert "It is the current time on the day of the week, today's date; silence for" in first
    note = "The current time: 20:00; the day of the week: Sunday; today's date: November 1, 2026"
    assert f"[{note}; the time since the last message: 3 hours]" in tail
    assert "The current time: 20:01" in next_tail


async def test_a_card_without_a_clock_gets_no_note() -> None:
    _, tail = await request(turn_with({"description": "Plain {{char}}, {{lastMessage}}."}))
    assert "[" not in tail


@pytest.mark.parametrize(
    ("card", "language", "word"),
    [
        ({"description": "Guide of {{user}}."}, "", "Guide of the people here."),
        ({"description": "Guide of {{user}}."}, "zh", "Guide of 这里的各位."),
        ({"description": "带领{{user}}的向导，今天是{{date}}。"}, "", "带领这里的各位的向导，今天是今天的日期。"),
    ],
)
async def test_a_group_is_called_by_one_word_in_the_language_of_the_card(
    card: dict[str, Any], language: str, word: str
) -> None:
    system, _ = await request(turn_with(card, language=language, session=GROUP))
    assert word in system


async def test_the_last_word_names_who_is_answered_tells_the_time_and_quotes_in_one_line() -> None:
    card = {"post_history_instructions": "To {{user}} at {{time}}: {{lastMessage}}"}
    asker = Asker(key="fake:bob", name="Bob", locale="en")
    rows = (make_row("first\n\nsecond {{char}}"),)
    _, tail = await request(turn_with(card, rows=rows, session=GROUP, asker=asker))
    assert tail.endswith("To Bob at 20:00: first second {{char}}")


async def test_the_last_word_chooses_anew_with_every_message_and_the_same_for_the_same_one() -> None:
    card = {"post_history_instructions": "{{roll:1000000}}"}
    rolled = [(await request(turn_with(card, position=position)))[1] for position in (1, 2, 3, 1)]
    assert len(set(rolled)) == 3
    assert rolled[0] == rolled[3]


def test_lore_names_the_person_addressed_only_where_it_changes_with_every_turn() -> None:
    asker = Asker(key="fake:bob", name="Bob", locale="en")
    turn = turn_with({}, session=GROUP, asker=asker)
    told = [expand_lore("{{user}} at {{isodate}}{{hidden_key:sea}}", where, turn) for where in Where]
    assert told == ["the people here at today's date", *["Bob at 2026-11-01"] * 2, "Bob at 2026-11-01\nsea\n"]


async def test_fields_that_a_card_names_are_expanded_once() -> None:
    card = {"system_prompt": "{{personality}}", "personality": "{{char}} is {{description}}.", "description": "kind"}
    system, _ = await request(turn_with(card))
    assert "Mira is {{description}}." in system


async def test_the_group_is_everybody_of_the_cast_by_name_alone() -> None:
    peers = (Peer(persona_id="rex", name="Rex {{char}}", profile=""), Peer(persona_id="ivo", name="Ivo", profile=""))
    card = {"description": "One of: {{group}}.", "post_history_instructions": "Speak to {{GROUP}}."}
    system, tail = await request(turn_with(card, peers=peers, session=GROUP))
    assert "One of: Mira, Rex {{char}}, Ivo." in system
    assert tail.endswith("Speak to Mira, Rex {{char}}, Ivo.")
    system, _ = await request(turn_with(card))
    assert "One of: Mira." in system
