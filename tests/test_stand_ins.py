"""Where money is used up, a model of the chain that costs nothing answers, and people hear so once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from sqlalchemy import select

from bot.llm.model import ModelRequest, ModelUnreachable
from bot.store.ledger_tables import model_calls
from bot.testing import Reply, ScriptedModel, make_inbound
from tests.conftest import MakeApp
from tests.folding import GIST
from tests.spending import PRICED, USED, ask, open_limited, quota, reserved, settle, spent
from tests.talking import BOB, Chat

AT_HOME = {**PRICED, "home": {"base_url": "http://127.0.0.1:9/v1"}}
DAY = "2026-11-01"
SAYS = {
    "person": "What you may use until 2026-11-02 00:00 UTC is used up",
    "place": "What may be used here until 2026-11-02 00:00 UTC is used up",
    "total": "I have spent all that I may spend until 2026-11-02 00:00 UTC",
}


def by_name(request: ModelRequest) -> Reply:
    return Reply(text=f"{request.model} says so", usage=USED)


async def open_chain(make_app: MakeApp, limits: dict[str, Any], model: Any = by_name, **settings: Any) -> Chat:
    """A chat with a model that costs a dollar an answer, and one behind it that costs nothing."""
    given = {"providers": AT_HOME, "fallbacks": ("home/small",), **settings}
    model = ScriptedModel(model, summaries=lambda _request: Reply(text=GIST))
    return await open_limited(make_app, model, quota=quota(**limits), **given)


@pytest.mark.parametrize("whose", ["person", "place", "total"])
async def test_X10_where_money_is_used_up_a_free_model_answers_and_people_hear_so_once(
    make_app: MakeApp, whose: str
) -> None:
    chat = await open_chain(make_app, {whose: {"money_per_day": 1.5}})
    told = await ask(chat, 5)
    assert told[:2] == [["test/scripted says so"]] * 2
    assert told[2][0] == "home/small says so"
    assert told[2][1].startswith(SAYS[whose])
    assert "a model answers that costs nothing" in told[2][1]
    assert told[3:] == [["home/small says so"]] * 2
    assert (await spent(chat))[whose, DAY, "USD"] == 2_000_000_000
    assert await reserved(chat) == 0
    rows = select(model_calls.c.model, model_calls.c.outcome).order_by(model_calls.c.id.desc()).limit(2)
    calls = await chat.app.core.db.read(lambda tx: tx.execute(rows).all())
    assert calls == [("home/small", "stop"), ("test/scripted", "quota")]


async def test_too_little_money_for_the_answer_is_found_out_when_it_is_asked_for(make_app: MakeApp) -> None:
    chat = await open_chain(make_app, {"person": {"money_per_day": 1.05}, "warn_at": 1})
    told = await ask(chat, 3)
    assert told[0] == ["test/scripted says so"]
    assert (told[1][0], len(told[1])) == ("home/small says so", 2), "five cents are left, and an answer may cost more"
    assert told[2] == ["home/small says so"]


@pytest.mark.parametrize(
    ("limits", "more"),
    [
        ({"person": {"tokens_per_day": 1_500}}, {}),
        ({"messages_per_minute": 2}, {}),
        ({"person": {"money_per_day": 1.5}}, {"fallbacks": ("test/other",)}),
        ({"person": {"money_per_day": 1.5, "tokens_per_day": 1_500}}, {}),
    ],
    ids=["tokens", "messages", "no free one", "tokens as well"],
)
async def test_X10_other_limits_and_chains_without_a_free_model_refuse_as_before(
    make_app: MakeApp, limits: dict[str, Any], more: dict[str, Any]
) -> None:
    chat = await open_chain(make_app, limits, **more)
    told = await ask(chat, 4)
    assert told[:2] == [["test/scripted says so"]] * 2
    assert len(told[2]) == 1
    assert told[2] != ["home/small says so"]
    assert told[3] == []
    assert len(chat.model.requests) == 2


async def test_where_the_free_model_is_away_people_hear_that_and_are_answered_as_soon_as_it_is_back(
    make_app: MakeApp,
) -> None:
    is_away = True

    def away(request: ModelRequest) -> Reply:
        if request.model == "home/small" and is_away:
            return Reply(text="", error=ModelUnreachable(request.model, "no answer."))
        return by_name(request)

    chat = await open_chain(make_app, {"person": {"money_per_day": 1.5}}, away)
    *_, (failed, limit) = await ask(chat, 3)
    assert "can't reach" in failed
    assert limit.startswith(SAYS["person"])
    is_away = False
    assert await ask(chat, 1) == [["home/small says so"]], "although it is left alone for a while"


async def test_who_goes_on_before_the_free_model_has_answered_hears_of_the_limit_all_the_same(
    make_app: MakeApp,
) -> None:
    holds = [asyncio.Event()]

    def slow(request: ModelRequest) -> Reply:
        is_first = request.model == "home/small" and holds
        return Reply(text="late", hold=holds.pop()) if is_first else by_name(request)

    chat = await open_chain(make_app, {"person": {"money_per_day": 1.5}}, slow, burst_ms=60_000)
    await ask(chat, 2)
    await chat.app.pipeline.deliver(make_inbound("hello"))
    await chat.model.wait_for(3)
    told = await chat.say("and how are you?")
    assert "home/small says so" in told
    assert [text for text in told if text.startswith(SAYS["person"])]
    assert len(told) == 2


async def test_nobody_is_told_of_a_limit_that_is_not_theirs(make_app: MakeApp) -> None:
    chat = await open_chain(make_app, {"person": {"money_per_day": 0.5}})
    await ask(chat, 2)
    assert await ask(chat, 1, author=BOB) == [["test/scripted says so"]]


async def test_notes_are_taken_by_a_free_model_where_the_place_has_no_money_left(make_app: MakeApp) -> None:
    limits, small = {"place": {"money_per_day": 0.5}}, {"context_tokens": 2_048, "reserve_ratio": 0.0}
    chat = await open_chain(make_app, limits, **small)
    for number in range(12):
        await chat.say(f"{number} " + "words of all kinds " * 20)
    await settle(chat)
    rows = select(model_calls.c.model, model_calls.c.outcome).where(model_calls.c.purpose == "summary")
    calls = await chat.app.core.db.read(lambda tx: tx.execute(rows).all())
    assert calls[-2:] == [("test/scripted", "quota"), ("home/small", "stop")]


async def test_notes_that_are_too_dear_behind_the_last_request_are_taken_by_a_free_model(make_app: MakeApp) -> None:
    limits, reused = {"place": {"money_per_day": 14}, "warn_at": 1}, {"summary": {"reuse_prefix": "on"}}
    chat = await open_chain(make_app, limits, context_tokens=16_384, **reused)
    await ask(chat, 14)
    await chat.say("/compact")
    await settle(chat)
    rows = select(model_calls.c.model, model_calls.c.outcome).where(model_calls.c.purpose == "summary")
    calls = await chat.app.core.db.read(lambda tx: tx.execute(rows.order_by(model_calls.c.id)).all())
    assert calls == [("test/scripted", "quota"), ("test/scripted", "quota"), ("home/small", "stop")]
