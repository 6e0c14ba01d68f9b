"""A month in a group of five with three personas, two languages and a summary model that often fails, by a seed.

People say things worth remembering among much small talk; what they said, changed and took back is kept for the checks.
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from bot.app import App, build_app
from bot.chat import Author, Inbound, InboundKind
from bot.llm.model import ModelRequest, ModelUnreachable
from bot.memory.items import Item, Memory
from bot.personas.library import PersonaLibrary
from bot.prompt.tokens import TokenCounter
from bot.settings import Settings
from bot.store.memories import read_memory
from bot.testing import NOW, FakeAdapter, Reply, ScriptedModel, make_author, make_channel, make_inbound
from tests.folding import SAID, ideal

GROUP = make_channel()
PEOPLE = tuple(make_author(name) for name in ("Alice", "Bob", "Cem", "Dan", "小明"))
PERSONAS = ("bryony", "familiar", "dongpo")
DAYS = 30
KINDS = ("place", "pet", "event", "todo", "meet")
TRIGGER = {"type": "messages_to_refine", "value": 20}
JUNK = ("", "I'd rather sing.", '{"facts": [', '{"facts": [{"who": "user", "text": "x", "lines": [1]}]}')


@dataclass(slots=True)
class Plant:
    """Something worth remembering, as it is said now."""

    kind: str
    author: Author
    value: str
    message_id: str
    language: str
    gone: list[str] = field(default_factory=list)
    """Values that it had, or has no more since it was deleted."""
    is_deleted: bool = False

    @property
    def text(self) -> str:
        return SAID[self.language][self.kind].format(self.value)


@dataclass
class Month:
    """What happens, and what is known about it afterwards."""

    seed: int
    database: Path
    library: PersonaLibrary
    counter: TokenCounter
    switch: str
    plants: list[Plant] = field(default_factory=list)
    fails: bool = True

    def __post_init__(self) -> None:
        self.rng, self.now = random.Random(self.seed), NOW
        self.model = ScriptedModel(["I see."], summaries=self._summary)
        self.settings = Settings(
            _env_file=None,
            database_url=f"sqlite:///{self.database}",
            providers={"test": {"base_url": "http://127.0.0.1:9/v1"}},
            model="test/scripted",
            persona=PERSONAS[0],
            persona_switch=self.switch,
            burst_ms=0,
            summary={"keep_recent": 6, "keep_tokens": 0, "token_ratio": 0.25, "trigger": TRIGGER},
        )
        self.private: set[str] = set()
        self.counts = {"said": 0, "restarts": 0, "resets": 0, "failures": 0}

    def _summary(self, request: ModelRequest) -> Reply | str:
        if not self.fails or self.rng.random() < 0.6:
            return ideal(request)
        self.counts["failures"] += 1
        if self.rng.random() < 0.5:
            return Reply(text="", error=ModelUnreachable("test/scripted", "down"))
        return self.rng.choice(JUNK)

    # --- The app

    async def open(self) -> None:
        self.adapter = FakeAdapter(managers={"alice"})
        self.app: App = build_app(
            self.settings,
            model=self.model,
            adapters={"fake": self.adapter},
            library=self.library,
            counter=self.counter,
            now=lambda: self.now,
        )
        await self.app.start()

    async def close(self) -> None:
        await self.app.close()

    async def _deliver(self, inbound: Inbound) -> None:
        self.now += timedelta(minutes=self.rng.choice([1, 20, 90]))
        await self.app.pipeline.deliver(inbound)
        await self.app.dispatcher.idle()
        if self.rng.random() < 0.7:  # sometimes people go on while old messages are being folded
            await self.app.keeper.idle()

    # --- What people do

    async def play(self) -> None:
        await self.open()
        for day in range(DAYS):
            for _ in range(self.rng.randint(8, 14)):
                await self._step()
            self.now += timedelta(hours=7)
            if day == DAYS // 2:
                await self.command("/privacy on", PEOPLE[3])
                self.private.add(PEOPLE[3].key)
        await self._look_back()

    async def _step(self) -> None:
        deed = self.rng.choices(
            ["talks", "tells", "edits", "deletes", "switches", "resets", "restarts"], [60, 22, 5, 4, 5, 1, 3]
        )[0]
        said = [plant for plant in self.plants if not plant.is_deleted and plant.author.key not in self.private]
        match deed:
            case "talks":
                await self.say(self.rng.choice(PEOPLE), "small talk, " * self.rng.randint(1, 9))
            case "tells":
                await self._tell()
            case "edits" if said:
                await self._edit(self.rng.choice(said))
            case "deletes" if said:
                await self._delete(self.rng.choice(said))
            case "switches":
                await self.command(f"/persona use {self.rng.choice(PERSONAS)}", PEOPLE[0])
            case "resets":
                self.counts["resets"] += 1
                await self.command("/reset", PEOPLE[0])
            case "restarts":
                self.counts["restarts"] += 1
                await self.close()
                await self.open()

    async def say(self, author: Author, text: str) -> str:
        self.counts["said"] += 1
        message_id = f"said{self.counts['said']}"
        asks = self.rng.random() < 0.4
        more: dict[str, Any] = {"message_id": message_id, "mentions_me": asks, "sent_at": self.now}
        await self._deliver(make_inbound(text, author=author, channel=GROUP, **more))
        return message_id

    async def command(self, line: str, author: Author) -> None:
        await self._deliver(make_inbound(line, author=author, channel=GROUP, sent_at=self.now))

    async def _tell(self) -> None:
        author = self.rng.choice(PEOPLE)
        language = "zh" if author.name == "小明" else "en"
        plant = Plant(self.rng.choice(KINDS), author, f"V{len(self.plants)}x0x", "", language)
        self.plants.append(plant)
        plant.message_id = await self.say(author, plant.text)

    async def _edit(self, plant: Plant) -> None:
        plant.gone.append(plant.value)
        plant.value = f"{plant.value.partition('x')[0]}x{len(plant.gone)}x"
        await self._change(plant, InboundKind.EDIT)

    async def _delete(self, plant: Plant) -> None:
        plant.is_deleted = True
        await self._change(plant, InboundKind.DELETE)
        plant.gone.append(plant.value)

    async def _change(self, plant: Plant, kind: InboundKind) -> None:
        more: dict[str, Any] = {"kind": kind, "message_id": plant.message_id, "sent_at": self.now}
        await self._deliver(make_inbound(plant.text, author=plant.author, channel=GROUP, **more))

    async def _look_back(self) -> None:
        """Let each persona fold what it has, with a summary model that works again, and be asked a last question."""
        self.fails = False
        self.last: dict[str, ModelRequest] = {}
        for persona in PERSONAS:
            await self.command(f"/persona use {persona}", PEOPLE[0])
            self.now += timedelta(hours=8)  # no failure of the past holds anybody up
            for _ in range(34):
                await self.say(PEOPLE[0], "small talk")
            await self.app.keeper.idle()
            await self._deliver(make_inbound("and?", author=PEOPLE[0], channel=GROUP, mentions_me=True))
            await self.app.keeper.idle()
            self.last[persona] = self.model.requests[-1]
            self.rng.random()

    # --- What is known

    def rows(self, query: str, *facts: object) -> list[sqlite3.Row]:
        connection = sqlite3.connect(self.database)
        connection.row_factory = sqlite3.Row
        try:
            return connection.execute(query, facts).fetchall()
        finally:
            connection.close()

    def conversation_of(self, persona: str) -> int:
        (row,) = self.rows("SELECT max(id) AS id FROM conversation WHERE closed_at IS NULL AND persona_id = ?", persona)
        return int(row["id"])

    def heard_by(self, conversation: int) -> Iterator[Plant]:
        """What the people of whom things may be kept have told a conversation."""
        heard = self.rows(
            "SELECT platform_message_id AS id FROM message JOIN listening ON position >= from_position AND"
            " (to_position IS NULL OR message.id <= to_position) WHERE listening.conversation_id = ?",
            conversation,
        )
        ids = {row["id"] for row in heard}
        for plant in self.plants:
            if plant.message_id in ids and plant.author.key not in self.private:
                yield plant

    async def memory(self, conversation: int) -> Memory:
        return await self.app.core.db.read(read_memory, conversation)

    def plant_of(self, item: Item) -> Plant | None:
        """Who told what an item holds."""
        value = item.new.text.rpartition("=")[2]
        return next((plant for plant in self.plants if value == plant.value and not plant.is_deleted), None)
