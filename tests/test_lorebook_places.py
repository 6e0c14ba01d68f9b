"""What of a lorebook has room in a prompt, and where it stands there."""

from __future__ import annotations

from typing import Any

import pytest

from bot.personas.lorebook import LoreRole, Slot, scan
from bot.personas.macros import Where
from tests.lore import contents, context, entry, index_of, scanned, silly, why


def test_the_lowest_priority_goes_first_where_the_budget_ends() -> None:
    made = [entry("key", content=f"P {priority}", priority=priority) for priority in (1, 9, 5)]
    activation = scanned("key", *made, book={"token_budget": 4})
    assert contents(activation) == ["P 9", "P 5"]
    assert why(activation) == "budget"
    assert activation.tokens == 4


def test_without_priorities_the_lowest_order_goes_first() -> None:
    made = [entry("key", content=f"O {order}", insertion_order=order) for order in (1, 9, 5)]
    assert contents(scanned("key", *made, budget=4)) == ["O 5", "O 9"]


def test_nothing_less_important_takes_the_room_of_what_did_not_fit() -> None:
    made = entry("key", content="long " * 9, priority=9), entry("key", content="short", priority=1)
    assert contents(scanned("key", *made, budget=5)) == []


def test_a_book_that_used_up_its_budget_leaves_another_its_own() -> None:
    small = index_of(entry("key", content="one two"), name="card", token_budget=1)
    other = index_of(entry("key", content="three"), name="place")
    assert contents(scan([small, other], ["key"], context(budget=10))) == ["three"]


def test_what_is_always_there_takes_its_room_first() -> None:
    made = entry("key", content="key one", priority=99), entry(content="always one", constant=True, priority=1)
    assert contents(scanned("key", *made, budget=3)) == ["always one"]


def test_a_book_without_any_tokens_is_one_without_a_limit() -> None:
    assert contents(scanned("key", entry("key"), book={"token_budget": 0})) == ["Text."]


def test_an_entry_may_ignore_the_budget() -> None:
    assert contents(scanned("key", silly("key", ignore_budget=True), budget=0)) == ["Text."]


@pytest.mark.parametrize(
    ("settings", "place"),
    [
        ({"position": 0}, (Slot.BEFORE_CHAR, 0)),
        ({"position": 1}, (Slot.AFTER_CHAR, 0)),
        ({"position": 2}, (Slot.DEPTH, 4)),
        ({"position": 3}, (Slot.DEPTH, 4)),
        ({"position": 4, "depth": 7}, (Slot.DEPTH, 7)),
        ({"position": 5}, (Slot.BEFORE_EXAMPLES, 0)),
        ({"position": 6}, (Slot.AFTER_EXAMPLES, 0)),
    ],
)
def test_each_place_of_sillytavern_has_one_here(settings: dict[str, Any], place: tuple[Slot, int]) -> None:
    active = scanned("key", silly("key", **settings)).entries[0]
    assert (active.slot, active.depth, active.role) == (*place, LoreRole.SYSTEM)


def test_entries_come_in_their_order_and_then_by_book_and_place() -> None:
    card = index_of(*(entry("key", content=f"c{order}", insertion_order=order) for order in (5, 1, 5)), name="card")
    place = index_of(*(entry("key", content=f"p{order}", insertion_order=order) for order in (1, 9)), name="place")
    assert contents(scan([card, place], ["key"], context())) == ["c1", "p1", "c5", "c5", "p9"]


@pytest.mark.parametrize(
    ("made", "steady"),
    [
        (entry(constant=True), True),
        (entry(content="@@activate\nText."), True),
        (entry("key"), False),
        (silly(constant=True, probability=50), False),
        (silly(constant=True, probability=50, useProbability=False), True),
        (silly(constant=True, position=4), False),
        (silly(constant=True, group="g"), False),
        (silly(constant=True, delay=1), False),
        (silly(constant=True, cooldown=1), False),
        (entry(constant=True, content="@@activate_only_after 1\nText."), False),
        (entry(constant=True, content="@@exclude_keys a\nText."), False),
        (entry(constant=True, content="@@depth 2\nText."), False),
        (entry(constant=True, content="@@position scenario\nText."), True),
    ],
)
def test_only_what_is_always_there_may_stand_in_a_prefix(made: dict[str, Any], steady: bool) -> None:
    places: list[Where] = []

    def noting(text: str, where: Where) -> str:
        places.append(where)
        return text

    assert scanned("key", made, expand=noting).entries[0].is_steady is steady
    assert places[0] is (Where.PREFIX if steady else Where.TAIL)
