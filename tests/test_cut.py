"""How an answer ends that stops before its own end, and that nothing of the mark reaches the model."""

from __future__ import annotations

import pytest

from bot.cut import stopped, unfinished
from bot.llm.model import Finish, ModelUnreachable
from bot.store.tables import messages
from bot.testing import FakeAdapter, Reply, ScriptedModel, make_author
from tests.conftest import MakeApp
from tests.talking import GROUP, open_chat

HINTS = {"en": "Not finished. /continue goes on.", "zh": "还没说完。用 /continue 可以接着说。"}


@pytest.mark.parametrize("finish", [Finish.LENGTH, Finish.INCOMPLETE])
@pytest.mark.parametrize("locale", ["en", "zh"])
async def test_L22_an_answer_that_broke_off_says_so_and_can_be_gone_on_from(
    make_app: MakeApp, finish: Finish, locale: str
) -> None:
    author = make_author("Alice", locale=locale)
    model = ScriptedModel([Reply(text="once upon ", finish=finish), "a time"])
    chat = await open_chat(make_app, model=model, persona="none")
    assert await chat.say("a story", author=author) == [f"once upon …\n\n*{HINTS[locale]}*"]
    assert await chat.say("/continue", author=author) == ["a time"]
    assert [text.strip() for role, text in chat.last_prompt if role == "assistant"] == ["once upon"]
    rows = await chat.app.core.db.read(lambda tx: tx.execute(messages.select().where(messages.c.kind == "reply")).all())
    assert [row.cut for row in rows] == [True, False]


@pytest.mark.parametrize("streams", [True, False])
async def test_L22_an_answer_whose_server_falls_silent_half_way_can_be_gone_on_from_as_one_that_broke_off(
    make_app: MakeApp, streams: bool
) -> None:
    silent = Reply(text="once upon ", error=ModelUnreachable("test/scripted", "it did not answer in time."))
    model = ScriptedModel([silent, "a time"])
    chat = await open_chat(make_app, model=model, adapter=FakeAdapter(streams=streams), persona="none")
    assert await chat.say("a story") == [f"once upon …\n\n*{HINTS['en']}*"]
    assert "cut short" in await chat.ask("/status")
    assert await chat.say("/continue") == ["a time"]
    assert "arrived." in await chat.ask("/status")


@pytest.mark.parametrize("text", ["word " * 400, "word " * 128])
async def test_L16_an_answer_that_runs_in_circles_says_why_it_ends(make_app: MakeApp, text: str) -> None:
    chat = await open_chat(make_app, model=ScriptedModel([text, "the end"]), persona="none")
    (told,) = await chat.say("a story")
    assert told.startswith("word word")
    assert told.endswith(f"word …\n\n*{chat.app.core.catalogue.text('answer-repeats', 'en')}*")
    assert len(told) < 750
    assert "cut short" in await chat.ask("/status")
    assert await chat.say("/retry") == ["the end"]


@pytest.mark.parametrize(("streams", "kept"), [(True, ("reply", "once upon ")), (False, ("notice", ""))])
async def test_L12_an_answer_that_the_provider_broke_off_is_told_as_declined_and_no_answer(
    make_app: MakeApp, streams: bool, kept: tuple[str, str]
) -> None:
    model = ScriptedModel([Reply(text="once upon ", finish=Finish.FILTERED)])
    chat = await open_chat(make_app, model=model, adapter=FakeAdapter(streams=streams), persona="none")
    assert await chat.say("a story") == [chat.app.core.catalogue.text("model-filtered", "en")]
    rows = await chat.app.core.db.read(lambda tx: tx.execute(messages.select().where(messages.c.kind != "said")).all())
    assert [((row.kind, row.text), row.cut) for row in rows] == [(kept, True)]
    assert len(model.requests) == 1


@pytest.mark.parametrize("text", ["", " \n ", "\u200b", "\u2060\u00ad \ufeff"])
async def test_L18_an_answer_of_which_nothing_shows_is_a_notice_and_never_sent(make_app: MakeApp, text: str) -> None:
    chat = await open_chat(make_app, model=ScriptedModel([Reply(text=text)]), persona="none")
    assert await chat.say("a story") == [chat.app.core.catalogue.text("model-empty", "en")]


async def test_D07_a_bot_is_given_no_hint(make_app: MakeApp) -> None:
    model = ScriptedModel([Reply(text="once upon ", finish=Finish.LENGTH)])
    chat = await open_chat(make_app, model=model, persona="none", bots={"answer": True})
    robo = make_author("Robo", is_bot=True)
    assert await chat.say("a story", author=robo, channel=GROUP) == ["once upon …"]


async def test_an_answer_that_came_to_its_end_has_no_mark(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, model=ScriptedModel(["the end"]), persona="none")
    assert await chat.say("a story") == ["the end"]


def test_a_stopped_answer_ends_in_its_mark() -> None:
    assert stopped("half of \n") == "half of …"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("half of ", "half of …\n\n*more*"),
        ("see:\n```py\nx = 1\n", "see:\n```py\nx = 1\n```\n\n*more*"),
        ("```\na\n```\nthen", "```\na\n```\nthen …\n\n*more*"),
        ("````\n```\na", "````\n```\na\n````\n\n*more*"),
        ("```\n``` no end\na", "```\n``` no end\na\n```\n\n*more*"),
        ("~~~\n```\na", "~~~\n```\na\n~~~\n\n*more*"),
        ("```\na\n`````\nthen", "```\na\n`````\nthen …\n\n*more*"),
        ("an ``` in a line", "an ``` in a line …\n\n*more*"),
    ],
)
def test_the_hint_stands_below_the_code_that_an_answer_broke_off_in(text: str, shown: str) -> None:
    assert unfinished(text, "more") == shown
