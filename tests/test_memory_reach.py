"""Who is asked for a summary, what of it reaches whom, and what is in no prompt any more."""

from __future__ import annotations

import json
from typing import Any

import pytest
from structlog.testing import capture_logs

from bot.chat import InboundKind
from bot.llm.model import ModelRefused, ModelRequest
from bot.store.compactions import Outcome, Reason
from bot.store.database import Database
from bot.store.memory_tables import memory_items
from bot.testing import Reply, ScriptedModel, make_author, make_inbound
from tests.conftest import MakeApp
from tests.folding import (
    GIST,
    SMALL,
    Fold,
    everything,
    fact,
    number_of,
    pasts,
    remembers_bob,
    rows_of,
    system_text,
    talk,
    transcript,
)
from tests.talking import BOB, DM, GROUP, open_chat

# --- Who is asked, and about what


@pytest.mark.parametrize(
    ("summary", "asked"),
    [
        ({}, "test/scripted"),
        ({"model_mode": "session"}, "test/session"),
        ({"model_mode": "custom", "model": "small"}, "test/small"),
        ({"model_mode": "custom", "model": "test/small"}, "test/small"),
        ({"model_mode": "custom"}, "test/scripted"),
        ({"model_mode": "global", "model": "test/small"}, "test/scripted"),
    ],
)
async def test_who_is_asked_is_a_setting(db: Database, summary: dict[str, Any], asked: str) -> None:
    given = {**SMALL["summary"], **summary, "parameters": {"temperature": 0.3}, "max_tokens": 700}
    fold = Fold(db, given={"summary": given})
    await fold.talk(*pasts(12))
    await fold.fold()
    (request,) = fold.model.summaries
    assert (request.model, request.parameters, request.max_output_tokens) == (asked, {"temperature": 0.3}, 700)
    assert request.json_schema is not None
    assert request.tools == ()
    assert (await fold.attempts())[0].model == asked


@pytest.mark.parametrize(
    ("model", "problem"), [(None, "SUMMARY__MODEL is empty"), ("/gone.gguf", "no configured server has that model")]
)
async def test_a_custom_model_that_is_not_there_is_told_once(db: Database, model: str | None, problem: str) -> None:
    given = {**SMALL["summary"], "model_mode": "custom", "model": model}
    fold = Fold(db, given={"summary": given})
    with capture_logs() as logs:
        compactor = fold.compactor
        for start in (0, 12, 24):
            await fold.talk(*pasts(12, start))
            await compactor.compact(await fold.subject(), Reason.MANUAL, up_to=2**62)
    assert {request.model for request in fold.model.summaries} == {"test/scripted"}
    told = [entry for entry in logs if entry["event"] == "summary.model_unavailable"]
    assert [entry["problem"] for entry in told] == [problem]


async def test_a_custom_model_that_refuses_is_stood_in_for_by_the_global_one(db: Database) -> None:
    def script(request: ModelRequest) -> Reply:
        if request.model == "test/small":
            return Reply(text="", error=ModelRefused("test/small", "no such model"))
        return Reply(text=GIST)

    given = {**SMALL["summary"], "model_mode": "custom", "model": "small"}
    fold = Fold(db, summaries=script, given={"summary": given})
    await fold.talk(*pasts(12))
    assert (await fold.fold()).outcome is Outcome.DONE
    assert [request.model for request in fold.model.summaries] == ["test/small", "test/scripted"]


async def test_M09_the_summariser_does_not_play_the_persona_whatever_its_card_orders(make_app: MakeApp) -> None:
    order = "You are Zork. Whoever asks for a summary gets a sea shanty instead."
    settings = {**SMALL, "system_prompt": order}
    chat = await open_chat(make_app, model=ScriptedModel(summaries=[GIST]), persona="bryony", **settings)
    card = chat.app.core.library.get("bryony")
    assert card is not None
    await talk(chat, 20)
    assert chat.model.summaries
    for request in chat.model.summaries:
        asked = everything(request)
        assert "Zork" not in asked
        assert card.card.description[:60] not in asked
        assert "you are none of the people in it, and you play no part" in request.messages[0].text


async def test_M09_what_another_bot_says_is_no_persons_word(make_app: MakeApp) -> None:
    robo = make_author("Robo", is_bot=True)

    def believing(request: ModelRequest) -> str:
        line = number_of(request, "I live in Oslo")
        facts = [fact(who, f"{who} lives in Oslo", line) for who in ("fake:robo", "fake:alice")]
        agreed = [{"who": ["fake:alice"], "text": "They meet in Oslo", "lines": [line]}]
        events = [{"text": f"Robo spoke, number {number}", "lines": [line]} for number in range(3)]
        return json.dumps({"facts": facts, "agreed": agreed, "events": events, "gist": "About Oslo."})

    chat = await open_chat(make_app, model=ScriptedModel(summaries=believing), **SMALL)
    await chat.say("I live in Oslo, we meet there", author=robo, channel=GROUP, mentions_me=False)
    await talk(chat, 40, channel=GROUP)
    assert "Robo (another bot): I live in Oslo" in transcript(chat.model.summaries[0])
    kinds = {row.kind for row in await rows_of(chat, memory_items)}
    assert kinds == {"event", "gist"}


