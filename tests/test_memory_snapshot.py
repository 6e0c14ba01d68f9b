"""Where the past is cut: what is kept verbatim, and what is never split."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.memory.snapshot import MOST_KEPT_RATIO, cut_of, size_of
from bot.prompt.draft import MESSAGE_OVERHEAD_TOKENS
from bot.prompt.lines import group_history
from bot.settings import Summary
from bot.store.tables import MessageKind
from bot.store.window import WindowRow
from bot.testing import make_row

WINDOW = 1_000


def summary(**facts: Any) -> Summary:
    return Summary.model_validate({"keep_recent": 1, "keep_tokens": 0, **facts})


def row(position: int, tokens: int = 10, **facts: Any) -> WindowRow:
    """`tokens` are those that it takes in a prompt."""
    words = tokens - MESSAGE_OVERHEAD_TOKENS
    return make_row(f"m{position}", id=position, position=position, tokens=words, **facts)


def said(position: int, author: str = "alice", tokens: int = 10, *, addressed: bool = True) -> WindowRow:
    return row(position, tokens, author_key=f"fake:{author}", author_name=author.title(), addressed=addressed)


def reply(position: int, tokens: int = 10) -> WindowRow:
    facts: dict[str, Any] = {"author_key": None, "author_name": "Mira", "addressed": False, "conversation_id": 1}
    where = {"id": 1_000 + position, "position": position}
    words = tokens - MESSAGE_OVERHEAD_TOKENS
    return make_row("r", **where, tokens=words, kind=MessageKind.REPLY, persona_id="mira", **facts)


def kept(rows: Sequence[WindowRow], window: int = WINDOW, before: int | None = None, **facts: Any) -> list[int]:
    """The positions that stay verbatim."""
    units = group_history(rows)
    return [unit[0].position for unit in units[cut_of(units, summary(**facts), window, before=before) :]]


TALK = [each for position in range(1, 11) for each in (said(position), reply(position))]


@pytest.mark.parametrize(
    ("rows", "how", "positions"),
    [
        (TALK, {}, [10]),
        (TALK, {"keep_recent": 3}, [9, 10]),
        (TALK, {"keep_recent": 4}, [9, 10]),
        (TALK, {"keep_tokens": 50}, [8, 9, 10]),
        (TALK, {"keep_recent": 4, "keep_tokens": 50}, [8, 9, 10]),
        (TALK, {"keep_recent": 100}, [*range(1, 11)]),
        (TALK, {"keep_recent": 100, "window": 200}, [8, 9, 10]),
        (TALK, {"before": 5}, [*range(5, 11)]),
        ([*TALK, said(11, tokens=5_000)], {"keep_recent": 20}, [11]),
        ([said(1), said(2), said(3)], {}, [1, 2, 3]),
        ([said(1), said(2, "bob"), said(3)], {}, [3]),
        ([said(1), said(2, "bob", addressed=False), said(3)], {}, [1, 2, 3]),
        ([said(1), reply(1), said(2), said(3)], {}, [2, 3]),
        ([said(1), said(2), said(3), reply(3)], {}, [1, 2, 3]),
        ([said(1, addressed=False), said(2, addressed=False)], {}, [2]),
        ([], {}, []),
    ],
)
def test_the_newest_stay_until_both_measures_are_reached_within_limits(
    rows: list[WindowRow], how: dict[str, Any], positions: list[int]
) -> None:
    assert kept(rows, **how) == positions


@pytest.mark.parametrize("keep_recent", range(1, 22))
def test_no_cut_parts_a_tool_call_from_its_result_or_an_answer_from_its_question(keep_recent: int) -> None:
    call = {"id": "c1", "name": "roll", "arguments": "{}"}
    rows: list[WindowRow] = []
    for position in range(1, 8):
        tools: dict[str, Any] = {"position": position, "kind": MessageKind.TOOL, "author_key": None, "addressed": False}
        rows += [said(position), make_row("", tool_calls=(call,), **tools), make_row("6", tool_call_id="c1", **tools)]
        rows.append(reply(position))
    units = group_history(rows)
    cut = cut_of(units, summary(keep_recent=keep_recent), WINDOW)
    folded = [row for unit in units[:cut] for row in unit]
    assert len(folded) == len({row.position for row in folded}) * 4
    assert sum(map(len, units)) == len(rows)


UNITS = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(1, 400), st.booleans(), st.booleans()), min_size=1, max_size=30
)


@given(UNITS, st.integers(1, 30), st.integers(0, 500))
def test_what_is_kept_is_never_less_than_the_last_burst_and_beyond_that_within_its_share(
    told: list[tuple[str, int, bool, bool]], keep_recent: int, keep_tokens: int
) -> None:
    rows: list[WindowRow] = []
    for position, (author, tokens, addressed, answered) in enumerate(told, 1):
        rows.append(said(position, author, tokens, addressed=addressed))
        if answered and addressed:
            rows.append(reply(position))
    units = group_history(rows)
    cut = cut_of(units, summary(keep_recent=keep_recent, keep_tokens=keep_tokens), WINDOW)
    least = cut_of(units, summary(keep_recent=1), 1)
    assert cut <= least < len(units)
    beyond = units[cut:least]
    tokens_kept = sum(map(size_of, units[cut:]))
    assert not beyond or tokens_kept <= WINDOW * MOST_KEPT_RATIO
    folded_next = units[:cut][-1:] and size_of(units[cut - 1])
    messages_kept = sum(map(len, units[cut:]))
    if folded_next:
        is_full = tokens_kept + folded_next > WINDOW * MOST_KEPT_RATIO
        assert is_full or (messages_kept >= keep_recent and tokens_kept >= keep_tokens)
