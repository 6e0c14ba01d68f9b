"""What a model thought before it called tools: it goes back whole where there is room, and no shorter than it must."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from bot.llm.model import Role, ToolCall, ToolSpec
from bot.prompt.build import Prompt, PromptBuilder
from bot.prompt.messages import ToolExchange
from bot.prompt.thoughts import NEWEST_CHARS, OLDER_CHARS
from bot.testing import make_row, make_turn

BUILDER = PromptBuilder(sections=(), count=len, section_timeout_ms=0)
TOOL = ToolSpec(name="look", description="Looks. " * 20, parameters={"type": "object"})
PLENTY = 100_000


def rounds(*lengths: int) -> list[ToolExchange]:
    """Tool rounds with thoughts of so many characters before them."""
    return [
        ToolExchange(
            calls=(ToolCall(id=f"c{at}", name="look", arguments="{}"),),
            results=("seen",),
            reasoning="abcde"[at] * chars,
        )
        for at, chars in enumerate(lengths)
    ]


async def asked(budget: int, exchanges: Sequence[ToolExchange], *, tools: Sequence[ToolSpec] = ()) -> Prompt:
    turn = make_turn(make_row("what is there?"), window=2 * PLENTY, budget=budget)
    return BUILDER.extend(await BUILDER.build(turn, factor=1), exchanges, tools=tools)


def thoughts(prompt: Prompt) -> list[str]:
    return [message.reasoning or "" for message in prompt.messages if message.role is Role.ASSISTANT]


@pytest.mark.parametrize(
    ("lengths", "over", "left"),
    [
        ((500, 500, 500), 0, (500, 500, 500)),
        ((500, 500, 500), 1, (200, 500, 500)),
        ((500, 500, 500), 300, (200, 500, 500)),
        ((500, 500, 500), 301, (200, 200, 500)),
        ((500, 500, 500), 600, (200, 200, 500)),
        ((500, 500, 500), 601, (200, 200, 400)),
        ((500, 500, 500), 700, (200, 200, 400)),
        ((201, 401), 1, (200, 401)),
        ((201, 401), 2, (200, 400)),
        ((200, 401), 1, (200, 400)),
        ((0, 401, 0), 1, (0, 400, 0)),
        ((500,), 100, (400,)),
    ],
)
async def test_25_long_thoughts_are_cut_oldest_first_and_no_more_than_it_takes(
    lengths: tuple[int, ...], over: int, left: tuple[int, ...]
) -> None:
    exchanges = rounds(*lengths)
    whole = await asked(PLENTY, exchanges)
    prompt = await asked(whole.tokens - over, exchanges)
    assert tuple(map(len, thoughts(prompt))) == left
    assert all(one.reasoning.startswith(kept) for one, kept in zip(exchanges, thoughts(prompt), strict=True))
    assert prompt.tokens == whole.tokens - sum(lengths) + sum(left)
    assert sum(prompt.usage.parts.values()) == prompt.usage.used


async def test_25_where_that_is_not_enough_old_rounds_become_lines_and_the_newest_keeps_its_thought() -> None:
    exchanges = rounds(OLDER_CHARS, NEWEST_CHARS)
    whole = await asked(PLENTY, exchanges)
    prompt = await asked(whole.tokens - 1, exchanges)
    assert [*map(len, thoughts(prompt))] == [0, NEWEST_CHARS]
    assert "[earlier tool call] look → seen" in str(prompt.messages)


async def test_25_what_was_cut_stays_cut_within_the_turn_and_is_no_business_of_the_next() -> None:
    exchanges = rounds(500, 500)
    whole = await asked(PLENTY, exchanges, tools=(TOOL,))
    cut = await asked(whole.tokens - 1, exchanges, tools=(TOOL,))
    again = BUILDER.extend(cut, exchanges, tools=())
    assert [*map(len, thoughts(again))] == [*map(len, thoughts(cut))] == [OLDER_CHARS, 500]
    assert again.messages == cut.messages
    assert (cut.cuts.thoughts, cut.cuts.lasting().thoughts) == ({-1: OLDER_CHARS}, {})
