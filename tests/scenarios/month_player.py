"""Plays a month on a stage with the real app, and keeps what is needed to judge it afterwards."""

from __future__ import annotations

import asyncio
import random
import sqlite3
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path

from bot.app import App, build_app
from bot.chat import Inbound
from bot.llm.model import ModelRequest, ModelUnreachable
from bot.memory.items import Memory
from bot.personas.library import PersonaLibrary
from bot.pipeline import Pipeline
from bot.prompt.tokens import TokenCounter
from bot.settings import Settings
from bot.store.archive import HistoryRow, read_history
from bot.store.memories import read_memory
from bot.testing import NOW, Reply, ScriptedModel
from tests.emulators.discord.journal import Journal
from tests.folding import ideal
from tests.scenarios.month import (
    PERSONAS,
    PRIVATE,
    UNREACHABLE,
    Command,
    Delete,
    Edit,
    Fail,
    Move,
    Plant,
    Recover,
    Rest,
    Restart,
    Say,
    Script,
    Wait,
)
from tests.scenarios.month_stages import Stage

ANSWER = "I see."
TRIGGER = {"type": "messages_to_refine", "value": 20}


@dataclass(frozen=True, kw_only=True)
class _WatchedPipeline(Pipeline):
    """Writes down what it has taken."""

    delivered: Journal[Inbound]

    async def deliver(self, inbound: Inbound) -> None:
        await super().deliver(inbound)
        self.delivered.add(inbound)


@dataclass(kw_only=True)
class Said:
    """A message of the month as it stands on the platform."""

    move: Say
    message_id: str
    day: date
    text: str
    is_kept: bool
    """Whether its author has it kept."""
    is_taken_back: bool = False


@dataclass
class Clock:
    """The month's time, which the bot and the platform read."""

    now = NOW

    def read(self) -> datetime:
        return self.now


