"""What of a card reaches people and the model besides its description: greetings, the place of the rules."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from bot.chat import ChannelRef
from bot.greeting import greeting_of
from bot.overrides import SessionSettings
from bot.personas.card import PersonaCard
from bot.personas.library import Persona, PersonaLibrary
from bot.prompt.build import PromptBuilder
from bot.prompt.sections import SECTIONS, examples_section
from bot.settings import PlaceSettings
from bot.testing import NOW, make_channel, make_row, make_turn
from tests.conftest import MakeApp
from tests.talking import open_chat

RULES = SessionSettings(values=PlaceSettings(system_prompt="House rules."), chain={})


def persona(**fields: object) -> Persona:
    card = PersonaCard.model_validate({"name": "Mira", **fields})
    return Persona(id="mira", card=card, source_path=Path("mira"))


@pytest.mark.parametrize(
    ("system_prompt", "expected"),
    [
        ("Speak softly.", "You are Mira.\n\nSpeak softly.\n\nA keeper.\n\nHouse rules.\n\n"),
        ("{{original}}\nSpeak softly.", "You are Mira.\n\nHouse rules.\nSpeak softly.\n\nA keeper.\n\n"),
        ("{{ Original }}", "You are Mira.\n\nHouse rules.\n\nA keeper.\n\n"),
        ("", "You are Mira.\n\nA keeper.\n\nHouse rules.\n\n"),
        ("{{// {{original}} }}", "You are Mira.\n\n\n\nA keeper.\n\nHouse rules.\n\n"),
        ("{{random:{{original}}::Hush}}", "You are Mira.\n\nHush\n\nA keeper.\n\nHouse rules.\n\n"),
    ],
)
async def test_P24_the_rules_stand_where_the_card_puts_them_and_else_behind_it(
    system_prompt: str, expected: str
) -> None:
    mira = persona(system_prompt=system_prompt, description="A keeper.")
    turn = make_turn(make_row("hi"), settings=RULES, persona=mira, persona_id="mira", persona_name="Mira")
    builder = PromptBuilder(sections=SECTIONS, count=len, section_timeout_ms=0)
    system = (await builder.build(turn, factor=1)).messages[0].text
    assert system.startswith(f"{expected}You are in a private chat.")


@pytest.mark.parametrize(
    ("examples", "expected"),
    [
        ("<START>\n{{char}}: Aye.\n<start>\n{{user}}: No?", "Examples of how you talk:\nMira: Aye.\n\nAlice: No?"),
        ("<START>\n", None),
        ("", None),
    ],
)
async def test_examples_come_without_the_marks_between_them(examples: str, expected: str | None) -> None:
    mira = persona(example_messages=examples)
    turn = make_turn(make_row("hi"), persona=mira, persona_id="mira", persona_name="Mira")
    assert await examples_section(turn) == expected


@pytest.mark.parametrize(
    ("for_groups", "in_group", "greeting"),
    [
        (("Hello all, {{user}}!", "Second"), True, "Hello all, Ann!"),
        (("Hello all, {{user}}!",), False, "Hello you"),
        ((), True, "Hello you"),
    ],
)
def test_a_group_is_greeted_by_the_first_greeting_for_groups(
    for_groups: tuple[str, ...], in_group: bool, greeting: str
) -> None:
    mira = persona(first_message="Hello you", group_only_greetings=for_groups)
    assert greeting_of(mira, "Ann", now=NOW, in_group=in_group) == greeting


def test_a_greeting_tells_the_time_of_the_place_in_the_language_of_the_card() -> None:
    mira = replace(persona(first_message="{{time}}, {{date}}"), language="zh")
    there = NOW.astimezone(ZoneInfo("Asia/Shanghai"))
    assert greeting_of(mira, "Ann", now=there) == "20:00, 2026年11月1日"


@pytest.mark.parametrize(("channel", "greeting"), [(make_channel(), "Hello all"), (make_channel(dm=True), "Hello you")])
async def test_after_a_reset_the_greeting_suits_the_place(
    make_app: MakeApp, tmp_path: Path, channel: ChannelRef, greeting: str
) -> None:
    folder = tmp_path / "cards" / "mira"
    folder.mkdir(parents=True)
    card = "name: Mira\nfirst_message: Hello you\ngroup_only_greetings: [Hello all]\n"
    (folder / "card.yaml").write_text(card, encoding="utf-8")
    chat = await open_chat(make_app, library=PersonaLibrary([folder.parent]), access={"admins": ["fake:alice"]})
    assert greeting in await chat.say("/reset", channel=channel)
