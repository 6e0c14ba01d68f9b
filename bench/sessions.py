"""Whether sessions wait for a slow model side by side: 100 of them, a model that takes 2 s, arrivals spread evenly.

The bound is the model's own: each session has one turn at a time, so 100 sessions can end 100 turns every 2 s.
"""

from __future__ import annotations

import asyncio
import sys
import time

from bench.pipeline import SETTLE_S, familiar_environment, write_result
from bench.process import run_bot
from bench.servers import BenchServers, World

SESSIONS = 100
ROUNDS = 5
MODEL_S = 2.0


async def main() -> None:
    """Measure and write the result file."""
    world = World(model_delay_s=MODEL_S)
    async with (
        BenchServers(world) as servers,
        run_bot([sys.executable, "-m", "bot", "run"], familiar_environment(servers.port)),
    ):
        while not world.calls["getupdates"]:
            await asyncio.sleep(0.02)
        await asyncio.sleep(SETTLE_S)
        await asyncio.gather(*(_session(world, 5000 + n, n, 1) for n in range(SESSIONS)))  # first contact: greetings
        began = time.perf_counter()
        added = [
            one
            for many in await asyncio.gather(*(_session(world, 5000 + n, n, ROUNDS) for n in range(SESSIONS)))
            for one in many
        ]
        took = time.perf_counter() - began
    # The last session begins almost one model time late, because arrivals are spread.
    bound = SESSIONS * ROUNDS / (ROUNDS * MODEL_S + MODEL_S * (SESSIONS - 1) / SESSIONS)
    added.sort()
    figures = {
        "throughput_per_s": round(len(added) / took, 2),
        "throughput_of_bound": round(len(added) / took / bound, 4),
        "added_p50_ms": round(added[len(added) // 2] * 1e3, 1),
        "added_p99_ms": round(added[int(len(added) * 0.99) - 1] * 1e3, 1),
        "turns": len(added),
    }
    print(f"sessions: {figures}")
    write_result("sessions", figures)


async def _session(world: World, user: int, number: int, rounds: int) -> list[float]:
    await asyncio.sleep(MODEL_S * number / SESSIONS)
    added = []
    for turn in range(rounds):
        began = time.perf_counter()
        added.append(await world.say(user, f"turn {turn} of {user}") - began - MODEL_S)
    return added
