"""What goes first when a request does not fit, what never goes, and that the next request leaves out the same."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from bot.overrides import SessionSettings
from bot.prompt.build import NoRoom, Prompt, PromptBuilder
from bot.prompt.draft import MESSAGE_OVERHEAD_TOKENS
from bot.prompt.pruning import REFILL_RATIO
from bot.prompt.sections import Section
from bot.settings import PlaceSettings
from bot.store.tables import MessageKind
from bot.testing import make_row, make_turn
from bot.turn import Turn
from tests.prompts import section, words


async def build(
    turn: Turn, *sections: Section, factor: float = 1.0, budget: int | None = None, retry_budget: int | None = None
) -> Prompt:
    turn = turn if budget is None else replace(turn, budget=budget)
    builder = PromptBuilder(sections=sections, count=words, section_timeout_ms=0)
    return await builder.build(turn, factor=factor, budget=retry_budget)


async def test_the_whole_burst_is_kept_with_what_was_said_in_between() -> None:
    rows = [make_row(f"{number} " + "word " * 20, position=number, id=number) for number in range(1, 7)]
    turn = make_turn(*rows, burst=(3, 4, 6))
    prompt = await build(turn, budget=4 * 30)
    assert [message.text[0] for message in prompt.messages] == ["3", "4", "5", "6"]


LONG = " ".join(f"w{number}" for number in range(5_000))


def last_line(prompt: Prompt) -> str:
    return prompt.messages[-1].text


async def test_a_message_larger_than_the_room_is_shortened_to_its_beginning_and_its_end_with_a_note() -> None:
    text = f"what is this? {LONG} [end of file]"
    prompt = await build(make_turn(make_row("old"), make_row(text)), section("a", "who you are"), budget=800)
    assert prompt.messages[0].text == "who you are"
    line = last_line(prompt)
    assert line.startswith("what is this? w0 w1 ")
    assert line.endswith(" w4999 [end of file]")
    (left_out,) = re.findall(r"\n\[(\d+) characters left out\]\n", line)
    assert len(line) == len(text) - int(left_out) + len(f"\n[{left_out} characters left out]\n")
    assert 0.6 * 800 < prompt.tokens <= REFILL_RATIO * 800 + 10


async def test_a_message_that_is_too_long_is_shortened_before_others_go_for_its_sake() -> None:
    before = [make_row(f"before{number} " + "word " * 20) for number in range(12)]
    asked = make_row(f"what is this? {LONG} [end of file]")
    prompt = await build(make_turn(*before, asked), budget=2_000)
    assert prompt.dropped == 0
    assert [message.text[:6] for message in prompt.messages[:12]] == ["before"] * 12
    assert last_line(prompt).startswith("what is this? w0 ")
    assert last_line(prompt).endswith(" w4999 [end of file]")
    assert 1_300 < prompt.tokens <= REFILL_RATIO * 2_000
    answer = make_row("a list", kind=MessageKind.REPLY, conversation_id=1, position=asked.position)
    later = [make_row(f"later{number} " + "word " * 20) for number in range(24)]
    again = await build(make_turn(*before, asked, answer, later[0], cuts=prompt.cuts), budget=2_000)
    assert again.messages[:13] == prompt.messages, "what was cut once is cut the same way"
    full = await build(make_turn(*before, asked, answer, *later, cuts=prompt.cuts), budget=2_000)
    assert full.dropped == 0, "what is answered already is shortened more"
    assert (full.messages[:12], full.messages[12].text[:13]) == (prompt.messages[:12], "what is this?")
    assert full.cuts.shortened[asked.id] < prompt.cuts.shortened[asked.id]


@pytest.mark.parametrize(
    ("size", "asked", "is_cut"),
    [(500, False, False), (501, False, True), (1000, True, False), (1001, True, True)],
    ids=["a quarter of the room", "more than that", "half the room and asked", "more than that and asked"],
)
async def test_what_is_shortened_for_the_sake_of_others_takes_much_of_the_room(
    size: int, asked: bool, is_cut: bool
) -> None:
    sizes = [100] * 18
    sizes.insert(18 if asked else 9, size)
    rows = [make_row("word " * (size - MESSAGE_OVERHEAD_TOKENS)) for size in sizes]
    prompt = await build(make_turn(*rows), budget=2_000)
    assert bool(prompt.cuts.shortened) is is_cut


async def test_of_a_burst_the_small_messages_stay_whole_and_the_large_ones_share_what_is_left() -> None:
    rows = [make_row(text) for text in (LONG, "look at this", LONG, "what do you say?")]
    prompt = await build(make_turn(*rows, burst=tuple(row.id for row in rows)), budget=2_000)
    first, look, third, question = (message.text for message in prompt.messages)
    assert (look, question) == ("look at this", "what do you say?")
    assert first == third
    assert 500 < words(first) < 750


async def test_of_a_flood_in_a_small_window_the_oldest_go_and_what_is_left_can_be_read() -> None:
    rows = [make_row(f"m{number} " + "word " * 40) for number in range(100)]
    prompt = await build(make_turn(*rows, burst=tuple(row.id for row in rows)), budget=1_000)
    assert prompt.tokens <= 1_000
    assert 10 < len(prompt.messages) < 100
    assert last_line(prompt).startswith("m99 word word")


@settings(deadline=None)
@given(st.lists(st.integers(1, 400), min_size=1, max_size=8), st.integers(150, 900), st.integers(1, 4))
async def test_whatever_people_send_the_request_fits(sizes: list[int], budget: int, asked: int) -> None:
    rows = [make_row(" ".join(["word"] * size)) for size in sizes]
    turn = make_turn(*rows, burst=tuple(row.id for row in rows[-asked:]))
    prompt = await build(turn, budget=budget)
    assert prompt.tokens <= budget
    assert prompt.tokens == sum(words(message.text) + MESSAGE_OVERHEAD_TOKENS for message in prompt.messages)


async def test_the_next_request_shortens_the_same_message_the_same_way() -> None:
    file, answer = make_row(f"what is this? {LONG}"), make_row("a list", kind=MessageKind.REPLY, conversation_id=1)
    turn = make_turn(file, budget=2_000)
    first = await build(turn)
    answer = replace(answer, position=file.position)
    later = make_turn(file, answer, make_row("which words?"), budget=2_000, cuts=first.cuts)
    second = await build(later)
    assert second.messages[0] == first.messages[0]
    assert [message.text for message in second.messages[1:]] == ["a list", "which words?"]
    assert second.cuts == first.cuts


async def test_a_persona_that_leaves_no_room_is_an_error_that_shows_the_sum() -> None:
    turn = make_turn(make_row(LONG), persona_name="Mira", window=4096, reserve=512, budget=3072)
    with pytest.raises(NoRoom) as caught:
        await build(turn, section("a", "card " * 1_500), factor=2)
    for figure in ("'Mira'", "3,012", "3,072", "4,096", "512", "CONTEXT_TOKENS"):
        assert figure in str(caught.value)
    assert (await build(make_turn(make_row("hi"), budget=20), section("a", "card"))).tokens <= 20


async def test_the_one_retry_is_tried_however_small_the_window_that_the_server_named() -> None:
    prompt = await build(make_turn(make_row(f"the question {LONG}")), section("a", "card"), retry_budget=-900)
    assert last_line(prompt).startswith("the question w0")


async def test_a_history_limit_cuts_once_for_several_turns_and_tells_what_it_left_out() -> None:
    rows = [make_row(str(number)) for number in range(9)]
    limited = SessionSettings(values=PlaceSettings(history_limit=8), chain={})
    prompt = await build(make_turn(*rows, settings=limited))
    assert [message.text for message in prompt.messages] == list("345678")
    assert (prompt.dropped, prompt.cuts.start) == (3, rows[3].position)
    full = await build(make_turn(*rows[1:], settings=limited))
    assert (len(full.messages), full.dropped) == (8, 0)


async def test_the_log_tells_token_counts_and_what_went_at_debug_level_and_nothing_that_was_said() -> None:
    rows = [make_row(f"secret{number} " + "w1 " * 250) for number in range(12)] + [make_row(f"secret {LONG}")]
    with capture_logs() as logs:
        prompt = await build(make_turn(*rows), section("a", "secret rules"), budget=2_000)
        await build(make_turn(make_row("secret")))
    assert [(entry["event"], entry["log_level"]) for entry in logs] == [
        ("prompt.built", "debug"), ("prompt.pruned", "debug"), ("prompt.built", "debug"),
    ]  # fmt: skip
    built, pruned, _ = logs
    assert built["sections"] + built["tools"] + built["history"] == prompt.counted
    assert (built["room"], built["messages"], built["images"]) == (2_000 - 2 - MESSAGE_OVERHEAD_TOKENS, 3, 0)
    assert (pruned["dropped"], pruned["start"], pruned["shortened"]) == (
        10, rows[10].position, [rows[12].id],
    )  # fmt: skip
    assert "secret" not in str(logs)
    assert "w1" not in str(logs)
