"""What a platform sees of the bot: round trips per second, latency with and without streaming, requests per answer.

The platforms are the emulators of the test suite behind real sockets, in this process; the bot is a process of its own.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

from bench.pipeline import write_result
from bench.process import run_bot
from tests.emulators.discord import DiscordEmulator
from tests.emulators.openai import OpenAIEmulator, Request, Say
from tests.emulators.telegram.server import TelegramEmulator

ROOMS = 20
ROUND_TRIPS = 200
WORDS, WORD_S = 60, 0.1
"""A slow answer: so many words, one after the other."""
SLOW_ANSWERS = 3
WITHIN_S = 60.0


class Stage(Protocol):
    """One platform with rooms in which one person talks to the bot."""

    name: str

    @property
    def settings(self) -> dict[str, str]:
        """What joins the bot to the platform."""

    async def ready(self) -> None:
        """Wait until the bot listens."""

    async def ask(self, room: int, text: str) -> None:
        """The person addresses the bot."""

    async def shown(self, room: int, matches: Callable[[str], bool]) -> None:
        """Wait until a message of the bot in that room matches."""

    def writes(self) -> list[float]:
        """When each request arrived that sent or edited a message, in seconds."""


class Discord:
    """A guild with a channel for each room."""

    name = "Discord"

    def __init__(self, emulator: DiscordEmulator) -> None:
        self._emulator = emulator
        guild = emulator.world.create_guild("Bench")
        self._person = guild.add_member(emulator.world.create_user("alice", global_name="Alice"))
        self._rooms = [guild.create_text_channel(f"room-{number}") for number in range(ROOMS)]

    @property
    def settings(self) -> dict[str, str]:
        return {
            "DISCORD__TOKEN": self._emulator.token,
            "DISCORD__API_BASE": self._emulator.rest_base,
            "DISCORD__GATEWAY_URL": self._emulator.gateway_url,
        }

    async def ready(self) -> None:
        await self._emulator.connected(within=WITHIN_S)

    async def ask(self, room: int, text: str) -> None:
        await self._person.send(self._rooms[room], f"{self._emulator.mention} {text}")

    async def shown(self, room: int, matches: Callable[[str], bool]) -> None:
        channel = str(self._rooms[room].id)
        await self._emulator.bot_message(
            lambda data: data["channel_id"] == channel and matches(data["content"]), within=WITHIN_S
        )

    def writes(self) -> list[float]:
        path = "/channels/*/messages*"
        found = self._emulator.requests.matching(lambda one: one.is_for("POST", path) or one.is_for("PATCH", path))
        return sorted(request.at for request in found)


class Telegram:
    """A group for each room."""

    name = "Telegram"

    def __init__(self, emulator: TelegramEmulator) -> None:
        self._emulator = emulator
        self._person = emulator.user("Alice")
        self._rooms = [emulator.group(f"Room {number}", self._person) for number in range(ROOMS)]

    @property
    def settings(self) -> dict[str, str]:
        return {
            "TELEGRAM__TOKEN": self._emulator.token,
            "TELEGRAM__BASE_URL": self._emulator.base_url,
            "TELEGRAM__BASE_FILE_URL": self._emulator.base_file_url,
        }

    async def ready(self) -> None:
        await self._emulator.wait_for(lambda: self._emulator.polling, timeout_s=WITHIN_S)

    async def ask(self, room: int, text: str) -> None:
        self._emulator.say(self._person, self._rooms[room], f"@FamiliarBot {text}")

    async def shown(self, room: int, matches: Callable[[str], bool]) -> None:
        chat = self._rooms[room]
        await self._emulator.wait_for(lambda: any(map(matches, self._emulator.bot_texts(chat))), timeout_s=WITHIN_S)

    def writes(self) -> list[float]:
        return sorted(call.at for call in self._emulator.calls_of("sendMessage", "editMessageText"))


@dataclass(frozen=True, kw_only=True, slots=True)
class Slow:
    """How a slow answer arrived: seconds to the first text and beyond the model's end, requests, and the seconds
    between those before the last, which waits for nothing.
    """

    first_s: float
    added_s: float
    requests: int
    gaps: tuple[float, ...]


@asynccontextmanager
async def discord_stage() -> AsyncIterator[Stage]:
    """Discord."""
    async with DiscordEmulator() as emulator:
        yield Discord(emulator)


@asynccontextmanager
async def telegram_stage() -> AsyncIterator[Stage]:
    """Telegram."""
    async with TelegramEmulator() as emulator:
        yield Telegram(emulator)


def _answer(request: Request) -> Say:
    """Repeats the question; "slowly" word by word in six seconds, "late" in one piece after as long."""
    said = request.last_user
    words = [f"{said.split()[-1]}{number} " for number in range(WORDS)]
    if "slowly" in said:
        return Say(text=[*words, said], chunk_seconds=WORD_S)
    if "late" in said:
        return Say(text=["".join(words) + said], first_token_seconds=WORDS * WORD_S)
    return Say(text=said)


async def main() -> None:
    """Measure both platforms and write the result file."""
    figures: dict[str, object] = {}
    for stage in (discord_stage, telegram_stage):
        async with stage() as platform, OpenAIEmulator(_answer) as model:
            settings = {
                "PROVIDERS__STUB__BASE_URL": model.base_url,
                "MODEL": "stub/scripted",
                "PERSONA": "none",
                **platform.settings,
            }
            async with run_bot([sys.executable, "-m", "bot", "run"], settings):
                await platform.ready()
                figures[platform.name] = await _measure(platform, model)
                print(f"{platform.name}: {figures[platform.name]}")
    write_result("wire", figures)


async def _measure(stage: Stage, model: OpenAIEmulator) -> dict[str, float]:
    for room in range(ROOMS):
        await _round_trip(stage, room, f"warm up {room};")
    latencies = [await _round_trip(stage, 0, f"question {number};") for number in range(ROUND_TRIPS)]
    began = time.perf_counter()
    await asyncio.gather(*(_several(stage, room, ROUND_TRIPS // ROOMS) for room in range(ROOMS)))
    at_once = ROUND_TRIPS / (time.perf_counter() - began)
    streamed = [await _slow(stage, model, f"slowly s{number};") for number in range(SLOW_ANSWERS)]
    whole = [await _slow(stage, model, f"late l{number};") for number in range(SLOW_ANSWERS)]
    return {
        "round_trips_per_s": round(1 / statistics.fmean(latencies), 1),
        "round_trip_p50_ms": round(statistics.median(latencies) * 1e3, 1),
        f"round_trips_per_s_{ROOMS}_rooms": round(at_once, 1),
        **_figures("streamed", streamed),
        "streamed_least_s_between_requests": round(min(gap for slow in streamed for gap in slow.gaps), 2),
        **_figures("whole", whole),
    }


def _figures(name: str, answers: Sequence[Slow]) -> dict[str, float]:
    return {
        f"{name}_first_text_ms": round(statistics.fmean(slow.first_s for slow in answers) * 1e3),
        f"{name}_added_ms": round(statistics.fmean(slow.added_s for slow in answers) * 1e3, 1),
        f"{name}_requests": round(statistics.fmean(slow.requests for slow in answers), 1),
    }


async def _round_trip(stage: Stage, room: int, text: str) -> float:
    began = time.perf_counter()
    await stage.ask(room, text)
    await stage.shown(room, lambda shown: text in shown)
    return time.perf_counter() - began


async def _several(stage: Stage, room: int, count: int) -> None:
    for number in range(count):
        await _round_trip(stage, room, f"at once {number} in {room};")


async def _slow(stage: Stage, model: OpenAIEmulator, text: str) -> Slow:
    before, began = len(stage.writes()), time.perf_counter()
    word = text.rsplit(maxsplit=1)[-1]
    asked = len(model.requests) + 1
    await stage.ask(1, text)
    request = await model.request(asked)
    first = asyncio.ensure_future(_after(began, stage.shown(1, lambda shown: f"{word}0 " in shown)))
    final = asyncio.ensure_future(_after(began, stage.shown(1, lambda shown: text in shown)))
    ended = await _after(began, request.ended.wait())
    times = stage.writes()[before:-1] if await final else []
    return Slow(
        first_s=await first,
        added_s=await final - ended,
        requests=len(times) + 1,
        gaps=tuple(later - earlier for earlier, later in pairwise(times)),
    )


async def _after(began: float, event: Awaitable[object]) -> float:
    await event
    return time.perf_counter() - began
