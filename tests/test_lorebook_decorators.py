"""The decorators of Character Card V3: which counts, what is left of the content, and what each does in a scan."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.personas.lorebook import LoreRole, Slot
from bot.personas.lorebook.decorators import PLAIN, Decorators, split_content
from bot.personas.lorebook.state import LoreRecord, LoreState
from tests.lore import contents, context, entry, scanned, why


@pytest.mark.parametrize(
    ("content", "wishes", "rest"),
    [
        ("Plain.", {}, "Plain."),
        ("@@depth 4\n\nText.\n\nMore.", {"depth": 4}, "Text.\n\nMore."),
        ("\n@@depth 4\n\n@@role user\nText.", {"depth": 4, "role": LoreRole.USER}, "Text."),
        ("@@depth 4", {"depth": 4}, ""),
        ("@@depth -2\nText.", {"depth": -2}, "Text."),
        ("@@depth\nText.", {}, "Text."),
        ("@@depth four\nText.", {}, "Text."),
        ("@@unknown 1\nText.", {}, "Text."),
        ("@@depth 1\n@@depth 2\nText.", {"depth": 1}, "Text."),
        ("@@depth x\n@@depth 2\nText.", {"depth": 2}, "Text."),
        ("Text.\n@@depth 4", {}, "Text.\n@@depth 4"),
        ("@@activate\n@@dont_activate\nT", {"activate": True, "dont_activate": True}, "T"),
        ("@@activate false\nT", {}, "T"),
        ("@@additional_keys a, b ,,c\nT", {"additional_keys": ("a", "b", "c")}, "T"),
        ("@@exclude_keys ,\nT", {}, "T"),
        ("@@position scenario\nT", {"position": Slot.SCENARIO}, "T"),
        ("@@position moon\n@@@depth 3\nT", {"depth": 3}, "T"),
        ("@@role narrator\nT", {}, "T"),
        ("@@activate_only_every 0\nT", {}, "T"),
        ("@@disable_ui_prompt system_prompt\nT", {"disable_ui_prompt": "system_prompt"}, "T"),
        ("@@disable_ui_prompt rules\nT", {}, "T"),
        ("@@instruct_depth 5\n@@@depth 5\nT", {"depth": 5}, "T"),
        ("@@is_user_icon main\nT", {}, "T"),
    ],
)
def test_decorators_at_the_top_are_read_and_taken_out(content: str, wishes: dict[str, Any], rest: str) -> None:
    assert split_content(content) == (Decorators(**wishes), rest)


@pytest.mark.parametrize(
    ("content", "wishes"),
    [
        ("@@risu_only 4\n@@@activate_only_after 4\n@@depth 5\n@@@role user", {"activate_only_after": 4, "depth": 5}),
        ("@@a\n@@@b\n@@@c\n@@@d\n@@@e\n@@@f\n@@@depth 6\n@@@depth 7", {"depth": 6}),
        ("@@depth x\n@@@depth y\n@@@depth 3", {"depth": 3}),
        ("@@depth 1\n@@@unknown\n@@@role user", {"depth": 1}),
        ("@@depth 1\n@@depth 2\n@@@role user", {"depth": 1, "role": LoreRole.USER}),
        ("@@@depth 3", {}),
    ],
)
def test_a_fallback_counts_where_all_above_it_in_its_chain_do_not(content: str, wishes: dict[str, Any]) -> None:
    assert split_content(f"{content}\nText.") == (Decorators(**wishes), "Text.")


@given(st.text(st.sampled_from("@ab depth4\n\r\t,"), max_size=60))
def test_splitting_a_content_takes_any_text(content: str) -> None:
    wishes, rest = split_content(content)
    assert rest in content
    assert wishes is PLAIN or "@@" in content


def seen(content: str, text: str = "key", **changes: Any) -> str:
    return why(scanned(text, entry("key", content=f"{content}\nText."), **changes))


@pytest.mark.parametrize(
    ("content", "assistant_count", "expected"),
    [
        ("@@activate_only_after 5", 4, "too_early"),
        ("@@activate_only_after 5", 5, "key"),
        ("@@activate_only_every 3", 5, "not_this_time"),
        ("@@activate_only_every 3", 6, "key"),
        ("@@activate_only_every 3", 0, "key"),
    ],
)
def test_an_entry_may_wait_for_what_the_persona_has_said(content: str, assistant_count: int, expected: str) -> None:
    assert seen(content, assistant_count=assistant_count) == expected


@pytest.mark.parametrize(
    ("content", "greeting", "expected"),
    [("@@is_greeting 1", 1, "key"), ("@@is_greeting 1", 0, "other_greeting"), ("@@is_greeting 1", None, "key")],
)
def test_an_entry_may_be_for_one_greeting(content: str, greeting: int | None, expected: str) -> None:
    assert seen(content, greeting=greeting) == expected


@pytest.mark.parametrize(
    ("content", "text", "expected"),
    [
        ("@@additional_keys fire, ice", "key", "no_additional_key"),
        ("@@additional_keys fire, ice", "key and ice", "key"),
        ("@@exclude_keys fire, ice", "key", "key"),
        ("@@exclude_keys fire, ice", "key and ice", "excluded"),
        ("@@activate", "nothing", "forced"),
        ("@@dont_activate", "key", "forced_off"),
        ("@@activate\n@@dont_activate", "nothing", "forced"),
        ("@@activate\n@@activate_only_after 99", "nothing", "forced"),
    ],
)
def test_decorators_force_and_forbid(content: str, text: str, expected: str) -> None:
    assert seen(content, text, explains=True) == expected


def test_what_is_switched_off_stays_off_whatever_forces_it() -> None:
    off = entry("key", content="@@activate\nText.", enabled=False, constant=True)
    assert why(scanned("key", off, explains=True)) == "disabled"


def test_conditions_on_the_text_hold_for_constant_entries_too() -> None:
    on = entry(content="@@exclude_keys fire\nText.", constant=True)
    assert [why(scanned(text, on)) for text in ("fire", "ice")] == ["excluded", "constant"]


def test_an_entry_looks_as_far_back_as_its_decorator_says() -> None:
    messages = ["key", "a", "b", "c", "d", "e"]
    assert contents(scanned(messages, entry("key", content="@@scan_depth 6\nFar."), entry("key", content="Near."))) == [
        "Far."
    ]
    assert contents(scanned(messages[:1], entry("key", content="@@scan_depth 0\nNone."))) == []


@pytest.mark.parametrize(
    ("decorator", "earlier", "text", "expected"),
    [
        ("keep_activate_after_match", True, "nothing", "kept"),
        ("keep_activate_after_match", False, "key", "key"),
        ("dont_activate_after_match", True, "key", "matched_before"),
        ("dont_activate_after_match", False, "key", "key"),
    ],
)
def test_a_first_match_may_count_for_ever(decorator: str, earlier: bool, text: str, expected: str) -> None:
    state = LoreState(records={"card/0": LoreRecord(3)} if earlier else {})
    activation = scanned(text, entry("key", content=f"@@{decorator}\nText."), state=state)
    assert why(activation) == expected
    assert activation.state.records["card/0"].at == (3 if earlier else 10)


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ("@@depth 3", (Slot.DEPTH, 3, False)),
        ("@@depth -1", (Slot.DEPTH, 0, False)),
        ("@@reverse_depth 2", (Slot.DEPTH, 2, True)),
        ("@@reverse_depth 2\n@@depth 1", (Slot.DEPTH, 1, False)),
        ("@@depth 3\n@@position personality", (Slot.PERSONALITY, 0, False)),
        ("@@position before_desc", (Slot.BEFORE_CHAR, 0, False)),
        ("@@position after_desc", (Slot.AFTER_CHAR, 0, False)),
        ("", (Slot.BEFORE_CHAR, 0, False)),
    ],
)
def test_decorators_say_where_an_entry_stands(content: str, place: tuple[Slot, int, bool]) -> None:
    active = scanned("key", entry("key", content=f"{content}\nText.", position="before_char")).entries[0]
    assert (active.slot, active.depth, active.from_oldest) == place


def test_an_entry_of_the_assistant_behind_everything_asks_to_begin_the_answer() -> None:
    made = [entry("key", content=f"@@depth {depth}\n@@role assistant\nText.") for depth in (0, 1)]
    assert [active.is_prefill for active in scanned("key", *made).entries] == [True, False]


def test_what_can_wait_goes_first_where_the_context_is_full() -> None:
    can_wait = entry("key", content="@@ignore_on_max_context\nWaits.", insertion_order=500)
    assert why(scanned("key", can_wait, is_full=True)) == "context_full"
    active = scanned("key", can_wait, entry("key", content="Stays."))
    assert {entry.content: entry.goes_first for entry in active.entries} == {"Waits.": True, "Stays.": False}
    assert contents(scanned("key", can_wait, entry("key", content="Stays."), budget=1)) == ["Stays."]


def test_a_card_may_say_which_prompts_it_would_do_without() -> None:
    activation = scanned("key", entry("key", content="@@disable_ui_prompt post_history_instructions\nText."))
    assert activation.disabled_prompts == {"post_history_instructions"}
    assert context().state.records == {}
