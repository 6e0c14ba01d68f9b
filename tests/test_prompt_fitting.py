"""What of a history goes into a prompt that is too small for all of it: the newest part, in whole tool rounds."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.llm.model import Role, ToolSpec
from bot.prompt.draft import MESSAGE_OVERHEAD_TOKENS
from bot.prompt.lines import group_history
from bot.prompt.pruning import REFILL_RATIO, keep_newest
from bot.store.tables import MessageKind
from bot.store.window import WindowRow
from bot.testing import make_row, make_turn
from tests.prompts import build, section, words


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
