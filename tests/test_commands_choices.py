"""/persona and /model: lists in pages, what is in use, and switching through the real pipeline and store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.commands.persona import NOTE_CHARS
from bot.personas.library import SHIPPED_FOLDER, PersonaLibrary
from bot.testing import FakeAdapter, Reply, ScriptedModel, make_author
from tests.conftest import MakeApp
from tests.emulators.openai import OpenAIEmulator
from tests.talking import BOB, GROUP, Chat, open_chat


def library(folder: Path, cards: dict[str, str]) -> PersonaLibrary:
    """The shipped personas and some more: id -> the card's lines."""
    for persona_id, card in cards.items():
        (folder / persona_id).mkdir(parents=True)
        (folder / persona_id / "card.yaml").write_text(card, encoding="utf-8")
    return PersonaLibrary((SHIPPED_FOLDER, folder))


@pytest.fixture
def many(tmp_path: Path) -> PersonaLibrary:
    cards = {f"extra{number:02}": f"name: Extra {number}\ndescription: One of many.\n" for number in range(15)}
    return library(tmp_path / "cards", cards)


@pytest.fixture
def twins(tmp_path: Path) -> PersonaLibrary:
    return library(
        tmp_path / "cards", {f"luna-{kind}": f"name: Luna\ndescription: {kind}\n" for kind in ("cat", "moon")}
    )


def entries(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("- ")]


async def test_the_list_marks_who_speaks_and_shows_a_line_about_each(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="thrupp")
    lines = entries(await chat.ask("/persona"))
    assert [line.split("**")[1] for line in lines] == ["阿岑", "Bryony", "东坡", "Familiar", "Thrupp"]
    assert [line for line in lines if "✅" in line] == [line for line in lines if "(thrupp)" in line]
    assert "A host for groups" in lines[-1]
    assert all(len(line) < NOTE_CHARS + 60 for line in lines)


async def test_a_long_list_has_pages_and_buttons_that_turn_them(make_app: MakeApp, many: PersonaLibrary) -> None:
    chat = await open_chat(make_app, library=many)
    first = await chat.ask("/persona")
    assert len(entries(first)) == 8
    assert "Page 1 of 3" in first
    (*_, (forth,)) = chat.last_reply.outbound.buttons if chat.last_reply.outbound else ()
    (second,) = await chat.press(forth.command)
    assert "Page 2 of 3" in second
    assert not set(entries(first)) & set(entries(second))
    *_, row = chat.last_reply.outbound.buttons if chat.last_reply.outbound else ()
    assert [button.command for button in row] == ["persona list -p 1", "persona list -p 3"]
    assert await chat.ask("/persona -p 999") == await chat.ask("/persona -p 3")
    assert await chat.ask("/persona -p 0") == first


async def test_pages_of_a_search_go_on_searching(make_app: MakeApp, many: PersonaLibrary) -> None:
    chat = await open_chat(make_app, library=many)
    await chat.ask("/persona extra -p 1")
    (*_, (forth,)) = chat.last_reply.outbound.buttons if chat.last_reply.outbound else ()
    (second,) = await chat.press(forth.command)
    assert len(entries(second)) == 7
    assert all("Extra" in line for line in entries(second))


@pytest.mark.parametrize("keyword", ["of", "EXTRA", "one of"])
async def test_buttons_never_carry_more_than_a_platform_takes(make_app: MakeApp, tmp_path: Path, keyword: str) -> None:
    notes = "one of extra " + "很长的词" * 20
    cards = {f"x{number:02}": f"name: X{number}\ndescription: d\ncreator_notes: {notes}\n" for number in range(20)}
    chat = await open_chat(make_app, library=library(tmp_path / "cards", cards))
    for searched in (keyword, "很长的词" * 6, 'a"b'):
        await chat.ask(f"/persona {searched}")
        for row in chat.last_reply.outbound.buttons if chat.last_reply.outbound else ():
            assert all(len(button.command.encode()) <= 64 for button in row)


@pytest.mark.parametrize(
    ("keyword", "found"),
    [("bryony", "Bryony"), ("quiz", "Thrupp"), ("文化", "东坡"), ("观测员", "阿岑"), ("list bryony", "Bryony")],
)
async def test_a_word_after_persona_searches(make_app: MakeApp, keyword: str, found: str) -> None:
    chat = await open_chat(make_app)
    assert [line.split("**")[1] for line in entries(await chat.ask(f"/persona {keyword}"))] == [found]