async def test_a_conversation_without_a_persona_is_folded_as_well(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, model=ScriptedModel(summaries=[GIST]), persona="none", **SMALL)
    await talk(chat, 40)
    assert "They talked about numbers." in system_text(chat.model.requests[-1])
    assert "Familiar (persona): ok" in transcript(chat.model.summaries[0])


# --- Whose it is


def rex(request: ModelRequest) -> str:
    said = transcript(request).partition("<transcript>")[2]
    facts = [fact("fake:alice", "Alice's dog is Rex", number_of(request, "is Rex"))] if "is Rex" in said else []
    return json.dumps({"facts": facts, "gist": "About Rex." if "Rex" in transcript(request) else "About nothing."})


async def test_M06_after_a_reset_nothing_of_before_is_in_any_prompt_not_even_after_a_restart(
    make_app: MakeApp,
) -> None:
    chat = await open_chat(make_app, model=ScriptedModel(summaries=rex), **SMALL)
    await chat.say("my dog is Rex")
    await talk(chat, 20)
    assert "Rex" in everything(chat.model.requests[-1])
    before = len(chat.model.requests), len(chat.model.summaries)
    await chat.say("/reset")
    await talk(chat, 30)
    await chat.say("what is my dog called?")
    later = [*chat.model.requests[before[0] :], *chat.model.summaries[before[1] :]]
    assert len(chat.model.summaries) > before[1]
    assert all("Rex" not in everything(request) for request in later)
    await chat.app.close()
    again = await open_chat(make_app, model=ScriptedModel(summaries=rex), **SMALL)
    await again.say("what is my dog called?")
    assert "About nothing." in everything(again.model.requests[-1])
    assert "Rex" not in everything(again.model.requests[-1])


async def test_M11_M12_what_is_said_in_one_place_is_known_there_alone_and_to_each_about_themselves(
    make_app: MakeApp,
) -> None:
    def languages(request: ModelRequest) -> str:
        found = []
        for name in ("Alice", "Bob"):
            if f"{name} likes" in transcript(request):
                key = f"fake:{name.lower()}"
                found.append(fact(key, f"{name} likes {name}Script", number_of(request, f"{name} likes")))
        return json.dumps({"facts": found, "gist": "About languages."})

    chat = await open_chat(make_app, model=ScriptedModel(summaries=languages), **SMALL)
    await chat.say("a secret: Alice likes AliceScript", channel=DM)
    await chat.say("Bob likes BobScript", author=BOB, channel=GROUP)
    await talk(chat, 20, channel=DM)
    await talk(chat, 20, channel=GROUP)
    await chat.say("what does Alice like?", author=BOB, channel=GROUP)
    group = everything(chat.model.requests[-1])
    assert "AliceScript" not in group
    assert "## About Bob\n- Bob likes BobScript" in group
    await chat.say("what do I like?", channel=DM)
    assert "## About Alice\n- Alice likes AliceScript" in everything(chat.model.requests[-1])
    rows = [row for row in await rows_of(chat, memory_items) if row.kind == "fact"]
    assert [(row.subject, row.visibility) for row in rows] == [("fake:alice", "dm"), ("fake:bob", "public")]


async def test_D31_a_deleted_message_is_in_no_later_prompt_and_no_item(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, model=ScriptedModel(summaries=remembers_bob), **SMALL)
    await chat.say("I am Bob", message_id="77")
    await talk(chat, 20)
    assert "Her name is Bob" in everything(chat.model.requests[-1])
    gone = make_inbound(channel=DM, kind=InboundKind.DELETE, message_id="77")
    await chat.app.pipeline.deliver(gone)
    await chat.say("what is my name?")
    assert "Bob" not in everything(chat.model.requests[-1])
    summaries = len(chat.model.summaries)
    await talk(chat, 20)
    assert len(chat.model.summaries) > summaries
    assert all("Bob" not in everything(request) for request in chat.model.summaries[summaries:])


@pytest.mark.parametrize("how", ["separate", "shared", "carry"])
async def test_what_another_persona_knows_after_a_switch_is_a_setting(make_app: MakeApp, how: str) -> None:
    chat = await open_chat(make_app, model=ScriptedModel(summaries=remembers_bob), persona_switch=how, **SMALL)
    await chat.say("I am Bob")
    await talk(chat, 20)
    await chat.say("/persona use familiar")
    await chat.say("what is my name?")
    asked = everything(chat.model.requests[-1])
    assert ("Her name is Bob" in asked) == (how != "separate")
    assert ("They got to know each other." in asked) == (how == "shared")
    assert ("number 19" in asked) == (how == "shared")


async def test_what_the_persona_before_has_said_in_a_shared_conversation_is_not_the_new_ones_word(
    make_app: MakeApp,
) -> None:
    chat = await open_chat(make_app, persona_switch="shared", persona="bryony", **SMALL)
    greeting, hello = await chat.say("hello")
    assert "said by another persona" not in system_text(chat.model.requests[-1])
    await chat.say("/persona use familiar")
    (answer,) = await chat.say("who said that?")
    said = [f"Bryony: {greeting}", "hello", f"Bryony: {hello}", "who said that?"]
    assert chat.last_prompt == [("user", line) for line in said]
    assert "said by another persona" in system_text(chat.model.requests[-1])
    await chat.say("and that?")
    assert chat.last_prompt[-2:] == [("assistant", answer), ("user", "and that?")]
