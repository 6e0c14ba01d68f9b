"""What the pipeline costs per message, beside a bare loop and the platform libraries used alone.

200 messages of one person, each sent after the answer to the one before; then 50 people with 4 messages each. CPU time
is the bot's process tree; latency runs from queueing the update to the arrival of the final text.
"""

from __future__ import annotations

import asyncio
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.process import ROOT, BotProcess, run_bot
from bench.servers import BenchServers, World

WARM_UP = 5
SEQUENTIAL = 200
USERS, PER_USER = 50, 4
LOST_AFTER_S = 30.0
SETTLE_S = 2.0
READY_WITHIN_S = 60.0
TOKEN = "123456789:" + "A" * 35
RESULTS = ROOT / "bench" / "results"


@dataclass(frozen=True, kw_only=True, slots=True)
class Figures:
    """One bot's figures; the names are those of the result file."""

    cpu_ms_per_message: float
    cpu_ms_per_message_burst: float
    p50_ms: float
    p99_ms: float
    burst_messages_per_s: float
    lost: int
    rss_mb: float
    ready_s: float
    telegram_calls_per_message: float


def familiar_environment(port: int) -> dict[str, str]:
    """The settings of a newcomer with one Telegram bot and one model server; everything else is default."""
    return {
        "TELEGRAM__TOKEN": TOKEN,
        "TELEGRAM__BASE_URL": f"http://127.0.0.1:{port}/bot",
        "PROVIDERS__STUB__BASE_URL": f"http://127.0.0.1:{port}/v1",
        "MODEL": "stub/stub",
    }


async def measure(command: list[str], *, sequential: int = SEQUENTIAL) -> Figures:
    """Run one bot against fresh servers."""
    world = World()
    async with BenchServers(world) as servers:
        started = time.perf_counter()
        line = [part.replace("PORT", str(servers.port)) for part in command]
        async with run_bot(line, familiar_environment(servers.port)) as bot:
            async with asyncio.timeout(READY_WITHIN_S):
                while not world.calls["getupdates"]:
                    await asyncio.sleep(0.02)
            ready = time.perf_counter() - started
            await asyncio.sleep(SETTLE_S)
            return await _drive(world, bot, ready, sequential)


async def _drive(world: World, bot: BotProcess, ready: float, sequential: int) -> Figures:
    for number in range(WARM_UP):
        await _ask(world, 7, f"warm up {number}")
    cpu, calls = bot.cpu_s(), sum(world.calls.values())
    latencies = [await _ask(world, 7, f"hello number {number}, how are you?") for number in range(sequential)]
    cpu_sequential = (bot.cpu_s() - cpu) / sequential
    calls_sequential = (sum(world.calls.values()) - calls) / sequential

    async def user(name: int) -> list[float | None]:
        return [await _ask(world, name, f"message {number} of {name}") for number in range(PER_USER)]

    cpu, began = bot.cpu_s(), time.perf_counter()
    burst = [one for many in await asyncio.gather(*(user(1000 + n) for n in range(USERS))) for one in many]
    took, cpu_burst = time.perf_counter() - began, (bot.cpu_s() - cpu) / len(burst)
    answered = sorted(value for value in latencies if value is not None)
    return Figures(
        cpu_ms_per_message=round(cpu_sequential * 1e3, 2),
        cpu_ms_per_message_burst=round(cpu_burst * 1e3, 2),
        p50_ms=round(statistics.median(answered) * 1e3, 2),
        p99_ms=round(answered[int(len(answered) * 0.99) - 1] * 1e3, 2),
        burst_messages_per_s=round(sum(one is not None for one in burst) / took, 1),
        lost=sum(one is None for one in (*latencies, *burst)),
        rss_mb=round(bot.rss_mb(), 1),
        ready_s=round(ready, 2),
        telegram_calls_per_message=round(calls_sequential, 2),
    )


async def _ask(world: World, user: int, text: str) -> float | None:
    began = time.perf_counter()
    try:
        return await asyncio.wait_for(world.say(user, text), LOST_AFTER_S) - began
    except TimeoutError:
        return None


PEERS = {
    "bare aiohttp loop": ("floor.py", "aiohttp"),
    "python-telegram-bot": ("ptb.py", "python-telegram-bot openai"),
    "aiogram": ("aiogram_bot.py", "aiogram openai"),
    "AstrBot": ("astrbot_bot.py", "astrbot"),
    "NoneBot2": ("nonebot_bot.py", "nonebot2[httpx] nonebot-adapter-telegram openai"),
}
"""The bots that stand beside ours: the file, and what it needs from the package index."""

PEER_ENVIRONMENTS = ROOT / ".venv-peers"


def peer_command(name: str) -> list[str] | None:
    """How to start a peer, in an environment of its own; `None` where it does not install."""
    file, packages = PEERS[name]
    python = environment_for(Path(file).stem, packages)
    if python is None:
        print(f"{name} does not install here, so its row is left out")
        return None
    return [str(python), str(ROOT / "bench" / "peers" / file), "PORT"]


def environment_for(name: str, packages: str, python: str = sys.executable) -> Path | None:
    """The Python of an environment with some packages, which is made once; `None` where they do not install."""
    folder = PEER_ENVIRONMENTS / name
    own = folder / "bin" / "python"
    if not (folder / "installed").exists():
        subprocess.run([python, "-m", "venv", folder], check=True)
        pip = [str(own), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages.split()]
        if subprocess.run(pip, check=False).returncode:
            return None
        (folder / "installed").touch()
    return own


async def main() -> None:
    """Measure ours and the peers, print the table, write the result file."""
    rows = {"familiar": asdict(await measure([sys.executable, "-m", "bot", "run"]))}
    print(f"familiar: {rows['familiar']}")
    for name in PEERS:
        command = peer_command(name)
        if command is not None:
            rows[name] = asdict(await measure(command))
            print(f"{name}: {rows[name]}")
    write_result("pipeline", {**rows["familiar"], "peers": {n: row for n, row in rows.items() if n != "familiar"}})


def write_result(name: str, figures: dict[str, object]) -> None:
    """Write a result file with the machine and the commit in it."""
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps({**figures, "machine": machine, "commit": head.stdout.strip()}, indent=2) + "\n")
    print(f"written to {Path(path).relative_to(ROOT)}")
