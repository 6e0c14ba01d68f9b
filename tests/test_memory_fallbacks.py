"""Memory goes on by another model while the summary model's server is away."""

from __future__ import annotations

import json
from typing import Any

import pytest
from sqlalchemy import select

from bot.llm.model import ModelRequest, ModelUnreachable
from bot.store.ledger_tables import model_calls
from bot.testing import Reply, ScriptedModel
from tests.conftest import MakeApp
from tests.talking import Chat, open_chat

AT_HOME = {"base_url": "http://127.0.0.1:9/v1", "context_window": 16_384}
SERVERS = {"test": AT_HOME, "spare": AT_HOME}
NOTES = json.dumps({"gist": "They counted."})


def away(*models: str) -> ScriptedModel:
    """Models that answer and take notes, except these, which do not take notes."""

    def noted(request: ModelRequest) -> Reply:
        error = ModelUnreachable(request.model, "no answer.") if request.model in models else None
        return Reply(text="" if error else NOTES, error=error)

    def said(request: ModelRequest) -> Reply:
        is_behind = any("<lines>" in message.text for message in request.messages[-3:])
        return noted(request) if is_behind else Reply()

    return ScriptedModel(said, summaries=noted)


async def folded(make_app: MakeApp, model: ScriptedModel, **given: Any) -> tuple[Chat, list[tuple[str, str]]]:
    """A chat whose notes were asked for, and the calls it took."""
    chat = await open_chat(make_app, model=model, persona="none", **{"providers": SERVERS, **given})
    for number in range(14):
        await chat.say(f"number {number} " + "word " * 60)
    await chat.say("/compact")
    columns = select(model_calls.c.model, model_calls.c.outcome).where(model_calls.c.purpose == "summary")
    rows = await chat.app.core.db.read(lambda tx: tx.execute(columns.order_by(model_calls.c.id)).all())
    return chat, [(row.model, row.outcome) for row in rows]


@pytest.mark.parametrize("reuse", ["off", "on"])
async def test_what_answers_instead_takes_the_notes_as_well(make_app: MakeApp, reuse: str) -> None:
    model = away("test/scripted")
    given = {"fallbacks": ("spare/b",), "summary": {"reuse_prefix": reuse}}
    chat, calls = await folded(make_app, model, **given)
    assert calls[-1] == ("spare/b", "stop")
    assert set(calls[:-1]) == {("test/scripted", "unreachable")}
    await chat.say("and now?")
    assert "They counted." in model.requests[-1].messages[0].text
    alone = [request.fallbacks for request in model.requests if "<lines>" in request.messages[-1].text]
    assert alone == ([()] if reuse == "on" else [])  # nobody else has the talk in its cache


async def test_for_a_summary_model_that_is_away_the_default_one_stands_in_first(make_app: MakeApp) -> None:
    summary = {"model_mode": "custom", "model": "spare/notes", "reuse_prefix": "off"}
    _, calls = await folded(make_app, away("spare/notes"), summary=summary)
    assert calls == [("spare/notes", "unreachable"), ("test/scripted", "stop")]


async def test_a_fallback_with_less_room_takes_no_notes(make_app: MakeApp) -> None:
    servers = {**SERVERS, "spare": {**AT_HOME, "context_window": 4_096}}
    given = {"providers": servers, "fallbacks": ("spare/b",), "summary": {"reuse_prefix": "off"}}
    chat, calls = await folded(make_app, away("test/scripted"), **given)
    assert calls == [("test/scripted", "unreachable")]
    await chat.say("and now?")
    assert chat.last_prompt[0][1].startswith("number 0")  # nothing is lost, and it is tried again later
