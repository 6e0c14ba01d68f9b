"""Personas that are named and not there: a start refuses a mistyped one, and a place whose card is gone hears it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bot.app import build_app
from bot.app.personas import persona_problems
from bot.env import SettingsError
from bot.personas.library import PersonaLibrary
from bot.settings import Settings
from bot.store import sessions
from bot.store.database import Tx
from bot.store.tables import Scope
from bot.testing import NOW, FakeAdapter
from tests.conftest import MakeApp
from tests.talking import DM, GROUP, open_chat


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"persona": "bryonie"}, "PERSONA names no card that can be used; did you mean bryony?"),
        ({"persona": "漢字"}, "PERSONA names no card that can be used; there are "),
        ({"profiles": {"discord": {"persona": "familiarr"}}}, "PROFILES__DISCORD__PERSONA names no card"),
    ],
)
def test_no_app_is_built_for_a_persona_that_is_not_there(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(SettingsError) as refused:
        build_app(Settings(**given), adapters={})
    assert problem in refused.value.problems[0]


@pytest.mark.parametrize("persona", ["", "none", "None", "bryony", " Bryony "])
def test_a_persona_that_is_there_is_no_fault_however_it_is_written(persona: str) -> None:
    assert persona_problems(Settings(persona=persona), PersonaLibrary()) == []


async def test_a_place_whose_persona_is_gone_hears_it_once_and_the_default_one_answers(make_app: MakeApp) -> None:
    def choose(tx: Tx) -> None:
        key = GROUP.session_key
        sessions.set_override(tx, Scope.SESSION, key, "persona", json.dumps("ghost"), set_by="fake:alice", now=NOW)

    chat = await open_chat(make_app, persona="bryony")
    await chat.app.core.db.run(choose)
    assert await chat.say("good evening all", channel=GROUP, mentions_me=False) == []
    notice, answer = await chat.say("hello", channel=GROUP)
    assert "“ghost”" in notice
    assert "Bryony" in notice
    assert answer == "ok"
    assert await chat.say("again", channel=GROUP) == ["ok"]
    assert notice not in str(chat.model.requests)
    await chat.app.close()
    chat = await open_chat(make_app, adapter=FakeAdapter(), persona="bryony")
    assert await chat.say("and after a restart?", channel=GROUP) == ["ok"]
    assert "ghost" not in str(await chat.say("elsewhere", channel=DM))
