"""What remembering costs over 1,000 turns of one chat, and what is lost: the whole bot, with a scripted model.

Requests are billed as a provider with a prefix cache does, once with a cache that never expires and once with sessions
of 20 turns between which it does. `--locomo PATH` takes the texts of a LoCoMo file.
"""

from __future__ import annotations

import argparse
import json
import logging
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import structlog
import tiktoken

import bot.memory.compaction
import bot.memory.consolidation
import bot.memory.keeper
import bot.opening
import bot.prompt.build
import bot.store.compactions
import bot.store.window
from bench.bill import Bill
from bench.chatter import Talk, load_encoding, make_talk
from bench.pipeline import write_result
from bench.summariser import BenchModel
from bot.app import App, build_app
from bot.memory.compaction import Compactor
from bot.memory.reuse import Reuse
from bot.personas.library import PersonaLibrary
from bot.settings import Settings
from bot.store.compactions import Outcome, Reason, newest_compactions
from bot.store.sessions import find_session
from bot.testing import FakeAdapter, make_author, make_channel, make_inbound
from bot.turn import Asker, Turn

TURNS, SESSION_TURNS = 1_000, 20
WINDOW = 16_384
MODELS = {0.1: "gpt-5", 0.25: "gpt-4.1", 0.5: "gpt-4o"}
"""Models whose tokens are ours, by what a cached input token costs of an uncached one; the bot knows it by the name."""
SETTLED_AFTER = 100
"""Turns from which on the verbatim tail is looked at."""
BETWEEN_TURNS, BETWEEN_SESSIONS = timedelta(minutes=1), timedelta(hours=4)
IDLE_FOR = timedelta(seconds=250)
"""After the last message, a little more than the default of `SUMMARY__IDLE_SECONDS`."""

ANN, CHANNEL = make_author("Ann"), make_channel(dm=True)

TIMED: tuple[tuple[Any, str], ...] = (
    (bot.store.window, "read_window"),
    (bot.opening, "read_memory"),
    (bot.opening, "write_memory"),
    (bot.prompt.build, "fit"),
    (Reuse, "note"),
    (bot.memory.keeper, "usage_of"),
    (bot.memory.keeper, "fill_of"),
    (bot.memory.compaction, "take_snapshot"),
    (Compactor, "_material"),
    (Reuse, "last_for"),
    (bot.memory.compaction, "summary_request"),
    (bot.memory.compaction, "request_behind"),
    (Compactor, "_read"),
    (bot.store.compactions, "commit"),
    (bot.memory.consolidation, "_read"),
    (bot.memory.consolidation, "tokens_of"),
    (bot.memory.consolidation, "candidates"),
    (bot.memory.consolidation, "read_merged"),
)
"""What window, memory and triggers do in a turn, each measured by its thread's CPU time; none calls another by these
names.
"""


@dataclass(kw_only=True)
class Clock:
    """The time as the bot is told it."""

    now: datetime = datetime(2026, 3, 1, 8, 0, tzinfo=UTC)


@dataclass(kw_only=True)
class Stopwatch:
    """CPU seconds of what is wrapped, since it was last read."""

    seconds: float = 0.0
    _undo: list[tuple[Any, str, Any]] = field(default_factory=list)

    def wrap(self, place: Any, name: str) -> None:
        """Measure a function from now on."""
        wrapped = getattr(place, name)

        def measured(*args: Any, **kwargs: Any) -> Any:
            began = time.thread_time()
            try:
                return wrapped(*args, **kwargs)
            finally:
                self.seconds += time.thread_time() - began

        self._undo.append((place, name, wrapped))
        setattr(place, name, measured)

    def read(self) -> float:
        """The seconds so far; they begin anew."""
        seconds, self.seconds = self.seconds, 0.0
        return seconds

    def __enter__(self) -> Stopwatch:
        for place, name in TIMED:
            self.wrap(place, name)
        return self

    def __exit__(self, *_: object) -> None:
        for place, name, wrapped in self._undo:
            setattr(place, name, wrapped)


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """One run: its bill, the CPU of each turn, and why each compaction was made."""

    bill: Bill
    cpu_ms: Sequence[float]
    reasons: Sequence[Reason]


async def main() -> None:
    """Measure, print the tables, write the result file."""
    options = _options()
    encoding = load_encoding()
    talk = make_talk(encoding, options.turns, options.locomo)
    warm = {price: await run(encoding, talk, price) for price in MODELS}
    cold = {price: await run(encoding, talk, price, session_turns=SESSION_TURNS) for price in MODELS}
    for name, runs in (("warm", warm), ("cold", cold)):
        for price, one in runs.items():
            _print_run(f"{name} {price}", one, price)
    if options.table:
        _print_compactions(warm[min(MODELS)])
        _print_compactions(cold[min(MODELS)])
    everything = [*warm.values(), *cold.values()]
    figures = _figures(everything)
    figures["summary_mode"] = {str(price): _mode(run) for price, run in warm.items()}
    figures |= {f"cost_{name}": _costs(runs) for name, runs in (("warm", warm), ("cold", cold))}
    print(f"memory: {figures}")
    write_result("memory", {**figures, "texts": "LoCoMo" if options.locomo else "made"})


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench memory", description=__doc__)
    parser.add_argument("name", nargs="*", help="the benchmarks that run")
    parser.add_argument("--locomo", type=Path, help="a file of LoCoMo, whose first speakers' turns are said")
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--table", action="store_true", help="print every compaction")
    return parser.parse_args(sys.argv[1:])


