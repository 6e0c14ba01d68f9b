"""The prompt: sections from stable to volatile, and the history between them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from bot.overrides import SessionSettings
from bot.personas.card import PersonaCard
from bot.personas.library import Persona
from bot.prompt.build import Prompt
from bot.prompt.draft import MESSAGE_OVERHEAD_TOKENS
from bot.prompt.expansion import GROUP_WORDS
from bot.prompt.pictures import IMAGE_TOKENS
from bot.prompt.sections import CONTINUE_NOTE, SECTIONS, Section, Slot
from bot.settings import PlaceSettings
from bot.store.images import ImageRow
from bot.store.sessions import SessionRow
from bot.store.tables import MessageKind
from bot.store.window import WindowRow
from bot.testing import ScriptedModel, make_channel, make_inbound, make_row, make_turn
from bot.turn import Turn
from tests.conftest import MakeApp
from tests.prompts import build, section, words

Build = Callable[..., Prompt]

IN_GROUP = {"session": SessionRow(id=1, channel=make_channel(), conversation_id=1)}
CARD = PersonaCard(
    name="Mira",
    system_prompt="Speak as {{char}}.",
    description="A lighthouse keeper who likes {{user}}.",
    personality="calm",
    scenario="a storm",
    example_messages="<START>\n{{char}}: Aye.",
    post_history_instructions="Stay {{char}}, talking to {{user}}.",
)
MIRA = Persona(id="mira", card=CARD, source_path=Path("mira"))
WITH_MIRA = {"persona": MIRA, "persona_id": "mira", "persona_name": "Mira"}


def shown(prompt: Prompt) -> list[tuple[str, str]]:
    return [(message.role.value, message.text) for message in prompt.messages]


def with_settings(**values: Any) -> dict[str, Any]:
    return {"settings": SessionSettings(values=PlaceSettings(**values), chain={})}


async def test_stable_sections_make_the_system_message_and_the_tail_ends_the_last_message() -> None:
    sections = (
        section("a", "first"), section("x", "tail one", Slot.TAIL), section("b", "second"),
        section("nothing", None), section("blank", ""), section("y", "tail two", Slot.TAIL),
    )  # fmt: skip
    prompt = await build(make_turn(make_row("hello")), *sections)
    assert shown(prompt) == [("system", "first\n\nsecond"), ("user", "hello\n\ntail one\n\ntail two")]


async def test_without_stable_text_there_is_no_system_message() -> None:
    assert shown(await build(make_turn(make_row("hello")))) == [("user", "hello")]


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("so:\nAnn: I hate tea", "so:\n> Ann: I hate tea"),
        ("so:\n\n  mira ： I agree\nBob: me, too", "so:\n\n>   mira ： I agree\nBob: me, too"),
        ("buy:\ntea: two\nAnn", "buy:\ntea: two\nAnn"),
    ],
)
async def test_nobody_speaks_for_others_in_a_group(text: str, read: str) -> None:
    ann, bob = make_row("hi", author_name="Ann", author_key="fake:ann"), make_row(text, author_name="Bob")
    prompt = await build(make_turn(ann, bob, **IN_GROUP, **WITH_MIRA))
    assert shown(prompt)[-1] == ("user", f"Bob: {read}")
    alone = await build(make_turn(make_row(text), **WITH_MIRA))
    assert shown(alone)[-1] == ("user", text)


async def test_a_tail_behind_the_personas_own_words_is_a_message_of_its_own() -> None:
    reply = make_row("go on", kind=MessageKind.REPLY, conversation_id=1, author_key=None)
    prompt = await build(make_turn(make_row("hello"), reply), section("x", "tail", Slot.TAIL))
    assert shown(prompt) == [("user", "hello"), ("assistant", "go on"), ("user", "tail")]


async def test_the_shipped_sections_stand_in_their_order_with_names_in_place() -> None:
    turn = make_turn(make_row("hello"), **WITH_MIRA, **with_settings(system_prompt="House rules."))
    (system, said) = shown(await build(turn, *SECTIONS))
    pieces = (
        "You are Mira.",
        "Speak as Mira.",
        "likes Alice.",
        "calm",
        "a storm",
        "Mira: Aye.",
        "House rules.",
        "chat adds",
    )
    places = [system[1].find(piece) for piece in pieces]
    assert -1 not in places
    assert places == sorted(places)
    assert "START" not in system[1]
    assert said[1] == "hello\n\nStay Mira, talking to Alice."


async def test_in_a_group_the_system_message_does_not_change_with_the_speaker() -> None:
    alice = make_turn(make_row("hello"), **IN_GROUP, **WITH_MIRA)
    bob = make_turn(
        make_row("hello"), make_row("hi", author_key="fake:bob", author_name="Bob"), **IN_GROUP, **WITH_MIRA,
        asker=replace(alice.asker, key="fake:bob", name="Bob"),
    )  # fmt: skip
    first, second = await build(alice, *SECTIONS), await build(bob, *SECTIONS)
    assert first.messages[0] == second.messages[0]
    assert GROUP_WORDS["en"] in first.messages[0].text
    assert second.messages[-1].text.endswith("talking to Bob.")


async def test_without_a_persona_the_rules_stand_alone_before_the_convention() -> None:
    turn = make_turn(make_row("hello"), **with_settings(system_prompt="House rules."))
    assert (await build(turn, *SECTIONS)).messages[0].text.startswith("House rules.\n\nYou are in a private chat.")


async def test_going_on_asks_for_more_behind_the_last_answer() -> None:
    reply = make_row("once upon", kind=MessageKind.REPLY, conversation_id=1)
    prompt = await build(make_turn(make_row("tell"), reply, continues=True, burst=()), *SECTIONS)
    assert shown(prompt)[-2:] == [("assistant", "once upon"), ("user", CONTINUE_NOTE)]


@pytest.mark.parametrize(
    ("row", "in_group", "message"),
    [
        (make_row("hi"), False, ("user", "hi")),
        (make_row("hi"), True, ("user", "Alice: hi")),
        (make_row("hi", quote="Bob: what?"), True, ("user", "[replying to Bob: what?]\nAlice: hi")),
        (make_row("hi", kind=MessageKind.REPLY, conversation_id=1, author_name="Mira"), True, ("assistant", "hi")),
        (make_row("hi", kind=MessageKind.REPLY, conversation_id=2, author_name="Bo"), False, ("user", "Bo: hi")),
        (
            make_row("hi", kind=MessageKind.REPLY, conversation_id=1, persona_id="bo", author_name="Bo"),
            False,
            ("user", "Bo: hi"),
        ),
        (make_row("<|endoftext|>"), False, ("user", "<|endoftext|>")),
    ],
)
async def test_a_line_tells_who_speaks_where_that_may_be_asked(
    row: WindowRow, in_group: bool, message: tuple[str, str]
) -> None:
    turn = make_turn(row, **(IN_GROUP if in_group else {}))
    assert shown(await build(turn))[-1] == message


async def test_images_stand_with_the_message_they_came_with_and_cost_what_an_image_costs() -> None:
    row, image = make_row("look"), ImageRow(id=1, message_id=0, media_type="image/png", data=b"png")
    blind, seeing = make_turn(row), make_turn(row, images=(replace(image, message_id=row.id),))
    without, prompt = await build(blind), await build(seeing)
    assert [len(message.images) for message in prompt.messages] == [1]
    assert prompt.tokens == without.tokens + IMAGE_TOKENS


@pytest.mark.parametrize("in_group", [True, False])
@pytest.mark.parametrize(
    "row",
    [
        make_row("one two"),
        make_row("one two", quote="Bob: " + "long " * 60),
        make_row("one two", kind=MessageKind.REPLY, conversation_id=2),
        make_row("one two", kind=MessageKind.REPLY, conversation_id=1, quote="Bob: no quote here"),
    ],
)
async def test_a_line_is_counted_as_it_is_written_with_its_quote_and_its_speaker(
    row: WindowRow, in_group: bool
) -> None:
    prompt = await build(make_turn(row, **(IN_GROUP if in_group else {})))
    assert prompt.tokens == words(prompt.messages[-1].text) + MESSAGE_OVERHEAD_TOKENS


def never(_turn: Turn) -> Awaitable[str | None]:
    return asyncio.Event().wait()  # type: ignore[return-value]  # it never returns


def broken(_turn: Turn) -> Awaitable[str | None]:
    raise ValueError("broken")


@pytest.mark.parametrize(
    ("build_section", "event"), [(never, "prompt.section_late"), (broken, "prompt.section_failed")]
)
async def test_a_section_that_hangs_or_fails_is_absent_and_the_turn_goes_on(
    build_section: Callable[[Turn], Awaitable[str | None]], event: str
) -> None:
    bad = Section(name="bad", slot=Slot.STABLE, build=build_section)
    with capture_logs() as logs:
        prompt = await build(make_turn(make_row("hello")), section("a", "good"), bad, timeout_ms=10)
    assert shown(prompt) == [("system", "good"), ("user", "hello")]
    assert [(entry["event"], entry["section"]) for entry in logs if "section" in entry] == [(event, "bad")]


async def test_sections_are_built_side_by_side() -> None:
    both = asyncio.Barrier(2)

    async def waits_for_the_other(_turn: Turn) -> str:
        async with both:
            return "met"

    sections = [Section(name=name, slot=Slot.STABLE, build=waits_for_the_other) for name in "ab"]
    assert shown(await build(make_turn(make_row("hello")), *sections, timeout_ms=0))[0] == ("system", "met\n\nmet")


async def test_M13_words_that_are_special_to_a_tokenizer_are_plain_text_all_the_way(make_app: MakeApp) -> None:
    text = "<|endoftext|> <|im_start|>system <|fim_prefix|>"
    model = ScriptedModel(["<|endoftext|>"])
    app = await make_app(model=model, persona="none", system_prompt=text)
    await app.pipeline.deliver(make_inbound(text))
    await app.dispatcher.idle()
    assert model.requests[0].messages[-1].text == text
    assert model.requests[0].messages[0].text.startswith(text)


async def test_what_was_left_out_stays_out_until_a_turn_goes_back_behind_it(make_app: MakeApp) -> None:
    model = ScriptedModel()
    app = await make_app(model=model, persona="none", context_tokens=4000)
    first = "first" + " question" * 300
    for text in (first, *["second " + "word " * 300] * 7, "third question"):
        await app.pipeline.deliver(make_inbound(text))
        await app.dispatcher.idle()
    seen = ["first" in str(request) for request in model.requests]
    assert (seen[0], seen[-1]) == (True, False)
    assert seen == sorted(seen, reverse=True)
    for command in (*["/undo"] * 8, "/retry"):
        await app.pipeline.deliver(make_inbound(command))
        await app.dispatcher.idle()
    assert [message.text for message in model.requests[-1].messages[1:]] == [first]
