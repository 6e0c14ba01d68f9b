"""What a card lets its persona keep of how it feels: the schema, the tool, the prompt, and what people see."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.llm.model import ModelRequest, ToolCall
from bot.personas.card import PersonaCard, read_card
from bot.personas.mood import MAX_CHARS, MAX_FIELDS, BadValue, mood_fields, mood_of, written_mood
from bot.store import schema
from bot.store.database import Tx
from bot.store.moods import STEPS_KEPT, change_mood, read_mood, take_back_mood
from bot.testing import NOW, FakeAdapter, ScriptedModel
from bot.testing.model import Reply
from bot.tools.mood import NAME
from tests.conftest import MakeApp
from tests.talking import Chat, open_chat
from tests.test_commands_personas import bring, plain
from tests.test_introduction import downgrade

STATE = {
    "mood": {"type": "string", "enum": ["calm", "cross"], "description": "how she feels"},
    "trust": {"type": "integer", "minimum": 0, "maximum": 10, "default": 3},
    "awake": {"type": "boolean", "default": True},
    "wish": {"type": "string"},
}
MOODY = plain("Mira", extensions={"familiar": {"state": STATE}})


def card(state: object) -> PersonaCard:
    return read_card(plain("Mira", extensions={"familiar": {"state": state}}))[0]


def call(**arguments: Any) -> Reply:
    return Reply(text="", tool_calls=(ToolCall(id="c1", name=NAME, arguments=json.dumps(arguments)),))


def last_words(request: ModelRequest) -> str:
    return "\n".join(message.text for message in request.messages[-2:])


async def talk_to_mira(make_app: MakeApp, *script: Reply | str, **settings: Any) -> Chat:
    chat = await open_chat(make_app, model=ScriptedModel(script or ("ok",)), **settings)
    await chat.ask(f"/persona use {await bring(chat, MOODY)}")
    return chat


def test_a_card_says_what_its_persona_keeps_and_with_what_it_begins() -> None:
    fields = mood_fields(card(STATE))
    assert written_mood(mood_of(fields, {})) == "mood: calm; trust: 3; awake: true; wish: –"
    assert [field.takes for field in fields] == ["calm, cross", "0–10", "", ""]
    assert fields[0].schema == {"type": "string", "enum": ["calm", "cross"], "description": "how she feels"}
    assert fields[1].schema == {"type": "integer", "description": "0–10"}


@pytest.mark.parametrize(
    "state",
    [
        None,
        [],
        "calm",
        {"mood": "calm"},
        {"9lives": {"type": "integer"}},
        {"a b": {}},
        {"x" * 40: {}},
        {"mood": {"type": "array"}},
        {"mood": {"type": {}}},
    ],
)
def test_P06_junk_in_a_schema_is_no_field(state: object) -> None:
    assert mood_fields(card(state)) == ()


def test_P06_a_schema_is_bounded_and_mended() -> None:
    fields = mood_fields(card({f"n{n}": {"type": "integer", "maximum": 1e99, "minimum": "x"} for n in range(50)}))
    assert len(fields) == MAX_FIELDS
    (odd,) = mood_fields(card({"trust": {"type": "integer", "minimum": 9, "maximum": 2, "default": 77}}))
    assert (odd.minimum, odd.maximum, odd.default) == (2, 9, 2)
    (text,) = mood_fields(
        card({"mood": {"enum": [1, None, "x" * (MAX_CHARS + 1), "calm", "calm"], "default": "x\x00"}})
    )
    assert (text.choices, text.default) == (("calm",), "calm")


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.just(10**400) | st.floats() | st.text(max_size=120),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
FIELD = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["string", "integer", "boolean", "number"]) | JUNK,
        "enum": st.lists(JUNK, max_size=40) | JUNK,
        **dict.fromkeys(("minimum", "maximum", "default", "description"), JUNK),
    },
)


@given(st.dictionaries(st.sampled_from("abcdefgh") | st.text(max_size=40), FIELD | JUNK, max_size=20), JUNK)
def test_P06_whatever_a_card_and_a_model_say_a_field_keeps_only_what_it_takes(state: Any, value: object) -> None:
    fields = mood_fields(PersonaCard(name="Mira", extensions={"familiar": {"state": state}}))
    for field in fields:
        assert field.read(field.default) == field.default or not field.default
        try:
            read = field.read(value)
        except BadValue:
            continue
        assert field.read(read) == read
        assert json.dumps(field.schema)
    assert len(written_mood(mood_of(fields, {"a": value}))) <= MAX_FIELDS * (MAX_CHARS + 36)


@pytest.mark.parametrize(
    ("name", "value", "read"),
    [
        ("mood", "CROSS", "cross"),
        ("trust", "7", 7),
        ("trust", 7.0, 7),
        ("awake", "False", False),
        ("wish", " a  b ", "a b"),
    ],
)
def test_values_are_read_as_models_write_them(name: str, value: object, read: object) -> None:
    field = next(field for field in mood_fields(card(STATE)) if field.name == name)
    assert field.read(value) == read


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mood", "wild"),
        ("trust", 11),
        ("trust", True),
        ("trust", 2.5),
        ("trust", "nan"),
        ("awake", 1),
        ("wish", "x" * 101),
    ],
)
def test_a_value_that_the_card_does_not_allow_is_refused_in_words(name: str, value: object) -> None:
    field = next(field for field in mood_fields(card(STATE)) if field.name == name)
    with pytest.raises(BadValue, match=f"^{name} is "):
        field.read(value)


def test_what_was_kept_counts_only_as_far_as_the_card_still_allows_it() -> None:
    kept = {"mood": "gone", "trust": 5, "strange": "x"}
    assert mood_of(mood_fields(card(STATE)), kept) == {"mood": "calm", "trust": 5, "awake": True, "wish": ""}


async def test_the_model_changes_the_state_by_a_tool_and_reads_it_with_every_turn(make_app: MakeApp) -> None:
    chat = await talk_to_mira(make_app, call(mood="cross", trust=1), "Hmpf.", "Still.")
    assert (await chat.say("you are late"))[-1] == "Hmpf."
    first, second = chat.model.requests
    assert "mood: calm (calm, cross); trust: 3 (0–10)" in last_words(first)
    assert NAME in [tool.name for tool in first.tools]
    assert "Your state is now: mood: cross; trust: 1" in second.messages[-1].text
    await chat.say("and?")
    assert "mood: cross (calm, cross); trust: 1 (0–10)" in last_words(chat.model.requests[-1])
    assert "mood: cross" not in chat.model.requests[-1].messages[0].text


async def test_a_call_that_the_card_does_not_allow_changes_nothing(make_app: MakeApp) -> None:
    chat = await talk_to_mira(make_app, call(mood="cross", trust=99), call(hunger=1), call(), "ok")
    await chat.say("hello")
    told = [message.text for message in chat.model.requests[-1].messages if message.role.value == "tool"]
    assert told == [
        "Error: Nothing is set: trust is a whole number from 0 to 10.",
        "Error: There is no 'hunger'. There are: mood, trust, awake, wish.",
        "Error: Nothing is set. Give at least one of: mood, trust, awake, wish.",
    ]
    assert "mood: calm; trust: 3" in await chat.ask("/persona info")


async def test_only_a_persona_with_a_schema_has_the_tool(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    await chat.say("hello")
    assert NAME not in [tool.name for tool in chat.model.requests[-1].tools]
    assert "set_state" not in str(chat.model.requests[-1].messages)
    assert NAME not in await chat.ask("/tools")
    await chat.ask(f"/cast add {await bring(chat, MOODY)}")
    assert NAME not in await chat.ask("/tools")
    assert NAME in await chat.ask("/tools -o mira")


async def test_the_state_outlives_a_restart_and_a_reset_begins_anew(make_app: MakeApp) -> None:
    chat = await talk_to_mira(make_app, call(trust=9), "ok")
    await chat.say("hello")
    await chat.app.close()
    chat = await open_chat(make_app, adapter=FakeAdapter())
    assert "mood: calm; trust: 9" in await chat.ask("/persona info")
    await chat.say("/reset")
    assert "mood: calm; trust: 3" in await chat.ask("/persona info")


async def test_a_persona_that_was_switched_away_feels_as_it_did(make_app: MakeApp) -> None:
    chat = await talk_to_mira(make_app, call(trust=9), "ok")
    await chat.say("hello")
    await chat.say("/persona use familiar")
    assert "mood: calm; trust: 9" in await chat.ask("/persona info mira")
    await chat.say("/persona use mira")
    await chat.say("back again")
    assert "trust: 9 (0–10)" in last_words(chat.model.requests[-1])


async def test_what_an_answer_changed_goes_with_it_and_comes_anew_with_another(make_app: MakeApp) -> None:
    answers = (call(trust=4), "one", call(mood="cross"), call(trust=9), "two", call(trust=5), "three")
    chat = await talk_to_mira(make_app, *answers)
    await chat.say("hello")
    await chat.say("late again")
    assert "mood: cross; trust: 9" in await chat.ask("/persona info")
    await chat.say("/retry")
    assert "mood: calm (calm, cross); trust: 4 (0–10)" in last_words(chat.model.requests[-2])
    assert "mood: calm; trust: 5" in await chat.ask("/persona info")
    await chat.say("/undo")
    assert "mood: calm; trust: 4" in await chat.ask("/persona info")
    await chat.say("/undo")
    assert "mood: calm; trust: 3" in await chat.ask("/persona info")


async def test_what_was_kept_before_personas_could_share_belongs_to_whose_conversation_it_is(
    make_app: MakeApp, database_url: str
) -> None:
    chat = await talk_to_mira(make_app, call(trust=9), "ok", database_url=database_url)
    await chat.say("hello")
    await chat.app.close()
    downgrade(database_url, "0014")
    schema.upgrade(database_url)
    chat = await open_chat(make_app, adapter=FakeAdapter(), database_url=database_url)
    assert "mood: calm; trust: 9" in await chat.ask("/persona info")


async def test_of_many_changes_the_oldest_become_one_and_no_value_is_lost(make_app: MakeApp) -> None:
    chat = await talk_to_mira(make_app, "ok")
    await chat.say("hello")

    def change(tx: Tx) -> tuple[dict[str, Any], dict[str, Any]]:
        change_mood(tx, 1, "mira", 0, {"mood": "cross"}, NOW)
        for position in range(1, 2 * STEPS_KEPT):
            now = change_mood(tx, 1, "mira", position, {"trust": position}, NOW)
        take_back_mood(tx, 1, "mira", STEPS_KEPT + 1)
        return now, read_mood(tx, 1, "mira")

    newest, former = await chat.app.core.db.run(change)
    assert newest == {"mood": "cross", "trust": 2 * STEPS_KEPT - 1}
    assert former == {"mood": "cross", "trust": STEPS_KEPT}


def of_speaker(request: ModelRequest) -> Reply:
    """Mira trusts more, Vera less; whoever has set that says so."""
    if request.messages[-1].role.value == "tool":
        return Reply(text="done")
    return call(trust=9 if speaks(request, "Mira") else 1)


def speaks(request: ModelRequest, name: str) -> bool:
    return f"You are {name}." in request.messages[0].text


async def test_personas_that_share_a_conversation_feel_each_in_its_own_way(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, model=ScriptedModel(of_speaker), persona_switch="shared")
    vera = plain("Vera", extensions={"familiar": {"state": STATE}})
    await chat.ask(f"/persona use {await bring(chat, MOODY)}")
    await chat.ask(f"/cast add {await bring(chat, vera)}")
    await chat.say("Mira, the boat is here")
    await chat.say("Vera, and yours sank")
    assert "trust: 9" in await chat.ask("/persona info mira")
    assert "trust: 1" in await chat.ask("/persona info vera")
    await chat.say("Mira and Vera?")
    told = [last_words(request) for request in chat.model.requests if speaks(request, "Vera")]
    assert "trust: 1 (0–10)" in told[-2]
    await chat.say("/undo")
    assert "trust: 9" in await chat.ask("/persona info mira")
    assert "trust: 1" in await chat.ask("/persona info vera")
    await chat.say("/undo")
    await chat.say("/undo")
    assert "trust: 9" in await chat.ask("/persona info mira")
    assert "trust: 3" in await chat.ask("/persona info vera")
