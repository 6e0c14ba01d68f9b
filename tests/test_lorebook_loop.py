"""Large books beside a running event loop: how long a scan takes, and that the loop goes on."""

from __future__ import annotations

import asyncio
import time
from random import Random

from bot.personas.lorebook import PLACE_ENTRIES, LoreIndex, read_book, scan
from bot.personas.lorebook.patterns import Patience, compile_pattern
from tests.lore import context, entry, index_of

SYLLABLES = ("ka", "ri", "do", "mel", "tho", "ran", "sil", "ver", "en", "gor", "la", "bas", "ti", "ul", "mor", "qi")


def word(rng: Random) -> str:
    return "".join(rng.choices(SYLLABLES, k=4))


def test_twenty_thousand_entries_are_scanned_in_no_time() -> None:
    rng = Random(1)
    made = [entry(word(rng), f"{word(rng)} {word(rng)}") for _ in range(PLACE_ENTRIES)]
    index = LoreIndex(read_book({"entries": made}, max_entries=PLACE_ENTRIES)[0], name="place")
    message = " ".join(word(rng) for _ in range(60)) + f" {made[7]['keys'][0]} {made[19_999]['keys'][1]}"
    took = []
    for _ in range(5):
        started = time.process_time()
        activation = scan([index], [message], context())
        took.append(time.process_time() - started)
    assert {"place/7", "place/19999"} <= {active.ref for active in activation.entries}
    assert min(took) < 0.05


async def test_the_loop_goes_on_while_a_pattern_searches() -> None:
    pattern = compile_pattern("(a+)+$")
    assert pattern is not None
    search = asyncio.ensure_future(asyncio.to_thread(Patience().finds, pattern, "a" * 9_000 + "!"))
    turns = 0
    while not search.done():
        await asyncio.sleep(0)
        turns += 1
    assert not search.result()
    assert turns > 100


async def test_the_loop_goes_on_while_a_large_book_is_scanned() -> None:
    index = index_of(*(entry(f"k{number}") for number in range(3_000)))
    text = " ".join(f"k{number}" for number in range(1_500))
    search = asyncio.ensure_future(asyncio.to_thread(scan, [index], [text] * 4, context()))
    turns = 0
    while not search.done():
        await asyncio.sleep(0)
        turns += 1
    assert len(search.result().entries) == 1_500
    assert turns > 10
