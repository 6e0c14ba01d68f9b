"""/model: what is learned about a model's server is told in words, and forgotten on request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing

import pytest
from typer.testing import CliRunner

from bot.app import App
from bot.chat import Attachment, AttachmentKind
from bot.cli import model
from bot.llm.model import ModelEvent, ModelRequest
from bot.llm.quirks import LearnedQuirk, Quirk
from bot.llm.wire import IMAGE_NOTE
from bot.locale import Catalogue
from bot.store import ledger
from bot.store.database import Database
from bot.store.lock import AlreadyServed, held_alone
from bot.testing import NOW, FakeAdapter, ScriptedModel
from tests.conftest import MakeApp
from tests.emulators.openai import OpenAIEmulator, Reply, Request, Say, errors
from tests.talking import ALICE, BOB, GROUP, Chat

LENGTH = "the length limit goes by its newer name"


class Servers:
    """The app's own client, which it makes of its settings and which these tests let answer."""

    app: App | None = None

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        assert self.app is not None
        async with aclosing(self.app.models.servers.stream(request)) as events:
            async for event in events:
                yield event

    async def close(self) -> None:
        """The app closes its own client."""


def newer(request: Request) -> Reply:
    """A server that takes the length limit by its newer name only."""
    if "max_tokens" in request.body:
        return errors.unsupported_parameter("max_tokens", "max_completion_tokens")
    return Say(text="ok")


@pytest.fixture
async def openai() -> AsyncIterator[OpenAIEmulator]:
    async with OpenAIEmulator(newer, models=("scripted", "other")) as server:
        yield server


OpenChat = Callable[..., Awaitable[Chat]]


@pytest.fixture
def open_chat(make_app: MakeApp, openai: OpenAIEmulator) -> OpenChat:
    async def open_one(**settings: object) -> Chat:
        servers, adapter = Servers(), FakeAdapter()
        providers = {"test": {"base_url": openai.base_url}}
        app = servers.app = await make_app(
            model=servers, adapter=adapter, persona="none", providers=providers, **settings
        )
        return Chat(app=app, adapter=adapter, model=ScriptedModel())

    return open_one


def forms(openai: OpenAIEmulator) -> list[bool]:
    """Of every request: whether it came in its full form."""
    return ["max_tokens" in request.body for request in openai.requests]


async def test_info_tells_what_was_learned_and_after_forget_the_full_form_is_tried_again(
    open_chat: OpenChat, openai: OpenAIEmulator
) -> None:
    chat = await open_chat()
    assert LENGTH not in await chat.ask("/model info")
    await chat.say("hello")
    await chat.say("hello")
    assert forms(openai) == [True, False, False]
    assert f"- Learned about its server: {LENGTH}." in await chat.ask("/model info")
    assert await chat.ask("/model forget") == (
        f"Forgotten about **test/scripted**: {LENGTH}. The next request tries all of it again."
    )
    assert LENGTH not in await chat.ask("/model info")
    assert await chat.ask("/model forget") == "Nothing special has been learned about **test/scripted**."
    await chat.say("hello")
    assert forms(openai) == [True, False, False, True, False]


async def test_what_was_learned_or_forgotten_stays_so_after_a_restart(
    open_chat: OpenChat, openai: OpenAIEmulator
) -> None:
    chat = await open_chat()
    await chat.say("hello")
    await chat.app.close()
    chat = await open_chat()
    # Forgotten before anything else was asked of what is known.
    assert "Forgotten" in await chat.ask("/model forget")
    await chat.app.close()
    chat = await open_chat()
    assert LENGTH not in await chat.ask("/model info")
    await chat.say("hello")
    assert forms(openai) == [True, False, True, False]


async def test_another_model_can_be_named_and_only_that_one_is_forgotten(
    open_chat: OpenChat, openai: OpenAIEmulator
) -> None:
    chat = await open_chat()
    await chat.say("hello")
    await chat.say("/model use test/other")
    await chat.say("hello")
    assert await chat.offers("model forget", "model", "scr") == ["test/scripted"]
    assert "**test/scripted**" in await chat.ask("/model forget scripted")
    assert LENGTH in await chat.ask("/model info")
    assert "test/nonsense" not in await chat.ask("/model forget nonsense")
    await chat.say("hello")
    await chat.say("/model use test/scripted")
    await chat.say("hello")
    assert forms(openai) == [True, False, True, False, False, True, False]


