"""The stages of a request that does not fit, one after the other, and what none of them ever takes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from bot.llm.model import ModelMessage, Role
from bot.overrides import SessionSettings
from bot.personas.card import PersonaCard
from bot.personas.library import Persona
from bot.prompt.build import Prompt, PromptBuilder
from bot.prompt.draft import MESSAGE_OVERHEAD_TOKENS
from bot.prompt.pruning import LEAST_INJECTED_CHARS, REMOVED_NOTE, STAGES
from bot.prompt.sections import SECTIONS, Section, Slot
from bot.prompt.tool_results import HEAD_CHARS, LONG_RESULT_CHARS
from bot.settings import PlaceSettings
from bot.store.tables import MessageKind
from bot.store.window import WindowRow
from bot.testing import make_row, make_turn
from tests.prompts import injected, words

INJECTED_BUDGET = 60
MIRA = Persona(
    id="mira",
    card=PersonaCard(name="Mira", description="A lighthouse keeper.", example_messages="Aye. " * 30),
    source_path=Path("mira"),
)
LORE = "lore " * 100
NEWS = "news " * 200


ALL = (*SECTIONS, injected("lore", LORE), injected("news", NEWS))


def said(text: str) -> WindowRow:
    return make_row(text)


def answered(row: WindowRow, *results: str, answer: str = "done") -> list[WindowRow]:
    """A message with a tool round that had these results, and the answer, all at one position."""
    facts: dict[str, Any] = {"position": row.position, "conversation_id": 1, "author_key": None, "persona_id": "mira"}
    calls = tuple({"id": f"c{row.id}-{number}", "name": "look", "arguments": "{}"} for number in range(len(results)))
    rounds = [make_row("", kind=MessageKind.TOOL, tool_calls=calls, **facts)] if results else []
    rounds += [
        make_row(result, kind=MessageKind.TOOL, tool_call_id=call["id"], tool_name="look", **facts)
        for call, result in zip(calls, results, strict=True)
    ]
    return [row, *rounds, make_row(answer, kind=MessageKind.REPLY, **facts)]


LONG = "result " * 400  # 2,800 characters
SHORT = "result " * 30


def long_talk() -> list[WindowRow]:
    """Two old rounds and a newer one, talk before and after, and a last question."""
    rows = [row for number in range(4) for row in answered(said(f"old{number} " + "word " * 30))]
    rows += answered(said("first round?"), LONG, SHORT)
    rows += answered(said("second round?"), LONG)
    rows += [row for number in range(4) for row in answered(said(f"new{number} " + "word " * 30))]
    rows += answered(said("third round?"), LONG)
    return [*rows, said("the last question?")]


def in_settings(**values: Any) -> SessionSettings:
    return SessionSettings(values=PlaceSettings(**values), chain={})


async def build(
    rows: Sequence[WindowRow], budget: int, sections: Iterable[Section] = ALL, **changes: Any
) -> tuple[Prompt, tuple[str, ...]]:
    """The prompt, and the stages that it took."""
    facts: dict[str, Any] = {"persona": MIRA, "persona_id": "mira", "persona_name": "Mira", "window": 100_000}
    turn = make_turn(*rows, **{**facts, "budget": budget, **changes})
    builder = PromptBuilder(
        sections=tuple(sections), count=words, section_timeout_ms=0, injected_budget=INJECTED_BUDGET
    )
    with capture_logs() as logs:
        prompt = await builder.build(turn, factor=1)
    return prompt, next((entry["stages"] for entry in logs if entry["event"] == "prompt.pruned"), ())


def texts(prompt: Prompt, role: Role) -> list[str]:
    return [message.text for message in prompt.messages if message.role is role]


def everything(prompt: Prompt) -> str:
    return "\n".join(message.text for message in prompt.messages)


async def test_the_less_room_there_is_the_more_stages_it_takes_each_only_when_the_ones_before_were_not_enough() -> None:
    rows = [*answered(said("huge " + "word " * 900)), *long_talk()]
    whole, none = await build(rows, 100_000)
    assert none == ()
    seen: list[tuple[str, ...]] = []
    for budget in range(whole.tokens, 100, -5):
        prompt, stages = await build(rows, budget)
        assert prompt.tokens <= budget
        assert "A lighthouse keeper." in prompt.messages[0].text
        assert prompt.messages[-1].text.startswith("the last question?")
        if stages not in seen:
            seen.append(stages)
    names = tuple(stage.__name__ for stage in STAGES)
    ends = [number for number in range(len(names) + 1) if names[:number][-1:] != ("shorten_thoughts",)]
    assert seen == [names[:number] for number in ends]  # nothing was thought


async def test_1_what_was_injected_shrinks_in_proportion_and_keeps_200_characters_at_least() -> None:
    rows = [said("hello")]
    whole, _ = await build(rows, 100_000)
    assert (whole.usage.parts["lore"], whole.usage.parts["news"]) == (100, 200)  # above its budget, where there is room
    prompt, stages = await build(rows, whole.tokens - 1)
    assert stages == ("shrink_injected",)
    assert (prompt.usage.parts["lore"], prompt.usage.parts["news"]) == (LEAST_INJECTED_CHARS // 5, 200 * 60 // 300)
    assert "Aye. Aye." in prompt.messages[0].text


async def test_1_what_was_injected_and_is_within_its_budget_or_stable_is_left_alone() -> None:
    constant = replace(injected("constant", "constant " * 500), slot=Slot.STABLE)
    sections = (injected("lore", "lore " * 50), constant)
    rows = [*long_talk()]
    whole, _ = await build(rows, 100_000, sections)
    prompt, stages = await build(rows, whole.tokens - 1, sections)
    assert stages[:2] == ("shrink_injected", "shorten_results")
    assert (prompt.usage.parts["lore"], prompt.usage.parts["constant"]) == (50, 500)


async def test_2_long_results_keep_their_first_500_characters_and_those_of_the_last_round_everything() -> None:
    rows = long_talk()
    whole, _ = await build(rows, 100_000, SECTIONS)
    prompt, stages = await build(rows, whole.tokens - 1, SECTIONS)
    assert stages == ("shrink_injected", "shorten_results")
    first, short, second, last = texts(prompt, Role.TOOL)
    note = f"\n[{len(LONG) - HEAD_CHARS} characters left out]"
    assert first == second == LONG[:HEAD_CHARS] + note
    assert (short, last) == (SHORT, LONG)
    assert len(SHORT) < LONG_RESULT_CHARS < len(LONG)


async def test_3_old_rounds_become_a_line_where_that_is_shorter_and_the_last_stays() -> None:
    tiny = [replace(row, tool_name=row.tool_name and "a name of many words") for row in answered(said("tiny?"), "7")]
    rows = [*tiny, *answered(said("round?"), LONG, SHORT), *answered(said("last?"), SHORT)]
    rows += [said("the last question?")]
    whole, _ = await build(rows, 100_000, SECTIONS)
    cut, _ = await build(rows, whole.tokens - 1, SECTIONS)
    prompt, stages = await build(rows, cut.tokens - 1, SECTIONS)
    assert stages[-1] == "fold_tool_groups"
    lines = [text for text in texts(prompt, Role.ASSISTANT) if text.startswith("[earlier tool call]")]
    line = f"[earlier tool call] look → {' '.join(LONG.split())[:100]}"
    assert lines == [f"{line}\n{line}"]
    assert texts(prompt, Role.TOOL) == ["7", SHORT]  # a line for the first would be longer than itself
    assert prompt.dropped == 0


async def test_the_examples_go_before_any_message_and_come_back_after_the_next_compaction() -> None:
    rows = [row for number in range(6) for row in answered(said(f"q{number} " + "word " * 30))] + [said("and?")]
    whole, _ = await build(rows, 100_000, SECTIONS)
    prompt, stages = await build(rows, whole.tokens - 1, SECTIONS)
    assert stages[-1] == "leave_out_examples"
    assert (prompt.cuts.without_examples, prompt.dropped) == (True, 0)
    assert "Aye." not in prompt.messages[0].text
    again, _ = await build(rows, 100_000, SECTIONS, cuts=prompt.cuts)
    assert again.messages == prompt.messages
    later, _ = await build(rows, 100_000, SECTIONS)  # a compaction forgets the cuts
    assert "Aye." in later.messages[0].text


@pytest.mark.parametrize("behind", [0, 1, 9], ids=["right before", "one talk ago", "long ago"])
async def test_no_stage_touches_the_last_round_whatever_comes_after_it(behind: int) -> None:
    """Only where it and the question alone do not fit are both shortened."""
    old = [row for number in range(6) for row in answered(said(f"q{number} " + "word " * 30), LONG)]
    last = answered(said("the round?"), LONG, SHORT)
    rows = [*old, *last, *(row for number in range(behind) for row in answered(said(f"l{number} " + "word " * 30)))]
    asked = said("and?")
    whole, _ = await build([*rows, asked], 100_000)
    least = await build([*last, asked], 100_000, SECTIONS)
    needed = least[0].tokens - least[0].basis.frame.examples
    seen: set[tuple[str, ...]] = set()
    for budget in range(whole.tokens, needed + words(REMOVED_NOTE) + MESSAGE_OVERHEAD_TOKENS, -10):
        prompt, stages = await build([*rows, asked], budget)
        assert texts(prompt, Role.TOOL)[-2:] == [LONG, SHORT], stages
        assert prompt.tokens <= budget
        assert prompt.messages[-1].text.startswith("and?")
        assert is_in_order(prompt.messages)
        again, _ = await build([*rows, asked], budget, cuts=prompt.cuts)
        assert again.messages[:-1] == prompt.messages[:-1]
        seen.add(stages)
    assert "drop_injected" in max(seen, key=len)
    assert len(seen) > 4
    prompt, stages = await build([*rows, asked], needed - 1)
    assert stages[-1] == "shorten_asked"
    assert [text[:6] for text in texts(prompt, Role.TOOL)] == ["result", "result"]


async def test_a_round_that_has_become_the_last_since_is_sent_in_full() -> None:
    rows = [*answered(said("first?"), LONG), *answered(said("second?"), LONG), said("and?")]
    whole, _ = await build(rows, 100_000, SECTIONS)
    prompt, _ = await build(rows, whole.tokens - 1, SECTIONS)
    assert len(prompt.cuts.results) == 1
    without, _ = await build([*rows[:4], rows[-1]], 100_000, SECTIONS, cuts=prompt.cuts)
    assert texts(without, Role.TOOL) == [LONG]


async def test_what_is_left_out_behind_the_last_round_stays_out_until_more_has_to_go() -> None:
    last = answered(said("the round?"), SHORT)
    talk = [row for number in range(9) for row in answered(said(f"l{number} " + "word " * 30))]
    whole, _ = await build([*last, *talk, said("and?")], 100_000, SECTIONS)
    budget = whole.tokens - whole.basis.frame.examples - 60
    prompt, _ = await build([*last, *talk, said("and?")], budget, SECTIONS)
    first, gap = prompt.cuts.start, prompt.cuts.gap
    assert (first, gap and gap[0]) == (last[0].position, last[0].position + 1)
    assert prompt.cuts.whole_from == rows_shown(prompt, talk)[0].position
    more = [row for number in range(2) for row in answered(said(f"m{number} " + "word " * 30))]
    later, _ = await build([*last, *talk, *more, said("and?")], budget, SECTIONS, cuts=prompt.cuts)
    assert later.cuts.gap == gap
    assert later.messages[: len(prompt.messages) - 1] == prompt.messages[:-1]
    newer = answered(said("another round?"), SHORT)
    most, _ = await build([*last, *talk, *more, *more, *newer, said("and?")], budget, SECTIONS, cuts=later.cuts)
    assert (texts(most, Role.TOOL), most.cuts.gap) == ([SHORT], None)
    assert "the round?" not in texts(most, Role.USER)


def rows_shown(prompt: Prompt, rows: Iterable[WindowRow]) -> list[WindowRow]:
    shown = texts(prompt, Role.USER)
    return [row for row in rows if row.text in shown]


async def test_5_where_nothing_else_helps_the_model_is_told_of_what_is_missing_and_what_was_injected_is_gone() -> None:
    rows = [row for number in range(8) for row in answered(said(f"q{number} " + "word " * 30))] + [said("w " * 100)]
    bare, _ = await build([said("hi")], 100_000)
    budget = bare.basis.frame.firm + 160
    prompt, stages = await build(rows, budget)
    assert stages[-1] == "drop_injected"
    assert prompt.messages[-1].text.endswith(f"\n\n{REMOVED_NOTE}")
    assert ("lore" in everything(prompt), "news" in everything(prompt)) == (False, False)
    few, stages = await build(rows[-5:], budget)
    assert (stages[-1], few.dropped) == ("drop_injected", 4)
    assert REMOVED_NOTE not in everything(few)


@settings(deadline=None, max_examples=60)
@given(st.data(), st.integers(300, 1_500))
async def test_whatever_is_said_the_request_fits_and_keeps_rounds_whole_and_the_question(
    data: st.DataObject, budget: int
) -> None:
    rows: list[WindowRow] = []
    for _ in range(data.draw(st.integers(0, 6))):
        results = data.draw(st.lists(st.sampled_from([LONG, SHORT, "7"]), max_size=2))
        rows += answered(said("word " * data.draw(st.integers(1, 60))), *results)
    question = "what? " * data.draw(st.integers(1, 40))
    prompt, _ = await build([*rows, said(question)], budget)
    assert prompt.tokens <= budget
    assert "A lighthouse keeper." in prompt.messages[0].text
    assert prompt.messages[-1].text.startswith("what?")
    assert is_in_order(prompt.messages)
    again, _ = await build([*rows, said(question)], budget, cuts=prompt.cuts)
    assert again.messages[: len(prompt.messages) - 1] == prompt.messages[:-1]  # decisions are sticky


def is_in_order(messages: Iterable[ModelMessage]) -> bool:
    waiting: list[str] = []
    for message in messages:
        if message.role is Role.TOOL:
            if message.tool_call_id not in waiting:
                return False
            waiting.remove(str(message.tool_call_id))
        elif waiting:
            return False
        else:
            waiting = [call.id for call in message.tool_calls]
    return not waiting


def pruned_by_position(**values: Any) -> SessionSettings:
    return in_settings(context_pruning={"enabled": True, "min_prunable_tool_chars": 0, **values})


TRIM = {"max_chars": 100, "head_chars": 20, "tail_chars": 10}
BIG = "0123456789" * 50
TRIMMED = BIG[:20] + "\n...\n" + BIG[-10:]
CLEARED = "[Old tool result content cleared]"


@pytest.mark.parametrize(
    ("values", "window", "shown"),
    [
        ({"soft_trim": TRIM}, 100_000, [TRIMMED, TRIMMED, BIG]),
        ({"soft_trim": TRIM, "enabled": False}, 9_999, [BIG, BIG, BIG]),
        ({"soft_trim": TRIM, "soft_trim_ratio": 1.0}, 100_000, [BIG, BIG, BIG]),
        ({"soft_trim": TRIM, "keep_last_assistants": 4}, 100_000, [TRIMMED, BIG, BIG]),
        ({"soft_trim": TRIM, "keep_last_assistants": 9}, 100_000, [BIG, BIG, BIG]),
        ({"soft_trim": TRIM, "keep_last_assistants": 0}, 100_000, [TRIMMED, TRIMMED, BIG]),  # the last round stays
        ({"soft_trim": {**TRIM, "max_chars": 500}}, 100_000, [BIG, BIG, BIG]),
        ({"soft_trim": TRIM, "hard_clear_ratio": 0}, 100_000, [CLEARED, CLEARED, BIG]),
        (
            {"soft_trim": TRIM, "hard_clear_ratio": 0, "hard_clear": {"placeholder": "gone"}},
            9_999,
            ["gone", "gone", BIG],
        ),
        ({"soft_trim": TRIM, "hard_clear_ratio": 0, "hard_clear": {"enabled": False}}, 9_999, [TRIMMED, TRIMMED, BIG]),
        ({"soft_trim": TRIM, "hard_clear_ratio": 0, "min_prunable_tool_chars": 999}, 9_999, [TRIMMED, TRIMMED, BIG]),
    ],
)
async def test_by_position_old_results_are_trimmed_above_one_fill_and_cleared_above_another_even_with_room(
    values: dict[str, Any], window: int, shown: list[str]
) -> None:
    rows = [row for number in range(3) for row in answered(said(f"q{number}"), BIG)]
    rows += [*answered(said("thanks")), said("and?")] if values.get("keep_last_assistants") != 4 else [said("and?")]
    ratios = {"soft_trim_ratio": 0.0, "hard_clear_ratio": 1.0, "keep_last_assistants": 3}
    chosen = pruned_by_position(**{**ratios, **values})
    prompt, _ = await build(rows, 100_000, SECTIONS, settings=chosen, window=window)
    assert texts(prompt, Role.TOOL) == shown


async def test_by_position_results_are_cleared_oldest_first_until_the_fill_is_below() -> None:
    rows = [row for number in range(6) for row in answered(said(f"q{number}"), "result " * 100)] + [said("and?")]
    soft = {"soft_trim_ratio": 0.0, "keep_last_assistants": 1, "soft_trim": {"max_chars": 9_999}}
    chosen = pruned_by_position(**soft, hard_clear_ratio=0.5)
    prompt, _ = await build(rows, 100_000, SECTIONS, settings=chosen, window=1_000, reserve=0)
    results = texts(prompt, Role.TOOL)
    cleared = [text == CLEARED for text in results]
    assert cleared == sorted(cleared, reverse=True)
    assert 0 < sum(cleared) < 5
    assert prompt.usage.used < 500 <= prompt.usage.used + 95
    again, _ = await build(rows, 100_000, SECTIONS, settings=chosen, window=1_000, reserve=0, cuts=prompt.cuts)
    assert again.messages == prompt.messages