@dataclass
class Player:
    """One month on one stage."""

    script: Script
    stage: Stage
    clock: Clock
    database: Path
    library: PersonaLibrary
    counter: TokenCounter
    switch: str
    said: dict[str, Said] = field(default_factory=dict)
    """By the names of the moves."""
    asked: dict[str, ModelRequest] = field(default_factory=dict)
    """What the model was asked with, by the names of the questions."""
    deleted: list[tuple[str, int, int]] = field(default_factory=list)
    """Values that were deleted, each after so many requests for an answer and for a summary."""
    failures: list[str] = field(default_factory=list)
    """How the next summaries fail."""
    failed: int = 0
    has_privacy: bool = False

    def __post_init__(self) -> None:
        self.model = ScriptedModel([ANSWER], summaries=self._summary)
        self.settings = Settings(
            database_url=f"sqlite:///{self.database}",
            providers={"test": {"base_url": "http://127.0.0.1:9/v1"}},
            model="test/scripted",
            persona=PERSONAS[0],
            persona_switch=self.switch,
            burst_ms=0,
            stop_grace=0,
            summary={"keep_recent": 6, "keep_tokens": 0, "token_ratio": 0.25, "trigger": TRIGGER},
            **self.stage.settings,
        )

    def _summary(self, request: ModelRequest) -> Reply | str:
        if not self.failures:
            return ideal(request)
        self.failed += 1
        how = self.failures.pop(0)
        return Reply(text="", error=ModelUnreachable("test/scripted", "down")) if how == UNREACHABLE else how

    # --- The app

    async def open(self) -> None:
        """Start the bot and wait until it listens."""
        self.app: App = build_app(
            self.settings,
            model=self.model,
            adapters=self.stage.new_adapters(),
            library=self.library,
            counter=self.counter,
            now=self.clock.read,
            rng=random.Random(0),
        )
        delivered: Journal[Inbound] = Journal()
        self.app.pipeline = _WatchedPipeline(**vars(self.app.pipeline), delivered=delivered)
        self._stop, ready = asyncio.Event(), asyncio.Event()

        async def begin() -> None:
            ready.set()

        self._running = asyncio.ensure_future(self.app.run(self._stop, begin=begin))
        await ready.wait()
        await self.stage.meet(self.app, delivered)

    async def close(self) -> None:
        """Stop it as a signal does."""
        self._stop.set()
        assert await self._running == 0

    # --- The moves

    async def play(self) -> None:
        """Everything in order, once it is open; a move ends when it is answered."""
        for move in self.script.moves:
            await self._make(move)
            await self.app.dispatcher.idle()
            if isinstance(move, Say) and move.asks:
                self.asked[move.name] = self.model.requests[-1]

    async def _make(self, move: Move) -> None:
        match move:
            case Say():
                await self._say(move)
            case Edit():
                said = self.said[move.name]
                said.text = move.text
                await self.stage.edit(said.move.who, said.message_id, move.text, asks=said.move.asks)
            case Delete():
                await self._delete(move)
            case Command():
                await self.stage.command(move)
                self.has_privacy = self.has_privacy or move.path == "privacy on"
            case Wait():
                self.clock.now += move.by
            case Rest():
                await self.app.keeper.idle()
            case Restart():
                await self.close()
                await self.open()
            case Fail():
                self.failures.append(move.how)
            case Recover():
                self.failures.clear()

    async def _say(self, move: Say) -> None:
        message_id = await self.stage.say(move.who, move.text, asks=move.asks)
        is_kept = not (self.has_privacy and move.who == PRIVATE)
        day = self.clock.now.date()
        self.said[move.name] = Said(move=move, message_id=message_id, day=day, text=move.text, is_kept=is_kept)

    async def _delete(self, move: Delete) -> None:
        said = self.said[move.name]
        said.is_taken_back = True
        plant = next(plant for plant in self.script.plants if plant.name == move.name)
        await self.stage.delete(said.move.who, said.message_id, plant.gone[-1], is_fresh=move.is_fresh)
        self.deleted.append((plant.gone[-1], len(self.model.requests), len(self.model.summaries)))

    # --- What is known

    def rows(self, query: str, *facts: object) -> list[sqlite3.Row]:
        """What the database holds."""
        connection = sqlite3.connect(self.database)
        connection.row_factory = sqlite3.Row
        try:
            return connection.execute(query, facts).fetchall()
        finally:
            connection.close()

    def conversation_of(self, persona: str) -> int:
        """The open one."""
        (row,) = self.rows("SELECT max(id) AS id FROM conversation WHERE closed_at IS NULL AND persona_id = ?", persona)
        return int(row["id"])

    def heard_by(self, conversation: int) -> list[Said]:
        """What was said while a conversation listened."""
        heard = self.rows(
            "SELECT platform_message_id AS id FROM message JOIN listening ON position >= from_position AND"
            " (to_position IS NULL OR message.id <= to_position) WHERE listening.conversation_id = ?",
            conversation,
        )
        ids = {row["id"] for row in heard}
        return [said for said in self.said.values() if said.message_id in ids]

    def told_to(self, conversation: int) -> list[Plant]:
        """What the people of whom things may be kept have told a conversation, and not taken back."""
        names = {said.move.name for said in self.heard_by(conversation)}
        plants = [plant for plant in self.script.plants if plant.name in names]
        return [plant for plant in plants if not plant.is_deleted and plant.who != PRIVATE]

    async def memory(self, conversation: int) -> Memory:
        """What it remembers."""
        return await self.app.core.db.read(read_memory, conversation)

    async def history(self, conversation: int) -> tuple[HistoryRow, ...]:
        """What people can read again of it."""
        (row,) = self.rows("SELECT session_id FROM conversation WHERE id = ?", conversation)
        page = await self.app.core.db.read(
            lambda tx: read_history(tx, row["session_id"], conversation, newer=0, limit=10_000)
        )
        return page.rows
