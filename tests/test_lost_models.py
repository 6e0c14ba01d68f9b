"""Models that were chosen in a chat and whose server is gone since: the default one answers, and the chat hears it."""

from __future__ import annotations

import json

import pytest

from bot.llm.directory import ModelDirectory
from bot.model_in_force import fallbacks_in_force, model_in_force
from bot.overrides import SessionSettings, Source
from bot.settings import PlaceSettings
from bot.store import sessions
from bot.store.database import Tx
from bot.store.tables import Scope
from bot.testing import NOW, FakeAdapter, make_author
from tests.conftest import MakeApp
from tests.talking import DM, Chat, open_chat


async def choose(chat: Chat, model: str, scope: Scope = Scope.SESSION, key: str = DM.session_key) -> None:
    """Let a model be chosen, as a command did when its server was still there."""

    def store(tx: Tx) -> None:
        sessions.set_override(tx, scope, key, "model", json.dumps(model), set_by="fake:alice", now=NOW)

    await chat.app.core.db.run(store)


async def test_a_place_whose_models_server_is_gone_hears_it_once_and_the_default_one_answers(
    make_app: MakeApp,
) -> None:
    chat = await open_chat(make_app, persona="none")
    await choose(chat, "gone/gpt-5")
    notice, answer = await chat.say("hello")
    assert (answer, chat.model.requests[-1].model) == ("ok", "test/scripted")
    assert notice == (
        "The model “gone/gpt-5”, which was chosen here, can't be had any more; **test/scripted** answers in its place. "
        "/model use NAME picks another."
    )
    assert await chat.say("again") == ["ok"]
    assert notice not in str(chat.model.requests)
    await chat.app.close()
    chat = await open_chat(make_app, adapter=FakeAdapter(), persona="none")
    assert await chat.say("and after a restart?") == ["ok"]


async def test_info_session_and_status_tell_what_was_chosen_and_what_answers(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="none")
    await choose(chat, "gone/gpt-5")
    lost = "- gone/gpt-5 was chosen here, but its server is not configured any more."
    for command in ("/model info", "/session"):
        told = (await chat.ask(command)).splitlines()
        assert lost in told
        assert "**test/scripted**" in told[told.index(lost) - 1]
        assert "(default)" in told[told.index(lost) - 1]
    assert "Model: test/scripted" in await chat.ask("/status")
    assert "gone" in await chat.ask("/model info", author=make_author(locale="zh"))
    await chat.say("/model use test/other")
    for command in ("/model info", "/session"):
        assert "gone" not in await chat.ask(command)
    assert await chat.say("hello") == ["ok"]
    assert chat.model.requests[-1].model == "test/other"


async def test_a_model_of_the_place_answers_before_the_default_one(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="none")
    await choose(chat, "gone/gpt-5")
    await choose(chat, "test/other", Scope.PLACE, DM.place_key)
    notice, _ = await chat.say("hello")
    assert "**test/other** answers in its place" in notice
    assert chat.model.requests[-1].model == "test/other"


DEFAULT = "home/small"
LOST = (Source.SESSION, "gone/a")


@pytest.mark.parametrize(
    ("chain", "name", "source", "lost"),
    [
        ((), DEFAULT, Source.DEFAULT, None),
        (((Source.SESSION, "home/big"),), "home/big", Source.SESSION, None),
        ((LOST,), DEFAULT, Source.DEFAULT, "gone/a"),
        ((LOST, (Source.PLACE, "gone/b")), DEFAULT, Source.DEFAULT, "gone/a"),
        ((LOST, (Source.PLACE, "home/big")), "home/big", Source.PLACE, "gone/a"),
        # In .env a name may have a slash of its own, and belongs to the default's server.
        ((LOST, (Source.PROFILE, "meta/llama-4")), "home/meta/llama-4", Source.PROFILE, "gone/a"),
        (((Source.PROFILE, "meta/llama-4"),), "home/meta/llama-4", Source.PROFILE, None),
        (((Source.SESSION, "local/demo"),), DEFAULT, Source.DEFAULT, "local/demo"),
    ],
)
def test_the_nearest_model_whose_server_is_there_is_in_force(
    chain: tuple[tuple[Source, str], ...], name: str, source: Source, lost: str | None
) -> None:
    async def list_models(_provider: str) -> tuple[str, ...]:
        return ()

    directory = ModelDirectory(("home", "away"), DEFAULT, list_models)
    values = PlaceSettings(model=chain[0][1] if chain else "")
    settings = SessionSettings(values=values, chain={"model": chain} if chain else {})
    found = model_in_force(directory, settings)
    assert (found.name, found.source, found.lost) == (name, source, lost)


async def test_of_fallbacks_only_those_count_whose_server_is_there() -> None:
    async def list_models(_provider: str) -> tuple[str, ...]:
        return ()

    models = ModelDirectory(("test", "spare"), "test/a", list_models)
    chosen = PlaceSettings(fallbacks=("gone/b", "local/small", "big", "spare/qwen/qwen3", "test/big", "test/a"))
    assert fallbacks_in_force(models, chosen, "test/a") == ("test/big", "spare/qwen/qwen3")