@pytest.mark.parametrize(
    ("access", "manages", "told"),
    [
        ({}, False, "Only people who manage this chat can change that."),
        ({}, True, "Forgotten about **test/scripted**"),
        ({"open_commands": True}, False, "Forgotten about **test/scripted**"),
        (
            {"admins": ("fake:bob",)},
            True,
            "Only whoever runs me can do that: it counts for every place at once. `ACCESS__ADMINS` in",
        ),
        ({"admins": ("fake:alice",)}, False, "Forgotten about **test/scripted**"),
    ],
)
async def test_what_counts_for_every_place_is_for_admins_where_there_are_some_and_else_for_who_manages_one(
    open_chat: OpenChat, access: dict[str, object], manages: bool, told: str
) -> None:
    chat = await open_chat(access=access)
    await chat.say("hello", author=BOB)
    if manages:
        chat.adapter.managers.add(ALICE.id)
    assert (await chat.say("/model forget", channel=GROUP))[-1].startswith(told)


async def test_L23_a_server_that_refuses_pictures_gets_none_and_from_then_on_people_hear_of_it(
    open_chat: OpenChat, openai: OpenAIEmulator
) -> None:
    def sightless(request: Request) -> Reply:
        has_picture = "image_url" in str(request.messages)
        return errors.openai_error(400, "image input is not supported") if has_picture else Say(text="ok")

    openai.script = sightless
    chat = await open_chat(models={"test/scripted": {"vision": True}})
    assert "see images" in await chat.ask("/model info")
    cat = Attachment(kind=AttachmentKind.IMAGE, name="cat.png", media_type="image/png", data=b"\x89PNG")
    assert await chat.say("what is this?", attachments=(cat,)) == ["ok"]
    assert IMAGE_NOTE in openai.last.last_user
    notice, answer = await chat.say("and this?", attachments=(cat,))
    assert ("cannot see pictures" in notice, answer, len(openai.requests)) == (True, "ok", 3)
    told = await chat.ask("/model info")
    assert ("no pictures" in told, "see images" in told) == (True, False)


@pytest.mark.parametrize("quirk", Quirk)
def test_everything_that_can_be_learned_has_words_in_every_language(quirk: Quirk) -> None:
    catalogue = Catalogue()
    name = f"quirk-{quirk.value.replace('_', '-')}"
    words = {catalogue.text(name, locale) for locale in catalogue.locales}
    assert len(words) == len(catalogue.locales)
    assert name not in words


def forget_on_the_command_line(name: str) -> tuple[str, BaseException | None]:
    result = CliRunner().invoke(model.app, ["forget", name])
    return result.output.strip(), result.exception


def test_the_command_line_forgets_while_no_other_process_serves_the_database(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("PROVIDERS__TEST__BASE_URL", "http://127.0.0.1:9/v1")

    async def learn() -> None:
        db = Database(database_url)
        for name in ("scripted", "other"):
            learned = LearnedQuirk(endpoint="test@127.0.0.1", model=name, quirk=Quirk.NO_STOP)
            await db.run(ledger.save_quirk, learned, NOW)
        await db.close()

    asyncio.run(learn())
    with held_alone(database_url):
        assert isinstance(forget_on_the_command_line("test/scripted")[1], AlreadyServed)
    assert forget_on_the_command_line("test/scripted") == ("test/scripted: forgotten: no_stop", None)
    assert forget_on_the_command_line("test/scripted") == ("test/scripted: nothing was learned", None)
    assert forget_on_the_command_line("test/other") == ("test/other: forgotten: no_stop", None)


@pytest.mark.parametrize("name", ["gone/gpt-5", "test", "test/", ""])
def test_the_command_line_names_the_servers_there_are(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROVIDERS__TEST__BASE_URL", "http://127.0.0.1:9/v1")
    _, error = forget_on_the_command_line(name)
    assert isinstance(error, model.UnknownServer)
    assert str(error).endswith("there are: test/...")
