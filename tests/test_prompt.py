"""The prompt: sections from stable to volatile, the history between them, whole tool rounds, a budget."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from bot.llm.model import Role, ToolSpec
from bot.overrides import SessionSettings
from bot.personas.card import PersonaCard
from bot.personas.library import Persona
from bot.prompt.build import Prompt, PromptBuilder
from bot.prompt.draft import MESSAGE_OVERHEAD_TOKENS
from bot.prompt.expansion import GROUP_WORDS
from bot.prompt.lines import group_history
from bot.prompt.pictures import IMAGE_TOKENS
from bot.prompt.pruning import REFILL_RATIO, keep_newest
from bot.prompt.sections import CONTINUE_NOTE, SECTIONS, Section, Slot
from bot.settings import PlaceSettings
from bot.store.images import ImageRow
from bot.store.sessions import SessionRow
from bot.store.tables import MessageKind
from bot.store.window import WindowRow
from bot.testing import ScriptedModel, make_channel, make_inbound, make_row, make_turn
from bot.turn import Turn
from tests.conftest import MakeApp

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


def words(text: str) -> int:
    return len(text.split())


def section(name: str, text: str | None, slot: Slot = Slot.STABLE) -> Section:
    async def build(_turn: Turn) -> str | None:
        return text

    return Section(name=name, slot=slot, build=build)


async def build(
    turn: Turn, *sections: Section, timeout_ms: int = 10_000, factor: float = 1.0, budget: int = 6656, **how: Any
) -> Prompt:
    builder = PromptBuilder(sections=sections, count=words, section_timeout_ms=timeout_ms)
    return await builder.build(replace(turn, budget=budget), factor=factor, **how)


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


def rows_of(script: str) -> list[WindowRow]:
    """A history from words such as `u1 c2:a,b r2:a r2:b a2`: what, position, and the ids of calls or of a result."""
    return [_row_of(*word.partition(":")[::2]) for word in script.split()]


def _row_of(head: str, ids: str) -> WindowRow:
    kinds = {"u": MessageKind.SAID, "a": MessageKind.REPLY}
    what, position = head[0], int(head[1:])
    tools: dict[str, Any] = {}
    if what == "c":
        tools["tool_calls"] = tuple({"id": name, "name": "t", "arguments": "{}"} for name in ids.split(","))
    if what == "r":
        tools |= {"tool_call_id": ids, "tool_name": "t"}
    kind = kinds.get(what, MessageKind.TOOL)
    return make_row(head, kind=kind, position=position, conversation_id=1, tokens=10, **tools)


@pytest.mark.parametrize(
    ("script", "kept"),
    [
        ("u1 a1 u2", "u1 a1 | u2"),
        ("u1 c1:a r1:a a1 u2", "u1 c1 r1 a1 | u2"),
        ("u1 c1:a,b r1:a r1:b a1", "u1 c1 r1 r1 a1"),
        ("u1 c1:a,b r1:a a1", "u1 a1"),
        ("u1 c1:a a1", "u1 a1"),
        ("r1:a a1 u2", "a1 | u2"),
        ("u1 c1:a r1:b a1", "u1 a1"),
        ("u1 c1:a r1:a c1:b a1", "u1 c1 r1 a1"),
        ("u1 c1:a c1:b r1:b a1", "u1 c1 r1 a1"),
        ("u1 c1:a a1 r1:a", "u1 a1"),
        ("u1 c1:a r1:a c1:a r1:a a1", "u1 c1 r1 c1 r1 a1"),
        ("u1 c1:a,a r1:a r1:a a1", "u1 c1 r1 r1 a1"),
        ("", ""),
    ],
)
def test_L05_a_tool_round_is_in_the_prompt_with_all_its_results_or_not_at_all(script: str, kept: str) -> None:
    units = group_history(rows_of(script))
    assert " | ".join(" ".join(row.text for row in unit) for unit in units) == kept


WORDS = st.lists(
    st.sampled_from(["u1", "c1:a", "c1:a,b", "r1:a", "r1:b", "a1", "u2", "c2:a", "r2:a", "a2"]), max_size=10
)


@settings(deadline=None)
@given(WORDS, st.integers(10 + MESSAGE_OVERHEAD_TOKENS, 120))
async def test_L05_after_any_cut_every_result_follows_its_call_and_every_call_has_all_results(
    script: list[str], budget: int
) -> None:
    turn = make_turn(*rows_of(" ".join([*script, "u9"])))
    open_calls: list[str] = []
    for message in (await build(turn, budget=budget)).messages:
        if message.role is Role.TOOL:
            assert message.tool_call_id in open_calls
            open_calls.remove(str(message.tool_call_id))
        else:
            assert open_calls == []
            open_calls = [call.id for call in message.tool_calls]
    assert open_calls == []


async def test_everything_that_fits_to_the_token_is_kept_and_one_token_less_makes_room() -> None:
    rows = [make_row("one two three four", position=number) for number in range(1, 9)]
    cost = 4 + MESSAGE_OVERHEAD_TOKENS
    fits, less = await build(make_turn(*rows), budget=8 * cost), await build(make_turn(*rows), budget=8 * cost - 1)
    assert (len(fits.messages), fits.dropped, fits.cuts.start) == (8, 0, 0)
    kept = int((8 * cost - 1) * REFILL_RATIO) // cost
    assert (len(less.messages), less.dropped, less.cuts.start) == (kept, 8 - kept, 9 - kept)
    assert less.tokens == kept * cost


async def test_sections_tools_and_the_safety_factor_take_their_part_of_the_budget() -> None:
    rows = [make_row("one two three four", position=number) for number in range(1, 9)]
    cost = 4 + MESSAGE_OVERHEAD_TOKENS
    tool = ToolSpec(name="t", description="a b", parameters={})
    fixed = 3 + MESSAGE_OVERHEAD_TOKENS + words(str(tool.parameters) + "a b") + MESSAGE_OVERHEAD_TOKENS
    budget = (8 * cost + fixed) * 2
    fits = await build(make_turn(*rows), section("a", "x y z"), factor=2, tools=[tool], budget=budget)
    less = await build(make_turn(*rows), section("a", "x y z"), factor=2, tools=[tool], budget=budget - 1)
    assert (fits.dropped, fits.tokens) == (0, budget)
    assert less.dropped > 0


async def test_an_answer_is_left_out_with_the_question_it_answers() -> None:
    rows = rows_of("u1 c1:a r1:a a1 u2 a2 u3")
    cost = 10 + MESSAGE_OVERHEAD_TOKENS
    for budget in range(cost, 8 * cost):
        prompt = await build(make_turn(*rows), budget=budget)
        assert prompt.messages[0].text in ("u1", "u2", "u3")
        assert prompt.cuts.start in (0, int(prompt.messages[0].text[1]))


@settings(deadline=None)
@given(st.lists(st.integers(0, 50), min_size=1), st.integers(-10, 300), st.integers(1, 4))
def test_what_is_kept_is_the_newest_part_and_fits_unless_it_is_what_is_answered(
    costs: list[int], room: int, asked: int
) -> None:
    kept = keep_newest(costs, room, cost=lambda cost: cost, asked=asked)
    least = min(asked, len(costs))
    assert len(kept) >= least
    assert kept == costs[len(costs) - len(kept) :]
    assert sum(kept) <= room or len(kept) == least
    if len(kept) < len(costs):
        assert len(kept) == least or sum(kept) <= room * REFILL_RATIO


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
