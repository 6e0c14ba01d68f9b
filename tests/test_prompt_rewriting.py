"""What hooks ask a model with, fitted as every request is: what they leave alone stays what it was."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.hooks import ModelInput
from bot.llm.model import ModelMessage, Role, ToolCall, ToolSpec
from bot.prompt.build import Prompt, PromptBuilder
from bot.prompt.messages import ToolExchange
from bot.prompt.sections import Hold, Slot
from bot.prompt.usage import PrefixBreak
from bot.store.images import ImageRow
from bot.store.tables import MessageKind
from bot.store.window import WindowRow
from bot.testing import make_channel, make_row, make_turn
from bot.turn import Turn
from tests.prompts import section, words

TOOL = ToolSpec(name="dice", description="Rolls.", parameters={"type": "object"})
CALL = ToolCall(id="1", name="dice", arguments="{}")
ROUND = ToolExchange(calls=(CALL,), results=("six " * 50,), text="rolling", reasoning="hm")


SECTIONS = (
    section("persona", "You are Bryony."),
    section("lore", "The tram is late.", hold=Hold.INJECTED),
    section("due", "Water the fern.", Slot.TAIL),
)
BUILDER = PromptBuilder(sections=SECTIONS, count=words, section_timeout_ms=0)


def made(role: Role, text: str, **more: Any) -> ModelMessage:
    return ModelMessage(role=role, text=text, **more)


def own(text: str) -> WindowRow:
    return make_row(text, kind=MessageKind.REPLY, conversation_id=1, author_key=None, author_name="Familiar")


async def prompt_of(turn: Turn, exchanges: tuple[ToolExchange, ...] = ()) -> Prompt:
    prompt = await BUILDER.build(turn, factor=1.3, tools=(TOOL,))
    return BUILDER.extend(prompt, exchanges, tools=(TOOL,)) if exchanges else prompt


def group_turn(**changes: Any) -> Turn:
    rows = (make_row("hello " * 9), own("hi there"), make_row("what now?"))
    group = replace(make_turn().session, channel=make_channel())
    return make_turn(*rows, session=group, **changes)


@pytest.mark.parametrize("exchanges", [(), (ROUND,), (ROUND, ROUND)])
@pytest.mark.parametrize(
    "turn",
    [
        make_turn(),
        group_turn(),
        group_turn(starter=make_row("a post about trams")),
        group_turn(budget=60),
        make_turn(make_row("hello"), own("hi"), burst=(), continues=True),
    ],
    ids=["dm", "group", "thread", "small", "continued"],
)
async def test_a_hook_that_changes_nothing_changes_nothing(turn: Turn, exchanges: tuple[ToolExchange, ...]) -> None:
    prompt = await prompt_of(turn, exchanges)
    same = BUILDER.rewrite(prompt, exchanges, BUILDER.input_of(prompt, exchanges))
    assert same.messages == prompt.messages
    assert same.usage.parts == prompt.usage.parts or turn.starter is not None  # its tokens then count to the history
    assert same.usage.used == prompt.usage.used
    assert same.cuts == prompt.cuts


async def test_images_stay_with_the_messages_that_a_hook_leaves_alone() -> None:
    row = make_row("look")
    image = ImageRow(id=1, message_id=row.id, media_type="image/png", data=b"png")
    prompt = await prompt_of(make_turn(row, images=(image,)))
    given_to_hook = BUILDER.input_of(prompt, ())
    said = made(Role.USER, "And mind the gap.")
    more = BUILDER.rewrite(prompt, (), replace(given_to_hook, messages=(*given_to_hook.messages, said)))
    assert [len(message.images) for message in more.messages] == [0, 1, 0]
    assert more.messages[-1].text == "And mind the gap.\n\nWater the fern."


async def test_a_new_system_message_takes_the_place_of_all_that_is_stable() -> None:
    prompt = await prompt_of(group_turn())
    wanted = replace(given_of(prompt), messages=(made(Role.SYSTEM, "Be a gull."), *given_of(prompt).messages[1:]))
    made_of_it = BUILDER.rewrite(prompt, (), wanted)
    assert [message.text for message in made_of_it.messages if message.role is Role.SYSTEM] == ["Be a gull."]
    assert made_of_it.messages[1:] == prompt.messages[1:]
    assert (made_of_it.usage.parts["persona"], made_of_it.usage.parts["lore"]) == (0, 0)
    assert made_of_it.usage.parts["system"] > 0


def given_of(prompt: Prompt) -> ModelInput:
    return BUILDER.input_of(prompt, ())


async def test_a_hook_that_words_the_last_message_anew_has_the_tail_in_its_hands() -> None:
    prompt = await prompt_of(group_turn())
    *before, last = given_of(prompt).messages
    assert last.text.endswith("Water the fern.")
    wanted = replace(given_of(prompt), messages=(*before, made(Role.USER, "Alice: what now, then?")))
    assert BUILDER.rewrite(prompt, (), wanted).messages[-1].text == "Alice: what now, then?"


async def test_results_without_their_call_and_calls_without_results_are_left_out() -> None:
    prompt = await prompt_of(make_turn())
    asked = given_of(prompt).messages[-1]
    lonely = (
        made(Role.TOOL, "six", tool_call_id="9"),
        made(Role.ASSISTANT, "", tool_calls=(CALL,)),
        made(Role.ASSISTANT, "earlier"),
        made(Role.ASSISTANT, "", tool_calls=(CALL,)),
        made(Role.TOOL, "four", tool_call_id="1", name="dice"),
    )
    sent = BUILDER.rewrite(prompt, (), ModelInput(messages=(*lonely, asked))).messages
    assert [(message.role, message.text) for message in sent[:-1]] == [
        (Role.ASSISTANT, "earlier"),
        (Role.ASSISTANT, ""),
        (Role.TOOL, "four"),
    ]


async def test_the_tail_never_gets_between_a_call_and_its_result() -> None:
    prompt = await prompt_of(make_turn(), (ROUND,))
    given_to_hook = BUILDER.input_of(prompt, (ROUND,))
    wanted = replace(given_to_hook, messages=(*given_to_hook.messages, made(Role.USER, "Hurry.")))
    roles = [message.role for message in BUILDER.rewrite(prompt, (ROUND,), wanted).messages]
    assert roles == [Role.SYSTEM, Role.USER, Role.ASSISTANT, Role.TOOL, Role.USER]


async def test_a_broken_prefix_is_put_down_to_the_hook() -> None:
    prompt = await prompt_of(make_turn())
    later = await prompt_of(make_turn(*prompt.basis.turn.history, own("hi"), make_row("and?"), sent=prompt.sent))
    assert later.usage.prefix_break is None
    wanted = replace(given_of(later), messages=given_of(later).messages[-1:])
    assert BUILDER.rewrite(later, (), wanted).usage.prefix_break is PrefixBreak.HOOK


ROLES = st.sampled_from([Role.USER, Role.ASSISTANT, Role.SYSTEM, Role.TOOL])
MADE = st.builds(
    lambda role, count, calls: made(role, "word " * count, tool_calls=calls if role is Role.ASSISTANT else ()),
    ROLES,
    st.integers(0, 400),
    st.sampled_from([(), (CALL,)]),
)


@given(st.lists(MADE, max_size=30), st.integers(200, 1_500))
async def test_whatever_a_hook_asks_fits_as_long_as_its_system_message_does(
    messages: list[ModelMessage], budget: int
) -> None:
    prompt = await prompt_of(make_turn(budget=budget))
    sent = BUILDER.rewrite(prompt, (), ModelInput(messages=tuple(messages)))
    firm = sent.basis.frame.firm
    assert sent.counted <= max(int(budget / 1.3), firm + 128)