async def run(encoding: tiktoken.Encoding, talk: Talk, cached_price: float, *, session_turns: int = 0) -> Run:
    """Have the talk with a fresh bot; between sessions of `session_turns` the provider's cache expires (0 = never)."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    bill, clock, cpu = Bill(encoding=encoding, talk=talk), Clock(), list[float]()
    with tempfile.TemporaryDirectory() as folder, Stopwatch() as watch:
        app = _make_app(Path(folder), talk, BenchModel(bill), clock, cached_price)
        await app.start()
        try:
            for turn in range(len(talk.asked)):
                bill.turn = turn
                await _say(app, talk.asked[turn], clock)
                if session_turns and turn % session_turns == session_turns - 1 and turn + 1 < len(talk.asked):
                    await _part(app, clock)
                    bill.expire()
                cpu.append(watch.read() * 1e3)
            reasons = await _reasons(app)
        finally:
            await app.close()
    return Run(bill=bill, cpu_ms=cpu, reasons=reasons)


def _make_app(folder: Path, talk: Talk, model: BenchModel, clock: Clock, cached_price: float) -> App:
    """The whole bot with its default settings, no tools, and a card of the measured length."""
    card = folder / "personas" / "mira" / "card.yaml"
    card.parent.mkdir(parents=True)
    card.write_text(json.dumps({"name": "Mira", "description": talk.persona}), encoding="utf-8")
    settings = Settings(
        database_url=f"sqlite:///{folder / 'familiar.db'}",
        providers={
            "bench": {"base_url": "http://127.0.0.1:9/v1", "context_window": WINDOW, "cached_price": cached_price}
        },
        model=f"bench/{MODELS[cached_price]}",
        context_tokens=WINDOW,
        persona="mira",
        burst_ms=0,
    )
    adapter = FakeAdapter()
    return build_app(
        settings,
        model=model,
        adapters={adapter.platform: adapter},
        library=PersonaLibrary((folder / "personas",)),
        tools=(),
        now=lambda: clock.now,
    )


async def _say(app: App, text: str, clock: Clock) -> None:
    """One turn, and time for what happens behind it."""
    clock.now += BETWEEN_TURNS
    await app.pipeline.deliver(make_inbound(text, channel=CHANNEL, author=ANN, sent_at=clock.now))
    await app.dispatcher.idle()
    await app.keeper.idle()


async def _part(app: App, clock: Clock) -> None:
    """A session ends: the idle sweep looks at it while the cache still lives, then it is quiet for hours."""
    clock.now += IDLE_FOR
    sweep = next(job for job in app.jobs if job.name == "idle-sweep")
    await sweep.run()
    await app.keeper.idle()
    clock.now += BETWEEN_SESSIONS


async def _preview(app: App) -> Turn:
    session = await app.core.db.read(find_session, CHANNEL)
    assert session is not None
    turn = await app.desk.gauge.opener.preview(session.id, Asker(key=ANN.key, name=ANN.name))
    assert turn is not None
    return turn


async def _reasons(app: App) -> list[Reason]:
    turn = await _preview(app)
    rows = await app.core.db.read(newest_compactions, turn.conversation_id, TURNS)
    assert all(row.outcome is Outcome.DONE for row in rows), [row.problem for row in rows]
    return [row.reason for row in reversed(rows)]


def _figures(runs: Sequence[Run]) -> dict[str, object]:
    """The worst of all runs, but for CPU time, which is that of all turns together."""
    asked = [one for run in runs for one in run.bill.asked]
    cpu = sorted(ms for run in runs for ms in run.cpu_ms)
    return {
        "blocked_turns": max(run.reasons.count(Reason.HARD) for run in runs),
        "facts_mean": min(_facts_mean(run) for run in runs),
        "facts_end": min(run.bill.asked[-1].known / run.bill.asked[-1].planted for run in runs),
        "verbatim_min": min(one.verbatim for one in asked if one.turn >= SETTLED_AFTER),
        "memory_mean": round(statistics.fmean(one.memory for one in asked if one.memory)),
        "fill_max": round(max(one.tokens for one in asked) / WINDOW, 3),
        "cpu_ms_p50": round(statistics.median(cpu), 2),
        "cpu_ms_p99": round(cpu[int(len(cpu) * 0.99) - 1], 2),
    }


def _mode(run: Run) -> str:
    """How most summaries were asked for: behind the cached request, or in a prompt of their own."""
    behind = sum(call.cached > call.tokens / 2 for call in run.bill.summed)
    return "reuse" if behind > len(run.bill.summed) / 2 else "own prompt"


def _facts_mean(run: Run) -> float:
    return statistics.fmean(one.known / one.planted for one in run.bill.asked if one.planted)


def _costs(runs: dict[float, Run]) -> dict[str, float]:
    return {str(price): round(run.bill.cost(price), 3) for price, run in runs.items()}


def _print_run(name: str, run: Run, price: float) -> None:
    asked, summed = run.bill.asked, run.bill.summed
    facts = {
        "cost": round(run.bill.cost(price), 3),
        "prompt": sum(one.tokens for one in asked),
        "uncached": sum(one.tokens - one.cached for one in asked),
        "summary calls": len(summed),
        "in": sum(one.tokens for one in summed),
        "uncached in": sum(one.tokens - one.cached for one in summed),
        "out": sum(one.output for one in summed),
        "largest": max(one.tokens for one in asked),
        "reasons": dict(Counter(run.reasons)),
    }
    print(f"memory, {name}: {facts}")
    print(f"  {_figures([run])}")


def _print_compactions(run: Run) -> None:
    print("turn   before  after  | summary tokens, of them cached, output")
    asked = {one.turn: one for one in run.bill.asked}
    for call in run.bill.summed:
        after = asked.get(call.turn + 1)
        print(
            f"{call.turn:4} {asked[call.turn].tokens:8} {after.tokens if after else 0:6}"
            f" | {call.tokens:6} {call.cached:6} {call.output:5}"
        )
