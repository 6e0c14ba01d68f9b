"""What lorebooks cost: making 20,000 entries ready, scanning one message and more for them, and how long an event loop
waits beside it. All times are CPU times of this process, since the machine may be shared.

Keys are made of syllables, one to three for each entry, a third of them phrases. The book of every day has its entries
mentioned now and then; in the crowded one each word of a message is the key of several entries, more than any has.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import psutil

from bench.pipeline import write_result
from bot.lore import LoreReader
from bot.personas.lorebook import PLACE_ENTRIES, Activation, LoreIndex, ScanContext, read_book, scan
from bot.store import lorebooks, schema
from bot.store.database import Database
from bot.store.lorebooks import BookKey, BookKind
from bot.testing import make_row, make_turn

RUNS = 15
SYLLABLES = ("ka", "ri", "do", "mel", "tho", "ran", "sil", "ver", "en", "gor", "la", "bas", "ti", "ul", "mor", "qi")
WORDS_OF_A_MESSAGE = 50
MENTIONS = 5
CATASTROPHE = "a" * 4_000 + "!"


async def main() -> None:
    """Measure and write the result file."""
    rng = Random(1)
    before = _resident_mb()
    raw = {"entries": [_entry(rng) for _ in range(PLACE_ENTRIES)]}
    loaded = _resident_mb()
    book, read_s = _timed(lambda: read_book(raw, max_entries=PLACE_ENTRIES)[0])
    index, index_s = _timed(lambda: LoreIndex(book, name="place"))
    keys = [entry["keys"][0] for entry in raw["entries"]]
    message, longer = _message(rng, keys), [_message(rng, keys, words=250) for _ in range(4)]
    figures: dict[str, Any] = {
        "entries": PLACE_ENTRIES,
        "keys": sum(len(entry["keys"]) for entry in raw["entries"]),
        "reading_s": round(read_s, 2),
        "index_s": round(index_s, 2),
        "book_and_index_mb": round(_resident_mb() - loaded, 1),
        "raw_mb": round(loaded - before, 1),
        "one_message": _scanned(index, [message]),
        "four_long_messages": _scanned(index, longer),
        "crowded_message": _scanned(index, [" ".join(rng.sample(keys, 300))]),
        "each_key_by_itself_ms": {
            "one_message": _each_key(raw["entries"], message),
            "four_long_messages": _each_key(raw["entries"], "\n".join(longer)),
        },
        "loop": {
            "one_message": await _beside(index, [message]),
            "crowded_message": await _beside(index, [" ".join(rng.sample(keys, 300))]),
            "endless_pattern": await _beside(_patterns(), [CATASTROPHE]),
        },
        "turn": await _of_turns(raw["entries"], message),
    }
    for name, value in figures.items():
        print(f"lore, {name}: {value}")
    write_result("lore", figures)


def _entry(rng: Random) -> dict[str, Any]:
    keys = [_word(rng) for _ in range(rng.randint(1, 3))]
    if rng.random() < 1 / 3:
        keys[-1] = f"{_word(rng)} {_word(rng)}"
    return {"keys": keys, "content": " ".join(_word(rng) for _ in range(20)), "enabled": True, "insertion_order": 100}


def _word(rng: Random) -> str:
    return "".join(rng.choices(SYLLABLES, k=4))


def _message(rng: Random, keys: Sequence[str], words: int = WORDS_OF_A_MESSAGE) -> str:
    """Words that are no keys but by chance, and some keys."""
    said = ["".join(rng.choices(SYLLABLES, k=rng.randint(1, 3))) for _ in range(words)]
    return " ".join([*said, *rng.sample(keys, MENTIONS)])


def _context() -> ScanContext:
    return ScanContext(
        message_count=10, assistant_count=5, rng=Random(1), count=lambda text: len(text) // 4, budget=4096
    )


def _resident_mb() -> float:
    return float(psutil.Process().memory_info().rss / 2**20)


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    began = time.process_time()
    return work(), time.process_time() - began


def _scanned(index: LoreIndex, messages: Sequence[str]) -> dict[str, object]:
    times = []
    found = Activation()
    for _ in range(RUNS):
        found, seconds = _timed(lambda: scan([index], messages, _context()))
        times.append(seconds)
    return {
        "characters": sum(map(len, messages)),
        "entries_looked_at": len(found.verdicts),
        "entries_in": len(found.entries),
        "p50_ms": round(statistics.median(times) * 1e3, 2),
        "worst_ms": round(max(times) * 1e3, 2),
    }


def _each_key(entries: Sequence[dict[str, Any]], message: str) -> float:
    """The plain way, for comparison: looking for every key in the message."""
    keys = [key for entry in entries for key in entry["keys"]]
    return round(min(_timed(lambda: [key for key in keys if key in message])[1] for _ in range(RUNS)) * 1e3, 2)


async def _of_turns(entries: Sequence[dict[str, Any]], message: str) -> dict[str, float]:
    """What the bot itself takes to bring lore to a turn: the book is a place's in its database, and read at the first
    turn alone.
    """
    turn = make_turn(make_row(message))
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/lore.db"
        schema.upgrade(url)
        db = Database(url)
        await db.run(lorebooks.add_entries, BookKey(BookKind.PLACE, turn.session.channel.place_key), entries)
        books = await db.read(lorebooks.find_books, turn.session.channel.place_key, turn.asker.key)
        reader = LoreReader(db=db, count=lambda text: len(text) // 4, budget=4_096)
        turn = replace(turn, books=books)
        first, waited_first = await _longest_wait(reader.bring(turn))
        later = [await _longest_wait(reader.bring(turn)) for _ in range(RUNS)]
        await db.close()
    return {
        "first_ms": round(first * 1e3, 1),
        "longest_wait_at_first_ms": round(waited_first * 1e3, 1),
        "p50_ms": round(statistics.median(took for took, _ in later) * 1e3, 2),
        "worst_ms": round(max(took for took, _ in later) * 1e3, 2),
        "longest_wait_ms": round(max(waited for _, waited in later) * 1e3, 1),
    }


async def _longest_wait(work: Coroutine[Any, Any, object]) -> tuple[float, float]:
    """How long something takes, and the longest time for which the event loop beside it stood still."""
    longest = 0.0
    began = last = time.process_time()
    running = asyncio.create_task(work)
    while not running.done():
        await asyncio.sleep(0.0005)
        longest = max(longest, time.process_time() - last)
        last = time.process_time()
    await running
    return last - began, longest


async def _beside(index: LoreIndex, messages: Sequence[str]) -> dict[str, float]:
    """How long a scan in a thread takes, and the longest time for which the event loop beside it stood still."""
    took, longest = await _longest_wait(asyncio.to_thread(scan, [index], messages, _context()))
    return {"scan_ms": round(took * 1e3, 1), "longest_wait_ms": round(longest * 1e3, 1)}


def _patterns() -> LoreIndex:
    made = [{"keys": [f"/(a+)+{letter}$/"], "content": "Text."} for letter in "bcdefghij"]
    return LoreIndex(read_book({"entries": made})[0], name="place")
