"""FALLBACKS as people and operators meet them: who answered, whom a place wants, what /status and the doctor tell."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import select

from bot.cli.servers import other_models
from bot.llm.directory import ModelDirectory
from bot.llm.model import ContextTooLong, ModelRequest, ModelUnreachable, Role, ToolCall
from bot.settings import Settings
from bot.store.ledger_tables import model_calls
from bot.testing import Reply, ScriptedModel
from tests.conftest import MakeApp
from tests.emulators.openai import OpenAIEmulator
from tests.talking import Chat, open_chat

SERVERS = {name: {"base_url": "http://127.0.0.1:9/v1"} for name in ("test", "spare")}


def only_the_spare(request: ModelRequest) -> Reply:
    if request.model == "spare/b":
        return Reply(text="I stand in.")
    return Reply(text="", error=ModelUnreachable(request.model, "http://10.0.0.7 is down."))


async def open_with_spare(make_app: MakeApp, **settings: Any) -> Chat:
    return await open_chat(make_app, model=ScriptedModel(only_the_spare), providers=SERVERS, **settings)


async def test_the_ledger_tells_which_model_answered(make_app: MakeApp) -> None:
    chat = await open_with_spare(make_app, fallbacks=("spare/b",))
    assert (await chat.say("Hello?"))[-1] == "I stand in."
    columns = select(model_calls.c.model, model_calls.c.outcome).order_by(model_calls.c.id)
    rows = await chat.app.core.db.read(lambda tx: tx.execute(columns).all())
    assert rows == [("test/scripted", "unreachable"), ("spare/b", "stop")]


async def test_a_place_chooses_its_own_fallbacks_and_status_tells_who_is_away(make_app: MakeApp) -> None:
    chat = await open_with_spare(make_app)
    assert "can't reach" in (await chat.say("Hello?"))[-1]
    assert "spare/b, test/other" in await chat.ask("/session set fallbacks spare/b, test/other")
    assert await chat.say("Hello?") == ["I stand in."]
    status = await chat.ask("/status")
    assert "test/scripted does not answer at the moment." in status
    assert "spare/b answers in place of test/scripted meanwhile." in status
    assert "10.0.0.7" not in status


async def test_L21_with_an_answer_that_broke_off_no_other_model_goes_on(make_app: MakeApp) -> None:
    def breaks_off(request: ModelRequest) -> Reply:
        error = ModelUnreachable(request.model, "the connection was lost.")
        return Reply(text="Once upon a", error=error) if request.model == "test/scripted" else Reply(text="I stand in.")

    chat = await open_chat(
        make_app, model=ScriptedModel(breaks_off), providers=SERVERS, fallbacks=("spare/b",), persona="none"
    )
    (told,) = await chat.say("Tell me a story.")
    assert "I stand in." not in told
    assert [request.model for request in chat.model.requests] == ["test/scripted"]
    assert await chat.say("/retry") == ["I stand in."]  # asked first, now that the other one is known to be away


async def test_a_fallback_that_no_server_offers_is_not_taken(make_app: MakeApp) -> None:
    async with OpenAIEmulator(models=("scripted", "big")) as server:
        chat = await open_chat(make_app, providers={"test": {"base_url": server.base_url}})
        assert "can't find the model “nowhere/x”" in await chat.ask("/session set fallbacks big, nowhere/x")
        assert "= test/big" in await chat.ask("/session set fallbacks big")


async def test_the_operator_hears_in_status_what_is_wrong(make_app: MakeApp) -> None:
    chat = await open_with_spare(make_app, access={"admins": ("fake:alice",)})
    await chat.say("Hello?")
    assert "10.0.0.7 is down" in await chat.ask("/status")


async def test_a_place_may_want_no_fallback_and_completion_offers_models(make_app: MakeApp) -> None:
    chat = await open_with_spare(make_app, fallbacks=("spare/b",))
    assert await chat.offers("session set", "value", "scr", key="fallbacks") == ["test/scripted"]
    await chat.ask("/session set fallbacks none")
    assert "can't reach" in (await chat.say("Hello?"))[-1]
    await chat.ask("/session reset fallbacks")
    assert await chat.say("Hello?") == ["I stand in."]


async def test_what_is_too_long_for_the_model_that_stands_in_is_shortened_for_it(make_app: MakeApp) -> None:
    asked: list[int] = []

    def small(request: ModelRequest) -> Reply:
        if request.model != "spare/b":
            return Reply(text="", error=ModelUnreachable(request.model, "no answer."))
        asked.append(sum(len(message.text) for message in request.messages))
        too_long = ContextTooLong("spare/b", "too long.", limit=4_000, given=9_000)
        return Reply(text="", error=too_long) if len(asked) == 1 else Reply(text="I stand in.")

    chat = await open_chat(
        make_app, model=ScriptedModel(small), providers=SERVERS, fallbacks=("spare/b",), persona="none"
    )
    before = chat.app.models.tokens.factor("test/scripted")
    assert await chat.say("word " * 6_000) == ["I stand in."]
    assert asked[1] < asked[0]
    assert chat.app.models.tokens.factor("test/scripted") == before  # another model's tokenizer teaches nothing of it


async def test_a_round_of_tools_is_known_by_the_model_that_called(make_app: MakeApp) -> None:
    roll = ToolCall(id="c1", name="roll_dice", arguments='{"dice": "d6"}', extra='{"signed": 1}')

    def away_after_a_round(request: ModelRequest) -> Reply:
        if request.messages[-1].role is not Role.TOOL:
            return Reply(text="", tool_calls=(roll,))
        return only_the_spare(request)

    model = ScriptedModel(away_after_a_round)
    chat = await open_chat(make_app, model=model, providers=SERVERS, fallbacks=("spare/b",), persona="none")
    assert await chat.say("Roll!") == ["I stand in."]
    assert [(one.model, len(one.tools) > 0) for one in model.requests[1:]] == [
        ("test/scripted", True),
        ("spare/b", True),
    ]
    (call,) = model.requests[-1].messages[-2].tool_calls
    assert call.by == "test/scripted"  # so that its server's own field does not reach the other one


@pytest.mark.parametrize(
    ("given", "others"),
    [
        ({}, ()),
        ({"fallbacks": ("spare/b", "a")}, ("spare/b",)),
        ({"vision_model": "eyes", "summary": {"model": "spare/notes"}}, ("spare/notes", "test/eyes")),
        (
            {"profiles": {"discord": {"fallbacks": "spare/c, spare/b"}}, "fallbacks": ("spare/b",)},
            ("spare/b", "spare/c"),
        ),
    ],
)
def test_the_doctor_asks_every_model_that_may_have_to_answer(given: dict[str, Any], others: tuple[str, ...]) -> None:
    settings = Settings(providers=SERVERS, model="test/a", **given)

    async def list_models(_provider: str) -> tuple[str, ...]:
        return ()

    assert other_models(settings, ModelDirectory(tuple(SERVERS), "test/a", list_models)) == others