async def test_a_search_that_finds_nobody_names_near_ones(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    assert "Close to it: Bryony." in await chat.ask("/persona briony")
    assert "Close" not in await chat.ask("/persona xyz")
    assert "Did you mean /persona use?" in await chat.ask("/persona uze luna")


@pytest.mark.parametrize("typed", ["bryony", "BRYONY", "Bryony Tuck", "  bryony  tuck ", "Ｂｒｙｏｎｙ"])
async def test_a_persona_is_chosen_by_id_or_name_and_says_who_speaks_now(make_app: MakeApp, typed: str) -> None:
    chat = await open_chat(make_app, persona="familiar")
    told, greeting = await chat.say(f"/persona use {typed}")
    assert told == "From now on **Bryony** speaks here."
    await chat.say("hello")
    assert chat.last_prompt == [("assistant", greeting), ("user", "hello")]
    assert chat.model.requests[-1].messages[0].text.startswith("You are Bryony.")


async def test_a_name_that_several_have_asks_for_the_id(make_app: MakeApp, twins: PersonaLibrary) -> None:
    chat = await open_chat(make_app, library=twins, persona="familiar")
    assert "luna-cat, luna-moon" in await chat.ask("/persona use Luna")
    assert "luna-cat, luna-moon" in await chat.ask("/session set -p luna")
    await chat.ask("/persona use luna-moon")
    assert "(luna-moon) ✅" in await chat.ask("/persona")


async def test_completion_offers_ids_where_names_would_not_do(make_app: MakeApp, twins: PersonaLibrary) -> None:
    chat = await open_chat(make_app, library=twins)
    assert await chat.offers("persona use", "persona", "luna", author=BOB, channel=GROUP) == ["luna-cat", "luna-moon"]


@pytest.mark.parametrize("typed", ["nobody-at-all", "../bryony", "personas/bryony/card.yaml", "@everyone", "p_1"])
async def test_an_unknown_persona_is_refused_and_nothing_changes(make_app: MakeApp, typed: str) -> None:
    chat = await open_chat(make_app, persona="familiar")
    assert "I know no persona" in await chat.ask(f"/persona use {typed}")
    assert "Persona: **Familiar** (default)" in await chat.ask("/session")


async def test_none_means_no_persona(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="familiar", system_prompt="Be brief.")
    assert len(await chat.say("/persona use none")) == 1
    assert await chat.say("hello") == ["ok"]
    assert chat.model.requests[-1].messages[0].text.startswith("Be brief.")
    assert "No persona speaks here" in await chat.ask("/persona info")


async def test_a_switch_outlives_a_restart_with_its_history(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="familiar")
    _, greeting = await chat.say("/persona use bryony")
    await chat.say("my name is Ann")
    await chat.app.close()
    chat = await open_chat(make_app, persona="familiar")
    assert await chat.say("who am I?") == ["ok"]
    assert chat.last_prompt == [
        ("assistant", greeting),
        ("user", "my name is Ann"),
        ("assistant", "ok"),
        ("user", "who am I?"),
    ]


async def test_each_persona_knows_only_what_it_heard_and_is_not_greeted_twice(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="familiar")
    await chat.say("told to Familiar")
    await chat.say("/persona use bryony")
    await chat.say("told to Bryony")
    assert "Familiar" not in str(chat.last_prompt)
    assert await chat.say("/persona use familiar") == ["From now on **Familiar** speaks here."]
    await chat.say("back")
    assert [text for _, text in chat.last_prompt][1:] == ["told to Familiar", "ok", "back"]


async def test_a_running_turn_ends_with_the_persona_it_began_with(make_app: MakeApp) -> None:
    gate = asyncio.Event()
    model = ScriptedModel([Reply(text="from Familiar", hold=gate), "from Bryony"])
    chat = await open_chat(make_app, model=model, persona="familiar")
    await chat.ask("first")
    await model.wait_for(1)
    await chat.ask("/persona use bryony")
    gate.set()
    await chat.app.dispatcher.idle()
    await chat.say("second")
    assert "first" not in str(chat.last_prompt)
    await chat.say("/persona use familiar")
    await chat.say("third")
    assert [text for _, text in chat.last_prompt][1:] == ["first", "from Familiar", "third"]


async def test_a_message_that_waited_through_a_switch_is_answered_by_the_new_persona(make_app: MakeApp) -> None:
    gate = asyncio.Event()
    model = ScriptedModel([Reply(text="from Familiar", hold=gate), "from Bryony"])
    chat = await open_chat(make_app, model=model, adapter=FakeAdapter(managers=["alice"]), persona="familiar")
    await chat.ask("first", channel=GROUP, mentions_me=True)
    await model.wait_for(1)
    await chat.ask("waiting", author=BOB, channel=GROUP, mentions_me=True)
    await chat.ask("/persona use bryony", channel=GROUP)
    gate.set()
    await chat.app.dispatcher.idle()
    assert model.requests[-1].messages[0].text.startswith("You are Bryony.")
    await chat.say("next", channel=GROUP)
    spoken = [text for _, text in chat.last_prompt if "lost property" not in text.lower()]
    assert spoken == ["Bob: waiting", "from Bryony", "Alice: next"]
    assert "Alice: first" not in str(chat.last_prompt)


async def test_info_tells_what_people_may_know_of_a_card(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="bryony")
    told = await chat.ask("/persona info")
    assert "**Bryony** (bryony)" in told
    assert "keeps a lost property office" in told
    assert "- Tags: companion, english, slice of life" in told
    assert "3,112 shelved things" not in told  # the card's own text is for the model
    assert "**东坡**" in await chat.ask("/persona info 苏轼")


# Models


@pytest.fixture
async def served(make_app: MakeApp) -> AsyncIterator[Chat]:
    async with OpenAIEmulator(models=["scripted", "other", *(f"m{number}" for number in range(10))]) as server:
        yield await open_chat(make_app, providers={"test": {"base_url": server.base_url}})


async def test_models_are_listed_in_pages_with_the_one_in_use_marked(served: Chat) -> None:
    told = await served.ask("/model")
    assert len(entries(told)) == 8
    assert "Page 1 of 2" in told
    assert "- test/scripted ✅" in told
    assert entries(await served.ask("/model oth")) == ["- test/other"]
    assert "No model" in await served.ask("/model nothing-like-it")


@pytest.mark.parametrize("typed", ["test/other", "other"])
async def test_a_model_is_chosen_by_its_full_or_bare_name(served: Chat, typed: str) -> None:
    assert await served.say(f"/model use {typed}") == ["From now on **test/other** answers here."]
    await served.say("hello")
    assert served.model.requests[-1].model == "test/other"


async def test_an_unknown_model_is_refused_with_near_ones(served: Chat) -> None:
    assert "test/other" in await served.ask("/model use othr")
    assert "I can't find" in await served.ask("/model use nowhere/gpt")
    await served.say("hello")
    assert served.model.requests[-1].model == "test/scripted"


async def test_a_server_that_does_not_list_its_models_is_believed(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    assert "**test/anything**" in await chat.ask("/model use anything")


async def test_info_tells_the_model_in_use_its_window_and_abilities(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, models={"test/scripted": {"context_window": 32_000, "vision": True}})
    told = await chat.ask("/model info")
    assert "**test/scripted** answers here (default)" in told
    assert "32,000 tokens" in told
    assert "see images" in told


@pytest.mark.parametrize(
    ("persona", "reader", "language", "hint"),
    [
        ("东坡", "en", "auto", "/session set language zh"),
        ("bryony", "en", "auto", ""),
        ("bryony", "zh-CN", "auto", "/session set language en"),
        ("东坡", "en", "zh", ""),
        ("none", "en", "auto", ""),
    ],
)
async def test_a_card_in_another_language_than_our_own_words_comes_with_a_hint(
    make_app: MakeApp, persona: str, reader: str, language: str, hint: str
) -> None:
    chat = await open_chat(make_app, language=language)
    told, *_ = await chat.say(f"/persona use {persona}", author=make_author(locale=reader))
    assert ("/session set language" in told) == bool(hint)
    assert hint in told
